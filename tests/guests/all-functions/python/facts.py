"""What the host hands over, as JSON: names as in the contract."""

import json
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any

from wit_world.imports.witlet_admission_types import Node, Pod, Request
from wit_world.imports.witlet_pod_source_types import PodStatus
from wit_world.imports.witlet_probe_types import Target


def reported(value: object) -> Any:
    """Records as objects, enums as their names, lists and tuples as arrays, bytes as text, none as null."""
    match value:
        case Enum():
            return kebab(value.name)
        case bytes():
            return value.decode(errors="replace")
        case list() | tuple():
            return [reported(item) for item in value]
        case dict():
            return {key: reported(item) for key, item in value.items()}
        case _ if is_dataclass(value):
            return {kebab(field.name): reported(getattr(value, field.name)) for field in fields(value)}
        case _:
            return value


def kebab(name: str) -> str:
    return name.lower().replace("_", "-")


def of_request(request: Request, pointers: list[str]) -> dict[str, Any]:
    return {
        "operation": reported(request.operation()),
        "now": reported(request.now()),
        "pod": of_pod(request.pod(), pointers),
        "node": of_node(request.node(), pointers),
        "other-pods": [of_pod(pod, pointers) for pod in request.other_pods()],
    }


def of_pod(pod: Pod, pointers: list[str]) -> dict[str, Any]:
    return {
        "identity": reported(pod.identity()),
        "source": pod.source(),
        "labels": reported(pod.labels()),
        "annotations": reported(pod.annotations()),
        "priority": pod.priority(),
        "containers": reported(pod.containers()),
        "requests": reported(pod.requests()),
        "host-ports": reported(pod.host_ports()),
        "qos": reported(pod.qos()),
        "json-bytes": len(pod.json().encode()),
        "pointer": {path: pod.pointer(path) for path in pointers},
    }


def of_node(node: Node, pointers: list[str]) -> dict[str, Any]:
    return {
        "name": node.name(),
        "labels": reported(node.labels()),
        "taints": reported(node.taints()),
        "capacity": reported(node.capacity()),
        "allocatable": reported(node.allocatable()),
        "requested": reported(node.requested()),
        "used-host-ports": reported(node.used_host_ports()),
        "conditions": reported(node.conditions()),
        "facts": reported(node.facts()),
        "devices": json.loads(node.devices()),
        "json-bytes": len(node.json().encode()),
        "pointer": {path: node.pointer(path) for path in pointers},
    }


def of_target(target: Target, pointers: list[str]) -> dict[str, Any]:
    return {
        "pod": reported(target.pod()),
        "pod-json-bytes": len(target.pod_json().encode()),
        "pod-pointer": {path: target.pod_pointer(path) for path in pointers},
        "container": target.container(),
        "container-id": target.container_id(),
        "restarts": target.restarts(),
        "pod-ips": target.pod_ips(),
        "host-ips": target.host_ips(),
        "named-ports": reported(target.named_ports()),
        "kind": reported(target.kind()),
        "remaining-milliseconds": target.remaining_milliseconds() > 0,
    }


def of_status(status: PodStatus) -> dict[str, Any]:
    reported_status: dict[str, Any] = reported(status)
    return reported_status | {"status": None if status.status is None else json.loads(status.status)}
