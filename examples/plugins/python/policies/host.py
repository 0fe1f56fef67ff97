"""What pods take of the host: paths, namespaces, ports, kinds of volumes."""

from dataclasses import field
from pathlib import PurePosixPath

from wit_world.imports.admission_types import Request, Setup

from witlet_admission import AdmissionHandler, Verdict, invalid, reject_first, shown


class NoHostPath(AdmissionHandler):
    """Volumes bring no paths of the host but these and what is below them."""

    subscribes = ("add",)
    allow: list[str] = field(default_factory=list)

    def admit(self, request: Request) -> Verdict:
        paths = ((volume, volume.host_path()) for volume in request.pod().volumes())
        foreign = ((volume, path) for volume, path in paths if path is not None and not self.allows(path))
        return reject_first("HostPath", (f"{shown(volume)} brings {path} of the host" for volume, path in foreign))

    def allows(self, path: str) -> bool:
        return ".." not in path and any(PurePosixPath(path).is_relative_to(folder) for folder in self.allow)


class HostPathsReadOnly(AdmissionHandler):
    """Nothing is written through a path of the host."""

    def admit(self, request: Request) -> Verdict:
        pod = request.pod()
        of_host = [volume.name() for volume in pod.volumes() if volume.kind() == "hostPath"]
        mounts = ((container, mount) for container in pod.containers() for mount in container.mounts())
        writable = ((container, mount) for container, mount in mounts if not mount.read_only() and mount.volume() in of_host)
        return reject_first("HostPathWritable", (f"{shown(container)} can write to {mount.path()} of the host" for container, mount in writable))


class NoHostNamespaces(AdmissionHandler):
    """Pods share no namespace with the host."""

    subscribes = ("add",)

    def admit(self, request: Request) -> Verdict:
        pod = request.pod()
        shared = {"hostNetwork": pod.host_network(), "hostPID": pod.host_pid(), "hostIPC": pod.host_ipc()}
        return reject_first("HostNamespace", (f"the pod has {field}" for field, is_shared in shared.items() if is_shared))


class HostPortRange(AdmissionHandler):
    """Pods take ports on the host from this range only."""

    subscribes = ("add",)
    min: int
    max: int

    def validate(self, setup: Setup) -> None:
        if self.min > self.max:
            raise invalid("min", "is greater than max")

    def admit(self, request: Request) -> Verdict:
        numbers = (port.number() for port in request.pod().host_ports())
        outside = (number for number in numbers if not self.min <= number <= self.max)
        return reject_first("HostPort", (f"port {number} of the host isn't one of {self.min} to {self.max}" for number in outside))


class VolumeKinds(AdmissionHandler):
    """Volumes are of these kinds, such as `configMap` or `emptyDir`."""

    subscribes = ("add",)
    allow: list[str]

    def admit(self, request: Request) -> Verdict:
        others = (volume for volume in request.pod().volumes() if volume.kind() not in self.allow)
        return reject_first("VolumeKind", (f"{shown(volume)} is of the kind {volume.kind()}" for volume in others))
