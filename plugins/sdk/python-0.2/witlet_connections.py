"""Connections that the host opens for a probe type: with TLS, from the beginning or later on, and to the loopback interface of the probed pod.

    with Connection(target, host, 993, server_name=host) as connection:
        greeting = connection.line()

`wit/world.wit` must have `import witlet:probe/connections@0.2.0;`. The entry's grant `network` says what is reached, `tlsAuthorities` and
`tlsClientCertificate` by whom and as whom. A connection is of one probe, whose time bounds each of its steps.
"""

from collections.abc import Callable
from types import TracebackType
from typing import Final, Self

from componentize_py_types import Err
from wit_world.imports import connections
from wit_world.imports.errors import Error
from wit_world.imports.probe_types import Target

from witlet import Lines, NoAnswer

_READ_BYTES_MAX: Final = 64 << 10
_GONE: Final = ("Reset", "Closed")


class Connection(Lines):
    """TCP to one server, with TLS once it is started. Each call raises NoAnswer, whose `code` is the contract's word for why: `Refused`,
    `CertificateInvalid` and others."""

    def __init__(self, target: Target, host: str, port: int, *, server_name: str | None = None) -> None:
        """To an address or a name. With `server_name`, the name or address that its certificate must have, TLS begins at once."""
        super().__init__()
        self._connection = _opened(lambda: connections.open(target, host, port))
        if server_name is not None:
            try:
                self.start_tls(server_name)
            except NoAnswer:
                self.close()
                raise

    @classmethod
    def to_loopback(cls, target: Target, port: int) -> Self:
        """To a port of the loopback interface of the probed pod. Needs the network grant `pod-loopback`."""
        made = cls.__new__(cls)
        Lines.__init__(made)
        made._connection = _opened(lambda: connections.open_loopback(target, port))
        return made

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Gives it back to the host."""
        self._connection.__exit__(None, None, None)

    def start_tls(self, server_name: str) -> None:
        """Makes TLS of it, with a server that must be of this name or address."""
        if self._received:
            # What came in the clear would be read as if it had come by TLS.
            raise NoAnswer("the server said more before TLS began")
        try:
            self._connection.start_tls(server_name)
        except Err as error:
            raise _no_answer(error.value) from error

    def send(self, data: bytes) -> None:
        try:
            self._connection.write(data)
        except Err as error:
            failed = _no_answer(error.value)
            if failed.code not in _GONE:
                raise failed from error

    def more(self, length: int) -> bytes:
        try:
            return self._connection.read(min(length, _READ_BYTES_MAX))
        except Err as error:
            raise _no_answer(error.value) from error

    def certificates(self) -> list[bytes]:
        """Those that the server showed, its own first, in DER; none without TLS."""
        return self._connection.peer_certificates()


def _opened(call: Callable[[], connections.Connection]) -> connections.Connection:
    try:
        return call()
    except Err as error:
        raise _no_answer(error.value) from error


def _no_answer(error: Error) -> NoAnswer:
    with error:
        return NoAnswer(error.message(), error.code())
