"""A probe type: it connects to a TCP port of the pod and expects a greeting.

Parameters: {"port": 25, "expect": "220 "}.
"""

import json
from dataclasses import dataclass
from typing import Self

from componentize_py_types import Err
from wit_world import exports
from wit_world.imports import log
from wit_world.imports.types import Outcome, Outcome_Failure, Outcome_Success, Target

from witlet import Connection, Fields, NoAnswer, in_words, remaining

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
        with Fields.parse(text) as fields:
            parameters = cls(port=fields.port(), expect=fields.text("expect"))
        if len(parameters.expect.encode()) > GREETING_BYTES_MAX:
            raise fields.invalid("expect", f"must have at most {GREETING_BYTES_MAX} bytes")
        return parameters


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
        with in_words():
            Parameters.parse(parameters)

    def probe(self, target: Target, parameters: str) -> Outcome:
        desired = Parameters.parse(parameters)
        addresses = target.pod_ips()
        if not addresses:
            # Nothing was found out about the server: an error, which leaves the last result as it was.
            raise Err("the pod has no IP address")
        log.write(log.Level.DEBUG, "connecting", [("address", addresses[0]), ("port", str(desired.port))])
        try:
            with Connection(addresses[0], desired.port, lambda: remaining(target)) as connection:
                # As much of what the server says first as is expected.
                return judge(desired.expect, connection.read(len(desired.expect.encode())))
        except NoAnswer as error:
            return Outcome_Failure(str(error))
