"""What pods ask for and are limited to: numbers, `cpu` in milli-CPU and everything else in base units."""

from wit_world.imports.admission_types import Request

from witlet_admission import AdmissionHandler, Verdict, admit, reject_first, shown


class LimitsRequired(AdmissionHandler):
    """Containers are limited in these resources; ephemeral containers have no resources."""

    subscribes = ("add", "resize")
    resources: list[str]

    def admit(self, request: Request) -> Verdict:
        containers = (container for container in request.pod().containers() if container.kind() != "ephemeral")
        missing = ((container, name) for container in containers for name in self.resources if container.limit(name) is None)
        return reject_first("NoLimit", (f"{shown(container)} has no limit of {name}" for container, name in missing))


class LimitRatio(AdmissionHandler):
    """A container's limit is at most so many times its request."""

    subscribes = ("add", "resize")
    resource: str
    most: int

    def admit(self, request: Request) -> Verdict:
        for container in request.pod().containers():
            limit, requested = container.limit(self.resource), container.request(self.resource)
            if limit is not None and requested is not None and limit > requested * self.most:
                excess = f"{shown(container)} is limited to {limit} of {self.resource} and requests {requested}"
                return reject_first("LimitRatio", [excess])
        return admit()


class PodSize(AdmissionHandler):
    """A pod requests at most so much of each of these resources."""

    subscribes = ("add", "resize")
    most: dict[str, int]

    def admit(self, request: Request) -> Verdict:
        requested = {name: request.pod().request(name) or 0 for name in self.most}
        excess = (name for name, most in self.most.items() if requested[name] > most)
        return reject_first("PodTooLarge", (f"the pod requests {requested[name]} of {name}, more than {self.most[name]}" for name in excess))


class GuaranteedQos(AdmissionHandler):
    """Pods of these priority classes are of the class Guaranteed."""

    subscribes = ("add", "resize")
    priority_classes: list[str]

    def admit(self, request: Request) -> Verdict:
        priority, qos = request.pod().priority_class(), request.pod().qos()
        is_meant = priority in self.priority_classes and qos != "Guaranteed"
        return reject_first("NotGuaranteed", [f"a pod of the priority class {priority} is {qos}, not Guaranteed"] if is_meant else [])


class ResizeAtMost(AdmissionHandler):
    """A running pod grows at most to so many times what it has."""

    subscribes = ("resize",)
    most: int

    def admit(self, request: Request) -> Verdict:
        pod, old = request.pod(), request.old_pod()
        if old is None:
            return admit()
        amounts = ((name, pod.request(name), old.request(name)) for name in pod.resources())
        excess = ((name, now, old) for name, now, old in amounts if now is not None and old is not None and now > old * self.most)
        return reject_first("ResizeTooLarge", (f"{now} of {name} are more than {self.most} times {old}" for name, now, old in excess))
