"""The handler, asked about fakes of what the host hands over."""

import unittest
from unittest.mock import patch

from componentize_py_types import Err
from wit_world.imports import config as configuration
from wit_world.imports import log
from wit_world.imports.types import (
    Container,
    ContainerKind,
    Operation,
    Pod,
    Rejection,
    Request,
    Verdict,
    Verdict_Admit,
    Verdict_Reject,
)

from app import Handler, Policy


def container(image: str, name: str = "app") -> Container:
    return Container(name, ContainerKind.APP, image)


class FakePod(Pod):
    def __init__(self, containers: list[Container]) -> None:
        self._containers = containers

    def containers(self) -> list[Container]:
        return self._containers


class FakeRequest(Request):
    def __init__(self, operation: Operation, *containers: Container) -> None:
        self._operation = operation
        self._containers = list(containers)

    def operation(self) -> Operation:
        return self._operation

    def pod(self) -> Pod:
        return FakePod(self._containers)


class Objections(unittest.TestCase):
    def test_images_are_judged_by_their_place(self) -> None:
        policy = Policy(("docker.io/library", "localhost:5000"))
        cases: list[tuple[str, Rejection | None]] = [
            ("nginx", None),
            ("localhost:5000/web", None),
            ("", Rejection("ImageNotAllowed", 'container "app": no image is named')),
            ("team/app:1", Rejection("ImageNotAllowed", 'container "app": docker.io/team/app isn\'t allowed')),
        ]
        for image, objection in cases:
            with self.subTest(image=image):
                self.assertEqual(policy.objection(container(image)), objection)

    def test_an_image_must_be_pinned_if_the_policy_says_so(self) -> None:
        policy = Policy(("docker.io",), require_digest=True)
        self.assertIsNone(policy.objection(container("nginx@sha256:00")))
        not_pinned = Rejection("ImageNotPinned", 'container "app": docker.io/library/nginx isn\'t pinned by a digest')
        self.assertEqual(policy.objection(container("nginx:1.27")), not_pinned)


class Configuration(unittest.TestCase):
    def test_places_are_taken(self) -> None:
        self.assertEqual(Policy.parse('{"allow": ["docker.io"]}'), Policy(("docker.io",)))
        strict = '{"allow": ["a.example.com/x", "b.example.com"], "requireDigest": true}'
        self.assertEqual(Policy.parse(strict), Policy(("a.example.com/x", "b.example.com"), True))

    def test_what_is_wrong_is_refused_by_name(self) -> None:
        for text, words in [
            ("null", "an object is needed"),
            ("{}", "allow: is missing"),
            ("{", "Expecting property name"),
            ('{"allow": "docker.io"}', "allow: must be a list"),
            ('{"allow": []}', "allow: at least one place"),
            ('{"allow": ["docker.io", ""]}', r"allow\[1\]: may not be empty"),
            ('{"allow": ["docker.io/"]}', r"allow\[0\]: docker.io/ may neither"),
            ('{"allow": [1]}', r"allow\[0\]: must be a text"),
            ('{"allow": ["a"], "requireDigest": 1}', "requireDigest: must be true or false"),
            ('{"allow": ["a"], "requireDigests": true}', "unknown field requireDigests"),
        ]:
            with self.subTest(text=text), self.assertRaisesRegex(ValueError, words):
                Policy.parse(text)


class Exports(unittest.TestCase):
    def admit(self, request: Request) -> Verdict:
        with patch.object(configuration, "get", return_value='{"allow": ["docker.io/library"]}'), patch.object(log, "write"):
            return Handler().admit(request)

    def test_the_first_container_that_is_wrong_is_named(self) -> None:
        request = FakeRequest(Operation.ADD, container("nginx", "a"), container("x/y", "b"), container("z/y", "c"))
        rejection = Rejection("ImageNotAllowed", 'container "b": docker.io/x/y isn\'t allowed')
        self.assertEqual(self.admit(request), Verdict_Reject(rejection))

    def test_good_images_are_admitted(self) -> None:
        self.assertEqual(self.admit(FakeRequest(Operation.ADD, container("nginx"))), Verdict_Admit())

    def test_a_resize_isnt_checked(self) -> None:
        self.assertEqual(self.admit(FakeRequest(Operation.RESIZE, container("x/y"))), Verdict_Admit())

    def test_a_configuration_is_refused_in_its_words(self) -> None:
        with self.assertRaises(Err) as refused:
            Handler().validate('{"allow": []}')
        self.assertEqual(refused.exception.value, "allow: at least one place is needed, else no pod could run")


if __name__ == "__main__":
    unittest.main()
