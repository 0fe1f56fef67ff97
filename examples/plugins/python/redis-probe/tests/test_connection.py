"""Connections, to servers on loopback."""

import unittest

from connection import PING, auth
from connection import ask as ask_on
from servers import server, unused_port
from witlet import Connection, NoAnswer


def ask(port: int, seconds: float = 5.0, address: str = "127.0.0.1") -> str:
    with Connection(address, port, lambda: seconds) as connection:
        return ask_on(connection, PING)


class Answers(unittest.TestCase):
    def test_an_answer_is_the_first_line(self) -> None:
        longest = "x" * 1024
        for sent, line in [
            (b"+PONG\r\n", "+PONG"),
            (b"+PONG\r\n-ERR more\r\n", "+PONG"),
            (b"+PO\nNG\r\n", "+PO\nNG"),
            (b"\xff\r\n", "\ufffd"),
            (f"{longest}\r\n".encode(), longest),
        ]:
            with self.subTest(sent=sent), server((PING, sent)) as port:
                self.assertEqual(ask(port), line)

    def test_what_is_no_answer_is_shown(self) -> None:
        for sent, why in [
            (b"", "the server closed the connection"),
            (b"+PO", "the server closed the connection"),
            (b"x" * 1025, "the answer is longer than 1024 bytes"),
            (b"x" * 1025 + b"\r\n", "the answer is longer than 1024 bytes"),
        ]:
            with self.subTest(sent=sent), server((PING, sent)) as port, self.assertRaises(NoAnswer) as error:
                ask(port)
            self.assertEqual(str(error.exception), why)

    def test_a_silent_server_is_left_when_the_time_is_over(self) -> None:
        with server((PING, None)) as port, self.assertRaisesRegex(NoAnswer, "no answer in time"):
            ask(port, seconds=0.05)

    def test_a_port_without_a_server_is_refused(self) -> None:
        with self.assertRaisesRegex(NoAnswer, "connect to port [0-9]+: connection refused"):
            ask(unused_port())

    def test_a_second_question_has_the_second_answer(self) -> None:
        with server((auth(b"a b"), b"+OK\r\n"), (PING, b"+PONG\r\n")) as port:
            with Connection("127.0.0.1", port, lambda: 5.0) as connection:
                self.assertEqual([ask_on(connection, auth(b"a b")), ask_on(connection, PING)], ["+OK", "+PONG"])


class Auth(unittest.TestCase):
    def test_a_password_is_counted_in_bytes(self) -> None:
        self.assertEqual(auth("größe\r\n".encode()), "*2\r\n$4\r\nAUTH\r\n$9\r\ngröße\r\n\r\n".encode())


if __name__ == "__main__":
    unittest.main()
