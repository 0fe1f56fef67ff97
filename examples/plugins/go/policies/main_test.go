package main

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"witlet.dev/plugin/v0_2/admission"
	"witlet.dev/plugin/v0_2/admission/admissiontest"
)

// What each policy answers stands in ../../cases/policies.yaml, which the kit asks the component; here are one objection of each, and
// what a case of the kit can't say.

// bad is a pod that does most of what policies are against.
const bad = `{
	"metadata": {"namespace": "shop", "name": "web"},
	"spec": {
		"hostPID": true,
		"priorityClassName": "high",
		"containers": [{
			"name": "app",
			"image": "nginx",
			"securityContext": {"privileged": true, "appArmorProfile": {"type": "Unconfined"}},
			"resources": {"requests": {"cpu": "2"}, "limits": {"cpu": "5"}},
			"ports": [{"containerPort": 80, "hostPort": 80}],
			"volumeMounts": [{"name": "logs", "mountPath": "/logs"}]
		}],
		"ephemeralContainers": [{"name": "debug", "image": "busybox", "securityContext": {"privileged": true}}],
		"volumes": [
			{"name": "logs", "hostPath": {"path": "/var/log"}},
			{"name": "api", "projected": {"sources": [{"serviceAccountToken": {"path": "token"}}]}}
		]
	}
}`

func ask(t *testing.T, config string, request admissiontest.Request) admission.Verdict {
	t.Helper()
	handler, _, err := admissiontest.Load(policies, config)
	if err != nil {
		t.Fatalf("%s: %v", config, err)
	}
	verdict, err := handler.Admit(request.Request())
	if err != nil {
		t.Fatalf("%s: %v", config, err)
	}
	return verdict
}

func expect(t *testing.T, found, want admission.Verdict) {
	t.Helper()
	if !reflect.DeepEqual(found, want) {
		t.Errorf("%+v, expected %+v", found, want)
	}
}

func TestEachPolicyHasItsReason(t *testing.T) {
	for config, reason := range map[string]string{
		`{"policy": "allowedRegistries", "allow": ["registry.example.com"]}`: "ImageNotAllowed",
		`{"policy": "noLatestTag"}`:                                     "LatestTag",
		`{"policy": "digestRequired"}`:                                  "ImageNotPinned",
		`{"policy": "pullPolicy", "imagePullPolicy": "Always"}`:         "PullPolicy",
		`{"policy": "imagesAtMost", "count": 1}`:                        "TooManyImages",
		`{"policy": "noPrivileged"}`:                                    "Privileged",
		`{"policy": "capabilities", "drop": ["ALL"]}`:                   "Capabilities",
		`{"policy": "runAsNonRoot"}`:                                    "RunAsRoot",
		`{"policy": "noPrivilegeEscalation"}`:                           "PrivilegeEscalation",
		`{"policy": "readOnlyRoot"}`:                                    "WritableRoot",
		`{"policy": "seccompRequired"}`:                                 "NoSeccomp",
		`{"policy": "appArmorProfiles", "allow": ["RuntimeDefault"]}`:   "AppArmorProfile",
		`{"policy": "userIds", "min": 1000}`:                            "UserId",
		`{"policy": "userNamespaces"}`:                                  "HostUsers",
		`{"policy": "debugContainers", "label": "a", "value": "b"}`:     "",
		`{"policy": "noHostPath", "allow": ["/var/logs", "/va"]}`:       "HostPath",
		`{"policy": "noHostPath", "allow": ["/"]}`:                      "",
		`{"policy": "hostPathsReadOnly"}`:                               "HostPathWritable",
		`{"policy": "noHostNamespaces"}`:                                "HostNamespace",
		`{"policy": "hostPortRange", "min": 30000, "max": 32767}`:       "HostPort",
		`{"policy": "volumeKinds", "allow": ["emptyDir"]}`:              "VolumeKind",
		`{"policy": "limitsRequired", "resources": ["memory"]}`:         "NoLimit",
		`{"policy": "limitRatio", "resource": "cpu", "most": 2}`:        "LimitRatio",
		`{"policy": "podSize", "most": {"cpu": 1000}}`:                  "PodTooLarge",
		`{"policy": "guaranteedQos", "priorityClasses": ["high"]}`:      "NotGuaranteed",
		`{"policy": "requiredLabels", "labels": {"team": []}}`:          "RequiredLabel",
		`{"policy": "requiredAnnotations", "annotations": ["contact"]}`: "RequiredAnnotation",
		`{"policy": "ownerKinds", "allow": ["ReplicaSet"]}`:             "NoOwner",
		`{"policy": "noServiceAccountToken"}`:                           "ServiceAccountToken",
		`{"policy": "serviceAccounts", "deny": ["default"]}`:            "ServiceAccount",
		`{"policy": "priorityClasses", "classes": {"high": ["ads"]}}`:   "PriorityClass",
	} {
		if verdict := ask(t, config, admissiontest.Request{Pod: bad}); verdict.Reason != reason {
			t.Errorf("%s: %+v", config, verdict)
		}
	}
}

