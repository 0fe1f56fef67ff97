"""A container of a manifest."""

from typing import Any, Final

from wit_world.imports.admission_types import Container, ContainerPort, Image, Mount

from . import amounts, values
from .held import Held
from .images import ImageFacts

_APPARMOR: Final = "container.apparmor.security.beta.kubernetes.io/"


def protocol(value: Any) -> str:
    return value if value in ("UDP", "SCTP") else "TCP"


def _port(value: Any) -> int | None:
    number = values.number(value)
    return number if number is not None and 1 <= number <= 65535 else None


class ContainerPortFacts(Held, ContainerPort):
    def __init__(self, spec: Any) -> None:
        self._spec = spec

    def name(self) -> str:
        return values.text(values.get(self._spec, "name"))

    def number(self) -> int:
        return _port(values.get(self._spec, "containerPort")) or 0

    def protocol(self) -> str:
        return protocol(values.get(self._spec, "protocol"))

    def host_port(self) -> int | None:
        return _port(values.get(self._spec, "hostPort"))


class MountFacts(Held, Mount):
    def __init__(self, spec: Any, is_device: bool) -> None:
        self._spec, self._is_device = spec, is_device

    def volume(self) -> str:
        return values.text(values.get(self._spec, "name"))

    def path(self) -> str:
        return values.text(values.get(self._spec, "devicePath" if self._is_device else "mountPath"))

    def sub_path(self) -> str:
        return values.word(values.get(self._spec, "subPath")) or values.text(values.get(self._spec, "subPathExpr"))

    def read_only(self) -> bool:
        return values.flag(values.get(self._spec, "readOnly"))

    def is_device(self) -> bool:
        return self._is_device


def _profile(profile: Any) -> str | None:
    """An AppArmor profile; a field that can't be meant is none."""
    kind, name = values.get(profile, "type"), values.word(values.get(profile, "localhostProfile"))
    if kind in ("RuntimeDefault", "Unconfined"):
        return values.text(kind)
    return f"Localhost/{name}" if kind == "Localhost" and name else None


class ContainerFacts(Held, Container):
    def __init__(self, manifest: Any, list_name: str, index: int) -> None:
        self._manifest, self._list, self._index = manifest, list_name, index
        self._spec = values.get(manifest, "spec", list_name, index)

    def _own(self, *path: str) -> Any:
        return values.get(self._spec, "securityContext", *path)

    def _security(self, field: str) -> Any:
        """A field of its security context, or else of its pod's."""
        own = self._own(field)
        return values.get(self._manifest, "spec", "securityContext", field) if own is None else own

    def name(self) -> str:
        return values.text(values.get(self._spec, "name"))

    def kind(self) -> str:
        if self._list == "initContainers":
            return "sidecar" if amounts.is_sidecar(self._spec) else "init"
        return "app" if self._list == "containers" else "ephemeral"

    def place(self) -> str:
        return f"spec.{self._list}[{self._index}]"

    def image(self) -> Image:
        return ImageFacts(values.text(values.get(self._spec, "image")), f"{self.place()}.image")

    def pull_policy(self) -> str:
        return values.text(values.get(self._spec, "imagePullPolicy"))

    def _amounts(self, part: str) -> amounts.Amounts:
        return amounts.amounts(values.get(self._spec, "resources", part))

    def resources(self) -> list[str]:
        return sorted({*self._amounts("requests"), *self._amounts("limits")})

    def request(self, resource: str) -> int | None:
        return self._amounts("requests").get(resource)

    def limit(self, resource: str) -> int | None:
        return self._amounts("limits").get(resource)

    def privileged(self) -> bool:
        return values.flag(self._own("privileged"))

    def run_as_non_root(self) -> bool:
        return values.flag(self._security("runAsNonRoot"))

    def run_as_user(self) -> int | None:
        return values.number(self._security("runAsUser"))

    def run_as_group(self) -> int | None:
        return values.number(self._security("runAsGroup"))

    def allow_privilege_escalation(self) -> bool:
        return self._own("allowPrivilegeEscalation") is not False

    def read_only_root_filesystem(self) -> bool:
        return values.flag(self._own("readOnlyRootFilesystem"))

    def seccomp_profile(self) -> str | None:
        profile = self._security("seccompProfile")
        kind, path = values.get(profile, "type"), values.get(profile, "localhostProfile")
        if not isinstance(kind, str):
            return None
        return f"{kind}/{path}" if kind == "Localhost" and isinstance(path, str) else kind

    def apparmor_profile(self) -> str | None:
        own = self._own("appArmorProfile")
        if own is not None:
            return _profile(own)
        match values.get(self._manifest, "metadata", "annotations", _APPARMOR + self.name()):
            case "runtime/default":
                return "RuntimeDefault"
            case "unconfined":
                return "Unconfined"
            case str(named) if named.startswith("localhost/") and named != "localhost/":
                return f"Localhost/{named.removeprefix('localhost/')}"
        return _profile(values.get(self._manifest, "spec", "securityContext", "appArmorProfile"))

    def added_capabilities(self) -> list[str]:
        return [values.text(name) for name in values.items(self._own("capabilities", "add"))]

    def dropped_capabilities(self) -> list[str]:
        return [values.text(name) for name in values.items(self._own("capabilities", "drop"))]

    def env_names(self) -> list[str]:
        return [values.text(values.get(variable, "name")) for variable in values.items(values.get(self._spec, "env"))]

    def ports(self) -> list[ContainerPort]:
        return [ContainerPortFacts(port) for port in values.items(values.get(self._spec, "ports"))]

    def mounts(self) -> list[Mount]:
        of = ((mount, name == "volumeDevices") for name in ("volumeMounts", "volumeDevices") for mount in values.items(values.get(self._spec, name)))
        return [MountFacts(spec, is_device) for spec, is_device in of]

    def pointer(self, path: str) -> str | None:
        return values.pointer(self._spec, path)
