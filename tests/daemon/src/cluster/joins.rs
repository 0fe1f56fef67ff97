//! How a node joins: with a bootstrap token and a signing request, and as the kubelet with the files that kubeadm writes.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

use jiff::SignedDuration;
use k8s_openapi::api::certificates::v1::CertificateSigningRequest;
use k8s_openapi::api::core::v1::Node;
use libtest_mimic::Failed;
use serde_json::{Value, json};
use witlet_api_server::{Admission, Identity};
use witlet_harness::tunables::COPY_TUNABLES;
use witlet_harness::{DaemonOptions, TestClock};
use witlet_ports::Clock as _;

use witlet_harness::cluster::{Cluster, Ground, NODE, failed, free_address, get, refused};

/// A bootstrap token as kubeadm makes it, and whose it is.
const BOOTSTRAP_TOKEN: &str = "abcdef.0123456789abcdef";
const BOOTSTRAP_USER: &str = "system:bootstrap:abcdef";
const BOOTSTRAP_GROUPS: [&str; 2] =
    ["system:bootstrappers", "system:bootstrappers:kubeadm:default-node-token"];
/// Who signs for nodes.
const SIGNER: &str = "kubernetes.io/kube-apiserver-client-kubelet";
/// Life of the first certificate. It is backdated by minutes, so that this little is due to be renewed within seconds.
const FIRST_LIFE: SignedDuration = SignedDuration::from_secs(45);
/// Life of the second one.
const SECOND_LIFE: SignedDuration = SignedDuration::from_hours(24);

/// A cluster that has given away one bootstrap token.
async fn ground(admission: Admission) -> Result<(Ground, PathBuf), Failed> {
    let ground = Ground::new(admission).await?;
    ground.api.add_token(BOOTSTRAP_TOKEN, Identity::new(BOOTSTRAP_USER, &BOOTSTRAP_GROUPS));
    let bootstrap = ground.kubeconfig("bootstrap-kubelet.conf", &json!({ "token": BOOTSTRAP_TOKEN }))?;
    Ok((ground, bootstrap))
}

fn request_name(request: &CertificateSigningRequest) -> String {
    request.metadata.name.clone().unwrap_or_default()
}

/// Undecided requests.
fn waiting(cluster: &Cluster) -> Option<CertificateSigningRequest> {
    let requests = cluster.api().list::<CertificateSigningRequest>();
    requests.into_iter().find(|request| {
        let status = request.status.as_ref();
        status.and_then(|status| status.conditions.as_ref()).is_none_or(Vec::is_empty)
    })
}

/// A request that a cluster's controllers approve by themselves: upstream's shape.
fn is_a_nodes(request: &CertificateSigningRequest, user: &str) -> Result<(), Failed> {
    let spec = &request.spec;
    let usages = spec.usages.clone().unwrap_or_default();
    let as_expected = spec.signer_name == SIGNER
        && spec.username.as_deref() == Some(user)
        && usages == ["digital signature", "client auth"];
    if as_expected { Ok(()) } else { Err(format!("the request of {user} is {spec:?}").into()) }
}

fn manifest(name: &str) -> String {
    json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name},
        "spec": {
            "terminationGracePeriodSeconds": 1,
            "containers": [{"name": "main", "image": "registry.example.com/app:1.0"}],
        },
    })
    .to_string()
}

/// Denied once, approved then, renewed soon, and started again with nothing but the renewed certificate.
pub(super) async fn bootstraps() -> Result<(), Failed> {
    let admission = Admission { node_rules: true, ..Admission::default() };
    let (ground, bootstrap) = ground(admission).await?;
    let (kubeconfig, pki) = (ground.path("kubelet.conf"), ground.path("pki"));
    let arguments = vec![
        format!("--bootstrap-kubeconfig={}", bootstrap.display()),
        format!("--kubeconfig={}", kubeconfig.display()),
        format!("--cert-dir={}", pki.display()),
    ];
    let mut cluster = Cluster::start_on(ground, Ipv4Addr::LOCALHOST, arguments).await?;
    cluster.daemon.write_manifest("first.json", &manifest("first")).map_err(failed)?;
    let request = cluster.until("it asks for a certificate", waiting).await?;
    is_a_nodes(&request, BOOTSTRAP_USER)?;
    cluster
        .until("static pods don't wait for a certificate", |c| (c.cri().running() == 1).then_some(()))
        .await?;

    cluster.api().deny(&request_name(&request)).map_err(refused)?;
    cluster
        .until("it says that it was denied", |c| c.daemon.log().contains("was denied").then_some(()))
        .await?;
    if kubeconfig.exists() || cluster.api().get::<Node>("", NODE).is_some() {
        return Err(cluster.failure("a node joined whose request was denied"));
    }
    cluster.api().delete::<CertificateSigningRequest>("", &request_name(&request), None).map_err(refused)?;
    let request = cluster.until("it asks again once its request is gone", waiting).await?;
    let first_end = TestClock.now().checked_add(FIRST_LIFE)?;
    cluster.api().approve_for(&request_name(&request), FIRST_LIFE).map_err(refused)?;
    let current = pki.join("kubelet-client-current.pem");
    // Its content: within a second the renewed one has the same name.
    let first = cluster
        .until("it has its certificate", |_| std::fs::read(&current).ok().filter(|_| kubeconfig.exists()))
        .await?;

    let request = cluster.until("it renews it", waiting).await?;
    is_a_nodes(&request, &format!("system:node:{NODE}"))?;
    cluster.api().approve_for(&request_name(&request), SECOND_LIFE).map_err(refused)?;
    cluster
        .until("the renewed one is in use", |_| std::fs::read(&current).ok().filter(|now| *now != first))
        .await?;
    cluster.until("the first one has ended", |_| (TestClock.now() > first_end).then_some(())).await?;
    cluster.node_ready().await?;
    cluster.create("web")?;
    cluster.ready("web").await?;
    cluster.until("the mirror is there", |c| c.pod("first-node1")).await?;

    // The token is gone, and a node that still needs it is refused.
    cluster.daemon.kill().map_err(failed)?;
    cluster.api().expire_tokens();
    std::fs::remove_file(&bootstrap)?;
    cluster.daemon.launch().map_err(failed)?;
    cluster.create("late")?;
    cluster.ready("late").await?;
    if cluster.cri().started("web", "main") != 1 {
        return Err(cluster.failure("a pod was started again"));
    }
    cluster.end().await
}

