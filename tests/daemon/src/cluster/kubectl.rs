//! kubectl in a terminal, from end to end: an API server over TLS, the whole daemon, containerd, and real processes.

use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::process::Stdio;
use witlet_harness::WAIT_TIMEOUT;

use jiff::SignedDuration;
use k8s_openapi::api::core::v1::{ContainerStatus, Pod};
use libtest_mimic::Failed;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};
use witlet_api_server::{Admission, Identity};
use witlet_harness::BUSYBOX_IMAGE;

mod top;

use super::ContainerdTest;
use witlet_harness::cluster::{ADDRESS, AGAIN, address};
use witlet_harness::cluster::{Cluster, Ground, NODE, is_true, phase, refused};
use witlet_harness::streams::kubectl::{Ended, Kubectl};

/// Tests that need kubectl and containerd.
pub(crate) const TESTS: &[(&str, ContainerdTest)] = &[
    ("kubectl_debug_adds_a_container_and_leads_into_it", |endpoint| {
        Box::pin(played(endpoint, |world| Box::pin(debug(world))))
    }),
    ("kubectl_run_ends_with_its_commands_code_and_leaves_no_pod", |endpoint| {
        Box::pin(played(endpoint, |world| Box::pin(run(world))))
    }),
    ("kubectl_attach_leads_into_a_containers_own_terminal", |endpoint| {
        Box::pin(played(endpoint, |world| Box::pin(attach(world))))
    }),
    ("kubectl_exec_cp_and_port_forward_reach_a_pod_of_the_daemon", |endpoint| {
        Box::pin(played(endpoint, |world| Box::pin(exec_copy_and_forward(world))))
    }),
    ("kubectl_top_shows_what_the_kernel_counts", |endpoint| {
        Box::pin(played(endpoint, |world| Box::pin(top::shows_what_the_kernel_counts(world))))
    }),
];

/// Two pages on two ports, and `tar`, which `kubectl cp` runs in the container.
const SERVER: &str = "busybox ln -sf busybox /bin/tar; mkdir /tmp/a /tmp/b; echo page a > /tmp/a/index.html\n\
                      echo page b > /tmp/b/index.html; httpd -p 8080 -h /tmp/a; httpd -p 8081 -h /tmp/b\n\
                      trap 'exit 0' TERM; while :; do sleep 0.1; done";

/// More than any buffer between here and there.
const COPIED_BYTES: usize = 1_000_000;

type Step<'a> = futures::future::BoxFuture<'a, Result<(), Failed>>;

/// A cluster, and kubectl as its administrator.
struct World {
    cluster: Cluster,
    kubectl: Kubectl,
    home: PathBuf,
}

async fn played(endpoint: String, test: impl for<'a> FnOnce(&'a World) -> Step<'a>) -> Result<(), Failed> {
    address("replace")?;
    let played = async {
        let world = World::start(endpoint).await?;
        let tested = timeout(WAIT_TIMEOUT * 2, test(&world)).await;
        let tested = tested.unwrap_or_else(|_| Err("it took too long".into()));
        if let Err(error) = tested {
            return Err(world.cluster.failure(error.message().unwrap_or_default()));
        }
        world.cluster.end().await
    };
    let played = played.await;
    address("delete")?;
    played
}

impl World {
    async fn start(endpoint: String) -> Result<Self, Failed> {
        use base64::Engine as _;
        use base64::engine::general_purpose::STANDARD;
        let admission = Admission { node_rules: true, ..Admission::default() };
        let ground = Ground::on(admission, endpoint).await?;
        let issued = ground.api.client_certificate(&Identity::admin(), SignedDuration::from_hours(1))?;
        let user = json!({
            "client-certificate-data": STANDARD.encode(issued.certificate_pem),
            "client-key-data": STANDARD.encode(issued.key_pem),
        });
        let config = ground.kubeconfig("admin.conf", &user)?;
        let home = ground.path("home");
        std::fs::create_dir(&home)?;
        let kubectl = Kubectl::new(&config, &home, true);
        let more = vec![format!("--node-ip={ADDRESS}"), "--stop-pods-on-exit".to_owned()];
        let cluster = Cluster::start_with_token(ground, Ipv4Addr::UNSPECIFIED, more).await?;
        cluster.node_ready().await?;
        Ok(Self { cluster, kubectl, home })
    }

