//! The specs of pods that misuse what they are given, by name, and of healthy ones.

use std::path::Path;

use libtest_mimic::Failed;
use serde_json::{Value, json};
use witlet_harness::BUSYBOX_IMAGE;

/// What ends a message that is too long.
pub(super) const LAST_WORDS: &str = "last words";

/// More than any message may be: 10 MB.
const HUGE: &str =
    "busybox yes nonsense that is repeated for much longer than anybody reads it | busybox head -c 10485760";

/// Waits for the end.
const STAY: &str = "trap 'exit 0' TERM; sleep 3600 & wait";

/// A pod that is ready as soon as its server answers, and has to stay so.
pub(super) fn healthy() -> Value {
    let mut app =
        app("echo ok > /tmp/index.html; httpd -p 8080 -h /tmp; trap 'exit 0' TERM; sleep 3600 & wait");
    let get = json!({"path": "/index.html", "port": 8080});
    app["readinessProbe"] = json!({"httpGet": get, "periodSeconds": 1, "timeoutSeconds": 20});
    let listens = json!({"tcpSocket": {"port": 8080}, "periodSeconds": 2, "timeoutSeconds": 20});
    app["livenessProbe"] = listens.clone();
    // When it begins to listen is a matter of the machine.
    app["startupProbe"] = with(listens, "failureThreshold", json!(100));
    app["resources"] = json!({"requests": {"cpu": "200m"}});
    pod(app)
}

/// The bad pod of this name. `host` is a folder of the host, `missing` isn't there.
pub(super) fn bad(name: &str, host: &Path, missing: &Path) -> Result<Value, Failed> {
    let hangs = json!({"exec": {"command": ["/bin/sleep", "3600"]}});
    Ok(match name {
        "hook-at-start" => pod(with(app(STAY), "lifecycle", json!({"postStart": hangs}))),
        "hook-at-stop" => pod(with(app(STAY), "lifecycle", json!({"preStop": hangs}))),
        "slow-head" => pod(probed(&server("printf H"), "livenessProbe", get())),
        "slow-body" => pod(probed(&server("printf 'HTTP/1.0 200 OK\\r\\n\\r\\nH'"), "readinessProbe", get())),
        "endless-body" => {
            let answer = "printf 'HTTP/1.0 200 OK\\r\\n\\r\\n'; busybox yes nonsense";
            pod(probed(&server(answer), "readinessProbe", get()))
        }
        "hanging-command" => pod(probed(STAY, "readinessProbe", hangs)),
        "huge-command" => {
            let exec = json!({"exec": {"command": ["/bin/sh", "-c", HUGE]}});
            let mut app = probed(STAY, "readinessProbe", exec);
            app["readinessProbe"]["timeoutSeconds"] = json!(30);
            pod(app)
        }
        "huge-message" => ended(app(&format!(
            "{HUGE} > /dev/termination-log; printf '{LAST_WORDS}' >> /dev/termination-log; exit 1"
        ))),
        "huge-log" => ended(with(
            app(&format!("{HUGE}; printf '{LAST_WORDS}'; exit 1")),
            "terminationMessagePolicy",
            json!("FallbackToLogsOnError"),
        )),
        "link-out" => linked("ln -s / /scratch/out", "out/etc"),
        // It leads to a folder of the host; in the container there is none.
        "link-left" => linked(&format!("ln -s {} /scratch/out", host.display()), ""),
        "no-folder" => {
            volume(app(STAY), json!({"hostPath": {"path": missing, "type": "Directory"}}), "/scratch", "")
        }
        other => return Err(Failed::from(format!("there is no pod {other}"))),
    })
}

fn app(script: &str) -> Value {
    json!({"name": "app", "image": BUSYBOX_IMAGE, "command": ["/bin/sh", "-c", script]})
}

fn pod(app: Value) -> Value {
    json!({"terminationGracePeriodSeconds": 2, "containers": [app]})
}

fn ended(app: Value) -> Value {
    with(pod(app), "restartPolicy", json!("Never"))
}

fn with(mut value: Value, field: &str, content: Value) -> Value {
    value[field] = content;
    value
}

/// Accepts every client, waits for a request, and says this and then a byte a minute.
fn server(says: &str) -> String {
    format!(
        "exec nc -ll -p 8080 -e /bin/sh -c \"read -r request; {says}; while :; do sleep 60; printf H; done\""
    )
}

fn get() -> Value {
    json!({"httpGet": {"path": "/", "port": 8080}})
}

fn probed(script: &str, field: &str, mut probe: Value) -> Value {
    probe["periodSeconds"] = json!(1);
    probe["timeoutSeconds"] = json!(1);
    probe["failureThreshold"] = json!(2);
    with(app(script), field, probe)
}

fn volume(mut app: Value, volume: Value, path: &str, sub_path: &str) -> Value {
    app["volumeMounts"] = json!([{"name": "work", "mountPath": path, "subPath": sub_path}]);
    let volume = with(volume, "name", json!("work"));
    with(pod(app), "volumes", json!([volume]))
}

/// An init container leaves a link in a volume that belongs to a group.
fn linked(script: &str, sub_path: &str) -> Value {
    let mut spec = volume(app(STAY), json!({"emptyDir": {}}), "/scratch", sub_path);
    let init = json!({
        "name": "init", "image": BUSYBOX_IMAGE, "command": ["/bin/sh", "-c", format!("busybox {script}")],
        "volumeMounts": [{"name": "work", "mountPath": "/scratch"}],
    });
    spec["initContainers"] = json!([init]);
    spec["securityContext"] = json!({"fsGroup": 2000});
    spec
}
