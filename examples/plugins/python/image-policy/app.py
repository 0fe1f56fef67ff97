"""An admission handler: images come from places that the configuration names.

Configuration: {"allow": ["registry.example.com", "docker.io/library"], "requireDigest": false}.
"""

from dataclasses import dataclass
from typing import Any, Self

from wit_world import exports
from wit_world.imports import config as configuration
from wit_world.imports import log
from wit_world.imports.types import Container, Operation, Rejection, Request, Verdict, Verdict_Admit, Verdict_Reject

from reference import Reference
from witlet import Fields, Invalid, Once, in_words


@dataclass(frozen=True)
class Policy:
    """What stands under `config:` in the plugin's entry."""

    allow: tuple[str, ...]
    """Registries, and beginnings of paths in them."""
    require_digest: bool = False

    @classmethod
    def parse(cls, text: str) -> Self:
        """Raises ValueError in words for the operator."""
        with Fields.parse(text) as fields:
            places, require_digest = fields.items("allow"), fields.boolean("requireDigest", False)
        if not places:
            raise fields.invalid("allow", "at least one place is needed, else no pod could run")
        return cls(tuple(checked(index, place) for index, place in enumerate(places)), require_digest)

    def objection(self, container: Container) -> Rejection | None:
        """What is wrong with a container's image, if anything is."""
        if not container.image:
            return Rejection("ImageNotAllowed", f'container "{container.name}": no image is named')
        reference = Reference.parse(container.image)
        if not any(reference.is_in(place) for place in self.allow):
            return Rejection("ImageNotAllowed", f'container "{container.name}": {reference.place} isn\'t allowed')
        if self.require_digest and not reference.pinned:
            return Rejection("ImageNotPinned", f'container "{container.name}": {reference.place} isn\'t pinned by a digest')
        return None


def checked(index: int, place: Any) -> str:
    match place:
        case "":
            raise Invalid(f"allow[{index}]: may not be empty")
        case str(text) if text.startswith("/") or text.endswith("/"):
            raise Invalid(f"allow[{index}]: {text} may neither begin nor end with a slash")
        case str(text):
            return text
        case _:
            raise Invalid(f"allow[{index}]: must be a text")


configured = Once(Policy.parse)


class Handler(exports.Handler):
    """What the host calls. An exception other than Err is a trap: it counts as a failure of the plugin."""

    def validate(self, config: str) -> None:
        with in_words():
            Policy.parse(config)

    def admit(self, request: Request) -> Verdict:
        # The images of a running pod that asks for other resources were admitted before.
        if request.operation() == Operation.RESIZE:
            return Verdict_Admit()
        policy = configured(configuration.get())
        for container in request.pod().containers():
            if rejection := policy.objection(container):
                log.write(log.Level.INFO, "rejected", [("reason", rejection.reason), ("image", container.image)])
                return Verdict_Reject(rejection)
        return Verdict_Admit()
