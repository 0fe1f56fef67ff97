"""The probe type, asked about fakes of what the host hands over, with servers on loopback."""

import json
import unittest
from unittest.mock import patch

from componentize_py_types import Err
from wit_world.imports import config as configuration
from wit_world.imports import log, secret
from wit_world.imports.types import Outcome, Outcome_Failure, Outcome_Success, Target

from app import Config, Parameters, Prober
from connection import PING, auth
from servers import server, unused_port


class FakeTarget(Target):
    def __init__(self, *addresses: str) -> None:
        self._addresses = list(addresses)

    def pod_ips(self) -> list[str]:
        return self._addresses

    def remaining_milliseconds(self) -> int:
        return 5000


def secrets(name: str) -> bytes:
    if name == "redis-password":
        return b"s3cret\n"
    raise Err(secret.SecretError.NOT_FOUND)


def probe(port: int, config: object = None, target: Target | None = None) -> Outcome:
    with (
        patch.object(configuration, "get", return_value=json.dumps(config)),
        patch.object(secret, "get", secrets),
        patch.object(log, "write"),
    ):
        return Prober().probe(target or FakeTarget("127.0.0.1", "10.0.0.1"), json.dumps({"port": port}))


class Probe(unittest.TestCase):
    def test_the_answer_decides(self) -> None:
        for answer, outcome in [
            (b"+PONG\r\n", Outcome_Success("PONG")),
            (b"-LOADING Redis is loading\r\n", Outcome_Failure("LOADING Redis is loading")),
            (b"+OK\r\n", Outcome_Failure('unexpected answer "+OK"')),
            (b"", Outcome_Failure("the server closed the connection")),
        ]:
            with self.subTest(answer=answer), server((PING, answer)) as port:
                self.assertEqual(probe(port), outcome)

    def test_a_server_that_isnt_there_is_a_failure(self) -> None:
        match probe(unused_port()):
            case Outcome_Failure(detail):
                self.assertIn("refused", detail)
            case other:
                self.fail(f"{other}")

    def test_a_pod_without_an_address_is_a_failure(self) -> None:
        self.assertEqual(probe(6379, target=FakeTarget()), Outcome_Failure("the pod has no address"))


class Passwords(unittest.TestCase):
    CONFIG = {"passwordSecret": "redis-password"}

    def test_a_password_is_sent_first_without_its_line_end(self) -> None:
        with server((auth(b"s3cret"), b"+OK\r\n"), (PING, b"+PONG\r\n")) as port:
            self.assertEqual(probe(port, self.CONFIG), Outcome_Success("PONG"))

    def test_a_wrong_password_is_a_failure_in_the_servers_words(self) -> None:
        with server((auth(b"s3cret"), b"-WRONGPASS invalid\r\n")) as port:
            self.assertEqual(probe(port, self.CONFIG), Outcome_Failure("WRONGPASS invalid"))

    def test_a_secret_that_isnt_there_is_an_error_that_names_it(self) -> None:
        with self.assertRaises(Err) as error:
            probe(6379, {"passwordSecret": "other"})
        self.assertEqual(error.exception.value, "the secret other can't be had: not found")


class Checks(unittest.TestCase):
    def test_what_is_right_is_taken(self) -> None:
        self.assertEqual(Parameters.parse("null"), Parameters(6379))
        self.assertEqual(Parameters.parse('{"port": 7001}'), Parameters(7001))
        self.assertEqual(Config.parse("null"), Config())
        self.assertEqual(Config.parse('{"passwordSecret": "a"}'), Config("a"))

    def test_what_is_wrong_with_parameters_is_refused_by_name(self) -> None:
        for text, words in [
            ('{"port": 0}', "port: must be"),
            ('{"port": 65536}', "port: must be"),
            ('{"port": "redis"}', "port: must be"),
            ('{"port": null}', "port: must be"),
            ('{"port": true}', "port: must be"),
            ('{"prot": 1}', "unknown field prot"),
            ("[]", "an object is needed"),
        ]:
            with self.subTest(text=text), self.assertRaises(Err) as refused:
                Prober().check_parameters(text)
            self.assertIn(words, refused.exception.value)

    def test_what_is_wrong_with_a_configuration_is_refused_by_name(self) -> None:
        for text, words in [
            ('{"passwordSecret": ""}', "passwordSecret: may not be empty"),
            ('{"passwordSecret": 1}', "passwordSecret: must be"),
            ('{"password": "hunter2"}', "unknown field password"),
        ]:
            with self.subTest(text=text), self.assertRaises(Err) as refused:
                Prober().validate(text)
            self.assertIn(words, refused.exception.value)


if __name__ == "__main__":
    unittest.main()
