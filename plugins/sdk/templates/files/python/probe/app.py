"""A probe type: it connects to a TCP port of the pod and expects a greeting.

Parameters: {"port": 25, "expect": "220 "}.
"""

from dataclasses import dataclass

from wit_world.imports import log
from wit_world.imports.probe_types import Check, Target

from witlet import Connection, NoAnswer, remaining
from witlet_probe import HandlerError, Outcome, ProbeType, address, exported, failure, success

GREETING_BYTES_MAX = 1024


class Greeting(ProbeType):
    """A server greets as expected. Annotated names here would be the fields of `config:` in the plugin's entry."""

    @dataclass(frozen=True)
    class Parameters:
        """What a pod's annotation gives."""

        port: int
        expect: str
        """How the greeting begins."""

    def check_parameters(self, check: Check, parameters: Parameters) -> None:
        if not 1 <= parameters.port <= 65535:
            raise wrong("port", "must be a whole number from 1 to 65535")
        if not 1 <= len(parameters.expect.encode()) <= GREETING_BYTES_MAX:
            raise wrong("expect", f"must have 1 to {GREETING_BYTES_MAX} bytes")

    def probe(self, target: Target, parameters: Parameters) -> Outcome:
        # An error while the pod has none: nothing was found out about the server, and the last result stays as it was.
        host = address(target)
        log.write(log.Level.DEBUG, "connecting", [("address", host), ("port", str(parameters.port))])
        try:
            with Connection(host, parameters.port, lambda: remaining(target)) as connection:
                # As much of what the server says first as is expected.
                return judge(parameters.expect, connection.read(len(parameters.expect.encode())))
        except NoAnswer as error:
            return failure(str(error))


def wrong(parameter: str, problem: str) -> HandlerError:
    return HandlerError("InvalidParameters", f"{parameter}: {problem}")


def judge(expected: str, received: bytes) -> Outcome:
    text = received.decode(errors="replace")
    if text == expected:
        return success(f"the server greets with {text!r}")
    return failure(f"the server greets with {text!r}, expected {expected!r}")


# What the host calls. An exception other than HandlerError is a trap: it counts as a failure of the plugin.
Prober = exported(Greeting)
