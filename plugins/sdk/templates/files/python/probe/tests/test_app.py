"""The probe type, against servers of its own on loopback."""

import socket
import threading
import unittest
from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch

from componentize_py_types import Err
from wit_world.imports import log
from wit_world.imports.types import Outcome, Outcome_Failure, Outcome_Success, Target

from app import Parameters, Prober


class FakeTarget(Target):
    def __init__(self, addresses: list[str], milliseconds: int = 5000) -> None:
        self._addresses = addresses
        self._milliseconds = milliseconds

    def pod_ips(self) -> list[str]:
        return self._addresses

    def remaining_milliseconds(self) -> int:
        return self._milliseconds


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
        return Prober().probe(target or FakeTarget(["127.0.0.1"]), f'{{"port": {port}, "expect": "220 "}}')


class Probe(unittest.TestCase):
    def test_the_greeting_decides(self) -> None:
        for parts, outcome in [
            ((b"220 mail ready\r\n",), Outcome_Success("the server greets with '220 '")),
            ((b"2", b"20 mail"), Outcome_Success("the server greets with '220 '")),
            ((b"554 no\r\n",), Outcome_Failure("the server greets with '554 ', expected '220 '")),
            ((b"22",), Outcome_Failure("the server greets with '22', expected '220 '")),
            ((), Outcome_Failure("the server greets with '', expected '220 '")),
            ((b"\xff\xff\xff\xff",), Outcome_Failure("the server greets with '\ufffd\ufffd\ufffd\ufffd', expected '220 '")),
        ]:
            with self.subTest(parts=parts), server(*parts) as port:
                self.assertEqual(probe(port), outcome)

    def test_a_silent_server_fails_when_the_time_is_over(self) -> None:
        with server(None) as port:
            outcome = probe(port, FakeTarget(["127.0.0.1"], milliseconds=50))
        self.assertEqual(outcome, Outcome_Failure("read the answer: no answer in time"))

    def test_a_port_without_a_server_fails(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as unused:
            port: int = unused.getsockname()[1]
        self.assertEqual(probe(port), Outcome_Failure(f"connect to port {port}: connection refused"))

    def test_a_pod_without_an_address_is_an_error(self) -> None:
        with self.assertRaises(Err) as error:
            probe(25, FakeTarget([]))
        self.assertEqual(error.exception.value, "the pod has no IP address")


class Checks(unittest.TestCase):
    def test_parameters_are_taken(self) -> None:
        self.assertEqual(Parameters.parse('{"port": 25, "expect": "220 "}'), Parameters(25, "220 "))

    def test_what_is_wrong_is_refused_by_name(self) -> None:
        for text, words in [
            ("null", "an object is needed"),
            ('{"expect": "220 "}', "port: is missing"),
            ('{"port": 25.5, "expect": "220 "}', "port: must be a whole number from 1 to 65535"),
            ('{"port": 0, "expect": "220 "}', "port: must be a whole number from 1 to 65535"),
            ('{"port": true, "expect": "220 "}', "port: must be a whole number from 1 to 65535"),
            ('{"port": 25, "expect": ""}', "expect: may not be empty"),
            (f'{{"port": 25, "expect": "{"x" * 1025}"}}', "expect: must have at most 1024 bytes"),
            ('{"port": 25, "expect": "220 ", "prot": 1}', "unknown field prot, expected port or expect"),
        ]:
            with self.subTest(text=text), self.assertRaises(Err) as refused:
                Prober().check_parameters(text)
            self.assertEqual(refused.exception.value, words)

    def test_a_configuration_is_refused(self) -> None:
        Prober().validate("null")
        with self.assertRaises(Err):
            Prober().validate('{"port": 25}')


if __name__ == "__main__":
    unittest.main()
