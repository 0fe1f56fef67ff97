"""The policies, asked about manifests. What each answers stands in `../../cases/policies.yaml`, which the kit asks the component;
here are one objection of each, and what a case of the kit can't say."""

import unittest
from typing import Any

from app import POLICIES
from witlet_admission import HandlerError, Reject, Verdict, admit, defer, reject
from witlet_facts import PodFacts, RequestFacts, loaded

BAD = {
    "metadata": {"namespace": "shop", "name": "web"},
    "spec": {
        "hostPID": True,
        "priorityClassName": "high",
        "containers": [
            {
                "name": "app",
                "image": "nginx",
                "securityContext": {"privileged": True, "appArmorProfile": {"type": "Unconfined"}},
                "resources": {"requests": {"cpu": "2"}, "limits": {"cpu": "5"}},
                "ports": [{"containerPort": 80, "hostPort": 80}],
                "volumeMounts": [{"name": "logs", "mountPath": "/logs"}],
            }
        ],
        "ephemeralContainers": [{"name": "debug", "image": "busybox", "securityContext": {"privileged": True}}],
        "volumes": [
            {"name": "logs", "hostPath": {"path": "/var/log"}},
            {"name": "api", "projected": {"sources": [{"serviceAccountToken": {"path": "token"}}]}},
        ],
    },
}
"""A pod that does most of what policies are against."""

REASONS: list[tuple[dict[str, Any], str]] = [
    ({"policy": "allowedRegistries", "allow": ["registry.example.com"]}, "ImageNotAllowed"),
    ({"policy": "noLatestTag"}, "LatestTag"),
    ({"policy": "digestRequired"}, "ImageNotPinned"),
    ({"policy": "pullPolicy", "imagePullPolicy": "Always"}, "PullPolicy"),
    ({"policy": "imagesAtMost", "count": 1}, "TooManyImages"),
    ({"policy": "noPrivileged"}, "Privileged"),
    ({"policy": "capabilities", "drop": ["ALL"]}, "Capabilities"),
    ({"policy": "runAsNonRoot"}, "RunAsRoot"),
    ({"policy": "noPrivilegeEscalation"}, "PrivilegeEscalation"),
    ({"policy": "readOnlyRoot"}, "WritableRoot"),
    ({"policy": "seccompRequired"}, "NoSeccomp"),
    ({"policy": "appArmorProfiles", "allow": ["RuntimeDefault"]}, "AppArmorProfile"),
    ({"policy": "userIds", "min": 1000}, "UserId"),
    ({"policy": "userNamespaces"}, "HostUsers"),
    ({"policy": "noHostPath", "allow": ["/var/logs", "/va"]}, "HostPath"),
    ({"policy": "hostPathsReadOnly"}, "HostPathWritable"),
    ({"policy": "noHostNamespaces"}, "HostNamespace"),
    ({"policy": "hostPortRange", "min": 30000, "max": 32767}, "HostPort"),
    ({"policy": "volumeKinds", "allow": ["emptyDir"]}, "VolumeKind"),
    ({"policy": "limitsRequired", "resources": ["memory"]}, "NoLimit"),
    ({"policy": "limitRatio", "resource": "cpu", "most": 2}, "LimitRatio"),
    ({"policy": "podSize", "most": {"cpu": 1000}}, "PodTooLarge"),
    ({"policy": "guaranteedQos", "priorityClasses": ["high"]}, "NotGuaranteed"),
    ({"policy": "requiredLabels", "labels": {"team": []}}, "RequiredLabel"),
    ({"policy": "requiredAnnotations", "annotations": ["contact"]}, "RequiredAnnotation"),
    ({"policy": "ownerKinds", "allow": ["ReplicaSet"]}, "NoOwner"),
    ({"policy": "noServiceAccountToken"}, "ServiceAccountToken"),
    ({"policy": "serviceAccounts", "deny": ["default"]}, "ServiceAccount"),
    ({"policy": "priorityClasses", "classes": {"high": ["ads"]}}, "PriorityClass"),
]


def asked(config: dict[str, Any], request: RequestFacts) -> Verdict:
    return loaded(POLICIES, config)[0].admit(request)


