//! A pod of an API server on real containerd: what kubectl does with it goes through the API server to the node, and so do questions
//! what it uses.

use std::net::{Ipv4Addr, SocketAddr};
use witlet_harness::WAIT_TIMEOUT;

use k8s_openapi::api::core::v1::{ContainerState, Pod};
use libtest_mimic::Failed;
use serde_json::{Value, json};
use tokio::io::AsyncReadExt as _;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use witlet_api_server::{Admission, Identity, Security};
use witlet_harness::BUSYBOX_IMAGE;

use witlet_harness::cluster::{ADDRESS, AGAIN, Cluster, Ground, NODE, address, refused};
use witlet_harness::streams::http::{PORT_FORWARD, SPDY, ask, upgraded};
use witlet_harness::streams::spdy::Spdy;
use witlet_harness::streams::websocket::{self as websocket, WebSocket};

use crate::{inspect, usage};

/// The pod's grace, far more than it needs.
const GRACE_SECONDS: i64 = 60;

/// Serves a page, counts aloud, and says goodbye when it is stopped.
const SCRIPT: &str = "mkdir /tmp/w; echo hello from the pod > /tmp/w/index.html; httpd -p 8080 -h /tmp/w\n\
                      trap 'echo goodbye; sleep 1; exit 0' TERM\n\
                      i=0; while :; do i=$((i+1)); echo line $i; sleep 0.2; done";

/// What kubectl wants of a WebSocket since 1.31.
const WEBSOCKET: &str = "v5.channel.k8s.io";

/// What ends a body of unknown length; the connection may stay.
const LAST_CHUNK: &str = "\r\n0\r\n\r\n";

fn pod() -> Result<Pod, Failed> {
    Ok(serde_json::from_value(json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "talks", "namespace": "default"},
        "spec": {
            "nodeName": NODE,
            "automountServiceAccountToken": false,
            "enableServiceLinks": false,
            "restartPolicy": "Never",
            "terminationGracePeriodSeconds": GRACE_SECONDS,
            "containers": [{
                "name": "app", "image": BUSYBOX_IMAGE, "command": ["/bin/sh", "-c", SCRIPT],
                // Without a share of its own a busy machine hardly lets it run.
                "resources": {"requests": {"cpu": "300m"}},
                "readinessProbe": {"httpGet": {"port": 8080, "path": "/"}, "periodSeconds": 1, "timeoutSeconds": 10},
            }],
        },
    }))?)
}

fn path(rest: &str) -> String {
    format!("/api/v1/namespaces/default/pods/talks/{rest}")
}

/// Reads a followed log until it says this; all that was read so far.
async fn until(log: &mut TcpStream, text: &mut Vec<u8>, expected: &str) -> Result<(), Failed> {
    while !String::from_utf8_lossy(text).contains(expected) {
        if log.read_buf(text).await? == 0 {
            return Err(
                format!("the log ended without {expected:?}: {:?}", String::from_utf8_lossy(text)).into()
            );
        }
    }
    Ok(())
}

async fn follow(api: SocketAddr) -> Result<TcpStream, Failed> {
    let (head, log) = ask(api, "GET", &path("log?container=app&follow=true"), &[]).await?;
    if head.starts_with("HTTP/1.1 200 ") { Ok(log) } else { Err(head.into()) }
}

/// `kubectl exec -i`: input, output, and the exit code.
async fn exec(api: SocketAddr) -> Result<(), Failed> {
    let command = "command=sh&command=-c&command=cat%3B+echo+no+good+%3E%262%3B+exit+7";
    let path = path(&format!("exec?{command}&container=app&stdin=true&stdout=true&stderr=true"));
    let mut spdy = Spdy::new(upgraded(api, "POST", &path, SPDY).await?);
    let error = spdy.open(&[("streamtype", "error")]).await?;
    let stdin = spdy.open(&[("streamtype", "stdin")]).await?;
    let stdout = spdy.open(&[("streamtype", "stdout")]).await?;
    let stderr = spdy.open(&[("streamtype", "stderr")]).await?;
    spdy.send(stdin, b"to be said back\n").await?;
    spdy.end(stdin).await?;
    let said = (spdy.all(stdout).await?, spdy.all(stderr).await?);
    let reported: Value = serde_json::from_str(&spdy.all(error).await?)?;
    let cause = &reported["details"]["causes"][0];
    let as_expected = said == ("to be said back\n".to_owned(), "no good\n".to_owned())
        && reported["reason"] == "NonZeroExitCode"
        && cause["reason"] == "ExitCode"
        && cause["message"] == "7";
    if as_expected {
        Ok(())
    } else {
        Err(format!("the command said {said:?} and ended with {reported}").into())
    }
}

