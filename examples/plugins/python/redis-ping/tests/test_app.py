"""The probe type, asked about fakes of what the host hands over, with servers on loopback."""

import json
import socket
import threading
import unittest
from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch

from componentize_py_types import Err
from wit_world.imports import config as configuration
from wit_world.imports import errors, secret
from wit_world.imports.probe_types import Answer, Check, Pod, Target

from app import Prober


class FakePod(Pod):
    def __init__(self, *addresses: str) -> None:
        self._addresses = list(addresses)

    def addresses(self) -> list[str]:
        return self._addresses


class FakeTarget(Target):
    def __init__(self, *addresses: str) -> None:
        self._pod = FakePod(*addresses)

    def pod(self) -> Pod:
        return self._pod

    def remaining_milliseconds(self) -> int:
        return 5000


class FakeAnswer(Answer):
    def __init__(self) -> None:
        self.said: list[tuple[str, object]] = []

    def success(self, message: str) -> None:
        self.said.append(("success", message))

    def failure(self, message: str) -> None:
        self.said.append(("failure", message))

    def warn(self, message: str) -> None:
        self.said.append(("warn", message))

    def latency(self, nanoseconds: int) -> None:
        self.said.append(("latency", nanoseconds > 0))


class FakeError(errors.Error):
    def __init__(self, code: str, message: str) -> None:
        self._code, self._message = code, message

    def code(self) -> str:
        return self._code

    def message(self) -> str:
        return self._message


@contextmanager
def server(*dialog: tuple[bytes, bytes]) -> Iterator[int]:
    """Takes one client and follows a dialog; its port."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            with listener.accept()[0] as client:
                for expected, answer in dialog:
                    if client.recv(len(expected), socket.MSG_WAITALL) == expected:
                        client.sendall(answer)

        thread = threading.Thread(target=serve)
        thread.start()
        yield listener.getsockname()[1]
        thread.join()


def probe(parameters: object, config: object = None, target: Target | None = None) -> list[tuple[str, object]]:
    answer = FakeAnswer()
    with (
        patch.object(configuration, "get", return_value=json.dumps(config)),
        patch.object(secret, "get", secrets),
        patch.object(errors, "Error", FakeError),
    ):
        Prober().probe(target or FakeTarget("127.0.0.1"), json.dumps(parameters), answer)
    return answer.said


def secrets(name: str) -> bytes:
    if name == "redis-password":
        return b"s3cret\n"
    raise Err(FakeError("NotFound", f"the node doesn't have the secret {name}"))


class Probe(unittest.TestCase):
    def test_the_answer_decides(self) -> None:
        for answer, said in [
            (b"+PONG\r\n", [("success", ""), ("latency", True)]),
            (b"-LOADING Redis is loading\r\n", [("failure", "LOADING Redis is loading")]),
            (b"+OK\r\n", [("failure", 'it answers "+OK"')]),
        ]:
            with self.subTest(answer=answer), server((b"PING\r\n", answer)) as port:
                self.assertEqual(probe({"port": port}), said)

    def test_a_slow_server_passes_with_a_warning(self) -> None:
        with server((b"PING\r\n", b"+PONG\r\n")) as port:
            said = probe({"port": port, "slowAfterMilliseconds": 0})
        self.assertIn(("warn", "PING took 0 ms or more"), said)

    def test_a_password_is_sent_first_without_its_line_end(self) -> None:
        config = {"passwordSecret": "redis-password"}
        with server((b"AUTH s3cret\r\n", b"+OK\r\n"), (b"PING\r\n", b"+PONG\r\n")) as port:
            self.assertEqual(probe({"port": port}, config)[0], ("success", ""))

    def test_what_is_wrong_with_the_probe_is_an_error_with_a_code(self) -> None:
        for config, target, code in [
            ({"passwordSecret": "other"}, FakeTarget("127.0.0.1"), "NotFound"),
            (None, FakeTarget(), "NoAddress"),
        ]:
            with self.subTest(code=code), self.assertRaises(Err) as error:
                probe({"port": 1}, config, target)
            self.assertEqual(error.exception.value.code(), code)


class Checks(unittest.TestCase):
    def test_what_is_wrong_is_refused_by_name(self) -> None:
        for text, words in [('{"port": 0}', "port: must be"), ('{"port": 65536}', "port: must be"), ('{"prot": 1}', "prot: unknown field"), ("[]", "an object")]:
            with self.subTest(text=text), self.assertRaises(Err) as refused, patch.object(errors, "Error", FakeError):
                with patch.object(configuration, "get", return_value="null"):
                    Prober().check_parameters(Check(), text)
            self.assertIn(words, refused.exception.value.message())


if __name__ == "__main__":
    unittest.main()
