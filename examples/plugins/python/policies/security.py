"""What containers may do: what counts of a container's security context and its pod's, for all kinds of containers."""

from collections.abc import Iterator
from dataclasses import field

from wit_world.imports.admission_types import Container, Request

from witlet_admission import AdmissionHandler, Verdict, reject_first, shown


class NoPrivileged(AdmissionHandler):
    """No container is privileged."""

    def admit(self, request: Request) -> Verdict:
        privileged = (container for container in request.pod().containers() if container.privileged())
        return reject_first("Privileged", (f"{shown(container)} is privileged" for container in privileged))


class Capabilities(AdmissionHandler):
    """Containers add no capabilities but these, and drop those."""

    allow: list[str] = field(default_factory=list)
    drop: list[str] = field(default_factory=list)

    def admit(self, request: Request) -> Verdict:
        return reject_first("Capabilities", (text for container in request.pod().containers() for text in self.objections(container)))

    def objections(self, container: Container) -> Iterator[str]:
        added, dropped = container.added_capabilities(), container.dropped_capabilities()
        yield from (f"{shown(container)} adds the capability {name}" for name in added if name not in self.allow)
        yield from (f"{shown(container)} doesn't drop the capability {name}" for name in self.drop if name not in dropped)


class RunAsNonRoot(AdmissionHandler):
    """No container may start as root."""

    def admit(self, request: Request) -> Verdict:
        root = (container for container in request.pod().containers() if not container.run_as_non_root())
        return reject_first("RunAsRoot", (f"{shown(container)} may start as root" for container in root))


class NoPrivilegeEscalation(AdmissionHandler):
    """No process gets more rights than its parent."""

    def admit(self, request: Request) -> Verdict:
        rising = (container for container in request.pod().containers() if container.allow_privilege_escalation())
        return reject_first("PrivilegeEscalation", (f"{shown(container)} allows privilege escalation" for container in rising))


class ReadOnlyRoot(AdmissionHandler):
    """Containers can't write to their own file systems."""

    def admit(self, request: Request) -> Verdict:
        writable = (container for container in request.pod().containers() if not container.read_only_root_filesystem())
        return reject_first("WritableRoot", (f"{shown(container)} can write to its root file system" for container in writable))


class SeccompRequired(AdmissionHandler):
    """Every container states a seccomp profile that filters."""

    def admit(self, request: Request) -> Verdict:
        unfiltered = (container for container in request.pod().containers() if container.seccomp_profile() in (None, "Unconfined"))
        return reject_first("NoSeccomp", (f"{shown(container)} has no seccomp profile" for container in unfiltered))


class AppArmorProfiles(AdmissionHandler):
    """Containers state no AppArmor profile but these, such as `RuntimeDefault` or `Localhost/web`."""

    allow: list[str]

    def admit(self, request: Request) -> Verdict:
        profiles = ((container, container.apparmor_profile()) for container in request.pod().containers())
        others = ((container, profile) for container, profile in profiles if profile is not None and profile not in self.allow)
        return reject_first("AppArmorProfile", (f"{shown(container)} has the AppArmor profile {profile}" for container, profile in others))


class UserIds(AdmissionHandler):
    """Containers state a user from this number on."""

    min: int

    def admit(self, request: Request) -> Verdict:
        users = ((container, container.run_as_user()) for container in request.pod().containers())
        others = (container for container, user in users if user is None or user < self.min)
        return reject_first("UserId", (f"{shown(container)} doesn't run as a user from {self.min} on" for container in others))


class UserNamespaces(AdmissionHandler):
    """Pods have a user namespace of their own."""

    subscribes = ("add",)

    def admit(self, request: Request) -> Verdict:
        objections = ["the pod's users are the host's: hostUsers isn't false"] if request.pod().host_users() else []
        return reject_first("HostUsers", objections)


class DebugContainers(AdmissionHandler):
    """Those who look for a fault in a pod of this label get no powers of the node."""

    label: str
    value: str

    def admit(self, request: Request) -> Verdict:
        pod = request.pod()
        debug = (it for it in pod.containers() if pod.label(self.label) == self.value and it.kind() == "ephemeral")
        mighty = (it for it in debug if it.privileged() or it.added_capabilities())
        return reject_first("MightyDebugger", (f"{shown(it)} has powers of the node" for it in mighty))
