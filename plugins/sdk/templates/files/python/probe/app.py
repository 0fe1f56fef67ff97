"""A probe type: it connects to a TCP port of the pod and expects a greeting.

Parameters: {"port": 25, "expect": "220 "}.
"""

# A component has the modules that were imported while it was made. `socket` looks this one up when it is used.
import encodings.idna as _  # noqa: F401
import json
import socket
from dataclasses import dataclass
from typing import Self

from componentize_py_types import Err
from wit_world import exports
from wit_world.imports import log
from wit_world.imports.types import Outcome, Outcome_Failure, Outcome_Success, Target

GREETING_BYTES_MAX = 1024


@dataclass(frozen=True)
class Parameters:
    """What a pod's annotation gives."""

    port: int
    expect: str
    """How the greeting begins."""

    @classmethod
    def parse(cls, text: str) -> Self:
        """Raises ValueError in words for people."""
        match json.loads(text):
            case {"port": int(port), "expect": str(expect), **others}:
                if others:
                    raise ValueError(f"unknown parameter {next(iter(others))}, expected port and expect")
                if isinstance(port, bool) or not 1 <= port <= 65535:
                    raise ValueError("port must be from 1 to 65535")
                if not 1 <= len(expect.encode()) <= GREETING_BYTES_MAX:
                    raise ValueError(f"expect must have from 1 to {GREETING_BYTES_MAX} bytes")
                return cls(port, expect)
            case _:
                raise ValueError("port, a whole number, and expect, a text, are needed")


def greeting(target: Target, address: str, parameters: Parameters) -> bytes:
    """What the server says first, as much of it as is expected. Raises OSError."""
    wanted = len(parameters.expect.encode())
    received = b""
    with socket.create_connection((address, parameters.port), timeout=remaining(target)) as connection:
        while len(received) < wanted:
            connection.settimeout(remaining(target))
            more = connection.recv(wanted - len(received))
            if not more:
                break
            received += more
    return received


def remaining(target: Target) -> float:
    """Seconds that the probe has left; never 0, which a socket takes for another mode."""
    return max(target.remaining_milliseconds(), 1) / 1000


def judge(expected: str, received: bytes) -> Outcome:
    text = received.decode(errors="replace")
    if text == expected:
        return Outcome_Success(f"the server greets with {text!r}")
    return Outcome_Failure(f"the server greets with {text!r}, expected {expected!r}")


class Prober(exports.Prober):
    """What the host calls. An exception other than Err is a trap: it counts as a failure of the plugin."""

    def validate(self, config: str) -> None:
        if json.loads(config) is not None:
            raise Err("no configuration is expected: port and expect are parameters of the probe")

    def check_parameters(self, parameters: str) -> None:
        try:
            Parameters.parse(parameters)
        except ValueError as error:
            raise Err(str(error)) from error

    def probe(self, target: Target, parameters: str) -> Outcome:
        wanted = Parameters.parse(parameters)
        addresses = target.pod_ips()
        if not addresses:
            # Nothing was found out about the server: an error, which leaves the last result as it was.
            raise Err("the pod has no IP address")
        log.write(log.Level.DEBUG, "connecting", [("address", addresses[0]), ("port", str(wanted.port))])
        try:
            return judge(wanted.expect, greeting(target, addresses[0], wanted))
        except OSError as error:
            return Outcome_Failure(f"port {wanted.port}: {error.strerror or error}")