func TestPoliciesAreAskedWhenTheyHaveSomethingToSay(t *testing.T) {
	for config, want := range map[string]string{
		`{"policy": "noLatestTag"}`:                          "add update ephemeral",
		`{"policy": "limitsRequired", "resources": ["cpu"]}`: "add resize",
		`{"policy": "imageUpdates"}`:                         "update",
		`{"policy": "noHostNamespaces"}`:                     "add",
	} {
		if _, setup, err := admissiontest.Load(policies, config); err != nil || strings.Join(setup.Subscribed, " ") != want {
			t.Errorf("%s: %v, %v", config, setup, err)
		}
	}
}

func TestAConfigurationIsRefusedInWords(t *testing.T) {
	for config, words := range map[string]string{
		`{"policy": "noSuchPolicy"}`:                       "noSuchPolicy",
		`{"policy": "noLatestTag", "allow": []}`:           `unknown field "allow"`,
		`{"policy": "noHostNamespaces", "onAdd": {}}`:      `unknown field "onAdd"`,
		`{"policy": "allowedRegistries", "allow": ["a/"]}`: `"a/" is no registry`,
		`{"policy": "hostPortRange", "min": 2, "max": 1}`:  "min: is greater than max",
	} {
		if _, _, err := admissiontest.Load(policies, config); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%s: %v", config, err)
		}
	}
}

func TestAnImageIsReplacedByAnotherOfItsRepository(t *testing.T) {
	judge := func(now string) admission.Verdict {
		pod := func(image string) string {
			return fmt.Sprintf(`{"spec": {"containers": [{"name": "app", "image": %q}]}}`, image)
		}
		request := admissiontest.Request{Operation: "update", Pod: pod(now), OldPod: pod("a/web:1")}
		return ask(t, `{"policy": "imageUpdates"}`, request)
	}
	expect(t, judge("docker.io/a/web:2"), admission.Admit())
	problem := `image "docker.io/b/web:1" (spec.containers[0].image) is no version of the image before`
	expect(t, judge("b/web:1"), admission.Reject("OtherImage", "%s", problem))
}

func TestARunningPodGrowsBySteps(t *testing.T) {
	judge := func(now string) admission.Verdict {
		pod := func(cpu string) string {
			return fmt.Sprintf(`{"spec": {"containers": [{"resources": {"requests": {"cpu": %q}}}]}}`, cpu)
		}
		request := admissiontest.Request{Operation: "resize", Pod: pod(now), OldPod: pod("500m")}
		return ask(t, `{"policy": "resizeAtMost", "most": 2}`, request)
	}
	expect(t, judge("1"), admission.Admit())
	expect(t, judge("1001m"), admission.Reject("ResizeTooLarge", "1001 of cpu are more than 2 times 500"))
}

func TestSecretsInVariablesAreWarnedOf(t *testing.T) {
	pod := `{"spec": {"containers": [{"name": "app", "env": [
		{"name": "MODE", "value": "a"}, {"name": "DB_PASSWORD", "value": "b"},
		{"name": "API_TOKEN", "valueFrom": {"secretKeyRef": {"name": "api", "key": "token"}}}]}]}}`
	verdict := ask(t, `{"policy": "envSecrets", "words": ["PASSWORD", "TOKEN"]}`, admissiontest.Request{Pod: pod})
	expect(t, verdict, admission.Admit().Warn(`container "app" has the value of DB_PASSWORD in its spec`))
}

func TestOwnersAreCountedAndNoted(t *testing.T) {
	pod := `{"metadata": {"ownerReferences": [{"kind": "Job", "name": "j", "uid": "u", "controller": true}]}}`
	verdict := ask(t, `{"policy": "ownerKinds", "allow": ["Job"]}`, admissiontest.Request{Pod: pod})
	expect(t, verdict, admission.Admit().Annotate("controller", "Job"))
	verdict = ask(t, `{"policy": "spreadReplicas", "most": 1}`, admissiontest.Request{Pod: pod, OtherPods: []string{pod}})
	expect(t, verdict, admission.Defer("TooManyReplicas", time.Minute, "1 pods of the same controller are on the node"))
}
