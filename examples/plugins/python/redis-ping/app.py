"""Example of contract 0.2: a probe type. A Redis server answers PING, and how long that took is said.

Configuration: {"passwordSecret": "redis-password"}, or none. Parameters: {"port": 6379, "slowAfterMilliseconds": 100}, and "host" for
another host than the pod, or none.
"""

import json
import time
from dataclasses import dataclass

from componentize_py_types import Err
from wit_world.imports import secret
from wit_world.imports.probe_types import Check, Setup, Target

from witlet import Connection, NoAnswer, remaining
from witlet_probe import HandlerError, Outcome, ProbeType, address, exported, failure, invalid, success


class Redis(ProbeType):
    """A Redis server answers."""

    password_secret: str | None = None

    @dataclass(frozen=True)
    class Parameters:
        """What a pod's annotation gives."""

        host: str | None = None
        port: int | None = None
        slow_after_milliseconds: int | None = None

    def validate(self, setup: Setup) -> None:
        if self.password_secret == "":
            raise invalid("passwordSecret", "is empty")

    def check_parameters(self, check: Check, parameters: Parameters) -> None:
        if parameters.port is not None and not 1 <= parameters.port <= 65535:
            raise HandlerError("InvalidParameters", "port: must be 1 to 65535")

    def probe(self, target: Target, parameters: Parameters) -> Outcome:
        # A secret that isn't there is no fault of the server's: nothing was found out.
        password = self.password()
        host = parameters.host or address(target)
        try:
            with Connection(host, parameters.port or 6379, lambda: remaining(target)) as connection:
                if password is not None:
                    ask(connection, b"AUTH %s\r\n" % password, "+OK")
                asked = time.monotonic()
                ask(connection, b"PING\r\n", "+PONG")
                took = time.monotonic() - asked
        except NoAnswer as error:
            return failure(str(error))
        outcome, slow = success("").latency(took), parameters.slow_after_milliseconds
        return outcome.warn(f"PING took {slow} ms or more") if slow is not None and took * 1000 >= slow else outcome

    def password(self) -> bytes | None:
        """Raises HandlerError if there should be one and there is none."""
        if self.password_secret is None:
            return None
        try:
            # A file's last line end isn't part of a password.
            return secret.get(self.password_secret).removesuffix(b"\n")
        except Err as error:
            raise HandlerError(error.value.code(), error.value.message()) from error


def ask(connection: Connection, command: bytes, expected: str) -> None:
    """Raises NoAnswer if the server answers something else."""
    connection.send(command)
    line = connection.line().decode(errors="replace")
    if line != expected:
        raise NoAnswer(line[1:] if line.startswith("-") else f"it answers {json.dumps(line)}")


Prober = exported(Redis)
