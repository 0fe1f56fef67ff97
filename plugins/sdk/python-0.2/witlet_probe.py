"""Probe types for contract 0.2: `witlet:probe@0.2.0`.

    class Greets(ProbeType):
        @dataclass(frozen=True)
        class Parameters:
            port: int

        def probe(self, target: Target, parameters: Parameters) -> Outcome:
            ...
            return success("")

    Prober = exported(Greets)

 It needs the standard library alone.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, ClassVar, Literal, Self, cast, dataclass_transform

from wit_world import exports
from wit_world.imports import config as configuration
from wit_world.imports.probe_types import Answer, Check, Setup, Target
from witlet_values import HandlerError as HandlerError
from witlet_values import decoded, in_words, object_of
from witlet_values import invalid as invalid

# ---- Outcomes ----


@dataclass(frozen=True)
class Outcome:
    """What a probe found, and what is said in addition. Made by the functions below."""

    found: Literal["success", "failure", "unknown"]
    message: str
    warnings: tuple[str, ...] = ()
    annotations: tuple[tuple[str, str], ...] = ()
    latency_nanoseconds: int | None = None

    def warn(self, message: str) -> Self:
        """With a sentence for the pod's owner. The host keeps 16."""
        return replace(self, warnings=(*self.warnings, message))

    def annotate(self, key: str, value: str) -> Self:
        """With something for those who check the call later. The last value of a key counts."""
        return replace(self, annotations=(*self.annotations, (key, value)))

    def latency(self, seconds: float) -> Self:
        """With how long the probed thing took to answer."""
        return replace(self, latency_nanoseconds=round(seconds * 1e9))

    def say(self, answer: Answer) -> None:
        """Says it to the host."""
        match self.found:
            case "success":
                answer.success(self.message)
            case "failure":
                answer.failure(self.message)
            case "unknown":
                answer.unknown(self.message)
        for message in self.warnings:
            answer.warn(message)
        for key, value in self.annotations:
            answer.annotate(key, value)
        if self.latency_nanoseconds is not None:
            answer.latency(self.latency_nanoseconds)


def success(message: str) -> Outcome:
    """It passes. The message may be empty."""
    return Outcome("success", message)


def failure(message: str) -> Outcome:
    """It fails, and why."""
    return Outcome("failure", message)


def unknown(message: str) -> Outcome:
    """Nothing was found out, and why: the probe is tried again, and then its result stays what it was."""
    return Outcome("unknown", message)


# ---- Probe types ----


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
class ProbeType:
    """A probe type. Its annotated names are the fields of the plugin's `config:`, those of `Parameters` a probe's, both in camelCase and by
    the rules of `witlet_admission.AdmissionHandler`."""

    @dataclass(frozen=True)
    class Parameters:
        """None, unless the probe type has a dataclass of that name."""

    parameters: ClassVar[type[Any]]
    """Its `Parameters`."""

    def __init_subclass__(cls) -> None:
        cls.parameters = cls.Parameters
        dataclass(frozen=True)(cls)

    def validate(self, setup: Setup) -> None:
        """Whether it can work with its configuration. Raises HandlerError."""

    def check_parameters(self, check: Check, parameters: Any) -> None:
        """Whether a probe with these parameters makes sense. Raises HandlerError."""

    def probe(self, target: Target, parameters: Any) -> Outcome:
        """Probes once. Raises HandlerError where the probe itself is wrong."""
        raise NotImplementedError


def exported(kind: type[ProbeType]) -> type[exports.Prober]:
    """What a component exports: `Prober = exported(Greets)` in app.py. An exception other than HandlerError is a trap."""
    # An instance has one configuration all its life.
    configured: Callable[[str], ProbeType] = lru_cache(maxsize=1)(lambda text: made(kind, text))

    class Prober(exports.Prober):
        def validate(self, setup: Setup, config: str) -> None:
            with in_words():
                made(kind, config).validate(setup)

        def check_parameters(self, check: Check, parameters: str) -> None:
            with in_words():
                probe_type = configured(configuration.get())
                probe_type.check_parameters(check, parameters_of(kind, parameters))

        def probe(self, target: Target, parameters: str, answer: Answer) -> None:
            with in_words():
                probe_type = configured(configuration.get())
                probe_type.probe(target, parameters_of(kind, parameters)).say(answer)

    return Prober


def made(kind: type[ProbeType], config: str) -> ProbeType:
    """The probe type that a configuration makes. Raises HandlerError."""
    return cast(ProbeType, decoded(kind, object_of(config)))


def parameters_of(kind: type[ProbeType], text: str) -> Any:
    """What a probe's parameters say. Raises HandlerError."""
    try:
        return decoded(kind.parameters, object_of(text))
    except HandlerError as error:
        raise HandlerError("InvalidParameters", error.message) from error


def address(target: Target) -> str:
    """The pod's primary address. Raises HandlerError while it has none."""
    addresses = target.pod().addresses()
    if not addresses:
        raise HandlerError("NoAddress", "the pod has no address (yet)")
    return addresses[0]
