//! Logs and commands over the agent's own socket: the same answers as the kubelet's endpoints, for root.

use std::fs;

use serde_json::Value;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::cluster::{Cluster, running, web};
use super::soon;
use super::streaming::{SWITCHED, streaming_server};
use super::world::{SetUp, World};
use crate::spdy::{self, Frame};
use crate::{
    ClientError, ExecEnd, ExecError, ExecOptions, ExecStreams, LocalApi, LocalClient, PluginView,
    RootOnlySocket,
};

impl PluginView for Cluster {
    fn plugins(&self) -> Vec<Value> {
        Vec::new()
    }
}

/// A client of the socket of a server whose endpoints are closed to debugging: root may do it all the same.
async fn with_socket(world: World, ask: impl AsyncFnOnce(&World, LocalClient)) {
    let path = world.folder.path().join("witlet.sock");
    let socket = RootOnlySocket::bind(&path).await.unwrap();
    let stop = CancellationToken::new();
    let api =
        LocalApi::new(world.cluster.clone(), world.cluster.clone()).with_containers(world.server.clone());
    let asking = async {
        ask(&world, LocalClient::new(&path)).await;
        stop.cancel();
    };
    let (served, ()) = soon(async { tokio::join!(api.serve(socket, stop.clone()), asking) }).await;
    served.unwrap();
    world.stop().await;
}

fn closed() -> SetUp {
    SetUp { no_debugging: true, ..SetUp::default() }
}

async fn read(client: &LocalClient, request: &str) -> Result<String, ClientError> {
    let mut body = client.stream(request).await?;
    let mut text = Vec::new();
    while let Some(bytes) = body.next().await? {
        text.extend(bytes);
    }
    Ok(String::from_utf8(text).unwrap())
}

#[tokio::test]
async fn a_log_is_shown_to_root() {
    let world = World::new(closed()).await;
    let log = world.log("0.log");
    let line = |n: u32| format!("2026-06-01T12:00:0{n}.000000000Z stdout F line {n}\n");
    fs::write(&log, [line(1), line(2)].concat()).unwrap();
    world.cluster.log_paths.lock().unwrap().insert("c-2".to_owned(), log);
    world.cluster.show(web("c-2", running(), None));
    with_socket(world, async |_, client| {
        assert_eq!(read(&client, "/containerLogs/default/web/app").await.unwrap(), "line 1\nline 2\n");
        let tail = read(&client, "/containerLogs/default/web/app?tailLines=1").await.unwrap();
        assert_eq!(tail, "line 2\n");
        let missing = read(&client, "/containerLogs/default/web/db").await;
        let Err(ClientError::Refused { status: 404, reason }) = missing else { panic!("{missing:?}") };
        assert_eq!(reason, "container \"db\" not found in pod \"web\"");
        let other = read(&client, "/configz").await;
        assert!(matches!(other, Err(ClientError::Refused { status: 404, .. })), "{other:?}");
    })
    .await;
}

/// Says back what it reads, and ends with code 7.
async fn echo(mut stream: TcpStream) {
    stream.write_all(SWITCHED).await.unwrap();
    let mut said = Vec::new();
    loop {
        if let Frame::Data { id: 3, bytes, ends } = spdy::read(&mut stream).await.unwrap() {
            said.extend(bytes);
            if ends {
                break;
            }
        }
    }
    let status = br#"{"status":"Failure","details":{"causes":[{"reason":"ExitCode","message":"7"}]}}"#;
    for (id, bytes) in [(5, &said[..]), (7, b""), (1, status)] {
        spdy::data(&mut stream, id, bytes).await.unwrap();
        spdy::end(&mut stream, id).await.unwrap();
    }
}

fn command(pod: &str) -> ExecOptions {
    ExecOptions {
        namespace: "default".to_owned(),
        pod: pod.to_owned(),
        container: "app".to_owned(),
        command: ["cat", "a b"].map(str::to_owned).to_vec(),
        stdin: true,
        tty: false,
    }
}

async fn exec(
    client: &LocalClient,
    options: &ExecOptions,
    stdin: &[u8],
) -> (Vec<u8>, Result<ExecEnd, ExecError>) {
    let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
    let (_, sizes) = mpsc::channel(1);
    let streams = ExecStreams { stdin, stdout: &mut stdout, stderr: &mut stderr, sizes };
    let ended = client.exec(options, streams).await;
    (stdout, ended)
}

#[tokio::test]
async fn a_command_runs_for_root() {
    let mut tasks = JoinSet::new();
    let (url, _) = streaming_server(&mut tasks, echo).await;
    let world = World::new(closed()).await;
    world.cluster.show(web("c-2", running(), None));
    *world.cluster.streaming_url.lock().unwrap() = url;
    with_socket(world, async |world, client| {
        let input = b"x".repeat(200_000);
        let (out, ended) = exec(&client, &command("web"), &input).await;
        assert_eq!((out.len(), ended.unwrap()), (input.len(), ExecEnd::Exited(7)));
        let asked = world.cluster.asked.lock().unwrap().clone();
        let options = "StreamOptions { stdin: true, stdout: true, stderr: true, tty: false }";
        assert_eq!(asked, [format!(r#"exec c-2 ["cat", "a b"] {options}"#)]);
        let (_, refused) = exec(&client, &command("gone"), b"").await;
        let Err(ExecError::Client(ClientError::Refused { reason, .. })) = refused else {
            panic!("{refused:?}")
        };
        assert_eq!(reason, "pod does not exist");
    })
    .await;
}

#[tokio::test]
async fn without_endpoints_there_are_no_containers() {
    let world = World::new(SetUp::default()).await;
    let path = world.folder.path().join("witlet.sock");
    let socket = RootOnlySocket::bind(&path).await.unwrap();
    let stop = CancellationToken::new();
    let api = LocalApi::new(world.cluster.clone(), world.cluster.clone());
    let asking = async {
        let refused = read(&LocalClient::new(&path), "/containerLogs/default/web/app").await;
        stop.cancel();
        refused
    };
    let (served, refused) = soon(async { tokio::join!(api.serve(socket, stop.clone()), asking) }).await;
    served.unwrap();
    assert!(matches!(refused, Err(ClientError::Refused { status: 404, .. })), "{refused:?}");
    world.stop().await;
}
