"""A folder of manifests: which files count, and what is wrong with one."""

import json
import os
import re
from pathlib import Path

import witlet

FILE_BYTES_MAX = 1 << 20
DEPTH_MAX = 128
"""Objects and arrays in each other. The decoder takes a piece of the stack for each, and a component's stack is small."""

STRING_OR_BRACKET = re.compile(r'"(?:[^"\\]++|\\.)*+"|[\[{]|[\]}]', re.DOTALL)


class Unreadable(Exception):
    """The folder or a file can't be read now."""


class Invalid(Exception):
    """A file is no pod."""


def read(folder: Path) -> dict[str, bytes]:
    """The folder's manifests by their names, in the order of these names' bytes. Raises Unreadable."""
    try:
        with os.scandir(folder) as entries:
            names = [entry.name for entry in entries if counts(entry.name) and entry.is_file()]
    except OSError as error:
        raise Unreadable(f"{folder}: {error.strerror or error}") from error
    return {name: contents(folder / name) for name in sorted(names, key=os.fsencode)}


def counts(name: str) -> bool:
    return name.endswith(".json") and not name.startswith(".")


def contents(path: Path) -> bytes:
    """Never more than one byte beyond what is allowed. Raises Unreadable."""
    try:
        with path.open("rb") as file:
            return file.read(FILE_BYTES_MAX + 1)
    except OSError as error:
        raise Unreadable(f"{path}: {error.strerror or error}") from error


def fingerprint(files: dict[str, bytes]) -> str:
    """The same for the same names and contents, and another for others."""
    return witlet.fingerprint(part for name, text in files.items() for part in (os.fsencode(name), text))


def manifest(name: str, text: bytes) -> str:
    """A file as the manifest of a pod. What is wrong with the pod itself is the host's to say. Raises Invalid."""
    if len(text) > FILE_BYTES_MAX:
        raise Invalid(f"{name} is larger than {FILE_BYTES_MAX} bytes")
    try:
        pod = text.decode()
        if depth(pod) > DEPTH_MAX:
            raise Invalid(f"{name} is nested deeper than {DEPTH_MAX} levels")
        match json.loads(pod):
            case {"kind": "Pod"}:
                return pod
            case dict():
                raise Invalid(f"{name}: its kind isn't Pod")
            case _:
                raise Invalid(f"{name} is no JSON object")
    except UnicodeDecodeError as error:
        raise Invalid(f"{name} isn't UTF-8") from error
    except ValueError as error:
        raise Invalid(f"{name} is no JSON: {error}") from error


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