/// `/var/lib/kubelet/config.yaml` as kubeadm 1.36 writes it, with these folders and addresses in it. The last three fields are for
/// machines of tests, which weren't prepared for Kubernetes.
fn configuration(authority: &Path, manifests: &Path, address: IpAddr) -> String {
    let (authority, manifests) = (authority.display(), manifests.display());
    format!(
        r#"address: {address}
apiVersion: kubelet.config.k8s.io/v1beta1
authentication:
  anonymous:
    enabled: false
  webhook:
    cacheTTL: 0s
    enabled: true
  x509:
    clientCAFile: {authority}
authorization:
  mode: Webhook
  webhook:
    cacheAuthorizedTTL: 0s
    cacheUnauthorizedTTL: 0s
cgroupDriver: systemd
clusterDNS:
- 10.96.0.10
clusterDomain: cluster.local
containerRuntimeEndpoint: ""
cpuManagerReconcilePeriod: 0s
crashLoopBackOff: {{}}
evictionPressureTransitionPeriod: 0s
fileCheckFrequency: 0s
healthzBindAddress: {address}
healthzPort: 10248
httpCheckFrequency: 0s
imageMaximumGCAge: 0s
imageMinimumGCAge: 0s
kind: KubeletConfiguration
logging:
  flushFrequency: 0
  options:
    json:
      infoBufferSize: "0"
    text:
      infoBufferSize: "0"
  verbosity: 0
memorySwap: {{}}
nodeStatusReportFrequency: 0s
nodeStatusUpdateFrequency: 0s
resolvConf: /etc/resolv.conf
rotateCertificates: true
runtimeRequestTimeout: 0s
shutdownGracePeriod: 0s
shutdownGracePeriodCriticalPods: 0s
staticPodPath: {manifests}
streamingConnectionIdleTimeout: 0s
syncFrequency: 0s
volumeStatsAggPeriod: 0s
failSwapOn: false
failCgroupV1: false
evictionHard: {{}}
"#
    )
}

/// Runs the rest of the command line where `/var/lib/kubelet` is this folder, and what else the kubelet writes to is empty and
/// no other's.
const IN_PLACE: &str = "mount -t tmpfs tmpfs /var/log && mount -t tmpfs tmpfs /run && mount -t tmpfs tmpfs /var/lib \
                        && mkdir /var/lib/kubelet && mount --bind \"$0\" /var/lib/kubelet && exec \"$@\"";

/// What is asked of the node's endpoint, by whom, and the answer's code.
async fn answers(cluster: &Cluster, token: Option<&str>, path: &str) -> Result<u16, Failed> {
    let mut config = kube::Config::new(format!("https://{}", cluster.server).parse()?);
    config.accept_invalid_certs = true;
    config.auth_info.token = token.map(|token| token.to_owned().into());
    let client = kube::Client::try_from(config)?;
    let request = http::Request::get(path).body(kube::client::Body::empty())?;
    Ok(client.send(request).await?.status().as_u16())
}

/// The program under the kubelet's name.
fn called_kubelet(ground: &Ground) -> Result<PathBuf, Failed> {
    let program = ground.path("bin/kubelet");
    std::fs::create_dir_all(ground.path("bin"))?;
    std::os::unix::fs::symlink(witlet_harness::program::witlet().map_err(failed)?, &program)?;
    Ok(program)
}

