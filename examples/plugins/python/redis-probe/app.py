"""A probe type: a Redis server answers PING.

Configuration: {"passwordSecret": "redis-password"}, or none. Parameters: {"port": 6379}, or none.
"""

from dataclasses import dataclass
from typing import Self

from componentize_py_types import Err
from wit_world import exports
from wit_world.imports import config as configuration
from wit_world.imports import log, secret
from wit_world.imports.types import Outcome, Outcome_Failure, Outcome_Success, Target

from connection import PING, ask, auth
from witlet import Connection, Fields, NoAnswer, Once, in_words, remaining

DEFAULT_PORT = 6379


@dataclass(frozen=True)
class Config:
    """What stands under `config:` in the plugin's entry."""

    password_secret: str | None = None

    @classmethod
    def parse(cls, text: str) -> Self:
        """Raises ValueError in words for the operator."""
        with Fields.parse(text, or_none=True) as fields:
            return cls(fields.text("passwordSecret", "") or None)

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
        with Fields.parse(text, or_none=True) as fields:
            return cls(fields.port(default=DEFAULT_PORT))


def ping(connection: Connection, password: bytes | None) -> Outcome:
    """Raises NoAnswer."""
    if password is not None and (answer := ask(connection, auth(password))) != "+OK":
        return judge(answer)
    return judge(ask(connection, PING))


def judge(answer: str) -> Outcome:
    if answer == "+PONG":
        return Outcome_Success("PONG")
    if answer.startswith("-"):
        return Outcome_Failure(answer[1:])
    return Outcome_Failure(f'unexpected answer "{answer}"')


configured = Once(Config.parse)


class Prober(exports.Prober):
    """What the host calls. An exception other than Err is a trap: it counts as a failure of the plugin."""

    def validate(self, config: str) -> None:
        with in_words():
            Config.parse(config)

    def check_parameters(self, parameters: str) -> None:
        with in_words():
            Parameters.parse(parameters)

    def probe(self, target: Target, parameters: str) -> Outcome:
        port = Parameters.parse(parameters).port
        password = configured(configuration.get()).password()
        addresses = target.pod_ips()
        if not addresses:
            return Outcome_Failure("the pod has no address")
        log.write(log.Level.DEBUG, "asking", [("address", addresses[0]), ("port", str(port))])
        try:
            with Connection(addresses[0], port, lambda: remaining(target)) as connection:
                return ping(connection, password)
        except NoAnswer as error:
            return Outcome_Failure(str(error))
