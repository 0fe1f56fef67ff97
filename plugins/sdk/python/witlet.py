"""What plugins in Python have in common: configuration, quantities, fingerprints, connections and HTTP with a deadline.

A project has this file as it was when `witlet plugin new` or `witlet plugin upgrade` wrote it. It needs the standard library alone.
"""

# A component has the modules that were imported while it was made. `socket` looks up this one when it is used.
import encodings.idna as _idna  # noqa: F401
import hashlib
import json
import re
import socket
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, is_dataclass
from types import TracebackType
from typing import Any, Final, Generic, Protocol, Self, TypeVar

from componentize_py_types import Err

T = TypeVar("T")

# ---- Configuration and parameters ----


class Invalid(ValueError):
    """A configuration or parameters can't be taken. The text is for the operator."""


@contextmanager
def in_words() -> Iterator[None]:
    """Makes the host's error of a ValueError: `with in_words(): Config.parse(text)` is all of a `validate`."""
    try:
        yield
    except ValueError as error:
        raise Err(str(error)) from error


class Once(Generic[T]):
    """Parses a text once and not again while it stays the same: an instance that is kept has one configuration all its life."""

    def __init__(self, parse: Callable[[str], T]) -> None:
        self._parse = parse
        self._known: tuple[str, T] | None = None

    def __call__(self, text: str) -> T:
        """What the text says. Raises what parsing raises, each time."""
        if self._known is None or self._known[0] != text:
            self._known = (text, self._parse(text))
        return self._known[1]


class _Required:
    pass


_REQUIRED: Final = _Required()


class Fields:
    """The fields of a JSON object. Each is taken by its name and type; what no one took is unknown."""

    def __init__(self, fields: dict[str, Any], path: str = "") -> None:
        self._fields = fields
        self._path = path
        self._taken: list[str] = []

    @classmethod
    def parse(cls, text: str, *, or_none: bool = False) -> Self:
        """Of an object; with `or_none` null has no fields. Raises Invalid."""
        try:
            value = json.loads(text)
        except ValueError as error:
            raise Invalid(f"no JSON: {error}") from error
        if value is None and or_none:
            return cls({})
        if not isinstance(value, dict):
            raise Invalid("an object is needed")
        return cls(value)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if kind is None:
            self.end()

    def end(self) -> None:
        """Raises Invalid if there are fields that no one took. The end of a `with` does so."""
        for name in self._fields:
            if name not in self._taken:
                expected = " or ".join(self._taken) or "none"
                raise Invalid(f"unknown field {self._path}{name}, expected {expected}")

    def text(self, name: str, default: str | _Required = _REQUIRED, *, length_max: int = 1 << 20) -> str:
        """A text that isn't empty. Raises Invalid."""
        value = self._take(name, default)
        if not isinstance(value, str):
            raise self.invalid(name, "must be a text")
        # The plugin knows what its own default means.
        if name in self._fields and not 1 <= len(value) <= length_max:
            raise self.invalid(name, "may not be empty" if not value else f"must have at most {length_max} characters")
        return value

    def integer(self, name: str, default: int | _Required = _REQUIRED, *, least: int, most: int) -> int:
        """A whole number. Raises Invalid."""
        value = self._take(name, default)
        # For Python, true is a number.
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            raise self.invalid(name, f"must be a whole number from {least} to {most}")
        return value

    def port(self, name: str = "port", default: int | _Required = _REQUIRED) -> int:
        """The number of a port. Raises Invalid."""
        return self.integer(name, default, least=1, most=65535)

    def boolean(self, name: str, default: bool | _Required = _REQUIRED) -> bool:
        """Raises Invalid."""
        value = self._take(name, default)
        if not isinstance(value, bool):
            raise self.invalid(name, "must be true or false")
        return value

    def items(self, name: str, default: list[Any] | _Required = _REQUIRED) -> list[Any]:
        """A list of anything. Raises Invalid."""
        value = self._take(name, default)
        if not isinstance(value, list):
            raise self.invalid(name, "must be a list")
        return value

    def texts(self, name: str, default: list[str] | _Required = _REQUIRED) -> list[str]:
        """A list of texts that aren't empty. Raises Invalid."""
        items = self.items(name, default)
        for index, item in enumerate(items):
            if not isinstance(item, str) or not item:
                raise self.invalid(f"{name}[{index}]", "must be a text that isn't empty")
        return items

    def invalid(self, name: str, problem: str) -> Invalid:
        """The error that says what is wrong with a field."""
        return Invalid(f"{self._path}{name}: {problem}")

    def _take(self, name: str, default: object) -> Any:
        self._taken.append(name)
        if name in self._fields:
            return self._fields[name]
        if isinstance(default, _Required):
            raise self.invalid(name, "is missing")
        return default


# ---- Kubernetes' quantities ----

