"""Admission handlers for contract 0.2: `witlet:admission@0.2.0`.

    class Pinned(AdmissionHandler):
        def admit(self, request: Request) -> Verdict:
            unpinned = (image for image in request.pod().images() if image.digest() is None)
            return reject_first("NotPinned", (f"{shown(image)} has no digest" for image in unpinned))

    Handler = exported(Pinned)

 It needs the standard library alone.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, ClassVar, Protocol, Self, cast, dataclass_transform

from wit_world import exports
from wit_world.imports import config as configuration
from wit_world.imports.admission_types import Answer, Container, Image, Owner, Pod, Request, Setup, Volume
from witlet_values import HandlerError as HandlerError
from witlet_values import camel, decoded, in_words, object_of
from witlet_values import invalid as invalid

# ---- Verdicts ----


@dataclass(frozen=True)
class Admit:
    """Nothing against the pod."""


@dataclass(frozen=True)
class Reject:
    """Never: a CamelCase word, and a sentence."""

    reason: str
    message: str


@dataclass(frozen=True)
class Defer:
    """Not now, and when to ask again."""

    reason: str
    message: str
    retry_after_milliseconds: int


@dataclass(frozen=True)
class Shortage:
    """A resource that the node lacks: what the pod asks for, what the others have, what the node has."""

    resource: str
    requested: int
    used: int
    capacity: int


@dataclass(frozen=True)
class Verdict:
    """What becomes of a pod, and what is said in addition. Made by the functions below."""

    decision: Admit | Reject | Defer | tuple[Shortage, ...]
    warnings: tuple[str, ...] = ()
    annotations: tuple[tuple[str, str], ...] = ()

    def warn(self, message: str) -> Self:
        """With a sentence for the pod's owner, who finds it in an event of the pod. The host keeps 16."""
        return replace(self, warnings=(*self.warnings, message))

    def annotate(self, key: str, value: str) -> Self:
        """With something for those who check the decision later, under `<plugin>/<key>`. The last value of a key counts."""
        return replace(self, annotations=(*self.annotations, (key, value)))

    def say(self, answer: Answer) -> None:
        """Says it to the host."""
        match self.decision:
            case Admit():
                answer.admit()
            case Reject(reason, message):
                answer.reject(reason, message)
            case Defer(reason, message, milliseconds):
                answer.defer(reason, message, milliseconds)
            case shortages:
                for short in shortages:
                    answer.shortage(short.resource, short.requested, short.used, short.capacity)
        for message in self.warnings:
            answer.warn(message)
        for key, value in self.annotations:
            answer.annotate(key, value)


def admit() -> Verdict:
    """Nothing against the pod."""
    return Verdict(Admit())


def reject(reason: str, message: str) -> Verdict:
    """The pod may never run here: a new one's phase becomes Failed with this CamelCase reason and this sentence."""
    return Verdict(Reject(reason, message))


def reject_first(reason: str, objections: Iterable[str]) -> Verdict:
    """Rejects with the first of these objections; admits where there is none."""
    return next((reject(reason, message) for message in objections), admit())


def defer(reason: str, message: str, seconds: float) -> Verdict:
    """Not now: the pod waits, and is asked about again after that time (within a second and an hour) or when the node changes."""
    return Verdict(Defer(reason, message, round(seconds * 1000)))


def shortages(lacking: Iterable[Shortage]) -> Verdict:
    """The node lacks these resources; without any, the pod is admitted. The host preempts others for a critical pod."""
    return Verdict(tuple(lacking) or Admit())


# ---- Handlers ----


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
class AdmissionHandler:
    """A handler. Its annotated names are the fields of the plugin's `config:`, in camelCase: texts, numbers, booleans, lists, dicts of
    them, and dataclasses; one with a default may be left out, one that isn't there is refused."""

    subscribes: ClassVar[tuple[str, ...]] = ("add", "update", "ephemeral")
    """What it is asked about: by default all that brings containers or images."""

    def __init_subclass__(cls) -> None:
        dataclass(frozen=True)(cls)

    def validate(self, setup: Setup) -> None:
        """Whether it can work with its configuration. Raises HandlerError."""

    def admit(self, request: Request) -> Verdict:
        """The verdict: a function of the request and the configuration. Raises HandlerError where there is none."""
        raise NotImplementedError


def exported(*handlers: type[AdmissionHandler]) -> type[exports.Handler]:
    """What a component exports: `Handler = exported(Pinned)` in app.py. Of several handlers the field `policy` of the configuration picks
    one by its name, such as `noLatestTag` of the class NoLatestTag. An exception other than HandlerError is a trap."""
    # An instance has one configuration all its life.
    configured = lru_cache(maxsize=1)(lambda text: made(handlers, text))

    class Handler(exports.Handler):
        def validate(self, setup: Setup, config: str) -> None:
            with in_words():
                load(made(handlers, config), setup)

        def admit(self, request: Request, answer: Answer) -> None:
            with in_words():
                configured(configuration.get()).admit(request).say(answer)

    return Handler


def made(handlers: tuple[type[AdmissionHandler], ...], config: str) -> AdmissionHandler:
    """The handler that a configuration makes. Raises HandlerError."""
    value = object_of(config)
    handler = handlers[0]
    if len(handlers) > 1:
        by_name = {camel(handler.__name__): handler for handler in handlers}
        name = value.pop("policy", None) if isinstance(value, dict) else None
        if not isinstance(name, str) or name not in by_name:
            raise invalid("policy", f"{json.dumps(name)} is none of {', '.join(by_name)}")
        handler = by_name[name]
    return cast(AdmissionHandler, decoded(handler, value))


def load(handler: AdmissionHandler, setup: Setup) -> None:
    """Says to the host what a handler is to be asked about. Raises HandlerError."""
    for operation in handler.subscribes:
        setup.subscribe(operation)
    handler.validate(setup)


# ---- What policies ask of pods ----


class HasPointer(Protocol):
    """A pod, a container, a volume or a node."""

    def pointer(self, path: str) -> str | None: ...


def at(thing: HasPointer, path: str) -> Any:
    """The value at a JSON pointer from there on; None where nothing is."""
    found = thing.pointer(path)
    return None if found is None else json.loads(found)


def shown(thing: Container | Image | Volume) -> str:
    """For messages: `init container "setup"`, `image "docker.io/library/nginx:latest" (spec.containers[0].image)`, `volume "data"`."""
    name = json.dumps(thing.name(), ensure_ascii=False)
    match thing:
        case Image():
            return f"image {name} ({thing.place()})"
        case Volume():
            return f"volume {name}"
        case _:
            kind = thing.kind()
            return f"{ {'app': 'container', 'sidecar': 'sidecar'}.get(kind, f'{kind} container') } {name}"


def is_within(image: Image, place: str) -> bool:
    """Whether an image is in this registry, or below this path of one: `docker.io`, `docker.io/library`. In whole parts."""
    registry, repository = image.registry(), image.repository()
    return registry is not None and repository is not None and f"{registry}/{repository}/".startswith(f"{place}/")


def controller(pod: Pod) -> Owner | None:
    """The owner that manages a pod."""
    return next((owner for owner in pod.owners() if owner.is_controller()), None)
