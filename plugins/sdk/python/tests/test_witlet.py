"""The module, against servers of its own on loopback where it needs any."""

import dataclasses
import json
import socket
import threading
import unittest
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from componentize_py_types import Err

from witlet import (
    Connection,
    Fields,
    Invalid,
    NoAnswer,
    Once,
    fingerprint,
    http_error,
    http_get,
    in_words,
    quantity,
    remaining,
    url_parts,
)


class Target:
    def __init__(self, milliseconds: int) -> None:
        self._milliseconds = milliseconds

    def remaining_milliseconds(self) -> int:
        return self._milliseconds


@contextmanager
def server(*parts: bytes | None) -> Iterator[int]:
    """A port that answers one client with these parts after its first words; None keeps the connection until the test ends."""
    done = threading.Event()

    def serve() -> None:
        connection, _ = listener.accept()
        # A client that has seen enough may have gone.
        with connection, suppress(OSError):
            connection.recv(1 << 16)
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


def seconds() -> float:
    return 60.0


class Configuration(unittest.TestCase):
    def test_fields_are_taken_by_name_and_type(self) -> None:
        with Fields.parse('{"a": "x", "b": 2, "c": true, "d": ["y"], "e": [1]}') as fields:
            self.assertEqual(fields.text("a"), "x")
            self.assertEqual(fields.integer("b", least=1, most=3), 2)
            self.assertTrue(fields.boolean("c"))
            self.assertEqual((fields.texts("d"), fields.items("e")), (["y"], [1]))
            self.assertEqual((fields.text("f", "z"), fields.port(default=80), fields.boolean("g", False)), ("z", 80, False))
        with Fields.parse("null", or_none=True) as fields:
            self.assertEqual(fields.texts("d", []), [])

    def test_what_is_wrong_is_said_by_the_fields_name(self) -> None:
        def all_fields(text: str) -> None:
            with Fields.parse(text) as fields:
                fields.text("label", "", length_max=5)
                fields.port("port", 80)
                fields.boolean("strict", False)
                fields.texts("names", [])

        cases: list[tuple[object, str]] = [
            (None, "an object is needed"),
            ([], "an object is needed"),
            ({"label": 1}, "label: must be a text"),
            ({"label": ""}, "label: may not be empty"),
            ({"label": "longer"}, "label: must have at most 5 characters"),
            ({"label": None}, "label: must be a text"),
            ({"port": 0}, "port: must be a whole number from 1 to 65535"),
            ({"port": True}, "port: must be a whole number from 1 to 65535"),
            ({"port": 1.5}, "port: must be a whole number from 1 to 65535"),
            ({"strict": 1}, "strict: must be true or false"),
            ({"names": "x"}, "names: must be a list"),
            ({"names": ["x", ""]}, "names[1]: must be a text that isn't empty"),
            ({"lable": "x"}, "unknown field lable, expected label or port or strict or names"),
        ]
        for value, said in cases:
            with self.subTest(value=value), self.assertRaises(Invalid) as refused:
                all_fields(json.dumps(value))
            self.assertEqual(str(refused.exception), said)
        with self.assertRaisesRegex(Invalid, "label: is missing"):
            Fields.parse("{}").text("label")
        with self.assertRaisesRegex(Invalid, "no JSON: "):
            Fields.parse("{")

    def test_an_error_of_a_field_is_said_rather_than_what_was_not_taken_yet(self) -> None:
        with self.assertRaisesRegex(Invalid, "^a: must be a text$"), Fields.parse('{"a": 1, "b": 2}') as fields:
            fields.text("a")

    def test_words_of_an_error_become_the_hosts(self) -> None:
        with self.assertRaises(Err) as refused, in_words():
            raise Invalid("label: is missing")
        self.assertEqual(refused.exception.value, "label: is missing")

    def test_a_text_is_parsed_once_until_it_changes(self) -> None:
        parsed: list[str] = []

        def parse(text: str) -> int:
            parsed.append(text)
            return int(text)

        once = Once(parse)
        self.assertEqual([once("1"), once("1"), once("2"), once("2")], [1, 1, 2, 2])
        self.assertEqual(parsed, ["1", "2"])
        for _ in range(2):
            with self.assertRaises(ValueError):
                once("x")
        self.assertEqual(once("2"), 2)


