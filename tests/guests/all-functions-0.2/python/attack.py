"""What a plugin may do to its host: the attack that the configuration names (`{do: attack, attack: NAME}`)."""

import os
import time

from wit_world.imports import log
from wit_world.imports.admission_types import Answer

HUGE = 8 << 20
"""An answer far beyond what a host takes at once."""


def run(name: str, answer: Answer) -> None:
    """Attacks; few of them return."""
    match name:
        case "spin":
            while True:
                pass
        case "grow":
            kept = []
            while True:
                kept.append(bytearray(1 << 20))
        case "recurse":
            answer.reject("Recursed", str(recurse(1 << 30)))
        case "crash":
            raise RuntimeError("a crash of the plugin's own")
        case "exit":
            os._exit(1)
        case "sleep":
            time.sleep(86_400)
        case "log-forever":
            while True:
                log.write(log.Level.ERROR, "spam", [("language", "python")])
        case "print-forever":
            while True:
                print("spam")
        case "huge-answer":
            answer.reject("Huge", "x" * HUGE)
        case _:
            answer.reject("Unknown", name)


def recurse(depth: int) -> int:
    return 0 if depth == 0 else recurse(depth - 1) + 1
