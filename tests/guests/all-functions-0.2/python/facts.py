"""What the host hands over, as JSON. A key is the function that was called: `pod.name` of the role's types, `node/name` of an interface."""

from collections.abc import Callable
from typing import Any

from componentize_py_types import Err
from wit_world.imports import config, data, features, log, metrics, node, secret
from wit_world.imports import admission_types as admission
from wit_world.imports import probe_types as probes
from wit_world.imports.errors import Error

NONE = "none"
"""A key that nothing has."""


def getters(name: str, thing: object, functions: str) -> dict[str, Any]:
    """What functions without arguments return."""
    return {f"{name}.{key}": getattr(thing, key.replace("-", "_"))() for key in functions.split()}


def given(call: Callable[[], Any]) -> Any:
    """What comes of a call, or its error's code."""
    try:
        return call()
    except Err as error:
        return error.value.code()


def text(value: bytes) -> str:
    return value.decode(errors="replace")


def of_request(request: admission.Request) -> dict[str, Any]:
    now, old, image = request.now(), request.old_pod(), request.image()
    return {
        "request.operation": request.operation(),
        "request.now": {"seconds": now.seconds, "nanoseconds": now.nanoseconds},
        "request.pod": request.pod().name(),
        "request.old-pod": old and old.name(),
        "request.image": image and image.id(),
        "request.node": request.node().name(),
        "request.other-pods": [pod.name() for pod in request.other_pods()],
    }


def of_pod(pod: admission.Pod) -> dict[str, Any]:
    plain = (
        "namespace name uid source labels annotations service-account has-service-account-token priority priority-class"
        " runtime-class runtime-handler qos host-network host-pid host-ipc host-users resources"
    )
    return getters("pod", pod, plain) | {
        "pod.label": [pod.label("a"), pod.label(NONE)],
        "pod.annotation": [pod.annotation("note"), pod.annotation(NONE)],
        "pod.owners": [getters("owner", it, "api-version kind name uid is-controller") for it in pod.owners()],
        "pod.containers": [container.name() for container in pod.containers()],
        "pod.images": [image.place() for image in pod.images()],
        "pod.volumes": [volume.name() for volume in pod.volumes()],
        "pod.request": [pod.request("cpu"), pod.request(NONE)],
        "pod.limit": [pod.limit("memory"), pod.limit(NONE)],
        "pod.host-ports": of_host_ports(pod.host_ports()),
        "pod.json": '"containers"' in pod.json(),
        "pod.pointer": [pod.pointer("/metadata/name"), pod.pointer("/none")],
    }


def of_host_ports(ports: list[admission.HostPort]) -> list[dict[str, Any]]:
    return [getters("host-port", port, "address protocol number") for port in ports]


def of_container(container: admission.Container) -> dict[str, Any]:
    ports, mounts = "name number protocol host-port", "volume path sub-path read-only is-device"
    return getters("container", container, "name kind place pull-policy resources env-names") | {
        "container.image": container.image().place(),
        "container.request": [container.request("cpu"), container.request(NONE)],
        "container.limit": [container.limit("memory"), container.limit(NONE)],
        "container.ports": [getters("container-port", port, ports) for port in container.ports()],
        "container.mounts": [getters("mount", mount, mounts) for mount in container.mounts()],
        "container.pointer": [container.pointer("/name"), container.pointer("/none")],
    }


def of_security(container: admission.Container) -> dict[str, Any]:
    return getters(
        "container",
        container,
        "privileged run-as-non-root run-as-user run-as-group allow-privilege-escalation read-only-root-filesystem"
        " seccomp-profile apparmor-profile added-capabilities dropped-capabilities",
    )


def of_image(image: admission.Image) -> dict[str, Any]:
    return getters("image", image, "reference place name registry repository tag digest")


def of_resolved_image(image: admission.ResolvedImage) -> dict[str, Any]:
    container = {"resolved-image.container": image.container().place()}
    return getters("resolved-image", image, "id digest size credentials") | container


