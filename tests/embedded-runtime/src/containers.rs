//! Containers: what they are given, how they end, and how they are stopped.

use std::time::{Duration, Instant};

use libtest_mimic::Trial;
use tonic::Code;
use witlet_proto::cri::*;

use crate::client::{Runtime, eventually, program};
use crate::on_shared;

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        on_shared("a_container_gets_its_arguments_and_environment_and_its_output_is_logged", show),
        on_shared("exit_codes_and_reasons_are_those_of_processes", exit_codes),
        on_shared("memory_over_the_limit_is_oom_killed", out_of_memory),
        on_shared("who_hoards_handles_is_ended", hoarder),
        on_shared("who_reads_its_input_ends_when_asked_to_stop", stop_by_input),
        on_shared("who_accepts_clients_ends_when_asked_to_stop", stop_by_accept),
        on_shared("who_does_not_listen_is_killed_after_the_grace", killed_after_grace),
        on_shared("a_busy_loop_holds_up_no_one_and_can_be_killed", busy_loop),
        on_shared("a_container_lives_once_and_a_restart_is_a_new_attempt", life),
        on_shared("a_log_that_was_rotated_is_reopened", rotated_log),
        on_shared("lists_are_filtered", lists),
        on_shared("what_is_not_there_is_not_found_or_already_removed", absent),
        on_shared("calls_that_make_no_sense_here_are_unimplemented", unimplemented),
        on_shared("requests_that_cannot_be_met_are_refused", refused),
    ]
}

async fn show(runtime: Runtime) {
    let pod = runtime.pod().await;
    let mut show = program("subject", &["show"]);
    show.environment = vec![("A".to_owned(), "1 2".to_owned())];
    let id = runtime.run(&pod, "show", show).await;
    let status = runtime.end(&id).await;
    assert_eq!((status.exit_code, status.reason.as_str()), (0, "Completed"));
    assert!(status.created_at <= status.started_at && status.started_at <= status.finished_at, "{status:?}");
    let mut lines = runtime.output(&id).await;
    lines.sort();
    let environment = format!("[(\"A\", \"1 2\"), (\"HOSTNAME\", \"{}\")]", pod.config.hostname);
    assert_eq!(
        lines,
        [
            "stderr F to the other output".to_owned(),
            "stdout F arguments [\"subject\", \"show\"]".to_owned(),
            format!("stdout F environment {environment}"),
            "stdout F without an end".to_owned(),
        ]
    );
    assert!(status.log_path.ends_with("show/0.log"), "{}", status.log_path);
    assert!(status.image_ref.starts_with("sha256:"), "{}", status.image_ref);
}

async fn exit_codes(runtime: Runtime) {
    let pod = runtime.pod().await;
    for (name, image, arguments, code, reason, message) in [
        ("zero", "worker", &["0", "1", "1"][..], 0, "Completed", ""),
        ("seven", "worker", &["7", "1", "1"], 7, "Error", ""),
        ("most", "worker", &["255", "1", "1"], 255, "Error", ""),
        ("failure", "crasher", &[], 1, "Error", ""),
        ("panic", "crasher", &["panic"], 134, "Error", "unreachable"),
        ("recursion", "subject", &["recurse"], 134, "Error", "wasm trap"),
    ] {
        let id = runtime.run(&pod, name, program(image, arguments)).await;
        let status = runtime.end(&id).await;
        assert_eq!((status.exit_code, status.reason.as_str()), (code, reason), "{name}");
        assert!(status.message.contains(message), "{name}: {}", status.message);
    }
}

async fn out_of_memory(runtime: Runtime) {
    let pod = runtime.pod().await;
    let mut eat = program("subject", &["eat"]);
    eat.memory = 16 << 20;
    let id = runtime.run(&pod, "eat", eat).await;
    let status = runtime.end(&id).await;
    assert_eq!((status.exit_code, status.reason.as_str()), (137, "OOMKilled"), "{status:?}");
    assert!(status.message.contains("16777216 bytes"), "{}", status.message);
    let too_small = runtime
        .create(&pod, "small", {
            let mut p = program("worker", &[]);
            p.memory = 1;
            p
        })
        .await;
    let id = too_small.expect("a container");
    runtime.start(&id).await.expect("it starts");
    assert_eq!(runtime.end(&id).await.reason, "OOMKilled");
}

