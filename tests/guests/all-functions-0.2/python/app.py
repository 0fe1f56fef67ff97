"""Calls every function of the contracts, and answers with what it received. What it does is set by `do` of its configuration, or of a
probe's parameters: the golden vectors of the host (`host/conformance/vectors/host-0.2`) say what must come of it."""

import json
from typing import Any

from componentize_py_types import Err
from wit_world import exports
from wit_world.imports import config as configuration
from wit_world.imports import connections, exec, log
from wit_world.imports import admission_types as admission
from wit_world.imports import source_types as sources
from wit_world.imports import probe_types as probes
from wit_world.imports.errors import Error

import attack
import facts


def settings(text: str) -> dict[str, Any]:
    return json.loads(text) or {}


def error() -> Error:
    made = Error("NoTable", "the table can't be read")
    made.set_retry_after_milliseconds(7000)
    made.set_detail("rows", "7")
    return made


def refuse(text: str) -> None:
    """What the configuration, or the parameters, want refused."""
    if settings(text).get("do") == "refuse":
        raise Err(error())


def logged(message: str, level: log.Level = log.Level.INFO) -> None:
    log.write(level, message, [("language", "python")])


class Handler(exports.Handler):
    def validate(self, setup: admission.Setup, config: str) -> None:
        for operation in ("add", "resize", "update", "image-resolved"):
            setup.subscribe(operation)
        setup.warn(json.dumps({"setup.knows": [setup.knows("add"), setup.knows("fly")]}))
        refuse(config)

    def admit(self, request: admission.Request, answer: admission.Answer) -> None:
        for level in log.Level:
            logged(f"logged at {level.name.lower()}", level)
        config = settings(configuration.get())
        do = config.get("do")
        match do:
            case "admit":
                answer.admit()
            case "attack":
                attack.run(config["attack"], answer)
            case "defer":
                answer.defer("NotNow", "not now", 5000)
            case "shortage":
                answer.shortage("cpu", 500, 800, 1000)
                answer.shortage("memory", 5, 8, 10)
            case "error":
                raise Err(error())
            case _:
                answer.reject("Reported", json.dumps(admitted(do, request, answer)))


def admitted(do: str | None, request: admission.Request, answer: admission.Answer) -> Any:
    pod, image = request.pod(), request.image()
    match do:
        case "request":
            return facts.of_request(request)
        case "pod":
            return facts.of_pod(pod)
        case "containers":
            return [facts.of_container(container) for container in pod.containers()]
        case "security":
            return [facts.of_security(container) for container in pod.containers()]
        case "images":
            return [facts.of_image(image) for image in pod.images()]
        case "resolved-image":
            return image and facts.of_resolved_image(image)
        case "volumes":
            return [facts.of_volume(volume) for volume in pod.volumes()]
        case "node":
            return facts.of_node(request.node())
        case "host":
            return facts.of_host()
        case "data":
            return facts.of_data()
        case "own-error":
            return facts.of_error(error())
        case "remark":
            answer.warn("it is old")
            answer.annotate("image", "first")
            return {"answer.warn": True, "answer.annotate": True}
    return {"unknown": do}


class Prober(exports.Prober):
    def validate(self, setup: probes.Setup, config: str) -> None:
        setup.warn("of the configuration")
        refuse(config)

    def check_parameters(self, check: probes.Check, parameters: str) -> None:
        check.warn("of the parameters")
        refuse(parameters)

    def probe(self, target: probes.Target, parameters: str, answer: probes.Answer) -> None:
        given = settings(parameters)
        match given.get("do"):
            case "failure":
                answer.failure("it failed")
            case "unknown":
                answer.unknown("nothing was found out")
            case "error":
                raise Err(error())
            case "remark":
                answer.warn("it is old")
                answer.latency(1_500_000)
                answer.annotate("version", "7")
                answer.success(json.dumps({"answer.latency": True, "answer.annotate": True}))
            case do:
                answer.success(json.dumps(probed(do, target, given)))


def probed(do: str | None, target: probes.Target, parameters: dict[str, Any]) -> Any:
    match do:
        case "target":
            return facts.of_target(target)
        case "host":
            return facts.of_host()
        case "exec":
            return {"exec/run": facts.given(lambda: executed(target, parameters["command"]))}
        case "talk":
            return {"connections/open": facts.given(lambda: talked(target, parameters))}
        case "loopback":
            code = facts.given(lambda: connections.open_loopback(target, parameters["port"]))
            return {"connections/open-loopback": code}
    return {"unknown": do}


def executed(target: probes.Target, command: list[str]) -> dict[str, Any]:
    ended = exec.run(target, command)
    return {
        "exec/ended.exit-code": ended.exit_code(),
        "exec/ended.output": facts.text(ended.output()),
        "exec/ended.error-output": facts.text(ended.error_output()),
    }


def talked(target: probes.Target, parameters: dict[str, Any]) -> dict[str, Any]:
    """A line, what comes back, and then TLS, which the server doesn't speak."""
    connection = connections.open(target, parameters["host"], parameters["port"])
    certificates = len(connection.peer_certificates())
    connection.write(b"hello\n")
    answer = facts.text(connection.read(64))
    secured = facts.given(lambda: connection.start_tls("web"))
    return {
        "connections/connection.peer-certificates": certificates,
        "connections/connection.write": True,
        "connections/connection.read": answer,
        "connections/connection.start-tls": secured,
        "connections/connection.shutdown": facts.given(connection.shutdown),
    }


class Source(exports.Source):
    def validate(self, setup: sources.Setup, config: str) -> None:
        setup.warn("of the configuration")
        refuse(config)

    def poll(self, cursor: str | None, answer: sources.Answer) -> None:
        logged(f"cursor {'none' if cursor is None else cursor}")
        config = settings(configuration.get())
        match config.get("do"):
            case "error":
                raise Err(error())
            case "empty":
                answer.empty()
            case "host":
                answer.pod(json.dumps(facts.of_host()))
            case "pods":
                for pod in config["pods"]:
                    answer.pod(json.dumps(pod))
            case _:
                answer.unchanged()
        if "cursor" in config:
            answer.cursor(config["cursor"])
        if "nextPollMilliseconds" in config:
            answer.next_poll_milliseconds(config["nextPollMilliseconds"])


class Feedback(exports.Feedback):
    def notify(self, news: sources.News) -> None:
        functions = "kind namespace name uid phase reason message status"
        while (change := news.next()) is not None:
            reported = facts.getters("change", change, functions)
            log.write(log.Level.INFO, "news.next", [(key, "none" if value is None else value) for key, value in reported.items()])
