"""The source, polled with configurations."""

import json
import unittest
from typing import Any, cast
from unittest.mock import patch

from wit_world.imports import log
from wit_world.imports.source_types import Setup

from app import OwnPods
from witlet_source import HandlerError, Poll, made, pods, unchanged


def pod(name: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}}


def poll(manifests: list[Any], cursor: str | None = None) -> Poll:
    with patch.object(log, "write"):
        return OwnPods(manifests).poll(cursor)


class Polls(unittest.TestCase):
    def test_the_pods_of_the_configuration_are_reported_once(self) -> None:
        manifests = [pod("web"), pod("db")]
        first = poll(manifests)
        assert first.cursor is not None
        self.assertEqual(first, pods(json.dumps(manifest) for manifest in manifests).at(first.cursor))
        self.assertEqual(poll(manifests, first.cursor), unchanged().at(first.cursor))

    def test_no_pods_are_reported_as_such(self) -> None:
        first = poll([])
        self.assertEqual(first.snapshot, "empty")
        self.assertEqual(poll([], first.cursor).snapshot, "unchanged")

    def test_other_pods_are_reported_again(self) -> None:
        first = poll([pod("web")])
        self.assertEqual(poll([pod("db")], first.cursor).snapshot, "pods")
        self.assertEqual(poll([], first.cursor).snapshot, "empty")


class Configuration(unittest.TestCase):
    def load(self, config: Any) -> None:
        made(OwnPods, json.dumps(config)).validate(cast(Setup, None))

    def test_pods_are_taken(self) -> None:
        self.load({"pods": [pod("web")]})

    def test_what_is_wrong_is_refused_by_name(self) -> None:
        cases: list[tuple[Any, str]] = [
            (None, "pods: is missing"),
            ({}, "pods: is missing"),
            ({"pods": {}}, "pods: must be a list"),
            ({"pods": [pod("web"), {"kind": "Service", "metadata": {"name": "x"}}]}, r"pods\[1\]: an object of kind Pod"),
            ({"pods": [{"kind": "Pod"}]}, r"pods\[0\]: an object of kind Pod"),
            ({"pods": [], "pod": []}, "pod: unknown field, expected pods"),
        ]
        for config, words in cases:
            with self.subTest(config=config), self.assertRaisesRegex(HandlerError, words):
                self.load(config)


if __name__ == "__main__":
    unittest.main()
