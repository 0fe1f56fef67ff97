"""What the host does is replaced where a test runs."""

import unittest
from unittest.mock import patch

import app
from app import Https
from witlet import NoAnswer, Response
from witlet_source import HandlerError, pods, unchanged


class Polling(unittest.TestCase):
    def test_what_the_server_answers_is_the_set(self) -> None:
        source = Https("https://a/")
        with patch.object(app, "request", return_value=Response(200, {}, b"{}")):
            first = source.poll(None)
            self.assertEqual(first, pods(["{}"]).at(first.cursor or ""))
            self.assertEqual(source.poll(first.cursor), unchanged().at(first.cursor or ""))

    def test_without_an_answer_nothing_is_known(self) -> None:
        for answered in (NoAnswer("no answer in time"), Response(404, {}, b"")):
            with self.subTest(answered=answered), patch.object(app, "request", side_effect=[answered]):
                with self.assertRaises(HandlerError):
                    Https("https://a/").poll(None)
