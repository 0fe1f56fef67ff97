"""The handler, asked about manifests."""

import unittest
from typing import Any
from unittest.mock import patch

from wit_world.imports import log

from app import REASON, RequiredLabel
from witlet_admission import HandlerError, Verdict, admit, reject
from witlet_facts import PodFacts, RequestFacts, loaded


class Labels(unittest.TestCase):
    def judged(self, labels: dict[str, str]) -> Verdict:
        with patch.object(log, "write") as write:
            pod = PodFacts({"metadata": {"name": "web", "labels": labels}})
            verdict = RequiredLabel("team").admit(RequestFacts(pod))
            self.lines = [call.args[1] for call in write.call_args_list]
        return verdict

    def test_a_pod_with_the_label_is_admitted_and_logged(self) -> None:
        self.assertEqual(self.judged({"app": "web", "team": "shop"}), admit())
        self.assertEqual(self.lines, ["pod web has team=shop"])

    def test_a_pod_without_the_label_is_rejected(self) -> None:
        for labels, message in [
            ({}, "the pod has no label team"),
            ({"app": "web"}, "the pod has no label team"),
            ({"team": ""}, "the pod's label team is empty"),
        ]:
            with self.subTest(labels=labels):
                self.assertEqual(self.judged(labels), reject(REASON, message))


class Configuration(unittest.TestCase):
    def test_the_handler_is_asked_about_new_pods_alone(self) -> None:
        _, setup = loaded((RequiredLabel,), {"label": "team"})
        self.assertEqual(setup.subscribed, ["add"])

    def test_what_is_wrong_is_refused_by_name(self) -> None:
        cases: list[tuple[Any, str]] = [
            (None, "label: is missing"),
            ({}, "label: is missing"),
            ({"label": 1}, "label: must be a text"),
            ({"label": ""}, "label: must have 1 to 317 characters"),
            ({"label": "x" * 318}, "label: must have 1 to 317 characters"),
            ({"label": "team", "lable": "team"}, "lable: unknown field, expected label"),
        ]
        for config, words in cases:
            with self.subTest(config=config), self.assertRaisesRegex(HandlerError, words):
                loaded((RequiredLabel,), config)


if __name__ == "__main__":
    unittest.main()
