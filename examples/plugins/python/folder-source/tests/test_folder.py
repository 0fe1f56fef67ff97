"""Folders of manifests."""

import json
import unittest
from pathlib import Path
from tempfile import TemporaryDirectory

from folder import FILE_BYTES_MAX, Invalid, Unreadable, depth, fingerprint, manifest, read


class Read(unittest.TestCase):
    def setUp(self) -> None:
        temporary = TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = Path(temporary.name)

    def test_files_are_read_in_the_order_of_their_names(self) -> None:
        for name in ["web.json", "db.json", "größe-π.json", "Z.json"]:
            (self.folder / name).write_text(name)
        files = read(self.folder)
        self.assertEqual(list(files), ["Z.json", "db.json", "größe-π.json", "web.json"])
        self.assertEqual(files["web.json"], b"web.json")

    def test_what_isnt_meant_is_left_out(self) -> None:
        for name in ["README.md", "web.yaml", "web.json.swp", ".web.json"]:
            (self.folder / name).write_text("half")
        (self.folder / "further.json").mkdir()
        self.assertEqual(read(self.folder), {})

    def test_a_folder_that_isnt_there_is_named(self) -> None:
        with self.assertRaisesRegex(Unreadable, "elsewhere: No such file or directory"):
            read(self.folder / "elsewhere")

    def test_no_more_is_read_than_is_needed_to_refuse_it(self) -> None:
        (self.folder / "large.json").write_bytes(b" " * (2 * FILE_BYTES_MAX))
        self.assertEqual(len(read(self.folder)["large.json"]), FILE_BYTES_MAX + 1)


class Fingerprint(unittest.TestCase):
    def test_names_and_contents_both_count(self) -> None:
        sets: list[dict[str, bytes]] = [
            {},
            {"a.json": b"x"},
            {"b.json": b"x"},
            {"a.json": b"y"},
            {"a.json": b"", "x": b""},
            {"a.json": b"xa.json"},
        ]
        self.assertEqual(len({fingerprint(files) for files in sets}), len(sets))
        self.assertEqual(fingerprint({"a.json": b"x"}), fingerprint({"a.json": b"x"}))


class Manifest(unittest.TestCase):
    def test_a_pod_passes_as_it_is(self) -> None:
        text = json.dumps({"kind": "Pod", "metadata": {"name": "größe π 🦀"}}, ensure_ascii=False)
        self.assertEqual(manifest("a.json", text.encode()), text)

    def test_depth_is_counted_outside_of_texts(self) -> None:
        for text, levels in [("1", 0), ("[]", 1), ('{"a": [{}, [[]]]}', 4), ('["[[", "\\\\", "\\"[["]', 1), ("][[", 1)]:
            with self.subTest(text=text):
                self.assertEqual(depth(text), levels)

    def test_what_is_no_pod_is_refused_by_the_files_name(self) -> None:
        for text, words in [
            (b"", "a.json is no JSON"),
            (b'{"kind": "Po', "a.json is no JSON"),
            (b"[" * 100_000, "a.json is nested deeper than 128 levels"),
            (b"\xff", "a.json isn't UTF-8"),
            (b'[{"kind": "Pod"}]', "a.json is no JSON object"),
            (b'{"kind": "Service"}', "a.json: its kind isn't Pod"),
            (b'{"metadata": {}}', "a.json: its kind isn't Pod"),
            (b'{"kind": ["Pod"]}', "a.json: its kind isn't Pod"),
            (b" " * (FILE_BYTES_MAX + 1), "a.json is larger than 1048576 bytes"),
        ]:
            with self.subTest(text=text[:20]), self.assertRaisesRegex(Invalid, words):
                manifest("a.json", text)


if __name__ == "__main__":
    unittest.main()
