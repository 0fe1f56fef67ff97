"""A question in plain data, and what a handler says when it is loaded."""

import json
from typing import Any, Final

from wit_world.imports.admission_types import Datetime, Node, Pod, Request, ResolvedImage, Setup

from witlet_admission import AdmissionHandler, invalid, load, made

from .held import Held
from .node import NodeFacts
from .pods import PodFacts

OPERATIONS: Final = ("add", "resize", "update", "ephemeral", "image-resolved", "readmit", "recheck")
"""What the host knows."""


class RequestFacts(Held, Request):
    """A question about the pod of a manifest: an addition to a node with nothing in it in 1970, unless it says otherwise."""

    def __init__(
        self,
        pod: PodFacts | None = None,
        *,
        operation: str = "add",
        old_pod: PodFacts | None = None,
        node: Any = None,
        facts: dict[str, str] | None = None,
        used: dict[str, int] | None = None,
        other_pods: list[PodFacts] | None = None,
        image: ResolvedImage | None = None,
        now: Datetime | None = None,
    ) -> None:
        self._pod, self._operation, self._old_pod, self._image = pod or PodFacts(), operation, old_pod, image
        self._other_pods, self._now = other_pods or [], now or Datetime(0, 0)
        self._node = NodeFacts(node, facts=facts, used=used, pods=self._other_pods)

    def operation(self) -> str:
        return self._operation

    def now(self) -> Datetime:
        return self._now

    def pod(self) -> Pod:
        return self._pod

    def old_pod(self) -> Pod | None:
        return self._old_pod

    def image(self) -> ResolvedImage | None:
        return self._image

    def node(self) -> Node:
        return self._node

    def other_pods(self) -> list[Pod]:
        return list(self._other_pods)


class SetupFacts(Held, Setup):
    """What a handler says when it is loaded."""

    def __init__(self) -> None:
        self.subscribed: list[str] = []
        self.warnings: list[str] = []

    def subscribe(self, operation: str) -> None:
        if operation not in self.subscribed:
            self.subscribed.append(operation)

    def knows(self, operation: str) -> bool:
        return operation in OPERATIONS

    def warn(self, message: str) -> None:
        self.warnings.append(message)


def loaded(handlers: tuple[type[AdmissionHandler], ...], config: Any) -> tuple[AdmissionHandler, SetupFacts]:
    """Loads a handler with a configuration as the host does. Raises HandlerError where the host would refuse it."""
    handler, setup = made(handlers, json.dumps(config)), SetupFacts()
    load(handler, setup)
    if not setup.subscribed:
        raise invalid("subscribes", "it subscribes to nothing")
    for operation in setup.subscribed:
        if not setup.knows(operation):
            raise invalid("subscribes", f"the host doesn't know {operation}")
    return handler, setup
