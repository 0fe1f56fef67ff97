//! What tests rely on in the harness itself: containerd restarted under its clients, pods that are reached, and
//! nothing left behind however a test ends.
#![allow(clippy::print_stderr, reason = "a test program of its own, and this is its report")]

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;
use witlet_harness::WAIT_TIMEOUT;

use libtest_mimic::{Arguments, Failed, Trial};
use tokio::runtime::Runtime as Tokio;
use witlet_core::image::{DockerConfig, Keyring};
use witlet_core::runtime::{
    ContainerId, ContainerRunState, ContainerSpec, NamespaceMode, PortMapping, Protocol, SandboxSpec, labels,
};
use witlet_harness::{
    BUSYBOX_IMAGE, Containerd, HarnessError, REGISTRY_PROGRAM, Registry, is_required, report, run_or_ignore,
};
use witlet_ports::{Runtime, RuntimeError};

type Test = fn(&Tokio) -> Result<(), Failed>;

/// Ignored where there is no registry.
const NEEDS_REGISTRY: &str = "images_are_pulled_by_digest_and_with_what_a_docker_configuration_says";

const TESTS: [(&str, Test); 4] = [
    ("containerd_restarted_under_a_client_keeps_its_containers", restarted),
    ("a_pod_is_reached_on_its_address_and_its_host_port", reached),
    (NEEDS_REGISTRY, pulled),
    ("a_dropped_containerd_leaves_nothing_behind", dropped),
];

/// In the place of the open registry.
const NEVER_PULLED: &str = "127.0.0.1:5000/team/other:1";

fn main() -> ExitCode {
    run_or_ignore(TESTS.map(|(name, _)| name), |arguments: &Arguments| {
        let no_registry = !Registry::is_installed() && !is_required();
        let trials = TESTS.map(|(name, test)| {
            let trial = Trial::test(name, move || {
                let tokio = Tokio::new().map_err(|cause| failed(&cause))?;
                test(&tokio)
            });
            let is_ignored = no_registry && name == NEEDS_REGISTRY;
            if is_ignored {
                eprintln!("SKIPPED {name}: {REGISTRY_PROGRAM} isn't installed");
            }
            trial.with_ignored_flag(is_ignored)
        });
        Ok::<_, HarnessError>(libtest_mimic::run(arguments, trials.into()).exit_code())
    })
}

fn failed(error: &dyn std::error::Error) -> Failed {
    Failed::from(report(error))
}

/// A pod with one container that runs this script.
async fn run_pod(
    containerd: &Containerd,
    runtime: &Runtime,
    script: &str,
    port_mappings: Vec<PortMapping>,
) -> Result<ContainerId, RuntimeError> {
    let labels: BTreeMap<String, String> =
        [(labels::POD_UID, "u-1"), (labels::POD_NAME, "pod"), (labels::POD_NAMESPACE, "harness")]
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .into();
    let sandbox = SandboxSpec {
        name: "pod".to_owned(),
        namespace: "harness".to_owned(),
        uid: "u-1".to_owned(),
        hostname: "pod".to_owned(),
        log_directory: containerd.log_root(),
        labels: labels.clone(),
        port_mappings,
        pid: NamespaceMode::Container,
        ..SandboxSpec::default()
    };
    let container = ContainerSpec {
        name: "app".to_owned(),
        image: BUSYBOX_IMAGE.to_owned(),
        command: ["/bin/sh", "-c", script].map(str::to_owned).to_vec(),
        labels,
        log_path: PathBuf::from("app.log"),
        ..ContainerSpec::default()
    };
    let id = runtime.sandboxes.run(&sandbox).await?;
    let container = runtime.containers.create(&id, &container, &sandbox).await?;
    runtime.containers.start(&container).await?;
    Ok(container)
}

fn restarted(tokio: &Tokio) -> Result<(), Failed> {
    let run = async {
        let mut containerd = Containerd::start().await.map_err(|e| failed(&e))?;
        let runtime = containerd.runtime().map_err(|e| failed(&e))?;
        let id = run_pod(&containerd, &runtime, "sleep 600", Vec::new()).await.map_err(|e| failed(&e))?;
        let before = runtime.view.pod_status(&"u-1".into()).await.map_err(|e| failed(&e))?;
        containerd.terminate().await.map_err(|e| failed(&e))?;
        match runtime.view.list_pods().await {
            Err(RuntimeError::Unavailable { .. }) => {}
            other => return Err(Failed::from(format!("containerd is stopped, and the list is {other:?}"))),
        }
        containerd.launch().await.map_err(|e| failed(&e))?;
        let after = runtime.view.pod_status(&"u-1".into()).await.map_err(|e| failed(&e))?;
        if after.containers != before.containers || after.sandboxes != before.sandboxes {
            return Err(Failed::from(format!("the restart changed {before:?} to {after:?}")));
        }
        let state = after.container("app").map(|c| (&c.id, c.state));
        if state != Some((&id, ContainerRunState::Running)) {
            return Err(Failed::from(format!("after the restart the container is {state:?}")));
        }
        containerd.stop().await.map_err(|e| failed(&e))
    };
    tokio.block_on(run)
}

