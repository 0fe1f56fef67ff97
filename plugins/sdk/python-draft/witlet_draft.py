"""Admission handlers for the draft of contract 0.2: `witlet:admission@0.2.0-draft.1`.

    class Pinned(AdmissionHandler):
        def admit(self, request: Request) -> Verdict:
            unpinned = (image for image in request.pod().images() if image.digest() is None)
            return reject_first("NotPinned", (f"{shown(image)} has no digest" for image in unpinned))

    Handler = exported(Pinned)

A draft may change with any release, and so may this module. It needs the standard library alone.
"""

import json
import types
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import MISSING, dataclass, field, fields, is_dataclass, replace
from functools import lru_cache
from typing import Any, ClassVar, Final, Protocol, Self, TypeVar, cast, dataclass_transform, get_args, get_origin, get_type_hints

from componentize_py_types import Err
from wit_world import exports
from wit_world.imports import config as configuration
from wit_world.imports import errors
from wit_world.imports.types import Answer, Container, Image, Owner, Pod, Request, Setup, Volume

T = TypeVar("T")

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
        """With something for those who look at the decision later, under `<plugin>/<key>`. The last value of a key counts."""
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
    """The node lacks these resources; without any, the pod is admitted. The host makes room for a critical pod."""
    return Verdict(tuple(lacking) or Admit())


# ---- Errors ----

INVALID_CONFIGURATION: Final = "InvalidConfiguration"


class HandlerError(Exception):
    """There is no verdict, or the configuration is refused: a CamelCase word for programs, a sentence for people, and what else is known."""

    def __init__(self, code: str, message: str, *, retry_after_milliseconds: int | None = None, details: dict[str, str] | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.retry_after_milliseconds = retry_after_milliseconds
        self.details = details or {}

    def of_host(self) -> errors.Error:
        """The contract's error."""
        made = errors.Error(self.code, self.message)
        if self.retry_after_milliseconds is not None:
            made.set_retry_after_milliseconds(self.retry_after_milliseconds)
        for key, value in self.details.items():
            made.set_detail(key, value)
        return made


def invalid(name: str, problem: str) -> HandlerError:
    """The error of a field of the configuration that makes no sense to the handler."""
    return HandlerError(INVALID_CONFIGURATION, f"{name}: {problem}")


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
            with _in_words():
                load(made(handlers, config), setup)

        def admit(self, request: Request, answer: Answer) -> None:
            with _in_words():
                configured(configuration.get()).admit(request).say(answer)

    return Handler


def made(handlers: tuple[type[AdmissionHandler], ...], config: str) -> AdmissionHandler:
    """The handler that a configuration makes. Raises HandlerError."""
    try:
        value = json.loads(config)
    except ValueError as error:
        raise HandlerError(INVALID_CONFIGURATION, f"no JSON: {error}") from error
    value = {} if value is None else value
    handler = handlers[0]
    if len(handlers) > 1:
        by_name = {_camel(handler.__name__): handler for handler in handlers}
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


@contextmanager
def _in_words() -> Iterator[None]:
    try:
        yield
    except HandlerError as error:
        raise Err(error.of_host()) from error


# ---- Configuration ----

_SCALARS: Final[dict[object, str]] = {str: "a text", int: "a whole number", bool: "true or false", float: "a number"}


def decoded(kind: Any, value: Any, path: str = "") -> Any:
    """The value of a type that JSON says. Raises HandlerError, which names the field."""
    if kind is Any:
        return value
    if is_dataclass(kind):
        return _of_fields(kind, value, path)
    if kind in _SCALARS:
        # For Python, true is a number, and a whole number is no float.
        fits = isinstance(value, bool) == (kind is bool) and isinstance(value, (int, float) if kind is float else kind)
        return _fitting(fits, path, _SCALARS[kind], value)
    parts = get_args(kind)
    match get_origin(kind):
        case builtin if builtin is list:
            items = _fitting(isinstance(value, list), path, "a list", value)
            return [decoded(parts[0], item, f"{path}[{index}]") for index, item in enumerate(items)]
        case builtin if builtin is dict:
            entries = _fitting(isinstance(value, dict), path, "an object", value)
            return {key: decoded(parts[1], item, f"{path}.{key}") for key, item in entries.items()}
        case union if union is types.UnionType and types.NoneType in parts:
            return None if value is None else decoded(next(part for part in parts if part is not types.NoneType), value, path)
    raise TypeError(f"{path or kind}: no configuration is of the type {kind}")


def _of_fields(kind: Any, value: Any, path: str) -> Any:
    _fitting(isinstance(value, dict), path or "the configuration", "an object", value)
    types_of, taken = get_type_hints(kind), {}
    known = {_camel(part.name): part for part in fields(kind)}
    for name in value:
        if name not in known:
            raise invalid(f"{path}.{name}".lstrip("."), f"unknown field, expected {' or '.join(known) or 'none'}")
    for name, part in known.items():
        place = f"{path}.{name}".lstrip(".")
        if name in value:
            taken[part.name] = decoded(types_of[part.name], value[name], place)
        elif part.default is MISSING and part.default_factory is MISSING:
            raise invalid(place, "is missing")
    return kind(**taken)


def _fitting(fits: bool, path: str, expected: str, value: T) -> T:
    if not fits:
        raise invalid(path, f"must be {expected}")
    return value


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first[:1].lower() + first[1:] + "".join(part.capitalize() for part in rest)


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
    """The owner that looks after a pod."""
    return next((owner for owner in pod.owners() if owner.is_controller()), None)