/// Called by its name, with the flags of kubeadm's unit, and everything where kubeadm has it.
pub(super) async fn as_the_kubelet() -> Result<(), Failed> {
    let admission = Admission { node_rules: true, sign_requests: true, ..Admission::default() };
    let (ground, bootstrap) = ground(admission).await?;
    let (home, manifests) = (ground.path("kubelet"), ground.path("static"));
    for folder in [&home, &manifests] {
        std::fs::create_dir_all(folder)?;
    }
    // The kubelet's own ports, on an address of the loopback that is this test's.
    let [high, low] = free_address().await?.port().to_be_bytes();
    let address = Ipv4Addr::new(127, 77, high, low);
    let config = configuration(&ground.path("ca.crt"), &manifests, address.into());
    std::fs::write(home.join("config.yaml"), config)?;
    let program = called_kubelet(&ground)?;
    let mut options = DaemonOptions::below(ground.folder.path(), "unshare", &*ground.endpoint);
    let script = format!("{COPY_TUNABLES}{IN_PLACE}");
    let outer = ["--mount", "--propagation", "private", "--", "sh", "-c", script.as_str()];
    let mut line: Vec<String> = outer.map(str::to_owned).into();
    line.extend([home.display().to_string(), program.display().to_string()]);
    line.extend([
        format!("--bootstrap-kubeconfig={}", bootstrap.display()),
        format!("--kubeconfig={}", ground.path("kubelet.conf").display()),
        "--config=/var/lib/kubelet/config.yaml".to_owned(),
        format!("--container-runtime-endpoint={}", ground.endpoint),
        "--node-ip=192.0.2.77".to_owned(),
        "--node-labels=pool.example.com/name=blue".to_owned(),
        format!("--hostname-override={NODE}"),
    ]);
    line.extend(match witlet_harness::cgroups::flags(&ground.endpoint).pop() {
        Some(root) if root.starts_with("--cgroup-root") => vec![root],
        _ => vec!["--cgroups-per-qos=false".to_owned(), "--enforce-node-allocatable=none".to_owned()],
    });
    options.command_line = Some(line);
    let addresses = [SocketAddr::from((address, 10248)), SocketAddr::from((address, 10250))];
    let mut cluster = Cluster::launch(ground, options, addresses).await?;

    let node = cluster.node_ready().await?;
    is_described(&node)?;
    for file in ["pki/kubelet-client-current.pem", "pki/kubelet.crt", "pki/kubelet.key"] {
        // The link is to where it leads from within.
        if home.join(file).symlink_metadata().is_err() {
            return Err(cluster.failure(&format!("/var/lib/kubelet/{file} isn't there")));
        }
    }
    let healthz = get(cluster.healthz, "/healthz").await?;
    if !healthz.starts_with("HTTP/1.1 200") {
        return Err(format!("/healthz answers {healthz}").into());
    }
    std::fs::write(manifests.join("etcd.yaml"), manifest("etcd"))?;
    cluster.create("web")?;
    cluster.ready("web").await?;
    cluster.ready("etcd-node1").await?;
    cluster.asks_who_may("web").await?;
    only_watchers_read_metrics(&cluster).await?;
    // As after an upgrade of the package: the same files, the pods as they were.
    cluster.daemon.kill_and_restart().map_err(failed)?;
    cluster.create("late")?;
    cluster.ready("late").await?;
    if cluster.cri().starts().len() != 3 {
        return Err(cluster.failure("a restart started pods again"));
    }
    cluster.end().await
}

/// Who may get `nodes/metrics` reads metrics, and nothing else of the kubelet's.
async fn only_watchers_read_metrics(cluster: &Cluster) -> Result<(), Failed> {
    cluster.api().add_token("alices", Identity::new("alice", &["watchers"]));
    cluster.api().add_token("bobs", Identity::new("bob", &[]));
    cluster.api().allow("watchers", "get", "nodes/metrics");
    for (token, path, code) in [
        (None, "/pods", 401),
        (Some("unknown"), "/metrics", 401),
        (Some("alices"), "/metrics", 200),
        (Some("alices"), "/pods", 403),
        (Some("bobs"), "/metrics", 403),
    ] {
        let answered = answers(cluster, token, path).await?;
        if answered != code {
            return Err(format!("{path} answers {token:?} with {answered}, not {code}").into());
        }
    }
    Ok(())
}

/// The node has what its command line says.
fn is_described(node: &Node) -> Result<(), Failed> {
    let labels = node.metadata.labels.clone().unwrap_or_default();
    let status = serde_json::to_value(&node.status)?;
    let addresses: Vec<Value> = status["addresses"].as_array().cloned().unwrap_or_default();
    let internal = json!({"type": "InternalIP", "address": "192.0.2.77"});
    let hostname = json!({"type": "Hostname", "address": NODE});
    let as_expected = labels.get("pool.example.com/name").is_some_and(|pool| pool == "blue")
        && labels.get("kubernetes.io/hostname").is_some_and(|name| name == NODE)
        && addresses.contains(&internal)
        && addresses.contains(&hostname)
        && status["daemonEndpoints"]["kubeletEndpoint"]["Port"] == 10250;
    if as_expected { Ok(()) } else { Err(format!("the node is {labels:?} {status}").into()) }
}
