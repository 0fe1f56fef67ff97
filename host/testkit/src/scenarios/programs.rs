//! What only programs that really run can show: order, hooks, probes and volumes by the files they leave.

use std::path::{Path, PathBuf};

use k8s_openapi::api::core::v1::Pod;
use serde_json::{Value, json};
use witlet_core::runtime::ContainerRunState;

use super::world::{Deed, NodeSnapshot, Programs, Unfulfilled, World, ensure, eventually};

type Verdict = Result<(), Unfulfilled>;

/// Where a folder of the machine is mounted.
const SHARED: &str = "/shared";

/// What each container asks for. One that asks for nothing gets next to nothing of a busy machine: its probes and hooks
/// would end at their deadlines.
const CPU: &str = "300m";

/// What a scenario works with.
struct Stage {
    programs: Programs,
    /// A folder of its own on the machine, which its pods have at [`SHARED`].
    folder: PathBuf,
}

impl Stage {
    fn of(world: &dyn World, name: &str) -> Result<Self, Unfulfilled> {
        let nothing = || Unfulfilled::NotHere("nothing really runs in this world".to_owned());
        let programs = world.programs().ok_or_else(nothing)?;
        let folder = programs.folder.join(name);
        std::fs::create_dir_all(&folder)
            .map_err(|error| Unfulfilled::Wrong(format!("no folder {}: {error}", folder.display())))?;
        Ok(Self { programs, folder })
    }

    /// A container that does these things, with these additional fields.
    fn container(&self, name: &str, deeds: &[Deed], with: &Value) -> Value {
        let workload = (self.programs.workload)(deeds);
        let mut container = json!({
            "name": name, "image": workload.image,
            "volumeMounts": [{"name": "shared", "mountPath": SHARED}],
            "resources": {"requests": {"cpu": CPU}},
        });
        if !workload.command.is_empty() {
            container["command"] = json!(workload.command);
        }
        if !workload.args.is_empty() {
            container["args"] = json!(workload.args);
        }
        for (field, value) in with.as_object().into_iter().flatten() {
            container[field] = value.clone();
        }
        container
    }

    /// A command for hooks and probes.
    fn exec(&self, deeds: &[Deed]) -> Value {
        json!({"exec": {"command": (self.programs.command)(deeds)}})
    }

    /// A probe of each second. On a busy machine an exec takes longer than the second that a probe has by
    /// default.
    fn probe(&self, deeds: &[Deed]) -> Value {
        let mut probe = self.exec(deeds);
        probe["periodSeconds"] = json!(1);
        probe["timeoutSeconds"] = json!(20);
        probe
    }

    /// A pod of this spec with the folder as a volume, and others.
    fn pod(&self, name: &str, mut spec: Value, volumes: &[Value]) -> Pod {
        let mut all = vec![json!({"name": "shared", "hostPath": {"path": self.folder, "type": "Directory"}})];
        all.extend_from_slice(volumes);
        spec["volumes"] = json!(all);
        if spec.get("terminationGracePeriodSeconds").is_none() {
            spec["terminationGracePeriodSeconds"] = json!(5);
        }
        let metadata = json!({"name": name, "namespace": "default", "labels": {"colour": "blue"}});
        serde_json::from_value(json!({"metadata": metadata, "spec": spec}))
            .expect("the scenario's pod is one")
    }

    fn text(&self, file: &str) -> String {
        std::fs::read_to_string(self.folder.join(file)).unwrap_or_default()
    }
}

fn shared(file: &str) -> String {
    Path::new(SHARED).join(file).display().to_string()
}

fn append(line: &str) -> Deed {
    Deed::Append(shared("log"), line.to_owned())
}

fn write(file: &str) -> Deed {
    Deed::Write(shared(file), "yes".to_owned())
}

fn is_running(seen: &NodeSnapshot, pod: &str, container: &str) -> bool {
    let of_pod = seen.in_runtime(pod);
    let mut containers = of_pod.iter().flat_map(|pod| &pod.containers);
    containers.any(|c| c.name == container && c.state == ContainerRunState::Running)
}

pub(super) async fn init_containers_run_in_order_before_the_app(world: &mut dyn World) -> Verdict {
    let stage = Stage::of(world, "init")?;
    let none = json!({});
    let spec = json!({
        "initContainers": [
            stage.container("one", &[Deed::Sleep(300), append("one")], &none),
            stage.container("two", &[append("two")], &none),
        ],
        "containers": [stage.container("app", &[append("app"), Deed::Wait], &none)],
    });
    world.put("init", vec![stage.pod("init", spec, &[])]).await;
    eventually(world, "the pod is ready", |seen| seen.is_ready("init")).await?;
    // Ready is what runs; it may not have come to its first line yet.
    eventually(world, "all have written", |_| stage.text("log").lines().count() >= 3).await?;
    let log = stage.text("log");
    ensure(log == "one\ntwo\napp\n", || format!("they ran in the order {log:?}"))
}