async fn hoarder(runtime: Runtime) {
    let pod = runtime.pod().await;
    let id = runtime.run(&pod, "hoard", program("subject", &["hoard"])).await;
    let status = runtime.end(&id).await;
    assert_eq!((status.exit_code, status.reason.as_str()), (134, "Error"), "{status:?}");
    assert!(status.message.contains("table"), "{}", status.message);
    assert_eq!(
        runtime.subject(&pod, "other", &["bind", "0.0.0.0:0"]).await.0,
        0,
        "others still have sockets"
    );
}

async fn stop_by_input(runtime: Runtime) {
    let pod = runtime.pod().await;
    let id = runtime.run(&pod, "reader", program("subject", &["read-input"])).await;
    runtime.says(&id, "waiting").await;
    runtime.stop(&id, 3600).await.expect("it stops");
    let status = runtime.status(&id).await.expect("a status");
    assert_eq!((status.state(), status.exit_code), (ContainerState::ContainerExited, 0));
    runtime.says(&id, "asked to stop after 0 bytes").await;
    runtime.stop(&id, 1).await.expect("stopped is stopped");
}

async fn stop_by_accept(runtime: Runtime) {
    let pod = runtime.pod().await;
    let id = runtime.run(&pod, "server", program("http_server", &[])).await;
    runtime.says(&id, "listening on").await;
    runtime.stop(&id, 3600).await.expect("it stops");
    let status = runtime.status(&id).await.expect("a status");
    let log = runtime.raw_log(&id).await;
    assert_eq!((status.state(), status.exit_code), (ContainerState::ContainerExited, 0), "{log}");
    assert!(log.contains("goodbye"), "{log}");
}

async fn killed_after_grace(runtime: Runtime) {
    let pod = runtime.pod().await;
    let id = runtime.run(&pod, "stubborn", program("stubborn", &[])).await;
    runtime.says(&id, "still here").await;
    let begin = Instant::now();
    runtime.stop(&id, 1).await.expect("it is killed");
    assert!(begin.elapsed() >= Duration::from_secs(1), "the grace was given");
    let status = runtime.status(&id).await.expect("a status");
    assert_eq!((status.state(), status.exit_code), (ContainerState::ContainerExited, 137));
    assert_eq!(status.reason, "Error");
}

async fn busy_loop(runtime: Runtime) {
    let pod = runtime.pod().await;
    let threads = std::thread::available_parallelism().map_or(2, std::num::NonZero::get);
    let mut spinning = Vec::new();
    for spinner in 0..2 * threads {
        let id = runtime.run(&pod, &format!("spin-{spinner}"), program("subject", &["spin"])).await;
        spinning.push(id);
    }
    // All of them run, more than there are threads; and another one still does.
    for id in &spinning {
        runtime.says(id, "spinning").await;
    }
    let (code, lines) = runtime.subject(&pod, "other", &["flood", "100"]).await;
    assert_eq!((code, lines.len()), (0, 100));
    for id in &spinning {
        runtime.stop(id, 0).await.expect("it is killed");
        assert_eq!(runtime.status(id).await.expect("a status").exit_code, 137);
    }
}

