"""HTTP and HTTPS by the host: it resolves names, connects within the grant `network`, and does TLS by the authorities, and with the client
certificate, that the plugin's entry grants. Whatever is waited for ends with the time that is left.

    response = request("https://api.example.com/pods", within(5))

For probe types and pod sources. `wit/world.wit` must have:

    import wasi:clocks/monotonic-clock@0.2.0;
    import wasi:http/outgoing-handler@0.2.0;
"""

import time
from collections.abc import Callable
from typing import Final, Protocol

from componentize_py_types import Err, Ok
from wit_world.imports import outgoing_handler, types
from wit_world.imports.error import Error as StreamError
from wit_world.imports.monotonic_clock import subscribe_duration
from wit_world.imports.poll import Pollable, poll
from wit_world.imports.streams import StreamError_Closed, StreamError_LastOperationFailed

from witlet import NoAnswer, Response, http_error, url_parts

_METHODS: Final[dict[str, Callable[[], types.Method]]] = {
    "GET": types.Method_Get,
    "HEAD": types.Method_Head,
    "POST": types.Method_Post,
    "PUT": types.Method_Put,
    "DELETE": types.Method_Delete,
    "OPTIONS": types.Method_Options,
    "PATCH": types.Method_Patch,
}
_READ_BYTES = 64 << 10


def within(seconds: float) -> Callable[[], float]:
    """So many seconds from now on, as what is left of them at each call."""
    end = time.monotonic() + seconds
    return lambda: max(end - time.monotonic(), 0.001)


def request(
    url: str,
    seconds: Callable[[], float],
    *,
    method: str = "GET",
    headers: dict[str, str] | None = None,
    body: bytes = b"",
    body_bytes_max: int = 64 << 10,
) -> Response:
    """One request, and its answer with a body that is cut after so many bytes. Redirects aren't followed: the answer's `location` says where they
    lead. `seconds` says what time is left: `lambda: remaining(target)` of a probe, `within(5)` elsewhere. Raises NoAnswer, whose `code` is then
    `connection-refused`, `TLS-certificate-error` or another word of wasi:http."""
    scheme, authority, path = url_parts(url)
    sent = types.OutgoingRequest(_fields({"User-Agent": "witlet", "Accept": "*/*"} | (headers or {}), len(body)))
    make = _METHODS.get(method)
    with _refused(f"the request can't be sent: {method} {url}"):
        sent.set_method(make() if make else types.Method_Other(method))
        sent.set_scheme(types.Scheme_Https() if scheme == "https" else types.Scheme_Http())
        sent.set_authority(authority)
        sent.set_path_with_query(path)
    outgoing = sent.body()
    with _said(authority):
        future = outgoing_handler.handle(sent, None)
    with future:
        _write(outgoing, body, seconds)
        with _answered(future, authority, seconds) as response:
            with response.headers() as received:
                # As `witlet.http_get` has them: of several with one name the last.
                named = {name.lower(): value.decode("latin-1") for name, value in received.entries()}
            return Response(response.status(), named, _body(response, authority, seconds, body_bytes_max))


def _fields(headers: dict[str, str], length: int) -> types.Fields:
    entries = [(name, value.encode()) for name, value in headers.items()]
    if length:
        entries.append(("Content-Length", str(length).encode()))
    with _refused("a header can't be sent, because it has other characters than headers may, or is the host's to set"):
        return types.Fields.from_list(entries)


def _write(outgoing: types.OutgoingBody, body: bytes, seconds: Callable[[], float]) -> None:
    """Sends the body. What breaks here is better explained by the answer."""
    if body:
        with outgoing.write() as stream:
            try:
                while body:
                    if (ready := stream.check_write()) > 0:
                        stream.write(body[:ready])
                        body = body[ready:]
                    else:
                        _wait(stream, seconds)
            except Err:
                return
    try:
        types.OutgoingBody.finish(outgoing, None)
    except Err:
        pass


def _answered(future: types.FutureIncomingResponse, authority: str, seconds: Callable[[], float]) -> types.IncomingResponse:
    while (found := future.get()) is None:
        _wait(future, seconds)
    # The outer result is an error only for who asks again.
    match found:
        case Ok(Ok(response)):
            return response
        case Ok(Err(code)):
            raise http_error(code, authority)
        case _:
            raise NoAnswer("the answer was taken")


def _body(response: types.IncomingResponse, authority: str, seconds: Callable[[], float], bytes_max: int) -> bytes:
    received = b""
    # A stream is a child of its body.
    with response.consume() as body, body.stream() as stream:
        while len(received) < bytes_max:
            try:
                more = stream.read(min(bytes_max - len(received), _READ_BYTES))
            except Err as error:
                match error.value:
                    case StreamError_Closed():
                        break
                    case StreamError_LastOperationFailed(cause):
                        raise _broken(cause, authority) from error
                raise
            if not more:
                _wait(stream, seconds)
            received += more
    return received


def _broken(cause: StreamError, authority: str) -> NoAnswer:
    with cause:
        code = types.http_error_code(cause)
    return NoAnswer("the answer breaks off") if code is None else http_error(code, authority)


class _Waits(Protocol):
    def subscribe(self) -> Pollable: ...


def _wait(thing: _Waits, seconds: Callable[[], float]) -> None:
    """Until something has happened, or no time is left."""
    with thing.subscribe() as event, subscribe_duration(round(seconds() * 1e9)) as end:
        if 0 not in poll([event, end]):
            raise NoAnswer("no answer in time")


class _refused:
    """Makes a NoAnswer of what the host doesn't take."""

    def __init__(self, message: str) -> None:
        self._message = message

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, Err):
            raise NoAnswer(self._message) from error


class _said:
    """Makes a NoAnswer of the host's code."""

    def __init__(self, authority: str) -> None:
        self._authority = authority

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, Err):
            raise http_error(error.value, self._authority) from error