fn reached(tokio: &Tokio) -> Result<(), Failed> {
    let run = async {
        let containerd = Containerd::start().await.map_err(|e| failed(&e))?;
        let runtime = containerd.runtime().map_err(|e| failed(&e))?;
        let mapping =
            PortMapping { protocol: Protocol::Tcp, container_port: 8080, host_port: 18_080, host_ip: None };
        let script = "echo hello from the pod > /tmp/index.html; exec httpd -f -p 8080 -h /tmp";
        run_pod(&containerd, &runtime, script, vec![mapping]).await.map_err(|e| failed(&e))?;
        let pod = runtime.view.pod_status(&"u-1".into()).await.map_err(|e| failed(&e))?;
        let [IpAddr::V4(address)] = pod.ips[..] else {
            return Err(Failed::from(format!("the pod's addresses are {:?}", pod.ips)));
        };
        let gateway = Ipv4Addr::new(10, 231, 0, 1);
        for address in [SocketAddr::from((address, 8080)), SocketAddr::from((gateway, 18_080))] {
            let text = fetch(&containerd, address).await?;
            if !text.starts_with("HTTP/1.") || !text.ends_with("\r\n\r\nhello from the pod\n") {
                return Err(Failed::from(format!("{address} answered {text:?}")));
            }
        }
        containerd.stop().await.map_err(|e| failed(&e))
    };
    tokio.block_on(run)
}

/// Asks until the server in the pod has started.
async fn fetch(containerd: &Containerd, address: SocketAddr) -> Result<String, Failed> {
    let deadline = tokio::time::Instant::now() + WAIT_TIMEOUT;
    loop {
        match containerd.http_get(address, "/") {
            Ok(text) => return Ok(text),
            Err(error) if tokio::time::Instant::now() >= deadline => {
                let log = std::fs::read_to_string(containerd.log_root().join("app.log")).unwrap_or_default();
                return Err(Failed::from(format!("{}; the pod's log: {log}", report(&error))));
            }
            Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
        }
    }
}

fn pulled(tokio: &Tokio) -> Result<(), Failed> {
    let run = async {
        let containerd = Containerd::start().await.map_err(|e| failed(&e))?;
        let registry = Registry::start(&containerd).await.map_err(|e| failed(&e))?;
        let images = containerd.runtime().map_err(|e| failed(&e))?.images;
        let sandbox = SandboxSpec::default();
        let by_digest = registry.open_image_by_digest();
        images.pull(&by_digest, None, &sandbox).await.map_err(|e| failed(&e))?;
        let found = images.status(&by_digest).await.map_err(|e| failed(&e))?;
        if !found.is_some_and(|found| found.repo_digests.contains(&by_digest)) {
            return Err(Failed::from(format!("{by_digest} was pulled, and isn't there by this name")));
        }
        let config = DockerConfig::parse_json(registry.docker_config().as_bytes()).map_err(|e| failed(&e))?;
        let keyring = Keyring::new([(&config, None)]);
        let [credential] = &keyring.lookup(&registry.private_image())[..] else {
            return Err(Failed::from("the configuration has no credentials for the private registry"));
        };
        images
            .pull(&registry.private_image(), Some(&credential.auth), &sandbox)
            .await
            .map_err(|e| failed(&e))?;
        if !keyring.lookup(&by_digest).is_empty() {
            return Err(Failed::from("credentials of one port are shown to another"));
        }
        drop(registry);
        match images.pull(NEVER_PULLED, None, &sandbox).await {
            Err(RuntimeError::Failed { message, .. }) if message.contains("connection refused") => {}
            other => return Err(Failed::from(format!("the registry is gone, and the pull gave {other:?}"))),
        }
        containerd.stop().await.map_err(|e| failed(&e))
    };
    tokio.block_on(run)
}

fn dropped(tokio: &Tokio) -> Result<(), Failed> {
    // No other run of this test on the machine has the same.
    let seconds = format!("4321.{}", std::process::id());
    let run = async {
        let containerd = Containerd::start().await.map_err(|e| failed(&e))?;
        let runtime = containerd.runtime().map_err(|e| failed(&e))?;
        let script = format!("sleep {seconds}");
        run_pod(&containerd, &runtime, &script, Vec::new()).await.map_err(|e| failed(&e))?;
        Ok::<_, Failed>((containerd.log_root(), containerd.network_namespace()))
        // Here it is dropped, as in a test that fails.
    };
    let (logs, namespace) = tokio.block_on(run)?;
    let folder = logs.parent().unwrap_or(&logs);
    let mounts = std::fs::read_to_string("/proc/self/mounts").map_err(|e| failed(&e))?;
    let mounted = mounts.lines().any(|line| line.contains(&*folder.to_string_lossy()));
    if folder.exists() || namespace.exists() || mounted {
        let left = (folder.exists(), namespace.exists(), mounted);
        return Err(Failed::from(format!("left of (folder, network, mounts): {left:?}")));
    }
    let processes = std::fs::read_dir("/proc").map_err(|e| failed(&e))?.flatten();
    let left = processes.filter(|process| {
        let line = std::fs::read(process.path().join("cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).contains(&seconds)
    });
    match left.count() {
        0 => Ok(()),
        count => Err(Failed::from(format!("{count} processes are left"))),
    }
}
