"""What the host does is replaced where a test runs."""

import unittest
from typing import cast
from unittest.mock import patch

from wit_world.imports.probe_types import Target

import app
from app import Https
from witlet import NoAnswer, Response
from witlet_probe import failure, success


class Asking(unittest.TestCase):
    def test_an_answer_is_judged_by_its_status(self) -> None:
        for response, outcome in [
            (Response(200, {"x-node": "edge"}, b"fine"), success("200 edge fine")),
            (Response(503, {}, b"busy"), failure("503 - busy")),
        ]:
            with self.subTest(status=response.status), patch.object(app, "request", return_value=response):
                self.assertEqual(Https().probe(cast(Target, None), Https.Parameters(url="https://a/")), outcome)

    def test_no_answer_is_a_failure_in_words(self) -> None:
        with patch.object(app, "request", side_effect=NoAnswer("a: connection refused", "connection-refused")):
            outcome = Https().probe(cast(Target, None), Https.Parameters(url="https://a/"))
        self.assertEqual(outcome, failure("connection-refused: a: connection refused"))
