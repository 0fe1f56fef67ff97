"""How a pod fits to the node and to the pods that are on it."""

import json

from wit_world.imports.admission_types import Request

from witlet_admission import AdmissionHandler, Shortage, Verdict, admit, controller, defer, reject_first, shortages


class NodeZone(AdmissionHandler):
    """A pod that names a zone, by this label, runs in that zone."""

    subscribes = ("add",)
    label: str

    def admit(self, request: Request) -> Verdict:
        here = request.node().label("topology.kubernetes.io/zone") or ""
        zone = request.pod().label(self.label)
        objections = [f"the pod is for zone {zone}, the node is in {json.dumps(here)}"]
        return reject_first("OtherZone", objections if zone not in (None, here) else [])


class SpreadReplicas(AdmissionHandler):
    """At most so many pods of a controller are on the node; more wait."""

    subscribes = ("add",)
    most: int

    def admit(self, request: Request) -> Verdict:
        owner = controller(request.pod())
        if owner is None:
            return admit()
        owners = [controller(pod) for pod in request.other_pods()]
        others = sum(other is not None and other.uid() == owner.uid() for other in owners)
        if others < self.most:
            return admit()
        return defer("TooManyReplicas", f"{others} pods of the same controller are on the node", seconds=60)


class Headroom(AdmissionHandler):
    """So many hundredths of a resource stay free."""

    subscribes = ("add", "resize")
    resource: str
    percent: int

    def admit(self, request: Request) -> Verdict:
        node = request.node()
        used, requested = node.requested(self.resource), request.pod().request(self.resource) or 0
        allocatable = node.allocatable(self.resource) or 0
        capacity = allocatable - allocatable // 100 * max(0, min(100, self.percent))
        lacks = requested > 0 and used + requested > capacity
        return shortages([Shortage(self.resource, requested, used, capacity)] if lacks else [])


class UnderPressure(AdmissionHandler):
    """Pods that ask for nothing wait while the node is under this pressure, such as `PIDPressure`."""

    subscribes = ("add",)
    condition: str

    def admit(self, request: Request) -> Verdict:
        found = request.node().condition(self.condition)
        if found is not None and found.status() == "True" and request.pod().qos() == "BestEffort":
            return defer("UnderPressure", f"the node has {self.condition}", seconds=30)
        return admit()
