"""Pod sources for contract 0.2: `witlet:pod-source@0.2.0`.

    class Folder(PodSource):
        folder: str

        def poll(self, cursor: str | None) -> Poll:
            ...
            return pods(manifests).at(fingerprint(manifests))

    Source = exported(Folder)

    class Feedback(exports.Feedback):  # in a world with feedback
        def notify(self, news: News) -> None:
            notified(Folder, news)

It needs the standard library alone.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Literal, Self, cast, dataclass_transform

from wit_world import exports
from wit_world.imports import config as configuration
from wit_world.imports.source_types import Answer, News, Setup
from witlet_values import HandlerError as HandlerError
from witlet_values import decoded, in_words, object_of
from witlet_values import invalid as invalid

# ---- Answers ----


@dataclass(frozen=True)
class Poll:
    """What a source has now. Made by the functions below."""

    snapshot: Literal["pods", "empty", "unchanged"]
    manifests: tuple[str, ...] = ()
    cursor: str | None = None
    next_poll_milliseconds: int | None = None

    def at(self, cursor: str) -> Self:
        """With what is handed to the next poll; at most 4 KiB."""
        return replace(self, cursor=cursor)

    def after(self, seconds: float) -> Self:
        """With when to ask again; without, after the configured interval."""
        return replace(self, next_poll_milliseconds=round(seconds * 1000))

    def say(self, answer: Answer) -> None:
        """Says it to the host."""
        match self.snapshot:
            case "pods":
                for manifest in self.manifests:
                    answer.pod(manifest)
            case "empty":
                answer.empty()
            case "unchanged":
                answer.unchanged()
        if self.cursor is not None:
            answer.cursor(self.cursor)
        if self.next_poll_milliseconds is not None:
            answer.next_poll_milliseconds(self.next_poll_milliseconds)


def pods(manifests: Iterable[str]) -> Poll:
    """These pods, a manifest as JSON or YAML text each, and no others. Without any, the pods of the source end."""
    all_of_them = tuple(manifests)
    return Poll("pods" if all_of_them else "empty", all_of_them)


def unchanged() -> Poll:
    """The same as at the last poll that gave pods or none."""
    return Poll("unchanged")


# ---- News ----


@dataclass(frozen=True)
class Change:
    """News of one of the source's pods. The texts that there is nothing for are empty."""

    kind: str
    """`status`, `gone` or `left-out`; more may come."""
    namespace: str = ""
    name: str = ""
    uid: str = ""
    phase: str = ""
    reason: str = ""
    message: str = ""
    status: str | None = None
    """The whole status as JSON."""

    @property
    def is_refused(self) -> bool:
        """Whether the pod isn't run, and won't be as it is: it is left out, or it failed."""
        return self.kind == "left-out" or self.phase == "Failed"


def changes(news: News) -> list[Change]:
    """All that the host tells."""
    reported = []
    while (it := news.next()) is not None:
        reported.append(
            Change(it.kind(), it.namespace(), it.name(), it.uid(), it.phase(), it.reason(), it.message(), it.status())
        )
    return reported


# ---- Sources ----


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
class PodSource:
    """A pod source. Its annotated names are the fields of the plugin's `config:`, in camelCase there."""

    def __init_subclass__(cls) -> None:
        dataclass(frozen=True)(cls)

    def validate(self, setup: Setup) -> None:
        """Whether it can work with its configuration. Raises HandlerError."""

    def poll(self, cursor: str | None) -> Poll:
        """What it has now, all of it. Raises HandlerError where it can't tell, and then its last pods go on."""
        raise NotImplementedError

    def notify(self, news: list[Change]) -> None:
        """Receives news of its pods. Raises HandlerError to be notified again."""


def exported(kind: type[PodSource]) -> type[exports.Source]:
    """What a component exports: `Source = exported(Folder)` in app.py. An exception other than HandlerError is a trap."""
    # An instance has one configuration all its life.
    configured: Callable[[str], PodSource] = lru_cache(maxsize=1)(lambda text: made(kind, text))

    class Source(exports.Source):
        def validate(self, setup: Setup, config: str) -> None:
            with in_words():
                made(kind, config).validate(setup)

        def poll(self, cursor: str | None, answer: Answer) -> None:
            with in_words():
                configured(configuration.get()).poll(cursor).say(answer)

    return Source


def notified(kind: type[PodSource], news: News) -> None:
    """Hands a source its news, as a component with feedback does: `exports.Feedback.notify` calls it."""
    with in_words():
        made(kind, configuration.get()).notify(changes(news))


def made(kind: type[PodSource], config: str) -> PodSource:
    """The source that a configuration makes. Raises HandlerError."""
    return cast(PodSource, decoded(kind, object_of(config)))
