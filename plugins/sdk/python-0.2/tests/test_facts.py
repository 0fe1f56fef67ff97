"""What the facts say of manifests: what the host says, by `manifests.json`, to which the host and the SDKs of all languages are held."""

import json
import unittest
from pathlib import Path
from typing import Any

from wit_world import exports

# The project that the SDK is tested in may be of another role, whose bindings have no handler.
if not hasattr(exports, "Handler"):
    raise unittest.SkipTest("these are the bindings of another role")

from wit_world.imports.admission_types import Container, Image, Pod, Volume

from witlet_facts import NodeFacts, PodFacts, RequestFacts

MANIFESTS = Path(__file__).parent / "manifests.json"


def of_image(image: Image) -> list[Any]:
    parts = [image.registry(), image.repository(), image.tag(), image.digest()]
    return [image.reference(), image.place(), image.name(), *parts]


def of_volume(volume: Volume) -> list[Any]:
    return [volume.name(), volume.kind(), volume.host_path()]


def of_container(it: Container) -> dict[str, Any]:
    return {
        "name": [it.name(), it.kind(), it.place(), it.pull_policy()],
        "amounts": [[name, it.request(name), it.limit(name)] for name in it.resources()],
        "flags": [it.privileged(), it.run_as_non_root(), it.allow_privilege_escalation(), it.read_only_root_filesystem()],
        "users": [it.run_as_user(), it.run_as_group()],
        "profiles": [it.seccomp_profile(), it.apparmor_profile()],
        "capabilities": [it.added_capabilities(), it.dropped_capabilities()],
        "env": it.env_names(),
        "ports": [[port.name(), port.number(), port.protocol(), port.host_port()] for port in it.ports()],
        "mounts": [[mount.volume(), mount.path(), mount.sub_path(), mount.read_only(), mount.is_device()] for mount in it.mounts()],
    }


def of_pod(pod: Pod) -> dict[str, Any]:
    return {
        "account": [pod.service_account(), str(pod.has_service_account_token()).lower()],
        "qos": pod.qos(),
        "amounts": [[name, pod.request(name), pod.limit(name)] for name in pod.resources()],
        "images": [of_image(image) for image in pod.images()],
        "volumes": [of_volume(volume) for volume in pod.volumes()],
        "hostPorts": [[port.address(), port.protocol(), port.number()] for port in pod.host_ports()],
        "containers": [of_container(container) for container in pod.containers()],
    }


class Facts(unittest.TestCase):
    def test_manifests_are_read_as_the_host_reads_pods(self) -> None:
        for case in json.loads(MANIFESTS.read_text()):
            with self.subTest(case["name"]):
                self.assertEqual(of_pod(PodFacts(case["manifest"])), case["seen"])

    def test_a_pod_says_what_its_manifest_says(self) -> None:
        owners = [{"kind": "Job", "name": "j"}, {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "u", "controller": True}]
        metadata = {"namespace": "shop", "name": "web", "uid": "u1", "labels": {"b": "2", "a": "1"}, "ownerReferences": owners}
        spec = {"hostPID": True, "priority": 7, "priorityClassName": "high", "runtimeClassName": "kata"}
        pod = PodFacts({"metadata": metadata, "spec": spec}, source="api", runtime_handler="kata-qemu")
        self.assertEqual((pod.namespace(), pod.name(), pod.uid(), pod.source()), ("shop", "web", "u1", "api"))
        self.assertEqual((pod.labels(), pod.label("a"), pod.label("c"), pod.annotations()), ([("a", "1"), ("b", "2")], "1", None, []))
        found = [(owner.api_version(), owner.kind(), owner.name(), owner.uid(), owner.is_controller()) for owner in pod.owners()]
        self.assertEqual(found, [("", "Job", "j", "", False), ("apps/v1", "ReplicaSet", "web", "u", True)])
        self.assertEqual((pod.priority(), pod.priority_class(), pod.runtime_class()), (7, "high", "kata"))
        handlers = (pod.runtime_handler(), PodFacts({"spec": spec}).runtime_handler(), PodFacts({}).runtime_handler())
        self.assertEqual(handlers, ("kata-qemu", None, ""))
        self.assertEqual((pod.host_network(), pod.host_pid(), pod.host_ipc(), pod.host_users()), (False, True, False, True))
        self.assertEqual((pod.pointer("/metadata/labels/a"), pod.pointer("/metadata/none"), pod.pointer("/spec/priority/0")), ('"1"', None, None))

    def test_a_node_is_seen_with_the_pods_that_are_on_it(self) -> None:
        ports = [{"containerPort": 53, "hostPort": 53, "hostIP": "10.0.0.1", "protocol": "UDP"}, {"containerPort": 80}]
        other = PodFacts({"spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}, "ports": ports}]}})
        status = {"capacity": {"cpu": "4"}, "allocatable": {"cpu": "3"}, "conditions": [{"type": "Ready", "status": "True", "reason": "Up"}]}
        manifest = {"metadata": {"name": "n1", "labels": {"disk": "fast"}}, "spec": {"taints": [{"key": "a", "effect": "NoSchedule"}]}, "status": status}
        node = RequestFacts(node=manifest, facts={"os": "linux"}, used={"memory": 7}, other_pods=[other]).node()
        self.assertEqual((node.name(), node.label("disk"), node.fact("os"), node.fact("arch")), ("n1", "fast", "linux", None))
        self.assertEqual((node.capacity("cpu"), node.requested("cpu"), node.available("cpu"), node.available("none")), (4000, 1000, 2000, None))
        self.assertEqual((node.used("memory"), node.used("cpu")), (7, None))
        self.assertEqual((node.requested("pods"), node.resources()), (1, ["cpu", "pods"]))
        self.assertEqual([(port.address(), port.number()) for port in node.used_host_ports()], [("10.0.0.1", 53)])
        self.assertEqual([(taint.key(), taint.value(), taint.effect()) for taint in node.taints()], [("a", "", "NoSchedule")])
        ready = node.condition("Ready")
        self.assertEqual(ready and (ready.status(), ready.reason(), ready.message()), ("True", "Up", ""))
        self.assertEqual((node.devices(), NodeFacts().name()), ("[]", ""))


if __name__ == "__main__":
    unittest.main()
