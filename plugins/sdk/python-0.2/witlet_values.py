"""What plugins of contract 0.2 have in common, whatever their role: errors, and configuration by types.

 It needs the standard library alone.
"""

import json
import types
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import MISSING, fields, is_dataclass
from typing import Any, Final, TypeVar, get_args, get_origin, get_type_hints

from componentize_py_types import Err
from wit_world.imports import errors

T = TypeVar("T")

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


@contextmanager
def in_words() -> Iterator[None]:
    """Makes the host's error of a HandlerError."""
    try:
        yield
    except HandlerError as error:
        raise Err(error.of_host()) from error


def object_of(text: str) -> Any:
    """What a text of JSON says; nothing at all is an object without fields. Raises HandlerError."""
    try:
        value = json.loads(text)
    except ValueError as error:
        raise HandlerError(INVALID_CONFIGURATION, f"no JSON: {error}") from error
    return {} if value is None else value


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
    known = {camel(part.name): part for part in fields(kind)}
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


def camel(name: str) -> str:
    """A name of Python's as the configuration has it."""
    first, *rest = name.split("_")
    return first[:1].lower() + first[1:] + "".join(part.capitalize() for part in rest)
