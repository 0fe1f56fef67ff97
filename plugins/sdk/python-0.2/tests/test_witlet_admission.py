"""The SDK, with recording stand-ins of what the host hands over."""

import json
import unittest
from collections.abc import Callable
from dataclasses import field
from typing import Any
from unittest.mock import patch

from wit_world import exports

# The project that the SDK is tested in may be of another role, whose bindings have no handler.
if not hasattr(exports, "Handler"):
    raise unittest.SkipTest("these are the bindings of another role")

from componentize_py_types import Err
from wit_world.imports import config as configuration
from wit_world.imports import errors
from wit_world.imports.admission_types import Answer, Request, Setup

from witlet_admission import (
    AdmissionHandler,
    HandlerError,
    Shortage,
    Verdict,
    admit,
    at,
    controller,
    decoded,
    defer,
    exported,
    invalid,
    is_within,
    made,
    reject,
    reject_first,
    shortages,
    shown,
)
from witlet_facts import PodFacts, RequestFacts, SetupFacts, loaded


class Owned(AdmissionHandler):
    """Pods have an owner's label."""

    subscribes = ("add",)
    label: str
    warn_after: int | None = None
    teams: dict[str, list[str]] = field(default_factory=dict)

    def validate(self, setup: Setup) -> None:
        if not self.label:
            raise invalid("label", "name one")
        if "/" not in self.label:
            setup.warn("a label without a prefix is everyone's")

    def admit(self, request: Request) -> Verdict:
        owner = request.pod().label(self.label)
        if owner == "unknown":
            raise HandlerError("NoTable", "the table can't be read", retry_after_milliseconds=30_000, details={"rows": "7"})
        return admit().annotate("owner", owner) if owner else reject("NoOwner", f"the pod has no label {self.label}")


class Open(AdmissionHandler):
    def admit(self, request: Request) -> Verdict:
        return admit()


class FakeAnswer(Answer):
    """Keeps what is said."""

    def __init__(self) -> None:
        self.said: list[tuple[Any, ...]] = []

    def admit(self) -> None:
        self.said.append(("admit",))

    def reject(self, reason: str, message: str) -> None:
        self.said.append(("reject", reason, message))

    def defer(self, reason: str, message: str, retry_after_milliseconds: int) -> None:
        self.said.append(("defer", reason, message, retry_after_milliseconds))

    def shortage(self, resource: str, requested: int, used: int, capacity: int) -> None:
        self.said.append(("shortage", resource, requested, used, capacity))

    def warn(self, message: str) -> None:
        self.said.append(("warn", message))

    def annotate(self, key: str, value: str) -> None:
        self.said.append(("annotate", key, value))


class FakeError(errors.Error):
    def __init__(self, code: str, message: str) -> None:
        self.said: dict[str, Any] = {"code": code, "message": message}

    def set_retry_after_milliseconds(self, milliseconds: int) -> None:
        self.said["retry"] = milliseconds

    def set_detail(self, key: str, value: str) -> None:
        self.said[key] = value


def labelled(owner: str) -> RequestFacts:
    return RequestFacts(PodFacts({"metadata": {"labels": {"team": owner}}}))


class Verdicts(unittest.TestCase):
    def test_each_verdict_is_said_by_its_own_call(self) -> None:
        lacking = [Shortage("cpu", 1, 2, 3), Shortage("memory", 4, 5, 6)]
        for verdict, said in [
            (admit(), [("admit",)]),
            (admit().warn("w").annotate("k", "v"), [("admit",), ("warn", "w"), ("annotate", "k", "v")]),
            (reject("R", "m"), [("reject", "R", "m")]),
            (reject_first("R", iter(["a", "b"])), [("reject", "R", "a")]),
            (reject_first("R", []), [("admit",)]),
            (defer("R", "m", 1.5), [("defer", "R", "m", 1500)]),
            (shortages(lacking), [("shortage", "cpu", 1, 2, 3), ("shortage", "memory", 4, 5, 6)]),
            (shortages([]), [("admit",)]),
        ]:
            with self.subTest(verdict=verdict):
                answer = FakeAnswer()
                verdict.say(answer)
                self.assertEqual(answer.said, said)