    /// A ready pod of one container, bound to the node.
    async fn pod(&self, name: &str, container: Value) -> Result<(), Failed> {
        let mut container = container;
        for (key, value) in [("name", json!("app")), ("image", json!(BUSYBOX_IMAGE))] {
            container[key] = value;
        }
        let pod: Pod = serde_json::from_value(json!({
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "default"},
            "spec": {
                "nodeName": NODE,
                "automountServiceAccountToken": false,
                "enableServiceLinks": false,
                "restartPolicy": "Never",
                "terminationGracePeriodSeconds": 1,
                "containers": [container],
            },
        }))?;
        self.cluster.api().create(&pod).map_err(refused)?;
        self.cluster.ready(name).await?;
        Ok(())
    }

    async fn kubectl(&self, arguments: &[&str], input: &str) -> Result<Ended, Failed> {
        Ok(self.kubectl.run(arguments, input).await?)
    }

    /// How often the API server was asked for this, such as `get pods/exec`.
    fn count(&self, action: &str) -> u64 {
        self.cluster.api().count(action)
    }
}

fn check<T: PartialEq + std::fmt::Debug>(what: &str, found: T, expected: T) -> Result<(), Failed> {
    if found == expected { Ok(()) } else { Err(format!("{what}: {found:?}, not {expected:?}").into()) }
}

/// Whether kubectl had its streams by WebSockets alone: it falls back to SPDY where it can't.
fn by_websockets(world: &World) -> Result<(), Failed> {
    let streams = ["exec", "attach", "portforward"];
    let count =
        |verb: &str| -> u64 { streams.iter().map(|of| world.count(&format!("{verb} pods/{of}"))).sum() };
    check("streams by WebSockets, and by SPDY", (count("get") > 0, count("create")), (true, 0))
}

/// The first ephemeral container's status.
fn ephemeral(pod: &Pod) -> Option<&ContainerStatus> {
    pod.status.as_ref()?.ephemeral_container_statuses.as_ref()?.first()
}

fn code_of(status: &ContainerStatus) -> Option<i32> {
    Some(status.state.as_ref()?.terminated.as_ref()?.exit_code)
}

/// `kubectl debug`: into the process namespace of a container that has no shell open, in a terminal.
async fn debug(world: &World) -> Result<(), Failed> {
    let script = "trap 'exit 0' TERM; while :; do sleep 0.1; done";
    world
        .pod(
            "subject",
            json!({"command": ["/bin/sh", "-c", script], "env": [{"name": "MARK", "value": "of-app"}]}),
        )
        .await?;
    let image = format!("--image={BUSYBOX_IMAGE}");
    let arguments = ["debug", "-it", "subject", &image, "--target=app", "--container=helper", "--", "sh"];
    let mut terminal = world.kubectl.terminal(&arguments)?;
    terminal.until("stty size; echo s$((1+1))zed\n", "33 99").await?;
    terminal.resize(44, 120)?;
    terminal.until("stty size\n", "44 120").await?;
    // The process that it shares its namespace with is the container's own.
    terminal
        .until("cat /proc/1/environ | busybox tr '\\0' '\\n' | busybox grep MA[R]K\n", "MARK=of-app")
        .await?;
    let pod = world.cluster.pod("subject").ok_or("the pod is gone")?;
    let runs = ephemeral(&pod).and_then(|status| status.state.as_ref()?.running.as_ref());
    check("the status says that it runs", runs.is_some(), true)?;
    check("the pod is ready", is_true(&pod, "Ready"), true)?;
    terminal.press("exit 5\n").await?;
    let (code, seen) = terminal.end().await?;
    // What the container ends with is in the status only.
    check(&format!("the code of kubectl, which said {seen:?}"), code, Some(0))?;
    let ended = |cluster: &Cluster| code_of(ephemeral(&cluster.pod("subject")?)?);
    check("the container's code", world.cluster.until("it has ended", ended).await?, 5)?;
    check("one patch", world.count("patch pods/ephemeralcontainers"), 1)?;

    // A second one, without a terminal, reads what is piped into it. Its answer is waited for with the input open: of such a container,
    // which isn't given its input once only, containerd tells nothing more after its end.
    let arguments =
        ["debug", "-i", "subject", &image, "--container=second", "--", "sh", "-c", "read a; echo got $a"];
    let mut child = world.kubectl.command(&arguments).stdin(Stdio::piped()).spawn()?;
    let mut stdin = child.stdin.take().ok_or("no input")?;
    stdin.write_all(b"a line\n").await?;
    let mut lines = BufReader::new(child.stdout.take().ok_or("no output")?).lines();
    while lines.next_line().await?.ok_or("the second has nothing to say")? != "got a line" {}
    drop(stdin);
    check("the second", child.wait().await?.code(), Some(0))?;

    debug_node(world).await?;
    by_websockets(world)
}