pub(super) async fn an_init_container_that_fails_for_good_fails_the_pod(world: &mut dyn World) -> Verdict {
    let stage = Stage::of(world, "bad-init")?;
    let none = json!({});
    let spec = json!({
        "restartPolicy": "Never",
        "initContainers": [stage.container("bad", &[Deed::Exit(7)], &none)],
        "containers": [stage.container("app", &[write("ran"), Deed::Wait], &none)],
    });
    world.put("bad-init", vec![stage.pod("bad-init", spec, &[])]).await;
    eventually(world, "the pod failed", |seen| seen.phase("bad-init") == "Failed").await?;
    ensure(stage.text("ran").is_empty(), || "the app ran all the same".to_owned())
}

pub(super) async fn a_sidecar_starts_before_the_app_and_ends_with_the_pod(world: &mut dyn World) -> Verdict {
    let stage = Stage::of(world, "sidecar")?;
    let mut up = stage.probe(&[Deed::Exists(shared("up"))]);
    up["failureThreshold"] = json!(100);
    let helper = json!({"restartPolicy": "Always", "startupProbe": up});
    let spec = json!({
        "restartPolicy": "Never",
        "initContainers": [stage.container("helper", &[Deed::Sleep(500), write("up"), Deed::Wait], &helper)],
        // It fails if it comes before the helper is up.
        "containers": [stage.container("app", &[Deed::Exists(shared("up")), Deed::Sleep(500)], &json!({}))],
    });
    world.put("sidecar", vec![stage.pod("sidecar", spec, &[])]).await;
    eventually(world, "the pod ended", |seen| matches!(seen.phase("sidecar"), "Succeeded" | "Failed"))
        .await?;
    let seen = eventually(world, "its sidecar ended", |seen| {
        seen.runtime.is_some() && !is_running(seen, "sidecar", "helper")
    })
    .await?;
    ensure(seen.phase("sidecar") == "Succeeded", || format!("it didn't end well: {seen}"))
}

pub(super) async fn a_command_that_fails_as_a_liveness_probe_restarts_its_container(
    world: &mut dyn World,
) -> Verdict {
    let stage = Stage::of(world, "liveness")?;
    let mut alive = stage.probe(&[Deed::Exists(shared("alive"))]);
    alive["failureThreshold"] = json!(2);
    let mut ready = alive.clone();
    ready["failureThreshold"] = json!(1);
    // Nothing promises that the program comes to its first line within seconds.
    let mut begun = alive.clone();
    begun["failureThreshold"] = json!(100);
    let probes = json!({"livenessProbe": alive, "readinessProbe": ready, "startupProbe": begun});
    let spec = json!({
        "terminationGracePeriodSeconds": 1,
        "containers": [stage.container("app", &[write("alive"), Deed::Wait], &probes)],
    });
    world.put("liveness", vec![stage.pod("liveness", spec, &[])]).await;
    let seen = eventually(world, "it is ready", |seen| seen.is_ready("liveness")).await?;
    ensure(seen.restarts("liveness", "app") == 0, || format!("restarted without need: {seen}"))?;
    std::fs::remove_file(stage.folder.join("alive"))
        .map_err(|error| Unfulfilled::Wrong(error.to_string()))?;
    eventually(world, "it was restarted and is ready again", |seen| {
        seen.restarts("liveness", "app") >= 1 && seen.is_ready("liveness")
    })
    .await?;
    Ok(())
}

pub(super) async fn hooks_run_after_the_start_and_before_the_end(world: &mut dyn World) -> Verdict {
    let stage = Stage::of(world, "hooks")?;
    let hooks = json!({"lifecycle": {
        "postStart": stage.exec(&[write("begun")]),
        "preStop": stage.exec(&[Deed::Sleep(300), write("stopping")]),
    }});
    // The last hook has the whole grace period, which the container itself doesn't need.
    let spec = json!({
        "terminationGracePeriodSeconds": 60,
        "containers": [stage.container("app", &[Deed::Wait], &hooks)],
    });
    world.put("hooks", vec![stage.pod("hooks", spec, &[])]).await;
    eventually(world, "the pod is ready", |seen| seen.is_ready("hooks")).await?;
    eventually(world, "the first hook ran", |_| stage.text("begun").starts_with("yes")).await?;
    ensure(stage.text("stopping").is_empty(), || "the last hook ran too early".to_owned())?;
    world.remove("hooks").await;
    eventually(world, "nothing is left of it", |seen| {
        seen.pod("hooks").is_none() && seen.runtime_has_nothing_of("hooks")
    })
    .await?;
    ensure(stage.text("stopping").starts_with("yes"), || "the last hook didn't run".to_owned())
}

pub(super) async fn containers_share_an_empty_folder_and_see_the_pods_facts(
    world: &mut dyn World,
) -> Verdict {
    let stage = Stage::of(world, "empty-dir")?;
    let volumes = [
        json!({"name": "data", "emptyDir": {}}),
        json!({"name": "facts", "downwardAPI": {"items": [
            {"path": "labels", "fieldRef": {"fieldPath": "metadata.labels"}},
        ]}}),
    ];
    let mounts = json!([
        {"name": "data", "mountPath": "/data"},
        {"name": "facts", "mountPath": "/facts"},
    ]);
    let sees = stage.probe(&[Deed::Exists("/data/file".into()), Deed::Exists("/facts/labels".into())]);
    let spec = json!({"containers": [
        stage.container(
            "writes",
            &[Deed::Write("/data/file".into(), "text".into()), Deed::Wait],
            &json!({"volumeMounts": mounts}),
        ),
        stage.container("reads", &[Deed::Wait], &json!({"volumeMounts": mounts, "readinessProbe": sees})),
    ]});
    world.put("empty-dir", vec![stage.pod("empty-dir", spec, &volumes)]).await;
    eventually(world, "the reader sees the files", |seen| seen.is_ready("empty-dir")).await?;
    Ok(())
}