class Policies(unittest.TestCase):
    def test_each_policy_has_its_reason(self) -> None:
        for config, reason in REASONS:
            with self.subTest(config=config):
                decision = asked(config, RequestFacts(PodFacts(BAD))).decision
                self.assertIsInstance(decision, Reject)
                self.assertEqual(isinstance(decision, Reject) and decision.reason, reason)

    def test_policies_are_asked_when_they_have_something_to_say(self) -> None:
        for config, expected in [
            ({"policy": "noLatestTag"}, ["add", "update", "ephemeral"]),
            ({"policy": "limitsRequired", "resources": ["cpu"]}, ["add", "resize"]),
            ({"policy": "imageUpdates"}, ["update"]),
            ({"policy": "noHostNamespaces"}, ["add"]),
        ]:
            with self.subTest(config=config):
                self.assertEqual(loaded(POLICIES, config)[1].subscribed, expected)

    def test_a_configuration_is_refused_in_words(self) -> None:
        for config, words in [
            ({"policy": "noSuchPolicy"}, "noSuchPolicy"),
            ({"policy": "noLatestTag", "allow": []}, "allow: unknown field"),
            ({"policy": "allowedRegistries", "allow": ["a/"]}, '"a/" is no registry'),
            ({"policy": "hostPortRange", "min": 2, "max": 1}, "min: is greater than max"),
        ]:
            with self.subTest(config=config), self.assertRaisesRegex(HandlerError, words):
                loaded(POLICIES, config)

    def test_an_image_is_replaced_by_another_of_its_repository(self) -> None:
        def judged(now: str) -> Verdict:
            pods = [PodFacts({"spec": {"containers": [{"name": "app", "image": image}]}}) for image in (now, "a/web:1")]
            return asked({"policy": "imageUpdates"}, RequestFacts(pods[0], operation="update", old_pod=pods[1]))

        self.assertEqual(judged("docker.io/a/web:2"), admit())
        problem = 'image "docker.io/b/web:1" (spec.containers[0].image) is no version of the image before'
        self.assertEqual(judged("b/web:1"), reject("OtherImage", problem))

    def test_a_running_pod_grows_by_steps(self) -> None:
        def judged(now: str) -> Verdict:
            pods = [PodFacts({"spec": {"containers": [{"resources": {"requests": {"cpu": cpu}}}]}}) for cpu in (now, "500m")]
            return asked({"policy": "resizeAtMost", "most": 2}, RequestFacts(pods[0], operation="resize", old_pod=pods[1]))

        self.assertEqual(judged("1"), admit())
        self.assertEqual(judged("1001m"), reject("ResizeTooLarge", "1001 of cpu are more than 2 times 500"))

    def test_secrets_in_variables_are_warned_of(self) -> None:
        token = {"name": "API_TOKEN", "valueFrom": {"secretKeyRef": {"name": "api", "key": "token"}}}
        env = [{"name": "MODE", "value": "a"}, {"name": "DB_PASSWORD", "value": "b"}, token]
        pod = PodFacts({"spec": {"containers": [{"name": "app", "env": env}]}})
        verdict = asked({"policy": "envSecrets", "words": ["PASSWORD", "TOKEN"]}, RequestFacts(pod))
        self.assertEqual(verdict, admit().warn('container "app" has the value of DB_PASSWORD in its spec'))

    def test_the_controller_is_noted_for_the_decision_log(self) -> None:
        owners = [{"kind": "Job", "name": "j", "uid": "u", "controller": True}]
        verdict = asked({"policy": "ownerKinds", "allow": ["Job"]}, RequestFacts(PodFacts({"metadata": {"ownerReferences": owners}})))
        self.assertEqual(verdict, admit().annotate("controller", "Job"))

    def test_replicas_that_wait_are_asked_about_again(self) -> None:
        pod = PodFacts({"metadata": {"ownerReferences": [{"kind": "ReplicaSet", "name": "web", "uid": "u", "controller": True}]}})
        verdict = asked({"policy": "spreadReplicas", "most": 1}, RequestFacts(pod, other_pods=[pod]))
        self.assertEqual(verdict, defer("TooManyReplicas", "1 pods of the same controller are on the node", seconds=60))


if __name__ == "__main__":
    unittest.main()
