"""Example of contract 0.2: a pod source. Every file NAME.json of a folder is one pod.

Configuration: {"folder": "/pods"}, a folder that the grant `files` gives the plugin.
"""

import json
import os
import re
from pathlib import Path

from wit_world import exports
from wit_world.imports import log
from wit_world.imports.source_types import News, Setup

from witlet import fingerprint
from witlet_source import Change, HandlerError, PodSource, Poll, exported, invalid, notified, pods, unchanged

FILE_BYTES_MAX = 1 << 20
DEPTH_MAX = 128
"""Objects and arrays in each other. The decoder takes a piece of the stack for each, and a component's stack is small."""

STRING_OR_BRACKET = re.compile(r'"(?:[^"\\]++|\\.)*+"|[\[{]|[\]}]', re.DOTALL)


class Folder(PodSource):
    """The pods of a folder."""

    folder: str

    def validate(self, setup: Setup) -> None:
        if not self.folder.startswith("/"):
            raise invalid("folder", "must be an absolute path")

    def poll(self, cursor: str | None) -> Poll:
        files = read(Path(self.folder))
        now = fingerprint(part for name, text in files.items() for part in (os.fsencode(name), text))
        if now == cursor:
            return unchanged().at(now)
        return pods(manifest(name, text) for name, text in files.items()).at(now)

    def notify(self, news: list[Change]) -> None:
        for pod in news:
            if pod.is_refused:
                line = f"pod {pod.namespace}/{pod.name} isn't run: {pod.reason}: {pod.message}"
                log.write(log.Level.WARN, line, [])


def read(folder: Path) -> dict[str, bytes]:
    """The folder's manifests by their names, in the order of these names' bytes. Raises HandlerError."""
    try:
        with os.scandir(folder) as entries:
            names = [entry.name for entry in entries if counts(entry.name) and entry.is_file()]
        # One byte more than is allowed is enough to refuse a file.
        return {name: contents(folder / name) for name in sorted(names, key=os.fsencode)}
    except OSError as error:
        # An error is never "no pods": those of the last good poll go on.
        raise HandlerError("Unavailable", f"{error.filename or folder}: {error.strerror or error}") from error


def counts(name: str) -> bool:
    return name.endswith(".json") and not name.startswith(".")


def contents(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(FILE_BYTES_MAX + 1)


def manifest(name: str, text: bytes) -> str:
    """A file as the manifest of a pod. What is wrong with the pod itself is the host's to say. Raises HandlerError."""
    if len(text) > FILE_BYTES_MAX:
        raise HandlerError("Invalid", f"{name}: must have at most {FILE_BYTES_MAX} bytes")
    try:
        pod = text.decode()
        if depth(pod) > DEPTH_MAX:
            raise HandlerError("Invalid", f"{name} is nested deeper than {DEPTH_MAX} levels")
        kind = json.loads(pod).get("kind")
    except (ValueError, AttributeError) as error:
        raise HandlerError("Invalid", f"{name} is no JSON object: {error}") from error
    if kind != "Pod":
        raise HandlerError("Invalid", f"{name} is no object of kind Pod")
    return pod


def depth(text: str) -> int:
    """How deep JSON is nested."""
    deepest = level = 0
    for found in STRING_OR_BRACKET.finditer(text):
        match found[0]:
            case "{" | "[":
                level += 1
                deepest = max(deepest, level)
            case "}" | "]":
                level -= 1
    return deepest


Source = exported(Folder)


class Feedback(exports.Feedback):
    """Which of its pods aren't run."""

    def notify(self, news: News) -> None:
        notified(Folder, news)