def of_volume(volume: admission.Volume) -> dict[str, Any]:
    image = volume.image()
    return getters("volume", volume, "name kind host-path") | {
        "volume.image": image and image.place(),
        "volume.pointer": [volume.pointer("/name"), volume.pointer("/none")],
    }


def of_node(node: admission.Node) -> dict[str, Any]:
    ready = node.condition("Ready")
    return getters("node", node, "name labels resources facts devices") | {
        "node.label": [node.label("disk"), node.label(NONE)],
        "node.taints": [getters("taint", taint, "key value effect") for taint in node.taints()],
        "node.condition": [ready and ready.kind(), node.condition(NONE)],
        "node.conditions": [getters("condition", it, "kind status reason message") for it in node.conditions()],
        "node.capacity": [node.capacity("cpu"), node.capacity(NONE)],
        "node.allocatable": [node.allocatable("cpu"), node.allocatable(NONE)],
        "node.requested": [node.requested("cpu"), node.requested(NONE)],
        "node.available": [node.available("cpu"), node.available(NONE)],
        "node.used": [node.used("memory"), node.used(NONE)],
        "node.used-host-ports": of_host_ports(node.used_host_ports()),
        "node.fact": [node.fact("cgroup.version"), node.fact(NONE)],
        "node.json": '"labels"' in node.json(),
        "node.pointer": [node.pointer("/metadata/name"), node.pointer("/none")],
    }


def of_host() -> dict[str, Any]:
    """What plugins of all roles have."""
    metrics.add("asked", [("how", "once")], 2)
    metrics.observe("answered", [], 0.5)
    return {
        "config/get": config.get() != "null",
        "log/enabled": log.enabled(log.Level.ERROR),
        "metrics/add": True,
        "metrics/observe": True,
        "node/name": node.name(),
        "node/label": [node.label("disk"), node.label(NONE)],
        "node/labels": node.labels(),
        "node/zone": node.zone(),
        "node/addresses": node.addresses(),
        "node/allocatable": [node.allocatable("cpu"), node.allocatable(NONE)],
        "features/has": [features.has("shadow"), features.has("teleport")],
        "secret/get": [given(lambda name=name: text(secret.get(name))) for name in ("given", "other")],  # type: ignore[misc]
    }


def of_data() -> dict[str, Any]:
    return {"data/names": data.names(), "data/open": [given(lambda: of_snapshot("list")), given(lambda: data.open(NONE))]}


def of_snapshot(name: str) -> dict[str, Any]:
    snapshot = data.open(name)
    size = snapshot.size()
    reads = [(0, size), (1, 3), (size, 1)]
    read = [text(snapshot.read(offset, length)) for offset, length in reads]
    return {"data/snapshot.digest": snapshot.digest(), "data/snapshot.size": size, "data/snapshot.read": read}


def of_error(error: Error) -> dict[str, Any]:
    functions = "code message retry-after-milliseconds"
    detail = {"errors/error.detail": [error.detail("rows"), error.detail(NONE)]}
    return getters("errors/error", error, functions) | detail


def of_target(target: probes.Target) -> dict[str, Any]:
    return getters("target", target, "kind timeout-milliseconds") | {
        "target.remaining-milliseconds": target.remaining_milliseconds() > 0,
        "target.pod": of_probed_pod(target.pod()),
        "target.container": of_probed_container(target.container()),
    }


def of_probed_pod(pod: probes.Pod) -> dict[str, Any]:
    return getters("pod", pod, "namespace name uid labels annotations addresses host-addresses host-network") | {
        "pod.label": [pod.label("a"), pod.label(NONE)],
        "pod.annotation": [pod.annotation("note"), pod.annotation(NONE)],
        "pod.json": '"containers"' in pod.json(),
        "pod.pointer": [pod.pointer("/metadata/name"), pod.pointer("/none")],
    }


def of_probed_container(container: probes.Container) -> dict[str, Any]:
    ports = [getters("container-port", port, "name number protocol") for port in container.ports()]
    return getters("container", container, "name id restarts image") | {
        "container.ports": ports,
        "container.port": [container.port("web"), container.port(NONE)],
        "container.pointer": [container.pointer("/name"), container.pointer("/none")],
    }
