"""The source, polled with folders."""

import json
import unittest
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any, cast
from unittest.mock import Mock, patch

from componentize_py_types import Err
from wit_world.imports import config as configuration
from wit_world.imports import errors, log

import witlet_source as sdk
from app import Feedback, Folder, Source
from witlet_source import HandlerError, Poll, pods, unchanged

POD = '{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"}}'


class FakeError:
    """What `witlet:host/errors` makes."""

    def __init__(self, code: str, message: str) -> None:
        self.said = f"{code}: {message}"


def refused(call: Any) -> str:
    """The code and the message of the error that a call ends with."""
    with patch.object(errors, "Error", FakeError):
        try:
            call()
        except Err as error:
            return cast(FakeError, error.value).said
    return ""


class Poller(unittest.TestCase):
    def setUp(self) -> None:
        temporary = TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = Path(temporary.name)

    def poll(self, cursor: str | None = None) -> Poll:
        return Folder(str(self.folder)).poll(cursor)

    def test_files_are_reported_once(self) -> None:
        (self.folder / "web.json").write_text(POD)
        (self.folder / ".hidden.json").write_text("half")
        first = self.poll()
        assert first.cursor is not None
        self.assertEqual(first, pods([POD]).at(first.cursor))
        self.assertEqual(self.poll(first.cursor), unchanged().at(first.cursor))

    def test_a_folder_that_becomes_empty_is_reported_once(self) -> None:
        first = self.poll()
        self.assertEqual(first.snapshot, "empty")
        self.assertEqual(self.poll(first.cursor).snapshot, "unchanged")

    def test_what_cant_be_read_is_an_error_that_names_it(self) -> None:
        with self.assertRaisesRegex(HandlerError, "elsewhere: No such file"):
            Folder(str(self.folder / "elsewhere")).poll(None)
        for text in [b'{"kind": "Po', b"[]", b"null", b"\xff", b'{"kind": "Service"}', b" " * (1 << 21), b"[" * 1000]:
            (self.folder / "bad.json").write_bytes(text)
            with self.subTest(text=text[:20]), self.assertRaises(HandlerError) as error:
                self.poll()
            self.assertEqual((error.exception.code, error.exception.message[:8]), ("Invalid", "bad.json"))

    def test_an_answer_is_said_by_calls(self) -> None:
        answer = Mock()
        (self.folder / "web.json").write_text(POD)
        with patch.object(configuration, "get", return_value=json.dumps({"folder": str(self.folder)})):
            Source().poll(None, answer)
        self.assertEqual([call[0] for call in answer.method_calls], ["pod", "cursor"])
        answer.reset_mock()
        unchanged().at("7").after(2.5).say(answer)
        said = [(call[0], call.args) for call in answer.method_calls]
        self.assertEqual(said, [("unchanged", ()), ("cursor", ("7",)), ("next_poll_milliseconds", (2500,))])


class Loading(unittest.TestCase):
    def test_a_folder_is_taken(self) -> None:
        Source().validate(Mock(), '{"folder": "/pods"}')

    def test_what_is_wrong_is_refused_by_name(self) -> None:
        for text, words in [
            ("{}", "InvalidConfiguration: folder: is missing"),
            ('{"folder": 1}', "InvalidConfiguration: folder: must be a text"),
            ('{"folder": "pods"}', "InvalidConfiguration: folder: must be an absolute path"),
            ('{"folder": "/pods", "recursive": true}', "InvalidConfiguration: recursive: unknown field, expected folder"),
        ]:
            with self.subTest(text=text):
                self.assertEqual(refused(lambda text=text: Source().validate(Mock(), text)), words)


class Telling(unittest.TestCase):
    def test_pods_that_arent_run_are_logged(self) -> None:
        def change(**texts: str) -> SimpleNamespace:
            names = ["kind", "namespace", "name", "uid", "phase", "reason", "message", "status"]
            return SimpleNamespace(**{name: lambda name=name: texts.get(name, "") for name in names})

        left_out = change(kind="left-out", namespace="default", name="web", reason="PodForbidden", message="no")
        news = Mock(next=Mock(side_effect=[left_out, change(kind="status", phase="Running"), None]))
        with (
            patch.object(configuration, "get", return_value='{"folder": "/pods"}'),
            patch.object(log, "write") as write,
        ):
            Feedback().notify(news)
        write.assert_called_once_with(log.Level.WARN, "pod default/web isn't run: PodForbidden: no", [])
        self.assertFalse(sdk.Change("gone").is_refused)


if __name__ == "__main__":
    unittest.main()
