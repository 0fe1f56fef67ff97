"""What a plugin may do to its host: the attack that the configuration names (`answer: {attack: NAME}`)."""

import os
import time

from componentize_py_types import Err
from wit_world.imports import log
from wit_world.imports.witlet_admission_types import Rejection, Verdict, Verdict_Reject

HUGE = 8 << 20
"""An answer far beyond what a host takes at once."""


def run(name: str) -> Verdict:
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
            return Verdict_Reject(Rejection("Recursed", str(recurse(1 << 30))))
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
            return Verdict_Reject(Rejection("Huge", "x" * HUGE))
    raise Err(f"unknown attack {name}")


def recurse(depth: int) -> int:
    return 0 if depth == 0 else recurse(depth - 1) + 1
