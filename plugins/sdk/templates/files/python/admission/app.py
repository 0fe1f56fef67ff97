"""An admission handler: it refuses pods without the label that the configuration names.

Configuration: {"label": "team"}.
"""

from dataclasses import dataclass
from typing import Self

from wit_world import exports
from wit_world.imports import config as configuration
from wit_world.imports import log
from wit_world.imports.types import Operation, Rejection, Request, Verdict, Verdict_Admit, Verdict_Reject

from witlet import Fields, Once, in_words

REASON = "LabelMissing"
LABEL_LENGTH_MAX = 317
"""Kubernetes' own: a domain, a slash and a name."""


@dataclass(frozen=True)
class Config:
    """What stands under `config:` in the plugin's entry."""

    label: str
    """Key of the label that every pod must have."""

    @classmethod
    def parse(cls, text: str) -> Self:
        """Raises ValueError in words for the operator."""
        with Fields.parse(text) as fields:
            return cls(label=fields.text("label", length_max=LABEL_LENGTH_MAX))


configured = Once(Config.parse)


def judge(config: Config, labels: dict[str, str]) -> Verdict:
    """The verdict on a pod with these labels."""
    match labels.get(config.label):
        case None:
            return reject(f"the pod has no label {config.label}")
        case "":
            return reject(f"the pod's label {config.label} is empty")
        case _:
            return Verdict_Admit()


def reject(message: str) -> Verdict:
    return Verdict_Reject(Rejection(REASON, message))


class Handler(exports.Handler):
    """What the host calls. An exception other than Err is a trap: it counts as a failure of the plugin."""

    def validate(self, config: str) -> None:
        with in_words():
            Config.parse(config)

    def admit(self, request: Request) -> Verdict:
        # A running pod that asks for other resources was judged when it was added.
        if request.operation() == Operation.RESIZE:
            return Verdict_Admit()
        pod = request.pod()
        verdict = judge(configured(configuration.get()), dict(pod.labels()))
        log.write(log.Level.DEBUG, "judged", [("pod", pod.identity().name), ("verdict", type(verdict).__name__)])
        return verdict
