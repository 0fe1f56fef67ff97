"""Who pods belong to, and what they say of themselves."""

from wit_world.imports.admission_types import Request

from witlet_admission import AdmissionHandler, Verdict, admit, controller, reject, reject_first, shown


class RequiredLabels(AdmissionHandler):
    """Pods have these labels, with one of these values where any are given."""

    subscribes = ("add",)
    labels: dict[str, list[str]]

    def admit(self, request: Request) -> Verdict:
        for key, values in self.labels.items():
            value = request.pod().label(key)
            if value is None:
                return reject("RequiredLabel", f"the pod has no label {key}")
            if values and value not in values:
                return reject("RequiredLabel", f"the label {key} is {value}, not {' or '.join(values)}")
        return admit()


class RequiredAnnotations(AdmissionHandler):
    """Pods have these annotations."""

    subscribes = ("add",)
    annotations: list[str]

    def admit(self, request: Request) -> Verdict:
        missing = (key for key in self.annotations if request.pod().annotation(key) is None)
        return reject_first("RequiredAnnotation", (f"the pod has no annotation {key}" for key in missing))


class OwnerKinds(AdmissionHandler):
    """Pods are made by controllers of these kinds, such as `ReplicaSet`."""

    subscribes = ("add",)
    allow: list[str]

    def admit(self, request: Request) -> Verdict:
        owner = controller(request.pod())
        if owner is None:
            return reject("NoOwner", "the pod has no controller")
        if owner.kind() not in self.allow:
            return reject("OwnerKind", f"the pod is made by a {owner.kind()}")
        return admit().annotate("controller", owner.kind())


class NoServiceAccountToken(AdmissionHandler):
    """No pod gets a token of its service account by itself."""

    subscribes = ("add",)

    def admit(self, request: Request) -> Verdict:
        pod = request.pod()
        objections = [f"a volume brings a token of the service account {pod.service_account()}"]
        return reject_first("ServiceAccountToken", objections if pod.has_service_account_token() else [])


class ServiceAccounts(AdmissionHandler):
    """No pod runs as one of these service accounts, such as `default`."""

    subscribes = ("add",)
    deny: list[str]

    def admit(self, request: Request) -> Verdict:
        account = request.pod().service_account()
        return reject_first("ServiceAccount", [f"no pod runs as the service account {account}"] if account in self.deny else [])


class PriorityClasses(AdmissionHandler):
    """These priority classes are for pods of these namespaces; other classes are anyone's."""

    subscribes = ("add",)
    classes: dict[str, list[str]]

    def admit(self, request: Request) -> Verdict:
        priority, namespace = request.pod().priority_class(), request.pod().namespace()
        is_reserved = namespace not in self.classes.get(priority, [namespace])
        objections = [f"the priority class {priority} isn't for the namespace {namespace}"]
        return reject_first("PriorityClass", objections if is_reserved else [])


class EnvSecrets(AdmissionHandler):
    """Warns the pod's owner of variables that look like secrets, and have their values in the pod."""

    words: list[str]

    def admit(self, request: Request) -> Verdict:
        verdict = admit()
        for container in request.pod().containers():
            for index, name in enumerate(container.env_names()):
                if any(word in name for word in self.words) and container.pointer(f"/env/{index}/value") is not None:
                    verdict = verdict.warn(f"{shown(container)} has the value of {name} in its spec")
        return verdict