class Quantities(unittest.TestCase):
    def test_quantities_are_exact_and_rounded_away_from_zero(self) -> None:
        for text, scale, value in [
            ("0", 1, 0),
            ("250m", 1000, 250),
            ("250m", 1, 1),
            ("-250m", 1, -1),
            ("0.1m", 1000, 1),
            ("1.5Gi", 1, 3 << 29),
            (".5", 1000, 500),
            ("5.", 1, 5),
            ("-1k", 1, -1000),
            ("+2M", 1, 2_000_000),
            ("1e3", 1, 1000),
            ("1E-3", 1000, 1),
            ("1E", 1, 10**18),
            ("1Ei", 1, 1 << 60),
            ("100n", 10**9, 100),
            ("1u", 10**6, 1),
            ("0.9Ki", 1, 922),
            ("9007199254740993", 1, 9007199254740993),
        ]:
            with self.subTest(text=text, scale=scale):
                self.assertEqual(quantity(text, scale), value)

    def test_what_is_none_is_refused(self) -> None:
        for text in ["", "m", "1 Gi", "1gi", "1K", "0x1", "1e", "1.2.3", "--1", "٣", ".", "1" * 65, "1e99999", " 1", "1\n"]:
            with self.subTest(text=text), self.assertRaisesRegex(Invalid, "is no quantity"):
                quantity(text)


class Fingerprints(unittest.TestCase):
    def test_they_follow_from_the_parts_alone(self) -> None:
        self.assertEqual(fingerprint(["a", b"b"]), fingerprint([b"a", "b"]))
        different = [fingerprint(parts) for parts in ([], [""], ["", ""], ["ab"], ["a", "b"], ["b", "a"])]
        self.assertEqual(len(set(different)), len(different))