/// The pod that `kubectl debug node/…` makes, as JSON: kubectl itself sends it as protobuf, which the small API server doesn't read.
async fn debug_node(world: &World) -> Result<(), Failed> {
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "node-debugger", "namespace": "default"},
        "spec": {
            "containers": [{
                "name": "debugger", "image": BUSYBOX_IMAGE, "command": ["sh"], "stdin": true, "tty": true,
                "imagePullPolicy": "IfNotPresent", "terminationMessagePolicy": "File",
                "volumeMounts": [{"mountPath": "/host", "name": "host-root"}],
            }],
            "hostIPC": true, "hostNetwork": true, "hostPID": true,
            "automountServiceAccountToken": false,
            "nodeName": NODE,
            "restartPolicy": "Never",
            "tolerations": [{"operator": "Exists"}],
            "volumes": [{"name": "host-root", "hostPath": {"path": "/"}}],
        },
    });
    let created = world.kubectl(&["create", "--validate=false", "-f", "-"], &pod.to_string()).await?;
    check(&created.said, created.code, Some(0))?;
    world.cluster.ready("node-debugger").await?;
    let mut terminal = world.kubectl.terminal(&["attach", "-it", "node-debugger"])?;
    // The machine's own processes and files.
    let own = std::process::id();
    let script = format!("test -d /proc/{own} && test -d /host/proc/{own} && echo h$((1+1))st\n");
    terminal.until(&script, "h2st").await?;
    terminal.press("exit 0\n").await?;
    check("on the node", terminal.end().await?.0, Some(0))?;
    let over = |cluster: &Cluster| (phase(&cluster.pod("node-debugger")?) == "Succeeded").then_some(());
    world.cluster.until("it has ended", over).await
}

/// `kubectl run --rm`, with a terminal, with a pipe, and with a command that has ended before a client can check.
async fn run(world: &World) -> Result<(), Failed> {
    let image = format!("--image={BUSYBOX_IMAGE}");
    let overrides = json!({"spec": {
        "nodeName": NODE, "automountServiceAccountToken": false, "enableServiceLinks": false,
    }});
    let overrides = format!("--overrides={overrides}");
    let common = |name: &'static str, streams: &'static str, policy: &'static str| {
        vec!["run", name, "--rm", streams, policy, &*image, &*overrides]
    };
    let never = "--restart=Never";

    let arguments = [common("shell", "-it", never), vec!["--", "sh"]].concat();
    let mut terminal = world.kubectl.terminal(&arguments)?;
    terminal.until("stty size; echo s$((1+1))zed\n", "33 99").await?;
    terminal.resize(41, 111)?;
    terminal.until("stty size\n", "41 111").await?;
    terminal.press("exit 7\n").await?;
    let (code, seen) = terminal.end().await?;
    check(&format!("the code of kubectl, which said {seen:?}"), code, Some(7))?;
    world.cluster.until("its pod is gone", |c| c.pod("shell").is_none().then_some(())).await?;

    let arguments =
        [common("pipe", "-i", never), vec!["--", "sh", "-c", "read a; echo got $a; exit 3"]].concat();
    let ended = world.kubectl(&arguments, "a line\n").await?;
    let reported = (ended.code, ended.out.contains("got a line\n"));
    check(&format!("a pipe, {:?} {:?}", ended.out, ended.said), reported, (Some(3), true))?;
    world.cluster.until("its pod is gone", |c| c.pod("pipe").is_none().then_some(())).await?;

    // What it says reaches only those who attached in time, as with any node; how it ended is reported in any case.
    let arguments = [common("brief", "-i", never), vec!["--", "sh", "-c", "exit 6"]].concat();
    let ended = world.kubectl(&arguments, "").await?;
    check(&format!("a brief command, {:?} {:?}", ended.out, ended.said), ended.code, Some(6))?;
    world.cluster.until("its pod is gone", |c| c.pod("brief").is_none().then_some(())).await?;

    check("no pod is left", world.cluster.api().list::<Pod>().len(), 0)?;
    while !world.cluster.daemon.pods().await.map_err(super::failed)?.is_empty() {
        sleep(AGAIN).await;
    }
    by_websockets(world)
}

