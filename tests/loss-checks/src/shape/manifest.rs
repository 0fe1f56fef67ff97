//! The manifests of random pods.

use serde_json::{Value, json};
use witlet_harness::BUSYBOX_IMAGE;

use super::{Check, Course, Hook, Message, Shape, Version};

/// Exit code of a container that didn't find what it was promised.
const MISSED: i32 = 9;

/// Exit code that a rule restarts a container after.
const BY_RULE: i32 = 42;

/// Group of the volumes of pods that don't run as root.
const GROUP: i32 = 2000;

/// How long a probe waits on a machine that is busy with something else, in seconds.
const PROBE_TIMEOUT: i32 = 30;

/// Port of the server in a container.
const PORT: i32 = 8080;

/// Waits for the end without taking any time of the processor.
const STAY: &str = "trap 'exit 0' TERM; sleep 3600 & wait";

impl Shape {
    /// Its manifest.
    pub(crate) fn manifest(self, name: &str, uid: Option<&str>, version: Version<'_>) -> Value {
        let mut metadata = json!({
            "name": name, "namespace": "default", "labels": {"label": format!("v{}", version.label)},
        });
        if let Some(uid) = uid {
            metadata["uid"] = json!(uid);
        }
        let mut spec = json!({
            "restartPolicy": self.policy,
            "terminationGracePeriodSeconds": self.grace_seconds,
            "hostNetwork": self.host_network,
            "initContainers": self.init_containers(),
            "containers": self.containers(version),
            "volumes": self.volumes(version),
        });
        if self.course == Course::Overdue {
            spec["activeDeadlineSeconds"] = json!(4);
        }
        if self.user {
            spec["securityContext"] = json!({"runAsUser": 1000, "runAsGroup": 1000, "fsGroup": GROUP});
        }
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})
    }

    fn volumes(self, version: Version<'_>) -> Vec<Value> {
        let work = match self.memory {
            true => json!({"medium": "Memory", "sizeLimit": "4Mi"}),
            false => json!({}),
        };
        let mut volumes = vec![json!({"name": "work", "emptyDir": work})];
        if self.host_path {
            let path = json!({"path": version.host_folder, "type": "Directory"});
            volumes.push(json!({"name": "host", "hostPath": path}));
        }
        if self.downward {
            let items = json!([
                {"path": "name", "fieldRef": {"fieldPath": "metadata.name"}},
                {"path": "labels", "fieldRef": {"fieldPath": "metadata.labels"}},
            ]);
            volumes.push(json!({"name": "info", "downwardAPI": {"items": items}}));
        }
        volumes
    }

    fn mounts(self) -> Vec<Value> {
        let mut mounts = vec![json!({"name": "work", "mountPath": "/scratch"})];
        if self.sub_path {
            mounts.push(json!({"name": "work", "mountPath": "/below", "subPath": "far/below"}));
        }
        if self.host_path {
            mounts.push(json!({"name": "host", "mountPath": "/host", "readOnly": true}));
        }
        if self.downward {
            mounts.push(json!({"name": "info", "mountPath": "/info"}));
        }
        mounts
    }

    /// In their order: the sidecar, which the others need, and those that count.
    fn init_containers(self) -> Vec<Value> {
        let mounts = json!([{"name": "work", "mountPath": "/scratch"}]);
        let mut all = Vec::new();
        if self.sidecar {
            let script = format!("sleep 1; : > /scratch/sidecar; {STAY}");
            let mut sidecar = container("sidecar", &script);
            sidecar["restartPolicy"] = json!("Always");
            let exec = json!({"command": ["/bin/test", "-f", "/scratch/sidecar"]});
            sidecar["startupProbe"] = json!({
                "exec": exec, "periodSeconds": 1, "failureThreshold": 100, "timeoutSeconds": PROBE_TIMEOUT,
            });
            all.push(sidecar);
        }
        for number in 0..self.inits {
            let before = match number {
                0 => if self.sidecar { "test -f /scratch/sidecar" } else { "true" }.to_owned(),
                _ => format!("test -f /scratch/init{}", number - 1),
            };
            all.push(container(&format!("init{number}"), &format!("{before} && : > /scratch/init{number}")));
        }
        if matches!(self.course, Course::InitFails | Course::InitFailsAgain) {
            all.push(container("last", "sleep 0.3; exit 1"));
        }
        for container in &mut all {
            container["volumeMounts"] = mounts.clone();
        }
        all
    }

    fn containers(self, version: Version<'_>) -> Vec<Value> {
        let mut app = container("app", &self.script());
        app["volumeMounts"] = json!(self.mounts());
        app["env"] = json!([
            {"name": "VARIABLE", "value": version.variable.to_string()},
            {"name": "NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
        ]);
        app["resources"] = json!({
            "requests": {"cpu": "5m", "memory": "8Mi"},
            "limits": {"cpu": cpu_limit(version.cpu), "memory": "128Mi"},
        });
        if self.message == Message::Logs {
            app["terminationMessagePolicy"] = json!("FallbackToLogsOnError");
        }
        if self.course == Course::FailsByRule {
            app["restartPolicy"] = json!("Never");
            let rule = json!({"action": "Restart", "exitCodes": {"operator": "In", "values": [BY_RULE]}});
            app["restartPolicyRules"] = json!([rule]);
        }
        for (field, check) in [
            ("readinessProbe", self.readiness),
            ("livenessProbe", self.liveness),
            ("startupProbe", self.startup),
        ] {
            if let Some(check) = check {
                app[field] = probe(check, if field == "startupProbe" { 1 } else { 5 });
            }
        }
        let fails = |threshold: i32| {
            json!({"exec": {"command": ["/bin/false"]}, "periodSeconds": 1, "failureThreshold": threshold,
                "timeoutSeconds": PROBE_TIMEOUT})
        };
        match self.course {
            Course::NeverReady => app["readinessProbe"] = fails(3),
            Course::Unhealthy => {
                app["livenessProbe"] = fails(2);
                app["livenessProbe"]["terminationGracePeriodSeconds"] = json!(1);
            }
            _ => {}
        }
        for (field, hook) in [("postStart", self.post_start), ("preStop", self.pre_stop)] {
            if let Some(hook) = hook {
                app["lifecycle"][field] = handler(hook);
            }
        }
        let mut all = vec![app];
        if self.second_container {
            all.push(container("sidecar", STAY));
        }
        all
    }

    /// Looks for all that was promised, then does what it is for.
    fn script(self) -> String {
        let mut checks = vec![("the variable", "test -n \"$VARIABLE\"".to_owned())];
        if self.inits > 0 {
            checks.push(("init containers", format!("test -f /scratch/init{}", self.inits - 1)));
        }
        if self.sidecar {
            checks.push(("the sidecar", "test -f /scratch/sidecar".to_owned()));
        }
        if self.user {
            checks.push(("the group", format!("test $(busybox stat -c %g /scratch) = {GROUP}")));
            checks.push(("the user", "test $(id -u) = 1000".to_owned()));
        }
        if self.memory {
            checks.push(("memory", "busybox grep -q ' /scratch tmpfs ' /proc/mounts".to_owned()));
        }
        if self.host_path {
            checks.push(("a file of the host", "test -f /host/hello".to_owned()));
        }
        if self.downward {
            checks.push(("its name", "test \"$(cat /info/name)\" = \"$NAME\"".to_owned()));
            checks.push(("its labels", "busybox grep -q 'label=\"v' /info/labels".to_owned()));
        }
        if self.sub_path {
            checks.push(("the path below", ": > /below/file && test -f /scratch/far/below/file".to_owned()));
        }
        let checks: String =
            checks.iter().map(|(what, check)| format!("{check} || miss '{what}'; ")).collect();
        let says = match self.message {
            Message::File => "printf 'last words' > /dev/termination-log",
            Message::Logs => "printf 'last words'",
        };
        let deed = match self.course {
            Course::Runs if self.host_network => format!("echo ok > /scratch/index.html; {STAY}"),
            Course::Runs => format!("echo ok > /scratch/index.html; httpd -p {PORT} -h /scratch; {STAY}"),
            Course::NeverReady | Course::Unhealthy => STAY.to_owned(),
            // Or it would have succeeded in the eyes of an agent that wasn't there when its time was over.
            Course::Overdue => "trap 'exit 1' TERM; sleep 3600 & wait".to_owned(),
            Course::Done | Course::DoneAgain => format!("sleep 0.2; {says}; exit 0"),
            Course::Fails | Course::FailsAgain => format!("sleep 0.2; {says}; exit 1"),
            Course::FailsByRule => format!("sleep 0.2; {says}; exit {BY_RULE}"),
            Course::InitFails | Course::InitFailsAgain => "echo the init container let me".to_owned(),
        };
        format!("miss() {{ echo \"missed: $1\"; exit {MISSED}; }}; {checks}{deed}")
    }
}