class Connections(unittest.TestCase):
    def test_lines_and_bytes_are_read_in_turn(self) -> None:
        with server(b"+PO", b"NG\r\nrest", b" of it") as port, Connection("127.0.0.1", port, seconds) as connection:
            connection.send(b"PING\r\n")
            self.assertEqual((connection.line(), connection.read(4), connection.read(100)), (b"+PONG", b"rest", b" of it"))
            self.assertEqual(connection.read(1), b"")
            with self.assertRaisesRegex(NoAnswer, "the server closed the connection"):
                connection.line()

    def test_what_a_server_does_wrong_is_said(self) -> None:
        for parts, said in [((b"x" * 2000,), "longer than 1024 bytes"), ((b"half a line",), "closed the connection")]:
            with server(*parts) as port, Connection("127.0.0.1", port, seconds) as connection:
                connection.send(b"?")
                with self.subTest(said=said), self.assertRaisesRegex(NoAnswer, said):
                    connection.line()

    def test_a_line_may_be_as_long_as_allowed(self) -> None:
        with server(b"x" * 1024 + b"\r\n") as port, Connection("127.0.0.1", port, seconds) as connection:
            connection.send(b"?")
            self.assertEqual(connection.line(), b"x" * 1024)

    def test_a_silent_server_ends_with_the_time(self) -> None:
        with server(None) as port, Connection("127.0.0.1", port, seconds) as connection:
            connection._seconds = lambda: remaining(Target(0))
            connection.send(b"?")
            with self.assertRaisesRegex(NoAnswer, "^read the answer: no answer in time$"):
                connection.line()

    def test_a_port_without_a_server_is_no_answer(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as unused:
            port: int = unused.getsockname()[1]
        with self.assertRaisesRegex(NoAnswer, f"^connect to port {port}: connection refused$"):
            Connection("127.0.0.1", port, seconds)

    def test_the_time_left_is_never_nothing(self) -> None:
        self.assertEqual([remaining(Target(milliseconds)) for milliseconds in (1500, 1, 0)], [1.5, 0.001, 0.001])


class Http(unittest.TestCase):
    def answer(self, *parts: bytes) -> tuple[int, bytes]:
        with server(*parts) as port, Connection("127.0.0.1", port, seconds) as connection:
            response = http_get(connection, "example.com", "/ready", {"Accept": "text/plain"}, body_bytes_max=16)
        return response.status, response.body

    def test_bodies_are_read_in_each_form_and_cut(self) -> None:
        for parts, expected in [
            ((b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokmore",), (200, b"ok")),
            ((b"HTTP/1.0 503 No\r\n\r\n", b"busy"), (503, b"busy")),
            ((b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * 100,), (200, b"x" * 16)),
            ((b"HTTP/1.1 200\r\ncontent-length: 100\r\n\r\n" + b"x" * 100,), (200, b"x" * 16)),
            ((b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2;a=b\r\nok\r\n3\r\nay!\r\n0\r\n\r\n",), (200, b"okay!")),
            ((b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nff\r\n" + b"x" * 255,), (200, b"x" * 16)),
            ((b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No Content\r\nContent-Length: 9\r\n\r\n",), (204, b"")),
        ]:
            with self.subTest(parts=parts):
                self.assertEqual(self.answer(*parts), expected)

    def test_what_is_no_answer_is_said(self) -> None:
        for parts, said in [
            ((b"220 mail\r\n",), "doesn't speak HTTP: '220 mail'"),
            ((b"HTTP/1.1 2000 OK\r\n",), "doesn't speak HTTP"),
            ((b"HTTP/1.1 200 OK\r\nno header\r\n\r\n",), "no header: 'no header'"),
            ((b"HTTP/1.1 200 OK\r\n" + b"a: b\r\n" * 101 + b"\r\n",), "more than 100 headers"),
            ((b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",), "no length"),
            ((b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nok",), "closed the connection"),
            ((b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",), "no length"),
            ((b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nokay\r\n",), "another length"),
            ((b"",), "closed the connection"),
        ]:
            with self.subTest(parts=parts), self.assertRaisesRegex(NoAnswer, said):
                self.answer(*parts)

    def test_a_request_has_no_lines_of_its_own_making(self) -> None:
        with server(b"HTTP/1.1 200 OK\r\n\r\n") as port, Connection("127.0.0.1", port, seconds) as connection:
            with self.assertRaisesRegex(NoAnswer, "control characters"):
                http_get(connection, "example.com", "/ HTTP/1.1\r\nX: y")
            http_get(connection, "example.com")

    def test_an_url_has_its_parts(self) -> None:
        for url, parts in [
            ("https://example.com", ("https", "example.com", "/")),
            ("http://10.0.0.7:8080/a/b?c=d#e", ("http", "10.0.0.7:8080", "/a/b?c=d")),
            ("HTTPS://[fd00::7]:8443?x", ("https", "[fd00::7]:8443", "/?x")),
        ]:
            with self.subTest(url=url):
                self.assertEqual(url_parts(url), parts)
        for url in ["", "example.com", "ftp://a/", "https://", "https:///a", "https://me@a/", "https://a:b/", "https://a b/", "https://[::1/"]:
            with self.subTest(url=url), self.assertRaisesRegex(NoAnswer, "is no URL of http or https"):
                url_parts(url)

    def test_what_the_host_says_is_said_in_words(self) -> None:
        for name, value, word, words in [
            ("ConnectionRefused", None, "connection-refused", "a:443: connection refused"),
            ("TlsCertificateError", None, "TLS-certificate-error", "a:443: TLS certificate error"),
            ("HttpRequestDenied", None, "HTTP-request-denied", "asking a:443 isn't granted to the plugin"),
            ("InternalError", "tls: it speaks none", "internal-error", "a:443: tls: it speaks none"),
            ("InternalError", None, "internal-error", "a:443: internal error"),
            ("HttpResponseBodySize", 7, "HTTP-response-body-size", "a:443: HTTP response body size (7)"),
            ("DnsError", Payload("NXDOMAIN", None), "DNS-error", "a:443: DNS error (NXDOMAIN)"),
        ]:
            made = dataclasses.make_dataclass(f"ErrorCode_{name}", [("value", object)])
            error = http_error(made(value), "a:443")
            with self.subTest(name=name):
                self.assertEqual((error.code, str(error)), (word, words))


@dataclasses.dataclass
class Payload:
    rcode: str | None
    info_code: int | None


if __name__ == "__main__":
    unittest.main()
