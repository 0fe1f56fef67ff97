"""A connection to a Redis server: questions, and answers of one line."""

# A component has the modules that were imported while it was made. `socket` looks this one up when it is used.
import encodings.idna as _  # noqa: F401
import socket
from collections.abc import Callable
from types import TracebackType
from typing import Self

LINE_BYTES_MAX = 1024
LINE_END = b"\r\n"
PING = b"PING\r\n"


class NoAnswer(Exception):
    """The server didn't answer with a line; the text says what it did."""


def auth(password: bytes) -> bytes:
    """AUTH as an array: the password may have any bytes."""
    return b"*2\r\n$4\r\nAUTH\r\n$%d\r\n%s\r\n" % (len(password), password)


class Connection:
    """To one server, until `remaining`, in seconds, is used up."""

    def __init__(self, address: str, port: int, remaining: Callable[[], float]) -> None:
        """Raises NoAnswer if nothing listens."""
        self._remaining = remaining
        self._received = b""
        try:
            self._socket = socket.create_connection((address, port), timeout=remaining())
        except OSError as error:
            raise NoAnswer(f"connect to port {port}: {words(error)}") from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._socket.close()

    def ask(self, question: bytes) -> str:
        """The line that the server answers with, without its end. Raises NoAnswer."""
        try:
            self._socket.settimeout(self._remaining())
            self._socket.sendall(question)
        except TimeoutError as error:
            raise NoAnswer(words(error)) from error
        except OSError:
            # The server has closed, but it may have said why before: reading tells.
            pass
        return self._line()

    def _line(self) -> str:
        while LINE_END not in self._received:
            if len(self._received.removesuffix(b"\r")) > LINE_BYTES_MAX:
                raise NoAnswer(f"the answer is longer than {LINE_BYTES_MAX} bytes")
            try:
                self._socket.settimeout(self._remaining())
                more = self._socket.recv(LINE_BYTES_MAX)
            except OSError as error:
                raise NoAnswer(f"read the answer: {words(error)}") from error
            if not more:
                raise NoAnswer("the server closed the connection")
            self._received += more
        line, _, self._received = self._received.partition(LINE_END)
        if len(line) > LINE_BYTES_MAX:
            raise NoAnswer(f"the answer is longer than {LINE_BYTES_MAX} bytes")
        return line.decode(errors="replace")


def words(error: OSError) -> str:
    """What the system says, in small letters."""
    match error:
        case TimeoutError():
            return "no answer in time"
        case _:
            return (error.strerror or str(error)).lower()