/// The same as kubectl asks since 1.31: by a WebSocket, in which one channel says that another has ended.
async fn exec_by_websocket(api: SocketAddr) -> Result<(), Failed> {
    let command = "command=sh&command=-c&command=cat%3B+echo+no+good+%3E%262%3B+exit+7";
    let path = path(&format!("exec?{command}&container=app&stdin=true&stdout=true&stderr=true"));
    let mut socket = WebSocket::new(upgraded(api, "GET", &path, &websocket::headers(WEBSOCKET)).await?);
    socket.send(0, b"to be said back\n").await?;
    socket.send(255, &[0]).await?;
    let reported = socket.until(3, |bytes| bytes.ends_with(b"}")).await?;
    let said = (socket.until(1, |_| true).await?, socket.until(2, |_| true).await?);
    let reported: Value = serde_json::from_slice(&reported)?;
    let as_expected = said == (b"to be said back\n".to_vec(), b"no good\n".to_vec())
        && reported["reason"] == "NonZeroExitCode"
        && reported["details"]["causes"][0]["message"] == "7";
    if as_expected {
        Ok(())
    } else {
        Err(format!("the command said {said:?} and ended with {reported}").into())
    }
}

/// `kubectl debug -it --target=app`: the patch as it was recorded, and the container's terminal.
async fn debug(cluster: &Cluster, api: SocketAddr) -> Result<(), Failed> {
    let patch = json!({"spec": {"ephemeralContainers": [{
        "command": ["sh"], "image": BUSYBOX_IMAGE, "name": "helper", "resources": {},
        "securityContext": {"capabilities": {"add": ["SYS_PTRACE"]}}, "stdin": true, "targetContainerName": "app",
        "terminationMessagePolicy": "File", "tty": true,
    }]}});
    let request = http::Request::patch(path("ephemeralcontainers"))
        .header("content-type", "application/strategic-merge-patch+json")
        .body(patch.to_string().into_bytes())?;
    cluster.api().client(&Identity::admin()).request_text(request).await?;
    cluster.until("the helper runs", |c| helper(c)?.running.map(|_| ())).await?;

    let attach = path("attach?container=helper&stdin=true&stdout=true&tty=true");
    let mut socket = WebSocket::new(upgraded(api, "GET", &attach, &websocket::headers(WEBSOCKET)).await?);
    socket.send(4, b"{\"Width\":99,\"Height\":33}\n").await?;
    // The size comes on its own way, so that the shell may be asked too early.
    socket.send(0, b"until busybox stty size | busybox grep -x '33 99'; do sleep 0.1; done\n").await?;
    let has = |words: &'static str| move |bytes: &[u8]| String::from_utf8_lossy(bytes).contains(words);
    socket.until(1, has("\n33 99\r\n")).await?;
    // Its first process is the container's that is inspected.
    socket.send(0, b"busybox grep -c goodby[e] /proc/1/cmdline\n").await?;
    socket.until(1, has("\n1\r\n")).await?;
    socket.send(0, b"exit 5\n").await?;
    let reported: Value = serde_json::from_slice(&socket.until(3, |bytes| bytes.ends_with(b"}")).await?)?;
    let code = cluster.until("the helper has ended", |c| Some(helper(c)?.terminated?.exit_code)).await?;
    if (code, &reported["status"]) == (5, &json!("Success")) {
        Ok(())
    } else {
        Err(format!("the helper ended with {code}, its stream with {reported}").into())
    }
}

fn helper(cluster: &Cluster) -> Option<ContainerState> {
    let statuses = cluster.pod("talks")?.status?.ephemeral_container_statuses?;
    statuses.into_iter().find(|status| status.name == "helper")?.state
}

