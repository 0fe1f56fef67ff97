"""The source, polled with folders."""

import json
import unittest
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

from componentize_py_types import Err
from wit_world.imports import config as configuration
from wit_world.imports import log
from wit_world.imports.types import PollResult, Snapshot_Empty, Snapshot_Pods, Snapshot_Unchanged, SourceError

from app import Source

POD = '{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"}}'


class Poll(unittest.TestCase):
    def setUp(self) -> None:
        temporary = TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = Path(temporary.name)

    def poll(self, cursor: str | None = None, folder: Path | None = None) -> PollResult:
        config = json.dumps({"folder": str(folder or self.folder)})
        with patch.object(configuration, "get", return_value=config), patch.object(log, "write"):
            return Source().poll(cursor)

    def refused(self, folder: Path | None = None) -> SourceError:
        with self.assertRaises(Err) as error:
            self.poll(folder=folder)
        value = error.exception.value
        assert isinstance(value, SourceError)
        return value

    def test_files_are_reported_once(self) -> None:
        (self.folder / "web.json").write_text(POD)
        first = self.poll()
        self.assertEqual(first.snapshot, Snapshot_Pods([POD]))
        self.assertEqual(self.poll(first.cursor), PollResult(Snapshot_Unchanged(), first.cursor, None))

    def test_a_folder_that_becomes_empty_is_reported_once(self) -> None:
        (self.folder / "web.json").write_text(POD)
        first = self.poll()
        (self.folder / "web.json").unlink()
        second = self.poll(first.cursor)
        self.assertEqual(second.snapshot, Snapshot_Empty())
        self.assertEqual(self.poll(second.cursor).snapshot, Snapshot_Unchanged())

    def test_a_folder_that_isnt_there_is_an_error_and_never_empty(self) -> None:
        error = self.refused(self.folder / "elsewhere")
        self.assertEqual((error.reason, error.retry_after_milliseconds), ("Unavailable", None))
        self.assertIn("elsewhere", error.message)

    def test_half_a_file_is_an_error_that_names_it(self) -> None:
        (self.folder / "web.json").write_text(POD)
        (self.folder / "bad.json").write_text('{"kind": "Po')
        error = self.refused()
        self.assertEqual((error.reason, error.retry_after_milliseconds), ("Invalid", None))
        self.assertIn("bad.json", error.message)


class Validate(unittest.TestCase):
    def test_a_folder_is_taken(self) -> None:
        Source().validate('{"folder": "/pods"}')

    def test_what_is_wrong_is_refused_by_name(self) -> None:
        for text, words in [
            ("null", "an object is needed"),
            ("{}", "folder: is missing"),
            ('{"folder": 1}', "folder: must be a text"),
            ('{"folder": "pods"}', "folder: must be an absolute path"),
            ('{"folder": "/pods", "recursive": true}', "unknown field recursive, expected folder"),
        ]:
            with self.subTest(text=text), self.assertRaises(Err) as refused:
                Source().validate(text)
            self.assertEqual(refused.exception.value, words)


if __name__ == "__main__":
    unittest.main()