/// `kubectl attach` to a container with a terminal, and to one with a pipe.
async fn attach(world: &World) -> Result<(), Failed> {
    let terminal = json!({"command": ["/bin/sh"], "stdin": true, "tty": true});
    world.pod("terminal", terminal).await?;
    let mut first = world.kubectl.terminal(&["attach", "-it", "terminal"])?;
    first.until("stty size; x=kept\n", "33 99").await?;
    first.resize(28, 90)?;
    first.until("stty size\n", "28 90").await?;
    drop(first);
    // The process stays when a client goes, and shows the next one the same terminal.
    let mut second = world.kubectl.terminal(&["attach", "-it", "terminal"])?;
    second.until("echo $x $((40+2))\n", "kept 42").await?;
    second.until("stty size\n", "33 99").await?;
    second.until("sleep 1000\n\x03\necho broken$((20+22))\n", "broken42").await?;
    second.press("exit 9\n").await?;
    check("kubectl's code is its own", second.end().await?.0, Some(0))?;
    let over = |cluster: &Cluster| witlet_harness::cluster::exit_code(&cluster.pod("terminal")?);
    check("the shell's", world.cluster.until("it has ended", over).await?, 9)?;

    let script = "while read -r line; do echo \"got $line\"; done; echo the last line; exit 4";
    let once = json!({"command": ["/bin/sh", "-c", script], "stdin": true, "stdinOnce": true});
    world.pod("once", once).await?;
    // Its input ends with the client's, and all that it writes then arrives.
    let ended = world.kubectl(&["attach", "-i", "once"], "one\ntwo\n").await?;
    let received = ended.out.ends_with("got one\ngot two\nthe last line\n");
    check(&format!("{:?} {:?}", ended.out, ended.said), (ended.code, received), (Some(0), true))?;
    let over = |cluster: &Cluster| witlet_harness::cluster::exit_code(&cluster.pod("once")?);
    check("its code", world.cluster.until("it has ended", over).await?, 4)?;
    by_websockets(world)
}

/// What kubectl does with a running pod, by WebSockets as it does today.
async fn exec_copy_and_forward(world: &World) -> Result<(), Failed> {
    world.pod("server", json!({"command": ["/bin/sh", "-c", SERVER]})).await?;
    let ended = world
        .kubectl(&["exec", "-i", "server", "--", "sh", "-c", "cat; echo bad >&2; exit 42"], "through\n")
        .await?;
    check("exec", (ended.code, &*ended.out, ended.said.starts_with("bad\n")), (Some(42), "through\n", true))?;
    let mut terminal = world.kubectl.terminal(&["exec", "-it", "server", "--", "sh"])?;
    terminal.until("stty size; echo s$((1+1))zed\n", "33 99").await?;
    terminal.resize(41, 111)?;
    terminal.until("stty size\n", "41 111").await?;
    terminal.press("exit 7\n").await?;
    check("exec in a terminal", terminal.end().await?.0, Some(7))?;

    let [from, back] = ["sent", "back"].map(|name| world.home.join(name));
    let bytes: Vec<u8> = (0..COPIED_BYTES).map(|at| u8::try_from(at % 251).unwrap_or_default()).collect();
    std::fs::write(&from, &bytes)?;
    for (source, target) in
        [(&*from.to_string_lossy(), "server:/tmp/there"), ("server:/tmp/there", &back.to_string_lossy())]
    {
        let ended = world.kubectl(&["cp", source, target, "-c", "app"], "").await?;
        check(&format!("cp {source} {target}: {}", ended.said), ended.code, Some(0))?;
    }
    check("what came back", std::fs::read(&back)? == bytes, true)?;
    forward_two_ports(world).await?;
    by_websockets(world)
}

async fn forward_two_ports(world: &World) -> Result<(), Failed> {
    let arguments = ["port-forward", "server", ":8080", ":8081", "--address=127.0.0.1"];
    let mut child = world.kubectl.command(&arguments).spawn()?;
    let mut lines = BufReader::new(child.stdout.take().ok_or("no output")?).lines();
    let mut addresses = Vec::new();
    for port in ["8080", "8081"] {
        let line = lines.next_line().await?.ok_or("port-forward ended")?;
        let rest = line.strip_prefix("Forwarding from ").and_then(|rest| rest.split_once(" -> "));
        let (address, behind) = rest.ok_or_else(|| format!("it says {line:?}"))?;
        check("the port", behind, port)?;
        addresses.push(address.to_owned());
    }
    // Each in streams of its own, and all in one connection.
    let (a, b, again) = tokio::join!(page(&addresses[0]), page(&addresses[1]), page(&addresses[0]));
    check("the pages", [&*a?, &*b?, &*again?], ["page a\n", "page b\n", "page a\n"])?;
    check("one connection", world.count("get pods/portforward"), 1)?;
    child.kill().await?;
    Ok(())
}

/// The page behind a forwarded port, once the pod listens.
async fn page(address: &str) -> Result<String, Failed> {
    loop {
        let mut stream = TcpStream::connect(address).await?;
        stream.write_all(b"GET /index.html HTTP/1.0\r\n\r\n").await?;
        let mut answer = String::new();
        // One that the pod refused is broken off.
        let read = stream.read_to_string(&mut answer).await;
        match answer.split_once("\r\n\r\n") {
            Some((_, page)) if read.is_ok() && !page.is_empty() => return Ok(page.to_owned()),
            _ => sleep(AGAIN).await,
        }
    }
}