/// The limit of this step.
pub(crate) fn cpu_limit(step: usize) -> String {
    format!("{}m", cpu_limit_milli(step))
}

/// The limit of this step, in thousandths of a processor.
pub(crate) fn cpu_limit_milli(step: usize) -> usize {
    300 + 100 * step
}

fn container(name: &str, script: &str) -> Value {
    json!({"name": name, "image": BUSYBOX_IMAGE, "command": ["/bin/sh", "-c", script]})
}

fn probe(check: Check, period_seconds: i32) -> Value {
    let mut probe = json!({
        "periodSeconds": period_seconds, "failureThreshold": 10, "timeoutSeconds": PROBE_TIMEOUT,
    });
    match check {
        Check::Exec => probe["exec"] = json!({"command": ["/bin/test", "-f", "/scratch/index.html"]}),
        Check::Http => probe["httpGet"] = json!({"path": "/index.html", "port": PORT}),
        Check::Tcp => probe["tcpSocket"] = json!({"port": PORT}),
    }
    probe
}

fn handler(hook: Hook) -> Value {
    let exec = |script: &str| json!({"exec": {"command": ["/bin/sh", "-c", script]}});
    match hook {
        Hook::Exec => exec("echo here > /scratch/hook"),
        Hook::Http => json!({"httpGet": {"path": "/index.html", "port": PORT}}),
        Hook::Sleep => json!({"sleep": {"seconds": 1}}),
        Hook::Hangs => exec("sleep 3600"),
    }
}
