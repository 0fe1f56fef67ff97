"""A pod of a manifest."""

import ipaddress
from typing import Any, Final

from wit_world.imports.admission_types import Container, HostPort, Image, Owner, Pod, Volume

from . import amounts, values
from .containers import ContainerFacts, protocol
from .held import Held
from .images import ImageFacts

LISTS: Final = ("initContainers", "containers", "ephemeralContainers")


class VolumeFacts(Held, Volume):
    def __init__(self, spec: Any, index: int) -> None:
        self._spec, self._index = spec, index

    def name(self) -> str:
        return values.text(values.get(self._spec, "name"))

    def kind(self) -> str:
        fields = self._spec.items() if isinstance(self._spec, dict) else []
        return min((name for name, value in fields if name != "name" and value is not None), default="")

    def host_path(self) -> str | None:
        path = values.get(self._spec, "hostPath", "path")
        return path if isinstance(path, str) else None

    def image(self) -> Image | None:
        image = values.get(self._spec, "image")
        place = f"spec.volumes[{self._index}].image.reference"
        return ImageFacts(values.text(values.get(image, "reference")), place) if isinstance(image, dict) else None

    def pointer(self, path: str) -> str | None:
        return values.pointer(self._spec, path)


class OwnerFacts(Held, Owner):
    def __init__(self, spec: Any) -> None:
        self._spec = spec

    def api_version(self) -> str:
        return values.text(values.get(self._spec, "apiVersion"))

    def kind(self) -> str:
        return values.text(values.get(self._spec, "kind"))

    def name(self) -> str:
        return values.text(values.get(self._spec, "name"))

    def uid(self) -> str:
        return values.text(values.get(self._spec, "uid"))

    def is_controller(self) -> bool:
        return values.flag(values.get(self._spec, "controller"))


class HostPortFacts(Held, HostPort):
    def __init__(self, address: str | None, protocol: str, number: int) -> None:
        self._address, self._protocol, self._number = address, protocol, number

    def address(self) -> str | None:
        return self._address

    def protocol(self) -> str:
        return self._protocol

    def number(self) -> int:
        return self._number


def _address(text: Any) -> str | None:
    try:
        address = ipaddress.ip_address(values.text(text))
    except ValueError:
        return None
    return None if address.is_unspecified else str(address)


class PodFacts(Held, Pod):
    """The pod of a manifest, from a source; with the handler that its runtime class means on the node, if that is known."""

    def __init__(self, manifest: Any = None, source: str = "file", runtime_handler: str | None = None) -> None:
        self._manifest, self._source, self._runtime_handler = manifest, source, runtime_handler

    def _metadata(self, *path: str) -> Any:
        return values.get(self._manifest, "metadata", *path)

    def _spec(self, *path: str) -> Any:
        return values.get(self._manifest, "spec", *path)

    def amounts(self, part: str) -> amounts.Amounts:
        return amounts.of_pod(self._spec(), part)

    def namespace(self) -> str:
        return values.text(self._metadata("namespace"))

    def name(self) -> str:
        return values.text(self._metadata("name"))

    def uid(self) -> str:
        return values.text(self._metadata("uid"))

    def source(self) -> str:
        return self._source

    def label(self, key: str) -> str | None:
        return dict(self.labels()).get(key)

    def labels(self) -> list[tuple[str, str]]:
        return values.pairs(self._metadata("labels"))

    def annotation(self, key: str) -> str | None:
        return dict(self.annotations()).get(key)

    def annotations(self) -> list[tuple[str, str]]:
        return values.pairs(self._metadata("annotations"))

    def owners(self) -> list[Owner]:
        return [OwnerFacts(owner) for owner in values.items(self._metadata("ownerReferences"))]

    def service_account(self) -> str:
        return values.word(self._spec("serviceAccountName")) or "default"

    def has_service_account_token(self) -> bool:
        sources = (source for volume in values.items(self._spec("volumes")) for source in values.items(values.get(volume, "projected", "sources")))
        return any(values.get(source, "serviceAccountToken") is not None for source in sources)

    def priority(self) -> int:
        return values.number(self._spec("priority")) or 0

    def priority_class(self) -> str:
        return values.text(self._spec("priorityClassName"))

    def runtime_class(self) -> str:
        return values.text(self._spec("runtimeClassName"))

    def runtime_handler(self) -> str | None:
        return self._runtime_handler if self.runtime_class() else ""

    def qos(self) -> str:
        return amounts.qos(self._manifest)

    def host_network(self) -> bool:
        return values.flag(self._spec("hostNetwork"))

    def host_pid(self) -> bool:
        return values.flag(self._spec("hostPID"))

    def host_ipc(self) -> bool:
        return values.flag(self._spec("hostIPC"))

    def host_users(self) -> bool:
        return self._spec("hostUsers") is not False

    def containers(self) -> list[Container]:
        return [ContainerFacts(self._manifest, name, index) for name in LISTS for index in range(len(values.items(self._spec(name))))]

    def images(self) -> list[Image]:
        of_volumes = (volume.image() for volume in self.volumes())
        return [*(container.image() for container in self.containers()), *(image for image in of_volumes if image is not None)]

    def volumes(self) -> list[Volume]:
        return [VolumeFacts(spec, index) for index, spec in enumerate(values.items(self._spec("volumes")))]

    def resources(self) -> list[str]:
        return sorted({*self.amounts("requests"), *self.amounts("limits")})

    def request(self, resource: str) -> int | None:
        return self.amounts("requests").get(resource)

    def limit(self, resource: str) -> int | None:
        return self.amounts("limits").get(resource)

    def host_ports(self) -> list[HostPort]:
        sidecars = [container for container in values.items(self._spec("initContainers")) if amounts.is_sidecar(container)]
        taken: list[HostPort] = []
        for container in [*values.items(self._spec("containers")), *sidecars]:
            for port in values.items(values.get(container, "ports")):
                number = values.number(values.get(port, "hostPort")) or (values.number(values.get(port, "containerPort")) if self.host_network() else None)
                if number is not None and 0 <= number <= 65535:
                    taken.append(HostPortFacts(_address(values.get(port, "hostIP")), protocol(values.get(port, "protocol")), number))
        return taken

    def json(self) -> str:
        return values.json_text(self._manifest)

    def pointer(self, path: str) -> str | None:
        return values.pointer(self._manifest, path)
