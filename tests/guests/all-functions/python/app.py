"""Calls every function of the contracts, and answers with what it received. What it does is set by its configuration:
the golden vectors of the host say what must come of it."""

import json
from typing import Any

from componentize_py_types import Err
from wit_world import exports
from wit_world.imports import config as configuration
from wit_world.imports import exec, log, secret
from wit_world.imports.witlet_admission_types import (
    Deferral,
    Rejection,
    Request,
    Shortage,
    Verdict,
    Verdict_Admit,
    Verdict_Defer,
    Verdict_Reject,
    Verdict_Shortage,
)
from wit_world.imports.witlet_pod_source_types import (
    PodStatus,
    PollResult,
    Snapshot,
    Snapshot_Empty,
    Snapshot_Pods,
    Snapshot_Unchanged,
    SourceError,
)
from wit_world.imports.witlet_probe_types import Outcome, Outcome_Failure, Outcome_Success, Outcome_Warning, Target

import attack
import facts


def refuse(text: str) -> None:
    """What the configuration, or the parameters, want refused."""
    match json.loads(text):
        case {"refuse": str(words)}:
            raise Err(words)


def configured() -> Any:
    """None if there is no configuration."""
    return json.loads(configuration.get())


def write(level: log.Level, message: str) -> None:
    log.write(level, message, [("language", "python")])


class Handler(exports.Handler):
    def validate(self, config: str) -> None:
        refuse(config)

    def admit(self, request: Request) -> Verdict:
        for level in log.Level:
            write(level, f"logged at {level.name.lower()}")
        config = configured()
        asked = config or {}
        match asked.get("answer"):
            case None:
                reported = facts.of_request(request, asked.get("pointers", []))
                return Verdict_Reject(Rejection("Reported", json.dumps(reported | {"config": config})))
            case "admit":
                return Verdict_Admit()
            case {"defer": {"reason": reason, "message": message, "retryAfterMilliseconds": milliseconds}}:
                return Verdict_Defer(Deferral(reason, message, milliseconds))
            case {"shortage": list(shortages)}:
                return Verdict_Shortage([Shortage(**shortage) for shortage in shortages])
            case {"error": str(words)}:
                raise Err(words)
            case {"attack": str(name)}:
                return attack.run(name)
            case other:
                raise Err(f"unknown answer {other}")


class Prober(exports.Prober):
    def validate(self, config: str) -> None:
        refuse(config)

    def check_parameters(self, parameters: str) -> None:
        refuse(parameters)

    def probe(self, target: Target, parameters: str) -> Outcome:
        asked = json.loads(parameters) or {}
        reported = facts.of_target(target, asked.get("pointers", []))
        reported["secret"] = the_secret(asked.get("secret"))
        reported["exec"] = executed(target, asked.get("command"))
        detail = json.dumps(reported)
        match asked.get("answer", "success"):
            case "success":
                return Outcome_Success(detail)
            case "warning":
                return Outcome_Warning(detail)
            case "failure":
                return Outcome_Failure(detail)
            case {"error": str(words)}:
                raise Err(words)
            case other:
                raise Err(f"unknown answer {other}")


def the_secret(name: str | None) -> Any:
    if name is None:
        return None
    try:
        return facts.reported(secret.get(name))
    except Err as error:
        return facts.reported(error.value)


def executed(target: Target, command: list[str] | None) -> Any:
    if command is None:
        return None
    try:
        return facts.reported(exec.run(target, command))
    except Err as error:
        match error.value:
            case exec.ExecError_TimedOut():
                return {"timed-out": True}
            case exec.ExecError_Failed(words):
                return {"failed": words}


class Source(exports.Source):
    def validate(self, config: str) -> None:
        refuse(config)

    def poll(self, cursor: str | None) -> PollResult:
        write(log.Level.INFO, f"cursor {'none' if cursor is None else cursor}")
        config = configured() or {}
        return PollResult(snapshot(config.get("poll")), config.get("cursor"), config.get("nextPollMilliseconds"))


def snapshot(desired: Any) -> Snapshot:
    match desired:
        case None | {"unchanged": True}:
            return Snapshot_Unchanged()
        case {"pods": list(manifests)}:
            return Snapshot_Pods([text if isinstance(text, str) else json.dumps(text) for text in manifests])
        case {"error": dict(error)}:
            raise Err(SourceError(error["reason"], error["message"], error.get("retryAfterMilliseconds")))
        case {"empty": True}:
            return Snapshot_Empty()
        case other:
            raise Err(SourceError("Invalid", f"unknown poll {other}", None))


class Feedback(exports.Feedback):
    def statuses(self, changed: list[PodStatus]) -> None:
        if (configured() or {}).get("tellStatuses"):
            raise Err(json.dumps([facts.of_status(status) for status in changed]))
