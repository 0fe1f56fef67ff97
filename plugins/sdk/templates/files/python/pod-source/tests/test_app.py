"""The source, polled with configurations."""

import json
import unittest
from typing import Any
from unittest.mock import patch

from componentize_py_types import Err
from wit_world.imports import config as configuration
from wit_world.imports import log
from wit_world.imports.types import PollResult, Snapshot_Empty, Snapshot_Pods, Snapshot_Unchanged, SourceError

from app import Source


def pod(name: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}}


def poll(config: object, cursor: str | None = None) -> PollResult:
    with patch.object(configuration, "get", return_value=json.dumps(config)), patch.object(log, "write"):
        return Source().poll(cursor)


class Poll(unittest.TestCase):
    def test_the_pods_of_the_configuration_are_reported_once(self) -> None:
        config = {"pods": [pod("web"), pod("db")]}
        first = poll(config)
        match first.snapshot:
            case Snapshot_Pods(texts):
                self.assertEqual([json.loads(text) for text in texts], config["pods"])
            case other:
                self.fail(f"{other}")
        self.assertEqual(poll(config, first.cursor), PollResult(Snapshot_Unchanged(), first.cursor, None))

    def test_no_pods_are_reported_as_such(self) -> None:
        first = poll({"pods": []})
        self.assertEqual(first.snapshot, Snapshot_Empty())
        self.assertEqual(poll({"pods": []}, first.cursor).snapshot, Snapshot_Unchanged())

    def test_other_pods_are_reported_again(self) -> None:
        first = poll({"pods": [pod("web")]})
        self.assertIsInstance(poll({"pods": [pod("db")]}, first.cursor).snapshot, Snapshot_Pods)
        self.assertEqual(poll({"pods": []}, first.cursor).snapshot, Snapshot_Empty())

    def test_what_cant_be_read_is_an_error_and_never_empty(self) -> None:
        with self.assertRaises(Err) as error:
            poll(None)
        self.assertEqual(error.exception.value, SourceError("Invalid", "an object is needed", None))


class Validate(unittest.TestCase):
    def test_pods_are_taken(self) -> None:
        Source().validate(json.dumps({"pods": [pod("web")]}))

    def test_what_is_wrong_is_refused_by_name(self) -> None:
        cases: list[tuple[object, str]] = [
            (None, "an object is needed"),
            ({}, "pods: is missing"),
            ({"pods": [pod("web"), {"kind": "Service", "metadata": {"name": "x"}}]}, "pods[1]: an object of kind Pod"),
            ({"pods": [{"kind": "Pod"}]}, "pods[0]: an object of kind Pod"),
            ({"pods": [], "pod": []}, "unknown field pod, expected pods"),
        ]
        for config, words in cases:
            with self.subTest(config=config), self.assertRaises(Err) as refused:
                Source().validate(json.dumps(config))
            self.assertIn(words, refused.exception.value)


if __name__ == "__main__":
    unittest.main()
