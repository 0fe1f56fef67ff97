"""A probe type that asks by HTTPS, or by a connection of the host's, and says what it was answered."""

from dataclasses import dataclass

from wit_world.imports.probe_types import Check, Target

from witlet import NoAnswer, Response, remaining
from witlet_connections import Connection
from witlet_http import request
from witlet_probe import HandlerError, Outcome, ProbeType, address, exported, failure, success

BODY_BYTES_MAX = 16


class Https(ProbeType):
    @dataclass(frozen=True)
    class Parameters:
        url: str = ""
        method: str = "GET"
        headers: dict[str, str] | None = None
        body: str = ""
        ping: int | None = None
        tls: str | None = None

    def check_parameters(self, check: Check, parameters: Parameters) -> None:
        if parameters.ping is not None and not 1 <= parameters.ping <= 65535:
            raise HandlerError("InvalidParameters", "ping: must be a whole number from 1 to 65535")

    def probe(self, target: Target, parameters: Parameters) -> Outcome:
        try:
            if parameters.ping is not None:
                return success(ping(target, parameters.ping, parameters.tls))
            return judge(
                request(
                    parameters.url,
                    lambda: remaining(target),
                    method=parameters.method,
                    headers=parameters.headers,
                    body=parameters.body.encode(),
                    body_bytes_max=BODY_BYTES_MAX,
                )
            )
        except NoAnswer as error:
            return failure(f"{error.code}: {error}")


def judge(response: Response) -> Outcome:
    said = f"{response.status} {response.headers.get('x-node', '-')} {response.body.decode()}"
    return success(said) if response.status < 300 else failure(said)


def ping(target: Target, port: int, tls: str | None) -> str:
    if tls == "loopback":
        opened = Connection.to_loopback(target, port)
    else:
        opened = Connection(target, address(target), port, server_name=address(target) if tls == "begin" else None)
    with opened as connection:
        if tls == "later":
            connection.start_tls(address(target))
        connection.send(b"PING\r\n")
        return f"{connection.line().decode()}, certificates: {len(connection.certificates())}"


Prober = exported(Https)