/// `kubectl port-forward`, and a request through it.
async fn port_forward(api: SocketAddr) -> Result<(), Failed> {
    let mut spdy = Spdy::new(upgraded(api, "POST", &path("portforward"), PORT_FORWARD).await?);
    loop {
        let of = |kind| [("streamtype", kind), ("port", "8080"), ("requestid", "0")];
        let error = spdy.open(&of("error")).await?;
        spdy.end(error).await?;
        let data = spdy.open(&of("data")).await?;
        spdy.send(data, b"GET /index.html HTTP/1.0\r\n\r\n").await?;
        let answer = spdy.all(data).await?;
        if answer.ends_with("\r\n\r\nhello from the pod\n") {
            return Ok(());
        }
        if !answer.is_empty() {
            return Err(format!("the pod answered {answer:?}").into());
        }
        sleep(AGAIN).await;
    }
}

async fn within<T>(what: &str, done: impl Future<Output = Result<T, Failed>>) -> Result<T, Failed> {
    timeout(WAIT_TIMEOUT, done).await.map_err(|_| Failed::from(format!("never: {what}")))?
}

/// The exit code that the API server got, before its object went.
fn reported_exit_code(cluster: &Cluster) -> Option<Value> {
    let requests = cluster.api().requests();
    let statuses = requests.iter().rev().filter(|request| request.name == "talks" && request.verb == "patch");
    let mut bodies = statuses.filter_map(|request| serde_json::from_slice::<Value>(&request.body).ok());
    bodies.find_map(|body| body.pointer("/status/containerStatuses/0/state/terminated/exitCode").cloned())
}

/// Ready by its probe, followed, asked, reached, and deleted with its grace.
pub(crate) async fn a_pods_life(endpoint: String) -> Result<(), Failed> {
    address("replace")?;
    let played = play(endpoint).await;
    address("delete")?;
    played
}

async fn play(endpoint: String) -> Result<(), Failed> {
    let ground = Ground::on(Admission { node_rules: true, ..Admission::default() }, endpoint.clone()).await?;
    // The same API server in the clear, where all clients are its administrator: kubectl's requests as bytes.
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let (api, stop, mut serving) = (listener.local_addr()?, CancellationToken::new(), JoinSet::new());
    let clear = ground.api.clone().serve(listener, Security::Plain(Identity::admin()), stop.clone());
    serving.spawn(async move { clear.await.expect("it serves until it is stopped") });
    let more = vec![format!("--node-ip={ADDRESS}"), "--stop-pods-on-exit".to_owned()];
    let cluster = Cluster::start_with_token(ground, Ipv4Addr::UNSPECIFIED, more).await?;
    cluster.node_ready().await?;
    cluster.api().create(&pod()?).map_err(refused)?;
    let ready = cluster.ready("talks").await?;
    let address = ready.status.and_then(|status| status.pod_ip);
    let uid = ready.metadata.uid.unwrap_or_default();

    let mut text = Vec::new();
    let mut log = within("its log is followed", follow(api)).await?;
    within("its log grows", until(&mut log, &mut text, "line 5\n")).await?;
    within("a command runs in it", exec(api)).await?;
    within("a command runs in it, by a WebSocket", exec_by_websocket(api)).await?;
    within("a helper inspects it", debug(&cluster, api)).await?;
    within("its port is forwarded", port_forward(api)).await?;
    within("what it uses is shown", usage::is_shown(api, &endpoint, &uid)).await?;
    within("its operator sees it", inspect::is_shown(&cluster.daemon.api_socket())).await?;

    cluster.delete("talks", None)?;
    // The log goes on until the container has ended, and ends with it.
    within("it says goodbye", until(&mut log, &mut text, "goodbye\n")).await?;
    within("its log ends", until(&mut log, &mut text, LAST_CHUNK)).await?;
    cluster.until("its object is gone", |c| c.pod("talks").is_none().then_some(())).await?;
    let code = reported_exit_code(&cluster);
    if code != Some(json!(0)) || address.is_none() {
        return Err(cluster.failure(&format!("it was reported to have ended with {code:?}, at {address:?}")));
    }
    // The node forgets it a moment after its object is gone.
    let gone = cluster.daemon.wait_for_pods("the node has none", |pods| pods.is_empty());
    gone.await.map_err(witlet_harness::cluster::failed)?;
    stop.cancel();
    while serving.join_next().await.is_some() {}
    cluster.end().await
}