pub(super) async fn a_part_of_a_volume_is_mounted_alone(world: &mut dyn World) -> Verdict {
    let stage = Stage::of(world, "sub-path")?;
    let mounts = json!({"volumeMounts": [{"name": "shared", "mountPath": "/part", "subPath": "deep/part"}]});
    let deeds = [Deed::Write("/part/file".into(), "text".into()), Deed::Wait];
    let spec = json!({"containers": [stage.container("app", &deeds, &mounts)]});
    world.put("sub-path", vec![stage.pod("sub-path", spec, &[])]).await;
    eventually(world, "the file is where it belongs", |_| stage.text("deep/part/file").starts_with("text"))
        .await?;
    Ok(())
}

pub(super) async fn a_last_message_becomes_part_of_the_status(world: &mut dyn World) -> Verdict {
    let stage = Stage::of(world, "message")?;
    let spec = json!({
        "restartPolicy": "Never",
        "containers": [stage.container("app", &[Deed::Message("no disk".into()), Deed::Exit(3)], &json!({}))],
    });
    world.put("message", vec![stage.pod("message", spec, &[])]).await;
    let seen = eventually(world, "the pod failed", |seen| seen.phase("message") == "Failed").await?;
    let state = seen.container("message", "app").and_then(|status| status.state.clone());
    let ended = state.and_then(|state| state.terminated).unwrap_or_default();
    let (code, message) = (ended.exit_code, ended.message.unwrap_or_default());
    ensure((code, message.trim_end()) == (3, "no disk"), || format!("{code} {message:?}: {seen}"))
}

pub(super) async fn a_volume_that_is_not_there_holds_up_its_own_pod_until_it_is(
    world: &mut dyn World,
) -> Verdict {
    let stage = Stage::of(world, "missing")?;
    let missing = stage.folder.join("not-yet");
    let volume = json!({"name": "data", "hostPath": {"path": missing, "type": "Directory"}});
    let mounts = json!({"volumeMounts": [{"name": "data", "mountPath": "/data"}]});
    let spec = json!({"containers": [stage.container("app", &[Deed::Wait], &mounts)]});
    let other = json!({"containers": [stage.container("app", &[Deed::Wait], &json!({}))]});
    world.put("missing", vec![stage.pod("missing", spec, &[volume])]).await;
    world.put("other", vec![stage.pod("other", other, &[])]).await;
    eventually(world, "the other pod is ready, and this one waits", |seen| {
        seen.is_ready("other") && seen.phase("missing") == "Pending"
    })
    .await?;
    std::fs::create_dir_all(&missing).map_err(|error| Unfulfilled::Wrong(error.to_string()))?;
    eventually(world, "the pod is ready", |seen| seen.is_ready("missing")).await?;
    Ok(())
}

pub(super) async fn pods_with_sidecars_probes_and_hooks_outlive_the_agent(world: &mut dyn World) -> Verdict {
    let stage = Stage::of(world, "outlive")?;
    let alive = stage.probe(&[Deed::Exists(shared("alive"))]);
    // The program writes the file when it comes to it.
    let mut begun = alive.clone();
    begun["failureThreshold"] = json!(100);
    let app = json!({"livenessProbe": alive, "readinessProbe": alive, "startupProbe": begun, "lifecycle": {
        "postStart": stage.exec(&[append("begun")]),
    }});
    let spec = json!({
        "initContainers": [
            stage.container("first", &[append("first")], &json!({})),
            stage.container("helper", &[Deed::Wait], &json!({"restartPolicy": "Always"})),
        ],
        "containers": [stage.container("app", &[write("alive"), Deed::Wait], &app)],
    });
    world.put("outlive", vec![stage.pod("outlive", spec, &[])]).await;
    eventually(world, "the pod is ready", |seen| seen.is_ready("outlive")).await?;
    // Ready is a matter of the probe alone; the first hook may still be on its way.
    eventually(world, "the first hook ran", |_| stage.text("log").contains("begun")).await?;
    let before = stage.text("log");
    for _ in 0..3 {
        world.kill_agent().await;
        world.start_agent().await;
        eventually(world, "the pod is ready again", |seen| seen.is_ready("outlive")).await?;
    }
    let seen = eventually(world, "the sidecar runs", |seen| is_running(seen, "outlive", "helper")).await?;
    ensure(seen.restarts("outlive", "app") == 0, || format!("it was restarted: {seen}"))?;
    let after = stage.text("log");
    ensure(before == after, || format!("something ran again: {before:?}, now {after:?}"))
}