_QUANTITY = re.compile(r"([+-]?)(?=\.?[0-9])([0-9]*)\.?([0-9]*)([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]{1,4})?", re.ASCII)
_QUANTITY_LENGTH_MAX = 64
_BINARY = "KMGTPE"
_DECIMAL = {"n": -9, "u": -6, "m": -3, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}


def quantity(text: str, scale: int = 1) -> int:
    """A quantity times `scale`, rounded away from zero as Kubernetes does: `quantity("1Ki")` is 1024, `quantity("250m", 1000)` is 250.

    Raises Invalid.
    """
    found = _QUANTITY.fullmatch(text) if len(text) <= _QUANTITY_LENGTH_MAX else None
    if found is None:
        raise Invalid(f"{text[:_QUANTITY_LENGTH_MAX]!r} is no quantity, such as 250m or 1Gi")
    sign, whole, fraction, unit = found[1], found[2], found[3], found[4] or ""
    number, exponent = int(whole + fraction) * scale, -len(fraction)
    if unit.endswith("i"):
        number *= 1 << 10 * (_BINARY.index(unit[0]) + 1)
    else:
        exponent += int(unit[1:]) if len(unit) > 1 else _DECIMAL.get(unit, 0)
    # The exponent is of four digits at most, so that this is a number of some kilobytes.
    number = number * _power(exponent) if exponent >= 0 else -(-number // _power(-exponent))
    return -number if sign == "-" else number


def _power(exponent: int) -> int:
    power: int = 10**exponent
    return power


# ---- Pod sources ----


def fingerprint(parts: Iterable[str | bytes]) -> str:
    """The same for the same parts in the same order, and another for others: a cursor for the next poll."""
    digest = hashlib.sha256()
    for part in parts:
        contents = part.encode() if isinstance(part, str) else part
        # With its length before it, so that no two sets of parts run together alike.
        digest.update(len(contents).to_bytes(8))
        digest.update(contents)
    return digest.hexdigest()


# ---- Connections that end in time ----

_LINE_END = b"\r\n"


class HasDeadline(Protocol):
    """A probe's target."""

    def remaining_milliseconds(self) -> int: ...


def remaining(target: HasDeadline) -> float:
    """Seconds that a probe has left; never 0, which a socket takes for another mode."""
    return max(target.remaining_milliseconds(), 1) / 1000


class NoAnswer(Exception):
    """The server didn't do what was expected; the text says what it did. `code` is the host's word for it, if the host has one."""

    def __init__(self, message: str, code: str = "") -> None:
        super().__init__(message)
        self.code = code


class Lines:
    """Bytes and lines of what a connection receives. Each call raises NoAnswer."""

    def __init__(self) -> None:
        self._received = b""
        self._is_closed = False

    def send(self, data: bytes) -> None:
        """Sends all of it. That the server has closed isn't an error yet: it may have said why before, which reading tells."""
        raise NotImplementedError

    def more(self, length: int) -> bytes:
        """Waits for what comes next, at most so many bytes; none once the server has closed."""
        raise NotImplementedError

    def read(self, length: int) -> bytes:
        """So many bytes, or fewer where the server closes."""
        while len(self._received) < length and self._receive(length - len(self._received)):
            pass
        data, self._received = self._received[:length], self._received[length:]
        return data

    def line(self, length_max: int = 1024) -> bytes:
        """A line that ends with CR and LF, without its end."""
        while _LINE_END not in self._received:
            if len(self._received.removesuffix(b"\r")) > length_max:
                raise NoAnswer(f"the answer is longer than {length_max} bytes")
            if not self._receive(length_max):
                raise NoAnswer("the server closed the connection")
        line, _, self._received = self._received.partition(_LINE_END)
        if len(line) > length_max:
            raise NoAnswer(f"the answer is longer than {length_max} bytes")
        return line

    def _receive(self, length: int) -> bool:
        if self._is_closed:
            return False
        more = self.more(length)
        self._is_closed = not more
        self._received += more
        return bool(more)


class Connection(Lines):
    """TCP to one server, until `seconds` says that no time is left. Without TLS, for which there is `witlet_connections`."""

    def __init__(self, address: str, port: int, seconds: Callable[[], float]) -> None:
        super().__init__()
        self._seconds = seconds
        try:
            self._socket = socket.create_connection((address, port), timeout=seconds())
        except OSError as error:
            raise NoAnswer(f"connect to port {port}: {words(error)}") from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._socket.close()

    def send(self, data: bytes) -> None:
        try:
            self._socket.settimeout(self._seconds())
            self._socket.sendall(data)
        except TimeoutError as error:
            raise NoAnswer(words(error)) from error
        except OSError:
            pass

    def more(self, length: int) -> bytes:
        try:
            self._socket.settimeout(self._seconds())
            return self._socket.recv(length)
        except OSError as error:
            raise NoAnswer(f"read the answer: {words(error)}") from error


def words(error: OSError) -> str:
    """What the system says, in small letters."""
    return "no answer in time" if isinstance(error, TimeoutError) else (error.strerror or str(error)).lower()


# ---- HTTP/1.1 over such a connection ----

HEADERS_MAX = 100
HEADER_BYTES_MAX = 8 << 10


@dataclass(frozen=True)
class Response:
    """What a server answers."""

    status: int
    headers: dict[str, str]
    """By their names in small letters; of several with one name the last."""
    body: bytes


def http_get(
    connection: Lines, host: str, path: str = "/", headers: dict[str, str] | None = None, *, body_bytes_max: int = 64 << 10
) -> Response:
    """GET, and the answer with a body that is cut after so many bytes. The connection serves no other request. Raises NoAnswer."""
    fields = {"Host": host, "User-Agent": "witlet", "Accept": "*/*", "Connection": "close"} | (headers or {})
    lines = [f"GET {path} HTTP/1.1", *(f"{name}: {value}" for name, value in fields.items())]
    if any(letter < " " or letter == "\x7f" for line in lines for letter in line):
        raise NoAnswer("the request has control characters")
    connection.send("\r\n".join([*lines, "", ""]).encode())
    while True:
        status, answered = _head(connection)
        # Answers that announce another one.
        if not 100 <= status < 200:
            break
    return Response(status, answered, b"" if status in (204, 304) else _body(connection, answered, body_bytes_max))


def _head(connection: Lines) -> tuple[int, dict[str, str]]:
    first = connection.line(HEADER_BYTES_MAX).decode("latin-1")
    match first.split(" ", 2):
        case [version, code, *_] if version in ("HTTP/1.0", "HTTP/1.1") and re.fullmatch("[1-9][0-9]{2}", code, re.ASCII):
            status = int(code)
        case _:
            raise NoAnswer(f"the server doesn't speak HTTP: {first[:64]!r}")
    headers: dict[str, str] = {}
    for _ in range(HEADERS_MAX + 1):
        line = connection.line(HEADER_BYTES_MAX).decode("latin-1")
        if not line:
            return status, headers
        name, colon, value = line.partition(":")
        if not colon:
            raise NoAnswer(f"no header: {line[:64]!r}")
        headers[name.lower()] = value.strip(" \t")
    raise NoAnswer(f"the answer has more than {HEADERS_MAX} headers")


def _body(connection: Lines, headers: dict[str, str], bytes_max: int) -> bytes:
    if headers.get("transfer-encoding", "").lower() == "chunked":
        body = b""
        while len(body) < bytes_max and (length := _number(connection.line().partition(b";")[0], 16)):
            body += connection.read(min(length, bytes_max - len(body)))
            if len(body) < bytes_max and connection.line():
                raise NoAnswer("a chunk of the answer has another length than it says")
        return body
    declared = headers.get("content-length")
    if declared is None:
        return connection.read(bytes_max)
    desired = min(_number(declared.encode(), 10), bytes_max)
    body = connection.read(desired)
    if len(body) < desired:
        raise NoAnswer("the server closed the connection")
    return body


def _number(digits: bytes, base: int) -> int:
    if not re.fullmatch(rb"[0-9a-fA-F]{1,15}" if base == 16 else rb"[0-9]{1,15}", digits.strip()):
        raise NoAnswer(f"no length: {digits[:64]!r}")
    return int(digits, base)


# ---- What is asked for by an URL, and what the host says when there is no answer: for `witlet_http` ----

_URL = re.compile(r"(https?)://((?:\[[0-9a-f:.]+\]|[^/?#@:\[\]\s]+)(?::[0-9]{1,5})?)([/?][^#]*)?(?:#.*)?", re.IGNORECASE | re.ASCII)
_URL_SHOWN_MAX = 256


def url_parts(url: str) -> tuple[str, str, str]:
    """Scheme, host with port, and path with query, of an URL of http or https. What follows a # is no part of a request. Raises NoAnswer."""
    found = _URL.fullmatch(url)
    if found is None:
        raise NoAnswer(f"{url[:_URL_SHOWN_MAX]!r} is no URL of http or https with a host and without a user")
    rest = found[3] or ""
    return found[1].lower(), found[2], rest if rest.startswith("/") else f"/{rest}"


def http_error(code: Any, authority: str) -> NoAnswer:
    """An `error-code` of `wasi:http` in words. Bindings have a class for each, such as `ErrorCode_ConnectionRefused`."""
    name = type(code).__name__.partition("_")[2]
    parts = [part.upper() if part in ("Dns", "Http", "Ip", "Tls", "Uri") else part.lower() for part in re.findall("[A-Z][a-z]*", name)]
    word = "-".join(parts)
    if name == "HttpRequestDenied":
        return NoAnswer(f"asking {authority} isn't granted to the plugin", word)
    detail = getattr(code, "value", None)
    if name == "InternalError" and detail:
        return NoAnswer(f"{authority}: {detail}", word)
    details = vars(detail).values() if is_dataclass(detail) else [detail]
    said = ", ".join(str(value) for value in details if value is not None)
    return NoAnswer(f"{authority}: {' '.join(parts)}" + (f" ({said})" if said else ""), word)