async fn life(runtime: Runtime) {
    let pod = runtime.pod().await;
    let id = runtime.create(&pod, "app", program("worker", &["0", "1", "1"])).await.expect("a container");
    let status = runtime.status(&id).await.expect("a status");
    assert_eq!((status.state(), status.started_at), (ContainerState::ContainerCreated, 0));
    let taken = runtime.create(&pod, "app", program("worker", &[])).await;
    assert_eq!(taken.expect_err("the name is taken").code(), Code::AlreadyExists);
    runtime.start(&id).await.expect("it starts");
    runtime.end(&id).await;
    let again = runtime.start(&id).await.expect_err("a container lives once");
    assert_eq!(again.code(), Code::FailedPrecondition, "{again}");

    // As agents do: by the identifier that the pull gave, with the user's own word.
    let image = Some(ImageSpec {
        image: runtime.pull("file:worker.wasm").await.expect("it is pulled"),
        user_specified_image: "file:worker.wasm".to_owned(),
        ..Default::default()
    });
    let config = ContainerConfig {
        metadata: Some(ContainerMetadata { name: "app".to_owned(), attempt: 1 }),
        image,
        command: vec!["called-otherwise".to_owned(), "3".to_owned()],
        args: vec!["1".to_owned(), "1".to_owned()],
        ..Default::default()
    };
    let request =
        CreateContainerRequest { pod_sandbox_id: pod.id.clone(), config: Some(config), sandbox_config: None };
    let second = runtime.pods.clone().create_container(request).await.expect("a container").into_inner();
    let reported = runtime.status(&second.container_id).await.expect("a status").image.expect("an image");
    assert_eq!(reported.image, "file:worker.wasm", "people know it by this name");
    runtime.start(&second.container_id).await.expect("it starts");
    let status = runtime.end(&second.container_id).await;
    assert_eq!(status.exit_code, 3, "the command's own argument is the first");
    assert_eq!(status.log_path, "", "it has no log");

    runtime.stop_pod(&pod.id).await.expect("it stops");
    let late =
        runtime.create(&pod, "late", program("worker", &[])).await.expect_err("the sandbox is stopped");
    assert_eq!(late.code(), Code::FailedPrecondition, "{late}");
    runtime.remove_pod(&pod.id).await.expect("it is removed");
    assert_eq!(runtime.status(&id).await.expect_err("gone with its sandbox").code(), Code::NotFound);
}

async fn rotated_log(runtime: Runtime) {
    let pod = runtime.pod().await;
    let id = runtime.run(&pod, "stubborn", program("stubborn", &[])).await;
    runtime.says(&id, "still here").await;
    let path = runtime.status(&id).await.expect("a status").log_path;
    std::fs::rename(&path, format!("{path}.rotated")).expect("it can be moved");
    let request = ReopenContainerLogRequest { container_id: id.clone() };
    runtime.pods.clone().reopen_container_log(request.clone()).await.expect("it is opened");
    runtime.says(&id, "still here").await;
    runtime.stop(&id, 0).await.expect("it is killed");
    let late = runtime.pods.clone().reopen_container_log(request).await.expect_err("it doesn't run");
    assert_eq!(late.code(), Code::FailedPrecondition);
}

async fn lists(runtime: Runtime) {
    let pod = runtime.pod().await;
    let id = runtime.create(&pod, "only-here", program("worker", &[])).await.expect("a container");
    let containers = async |filter: ContainerFilter| {
        let request = ListContainersRequest { filter: Some(filter) };
        let listed = runtime.pods.clone().list_containers(request).await.expect("a list").into_inner();
        listed.containers.into_iter().map(|container| container.id).collect::<Vec<_>>()
    };
    let created = Some(ContainerStateValue { state: ContainerState::ContainerCreated.into() });
    let running = Some(ContainerStateValue { state: ContainerState::ContainerRunning.into() });
    let of_pod = ContainerFilter { pod_sandbox_id: pod.id.clone(), ..Default::default() };
    let labelled = |value: &str| ContainerFilter {
        label_selector: [("container".to_owned(), value.to_owned())].into(),
        ..Default::default()
    };
    assert_eq!(containers(of_pod.clone()).await, [id.as_str()]);
    assert_eq!(containers(ContainerFilter { state: created, ..of_pod.clone() }).await, [id.as_str()]);
    assert_eq!(containers(ContainerFilter { state: running, ..of_pod }).await, [""; 0]);
    assert_eq!(containers(labelled("only-here")).await, [id.as_str()]);
    assert_eq!(containers(labelled("nowhere")).await, [""; 0]);
    assert_eq!(containers(ContainerFilter { id: "x".to_owned(), ..Default::default() }).await, [""; 0]);

    let filter = PodSandboxFilter { label_selector: pod.config.labels.clone(), ..Default::default() };
    let request = ListPodSandboxRequest { filter: Some(filter.clone()) };
    let listed = runtime.pods.clone().list_pod_sandbox(request).await.expect("a list").into_inner().items;
    assert_eq!(listed.len(), 1);
    assert_eq!((&listed[0].id, &listed[0].metadata), (&pod.id, &pod.config.metadata));
    let request = StreamPodSandboxesRequest { filter: Some(filter) };
    let mut stream = runtime.pods.clone().stream_pod_sandboxes(request).await.expect("a stream").into_inner();
    let page = stream.message().await.expect("a page").expect("one page");
    assert_eq!(page.pod_sandboxes, listed);
    assert_eq!(stream.message().await.expect("the end"), None);
}

