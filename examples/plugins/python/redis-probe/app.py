"""A probe type: a Redis server answers PING.

Configuration: {"passwordSecret": "redis-password"}, or none. Parameters: {"port": 6379}, or none.
"""

import json
from dataclasses import dataclass
from typing import Any, Self

from componentize_py_types import Err
from wit_world import exports
from wit_world.imports import config as configuration
from wit_world.imports import log, secret
from wit_world.imports.types import Outcome, Outcome_Failure, Outcome_Success, Target

from connection import PING, Connection, NoAnswer, auth

DEFAULT_PORT = 6379


@dataclass(frozen=True)
class Config:
    """What stands under `config:` in the plugin's entry."""

    password_secret: str | None = None

    @classmethod
    def parse(cls, text: str) -> Self:
        """Raises ValueError in words for the operator."""
        fields = an_object(text)
        match fields.pop("passwordSecret", None):
            case "":
                raise ValueError("passwordSecret: may not be empty")
            case None | str() as name:
                refuse_rest(fields, "passwordSecret")
                return cls(name)
            case _:
                raise ValueError("passwordSecret: must be the name of a secret")

    def password(self) -> bytes | None:
        """Raises Err if there should be one and there is none: nothing can be found out about the server then."""
        if self.password_secret is None:
            return None
        try:
            value = secret.get(self.password_secret)
        except Err as error:
            why = error.value.name.lower().replace("_", " ")
            raise Err(f"the secret {self.password_secret} can't be had: {why}") from error
        # Files of secrets often end in a line end.
        return value.removesuffix(b"\n").removesuffix(b"\r")


@dataclass(frozen=True)
class Parameters:
    """What a pod's annotation gives."""

    port: int = DEFAULT_PORT

    @classmethod
    def parse(cls, text: str) -> Self:
        """Raises ValueError in words for people."""
        fields = an_object(text)
        port = fields.pop("port", DEFAULT_PORT)
        refuse_rest(fields, "port")
        if isinstance(port, bool) or not isinstance(port, int) or not 1 <= port <= 65535:
            raise ValueError("port: must be a whole number from 1 to 65535")
        return cls(port)


def an_object(text: str) -> dict[str, Any]:
    match json.loads(text):
        case None:
            return {}
        case dict(fields):
            return fields
        case _:
            raise ValueError("an object is needed")


def refuse_rest(fields: dict[str, Any], expected: str) -> None:
    if fields:
        raise ValueError(f"unknown field {next(iter(fields))}, expected {expected}")


def ping(connection: Connection, password: bytes | None) -> Outcome:
    """Raises NoAnswer."""
    if password is not None and (answer := connection.ask(auth(password))) != "+OK":
        return judge(answer)
    return judge(connection.ask(PING))


def judge(answer: str) -> Outcome:
    if answer == "+PONG":
        return Outcome_Success("PONG")
    if answer.startswith("-"):
        return Outcome_Failure(answer[1:])
    return Outcome_Failure(f'unexpected answer "{answer}"')


class Prober(exports.Prober):
    """What the host calls. An exception other than Err is a trap: it counts as a failure of the plugin."""

    def validate(self, config: str) -> None:
        try:
            Config.parse(config)
        except ValueError as error:
            raise Err(str(error)) from error

    def check_parameters(self, parameters: str) -> None:
        try:
            Parameters.parse(parameters)
        except ValueError as error:
            raise Err(str(error)) from error

    def probe(self, target: Target, parameters: str) -> Outcome:
        port = Parameters.parse(parameters).port
        password = Config.parse(configuration.get()).password()
        addresses = target.pod_ips()
        if not addresses:
            return Outcome_Failure("the pod has no address")
        log.write(log.Level.DEBUG, "asking", [("address", addresses[0]), ("port", str(port))])

        def remaining() -> float:
            """Seconds; never 0, which a socket takes for another mode."""
            return max(target.remaining_milliseconds(), 1) / 1000

        try:
            with Connection(addresses[0], port, remaining) as connection:
                return ping(connection, password)
        except NoAnswer as error:
            return Outcome_Failure(str(error))
