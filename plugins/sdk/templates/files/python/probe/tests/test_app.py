"""The probe type, against servers of its own on loopback."""

import json
import socket
import threading
import unittest
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast
from unittest.mock import patch

from componentize_py_types import Err
from wit_world.imports import config as configuration
from wit_world.imports import errors, log
from wit_world.imports.probe_types import Check, Pod, Setup, Target

from app import Greeting, Prober
from witlet_probe import HandlerError, Outcome, failure, success

PARAMETERS = {"port": 25, "expect": "220 "}


class FakePod(Pod):
    def __init__(self, *addresses: str) -> None:
        self._addresses = list(addresses)

    def addresses(self) -> list[str]:
        return self._addresses


class FakeTarget(Target):
    def __init__(self, *addresses: str, milliseconds: int = 5000) -> None:
        self._pod = FakePod(*addresses)
        self._milliseconds = milliseconds

    def pod(self) -> Pod:
        return self._pod

    def remaining_milliseconds(self) -> int:
        return self._milliseconds


class FakeError:
    """What `witlet:host/errors` makes."""

    def __init__(self, code: str, message: str) -> None:
        self.said = f"{code}: {message}"


@contextmanager
def server(*parts: bytes | None) -> Iterator[int]:
    """A port that greets one client with these parts; None keeps the connection open until the test ends."""
    done = threading.Event()

    def serve() -> None:
        connection, _ = listener.accept()
        with connection:
            for part in parts:
                if part is None:
                    done.wait()
                else:
                    connection.sendall(part)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        try:
            yield listener.getsockname()[1]
        finally:
            done.set()
            thread.join()


def probe(port: int, target: Target | None = None) -> Outcome:
    with patch.object(log, "write"):
        return Greeting().probe(target or FakeTarget("127.0.0.1"), Greeting.Parameters(port, "220 "))


class Probe(unittest.TestCase):
    def test_the_greeting_decides(self) -> None:
        for parts, outcome in [
            ((b"220 mail ready\r\n",), success("the server greets with '220 '")),
            ((b"2", b"20 mail"), success("the server greets with '220 '")),
            ((b"554 no\r\n",), failure("the server greets with '554 ', expected '220 '")),
            ((b"22",), failure("the server greets with '22', expected '220 '")),
            ((), failure("the server greets with '', expected '220 '")),
            ((b"\xff\xff\xff\xff",), failure("the server greets with '\ufffd\ufffd\ufffd\ufffd', expected '220 '")),
        ]:
            with self.subTest(parts=parts), server(*parts) as port:
                self.assertEqual(probe(port), outcome)

    def test_a_silent_server_fails_when_the_time_is_over(self) -> None:
        with server(None) as port:
            outcome = probe(port, FakeTarget("127.0.0.1", milliseconds=50))
        self.assertEqual(outcome, failure("read the answer: no answer in time"))

    def test_a_port_without_a_server_fails(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as unused:
            port: int = unused.getsockname()[1]
        self.assertEqual(probe(port), failure(f"connect to port {port}: connection refused"))

    def test_a_pod_without_an_address_is_an_error(self) -> None:
        with self.assertRaises(HandlerError) as error:
            probe(25, FakeTarget())
        self.assertEqual(error.exception.code, "NoAddress")


class Checks(unittest.TestCase):
    def refused(self, parameters: Any) -> str:
        """The error that the host receives for parameters; empty if they are taken."""
        with patch.object(errors, "Error", FakeError), patch.object(configuration, "get", return_value="null"):
            try:
                Prober().check_parameters(cast(Check, None), json.dumps(parameters))
            except Err as error:
                return cast(FakeError, error.value).said
        return ""

    def test_parameters_are_taken(self) -> None:
        self.assertEqual(self.refused(PARAMETERS), "")

    def test_what_is_wrong_is_refused_by_name(self) -> None:
        cases: list[tuple[Any, str]] = [
            (None, "port: is missing"),
            ({"expect": "220 "}, "port: is missing"),
            (PARAMETERS | {"port": 25.5}, "port: must be a whole number"),
            (PARAMETERS | {"port": 0}, "port: must be a whole number from 1 to 65535"),
            (PARAMETERS | {"port": True}, "port: must be a whole number"),
            (PARAMETERS | {"expect": ""}, "expect: must have 1 to 1024 bytes"),
            (PARAMETERS | {"expect": "x" * 1025}, "expect: must have 1 to 1024 bytes"),
            (PARAMETERS | {"prot": 1}, "prot: unknown field, expected port or expect"),
        ]
        for parameters, words in cases:
            with self.subTest(parameters=parameters):
                self.assertEqual(self.refused(parameters), f"InvalidParameters: {words}")

    def test_a_configuration_is_refused(self) -> None:
        Prober().validate(cast(Setup, None), "null")
        with patch.object(errors, "Error", FakeError), self.assertRaises(Err):
            Prober().validate(cast(Setup, None), '{"port": 25}')


if __name__ == "__main__":
    unittest.main()