async fn absent(runtime: Runtime) {
    let id = "not-there";
    runtime.stop(id, 1).await.expect("stopped");
    runtime.remove(id).await.expect("removed");
    runtime.stop_pod(id).await.expect("stopped");
    runtime.remove_pod(id).await.expect("removed");
    assert_eq!(runtime.start(id).await.expect_err("nothing to start").code(), Code::NotFound);
    assert_eq!(runtime.status(id).await.expect_err("nothing to tell").code(), Code::NotFound);
    assert_eq!(runtime.sandbox_status(id).await.expect_err("nothing to tell").code(), Code::NotFound);
}

async fn unimplemented(runtime: Runtime) {
    let mut pods = runtime.pods.clone();
    let exec = pods.exec(ExecRequest::default()).await.expect_err("not here");
    assert_eq!(exec.code(), Code::Unimplemented);
    assert_eq!(
        exec.message(),
        "the embedded runtime has no Exec: commands have no streams here, and run only as probes and hooks"
    );
    let attach = pods.attach(AttachRequest::default()).await.expect_err("not here");
    assert_eq!(attach.code(), Code::Unimplemented);
    let forward = pods.port_forward(PortForwardRequest::default()).await.expect_err("not here");
    assert_eq!(forward.code(), Code::Unimplemented);

    let version = pods.version(VersionRequest::default()).await.expect("a version").into_inner();
    assert_eq!((version.runtime_name.as_str(), version.runtime_api_version.as_str()), ("witlet", "v1"));
    let status = pods.status(StatusRequest::default()).await.expect("a status").into_inner().status;
    let conditions = status.expect("a status").conditions;
    let ready: Vec<_> = conditions.iter().map(|one| (one.r#type.as_str(), one.status)).collect();
    assert_eq!(ready, [("RuntimeReady", true), ("NetworkReady", true)]);
}

async fn refused(runtime: Runtime) {
    let mut pods = runtime.pods.clone();
    let mut refused = async |config: Option<PodSandboxConfig>, handler: &str| {
        let request = RunPodSandboxRequest { config, runtime_handler: handler.to_owned() };
        let refusal = pods.run_pod_sandbox(request).await.expect_err("it can't be met");
        assert_eq!(refusal.code(), Code::InvalidArgument, "{refusal}");
        refusal.message().to_owned()
    };
    assert_eq!(refused(None, "").await, "config is missing");
    assert_eq!(refused(Some(PodSandboxConfig::default()), "").await, "config.metadata is missing");
    let config = runtime.sandbox_config();
    assert!(refused(Some(config.clone()), "gvisor").await.contains("runtime handler \"gvisor\" is unknown"));
    let host_port = PortMapping { container_port: 80, host_port: 8080, ..Default::default() };
    let ports = PodSandboxConfig { port_mappings: vec![host_port], ..config.clone() };
    assert!(refused(Some(ports), "").await.contains("host port 8080 can't be had"));

    let pod = runtime.pod_of(config.clone()).await;
    let request = RunPodSandboxRequest { config: Some(config), ..Default::default() };
    let twice = runtime.pods.clone().run_pod_sandbox(request).await.expect_err("one is enough");
    assert_eq!(twice.code(), Code::AlreadyExists, "{twice}");
    let image = Some(ImageSpec { image: "file:never-pulled.wasm".to_owned(), ..Default::default() });
    let container = ContainerConfig {
        metadata: Some(ContainerMetadata { name: "app".to_owned(), attempt: 0 }),
        image: image.clone(),
        ..Default::default()
    };
    let create = async |config: ContainerConfig| {
        let request = CreateContainerRequest {
            pod_sandbox_id: pod.id.clone(),
            config: Some(config),
            sandbox_config: None,
        };
        runtime.pods.clone().create_container(request).await.expect_err("it can't be met")
    };
    assert_eq!(create(container.clone()).await.code(), Code::NotFound);
    let outside = ContainerConfig { log_path: "../../etc/passwd".to_owned(), ..container };
    assert_eq!(create(outside).await.code(), Code::InvalidArgument);
    eventually("the sandbox is removed", async || runtime.remove_pod(&pod.id).await.ok()).await;
}
