"""The handler, asked about fakes of what the host hands over."""

import unittest
from unittest.mock import patch

from componentize_py_types import Err
from wit_world.imports import config as configuration
from wit_world.imports import log
from wit_world.imports.types import Operation, Pod, PodRef, Rejection, Request, Verdict, Verdict_Admit, Verdict_Reject

from app import REASON, Config, Handler, judge


class FakePod(Pod):
    def __init__(self, labels: dict[str, str]) -> None:
        self._labels = labels

    def identity(self) -> PodRef:
        return PodRef("default", "web", "u1")

    def labels(self) -> list[tuple[str, str]]:
        return sorted(self._labels.items())


class FakeRequest(Request):
    def __init__(self, operation: Operation, labels: dict[str, str]) -> None:
        self._operation = operation
        self._labels = labels

    def operation(self) -> Operation:
        return self._operation

    def pod(self) -> Pod:
        return FakePod(self._labels)


def rejected(message: str) -> Verdict:
    return Verdict_Reject(Rejection(REASON, message))


class Judge(unittest.TestCase):
    def test_a_pod_is_judged_by_its_label(self) -> None:
        cases: list[tuple[dict[str, str], Verdict]] = [
            ({"app": "web", "team": "shop"}, Verdict_Admit()),
            ({"app": "web"}, rejected("the pod has no label team")),
            ({}, rejected("the pod has no label team")),
            ({"team": ""}, rejected("the pod's label team is empty")),
        ]
        for labels, verdict in cases:
            with self.subTest(labels=labels):
                self.assertEqual(judge(Config("team"), labels), verdict)


class Configuration(unittest.TestCase):
    def test_a_label_is_taken(self) -> None:
        self.assertEqual(Config.parse('{"label": "team"}'), Config("team"))

    def test_what_is_wrong_is_refused_by_name(self) -> None:
        for text, words in [
            ("null", "an object is needed"),
            ("{}", "label: is missing"),
            ('{"label": 1}', "label: must be a text"),
            ('{"label": ""}', "label: may not be empty"),
            (f'{{"label": "{"x" * 318}"}}', "label: must have at most 317 characters"),
            ('{"label": "team", "lable": "team"}', "unknown field lable"),
        ]:
            with self.subTest(text=text), self.assertRaisesRegex(ValueError, words):
                Config.parse(text)


class Exports(unittest.TestCase):
    def admit(self, operation: Operation, labels: dict[str, str]) -> Verdict:
        with patch.object(configuration, "get", return_value='{"label": "team"}'), patch.object(log, "write") as write:
            verdict = Handler().admit(FakeRequest(operation, labels))
            self.lines = [call.args[1] for call in write.call_args_list]
        return verdict

    def test_a_new_pod_is_judged_and_logged(self) -> None:
        self.assertEqual(self.admit(Operation.ADD, {}), rejected("the pod has no label team"))
        self.assertEqual(self.lines, ["judged"])

    def test_a_resize_isnt_checked(self) -> None:
        self.assertEqual(self.admit(Operation.RESIZE, {}), Verdict_Admit())

    def test_a_configuration_is_refused_in_its_words(self) -> None:
        with self.assertRaises(Err) as refused:
            Handler().validate("{}")
        self.assertEqual(refused.exception.value, "label: is missing")


if __name__ == "__main__":
    unittest.main()
