"""A node of a manifest."""

from typing import Any

from wit_world.imports.admission_types import Condition, HostPort, Node, Taint

from . import amounts, values
from .held import Held
from .pods import PodFacts


class TaintFacts(Held, Taint):
    def __init__(self, spec: Any) -> None:
        self._spec = spec

    def key(self) -> str:
        return values.text(values.get(self._spec, "key"))

    def value(self) -> str:
        return values.text(values.get(self._spec, "value"))

    def effect(self) -> str:
        return values.text(values.get(self._spec, "effect"))


class ConditionFacts(Held, Condition):
    def __init__(self, spec: Any) -> None:
        self._spec = spec

    def kind(self) -> str:
        return values.text(values.get(self._spec, "type"))

    def status(self) -> str:
        return values.text(values.get(self._spec, "status"))

    def reason(self) -> str:
        return values.text(values.get(self._spec, "reason"))

    def message(self) -> str:
        return values.text(values.get(self._spec, "message"))


class NodeFacts(Held, Node):
    """The node of a manifest, with facts about the machine, devices and what is in use, and the pods that are on it."""

    def __init__(
        self,
        manifest: Any = None,
        *,
        facts: dict[str, str] | None = None,
        devices: Any = None,
        used: dict[str, int] | None = None,
        pods: list[PodFacts] | None = None,
    ) -> None:
        self._manifest, self._facts, self._devices, self._pods = manifest, facts or {}, devices or [], pods or []
        self._used = used or {}

    def _status(self, part: str) -> Any:
        return values.get(self._manifest, "status", part)

    def _requested(self) -> amounts.Amounts:
        total: amounts.Amounts = {"pods": len(self._pods)}
        for pod in self._pods:
            amounts.add(total, pod.amounts("requests"))
        return total

    def name(self) -> str:
        return values.text(values.get(self._manifest, "metadata", "name"))

    def label(self, key: str) -> str | None:
        return dict(self.labels()).get(key)

    def labels(self) -> list[tuple[str, str]]:
        return values.pairs(values.get(self._manifest, "metadata", "labels"))

    def taints(self) -> list[Taint]:
        return [TaintFacts(taint) for taint in values.items(values.get(self._manifest, "spec", "taints"))]

    def condition(self, kind: str) -> Condition | None:
        return next((condition for condition in self.conditions() if condition.kind() == kind), None)

    def conditions(self) -> list[Condition]:
        return [ConditionFacts(condition) for condition in values.items(self._status("conditions"))]

    def resources(self) -> list[str]:
        return sorted({*amounts.amounts(self._status("capacity")), *amounts.amounts(self._status("allocatable")), *self._requested()})

    def capacity(self, resource: str) -> int | None:
        return amounts.amounts(self._status("capacity")).get(resource)

    def allocatable(self, resource: str) -> int | None:
        return amounts.amounts(self._status("allocatable")).get(resource)

    def requested(self, resource: str) -> int:
        return self._requested().get(resource, 0)

    def available(self, resource: str) -> int | None:
        allocatable = self.allocatable(resource)
        return None if allocatable is None else allocatable - self.requested(resource)

    def used(self, resource: str) -> int | None:
        return self._used.get(resource)

    def used_host_ports(self) -> list[HostPort]:
        return [port for pod in self._pods for port in pod.host_ports()]

    def fact(self, key: str) -> str | None:
        return self._facts.get(key)

    def facts(self) -> list[tuple[str, str]]:
        return sorted(self._facts.items())

    def devices(self) -> str:
        return values.json_text(self._devices)

    def json(self) -> str:
        return values.json_text(self._manifest)

    def pointer(self, path: str) -> str | None:
        return values.pointer(self._manifest, path)
