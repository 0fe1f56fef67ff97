"""An admission handler: it refuses pods without the label that the configuration names.

Configuration: {"label": "team"}.
"""

from wit_world.imports import log
from wit_world.imports.admission_types import Request, Setup

from witlet_admission import AdmissionHandler, Verdict, admit, exported, invalid, reject

REASON = "LabelMissing"
LABEL_LENGTH_MAX = 317
"""Kubernetes' own: a domain, a slash and a name."""


class RequiredLabel(AdmissionHandler):
    """Pods have the label. The annotated names are the fields of `config:` in the plugin's entry."""

    # Other images or resources change no label.
    subscribes = ("add",)
    label: str
    """Key of the label that every pod must have."""

    def validate(self, setup: Setup) -> None:
        if not 1 <= len(self.label) <= LABEL_LENGTH_MAX:
            raise invalid("label", f"must have 1 to {LABEL_LENGTH_MAX} characters")

    def admit(self, request: Request) -> Verdict:
        pod = request.pod()
        match pod.label(self.label):
            case None:
                return reject(REASON, f"the pod has no label {self.label}")
            case "":
                return reject(REASON, f"the pod's label {self.label} is empty")
            case value:
                log.write(log.Level.INFO, f"pod {pod.name()} has {self.label}={value}", [])
                return admit()


# What the host calls. An exception other than HandlerError is a trap: it counts as a failure of the plugin.
Handler = exported(RequiredLabel)