class Configuration(unittest.TestCase):
    def test_fields_are_taken_by_their_types(self) -> None:
        handler, setup = loaded((Owned,), {"label": "team", "warnAfter": 7, "teams": {"shop": ["a"]}})
        self.assertEqual(handler, Owned(label="team", warn_after=7, teams={"shop": ["a"]}))
        self.assertEqual((setup.subscribed, setup.warnings), (["add"], ["a label without a prefix is everyone's"]))
        self.assertEqual(loaded((Owned,), {"label": "a/b", "warnAfter": None})[1].warnings, [])
        self.assertEqual(decoded(float, 1), 1)
        self.assertEqual(loaded((Open,), None)[1].subscribed, ["add", "update", "ephemeral"])

    def test_what_is_wrong_is_refused_by_name(self) -> None:
        for text, words in [
            ("{", "no JSON"),
            ("[]", "the configuration: must be an object"),
            ("{}", "label: is missing"),
            ('{"label": 1}', "label: must be a text"),
            ('{"label": ""}', "label: name one"),
            ('{"label": "a", "warnAfter": true}', "warnAfter: must be a whole number"),
            ('{"label": "a", "warn_after": 1}', "warn_after: unknown field, expected label or warnAfter or teams"),
            ('{"label": "a", "teams": []}', "teams: must be an object"),
            ('{"label": "a", "teams": {"x": "y"}}', "teams.x: must be a list"),
            ('{"label": "a", "teams": {"x": ["y", 1]}}', r"teams.x\[1\]: must be a text"),
        ]:
            with self.subTest(text=text), self.assertRaisesRegex(HandlerError, words):
                made((Owned,), text).validate(SetupFacts())

    def test_a_type_that_no_configuration_has_is_the_authors_mistake(self) -> None:
        with self.assertRaisesRegex(TypeError, "no configuration is of the type"):
            decoded(set[str], [])

    def test_one_handler_of_many_is_picked_by_its_name(self) -> None:
        self.assertEqual(made((Owned, Open), '{"policy": "open"}'), Open())
        for text in ['{"policy": "shut"}', "{}", "null", "[]"]:
            with self.subTest(text=text), self.assertRaisesRegex(HandlerError, "is none of owned, open"):
                made((Owned, Open), text)


class Exports(unittest.TestCase):
    def setUp(self) -> None:
        self.enterContext(patch.object(errors, "Error", FakeError))
        self.enterContext(patch.object(configuration, "get", return_value='{"label": "team"}'))
        self.handler = exported(Owned)()

    def test_a_handler_is_loaded_and_asked(self) -> None:
        setup, answer = SetupFacts(), FakeAnswer()
        self.handler.validate(setup, '{"label": "team"}')
        self.assertEqual(setup.subscribed, ["add"])
        self.handler.admit(labelled("shop"), answer)
        self.assertEqual(answer.said, [("admit",), ("annotate", "owner", "shop")])

    def test_an_error_is_the_contracts(self) -> None:
        calls: list[tuple[Callable[[], None], dict[str, Any]]] = [
            (lambda: self.handler.validate(SetupFacts(), "{}"), {"code": "InvalidConfiguration", "message": "label: is missing"}),
            (
                lambda: self.handler.admit(labelled("unknown"), FakeAnswer()),
                {"code": "NoTable", "message": "the table can't be read", "retry": 30_000, "rows": "7"},
            ),
        ]
        for call, said in calls:
            with self.subTest(said=said), self.assertRaises(Err) as refused:
                call()
            self.assertEqual(refused.exception.value.said, said)

    def test_any_other_exception_leaves_as_it_is(self) -> None:
        with patch.object(configuration, "get", side_effect=RuntimeError), self.assertRaises(RuntimeError):
            self.handler.admit(labelled("shop"), FakeAnswer())


class Pods(unittest.TestCase):
    pod = PodFacts({
        "metadata": {"ownerReferences": [{"kind": "A", "name": "a"}, {"kind": "B", "name": "b", "controller": True}]},
        "spec": {
            "initContainers": [{"name": "setup"}, {"name": "proxy", "restartPolicy": "Always"}],
            "containers": [{"name": "app", "image": "nginx", "command": ["a", "b"]}],
            "ephemeralContainers": [{"name": "de\"bug"}],
            "volumes": [{"name": "data"}],
        },
    })

    def test_things_are_named_in_messages(self) -> None:
        containers = [shown(container) for container in self.pod.containers()]
        self.assertEqual(containers, ['init container "setup"', 'sidecar "proxy"', 'container "app"', r'ephemeral container "de\"bug"'])
        self.assertEqual(shown(self.pod.images()[2]), 'image "docker.io/library/nginx:latest" (spec.containers[0].image)')
        self.assertEqual(shown(self.pod.volumes()[0]), 'volume "data"')

    def test_an_image_is_within_a_place_in_whole_parts(self) -> None:
        image = self.pod.images()[2]
        places = ["docker.io", "docker.io/library", "docker.io/library/nginx", "docker.io/lib", "docker"]
        self.assertEqual([is_within(image, place) for place in places], [True, True, True, False, False])

    def test_a_pointer_leads_to_a_value(self) -> None:
        self.assertEqual((at(self.pod.containers()[2], "/command"), at(self.pod, "/spec/none")), (["a", "b"], None))
        self.assertEqual(json.loads(self.pod.json())["spec"]["volumes"], [{"name": "data"}])

    def test_the_controller_is_an_owner(self) -> None:
        owner = controller(self.pod)
        self.assertEqual(owner and owner.name(), "b")
        self.assertIsNone(controller(PodFacts()))


if __name__ == "__main__":
    unittest.main()
