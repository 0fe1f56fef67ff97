//! kubectl itself.

use std::process::Stdio;
use std::time::Duration;

use serde_json::json;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::process::Child;

use crate::Outcome;
use crate::cases::{ECHO, SERVER, SLEEPER};
use crate::world::{Case, World};
use witlet_harness::streams::kubectl::{Ended, Kubectl};

/// Each case by both roads: WebSockets, of which an API server makes SPDY for the node, and SPDY itself.
macro_rules! both_roads {
    ($($name:literal, $websockets:literal, $script:expr, $stdin:literal, $run:ident;)*) => {
        &[$(
            Case {
                name: $name, script: $script, stdin: $stdin, needs_kubectl: true, by_websockets: false,
                run: |world| Box::pin($run(world)),
            },
            Case {
                name: $websockets, script: $script, stdin: $stdin, needs_kubectl: true, by_websockets: true,
                run: |world| Box::pin($run(world)),
            },
        )*]
    };
}

pub(crate) const LOGS: &[Case] = &[Case {
    name: "kubectl_logs_shows_follows_and_cuts",
    script: "echo one; echo two; echo three; sleep 600",
    stdin: false,
    needs_kubectl: true,
    by_websockets: true,
    run: |world| Box::pin(logs(world)),
}];

pub(crate) const CASES: &[Case] = both_roads![
    "kubectl_exec_passes_input_output_and_exit_code",
    "kubectl_exec_by_a_websocket_passes_input_output_and_exit_code",
    SLEEPER, false, exec;
    "kubectl_attach_talks_to_the_process",
    "kubectl_attach_by_a_websocket_talks_to_the_process",
    ECHO, true, attach;
    "kubectl_exec_in_a_terminal_is_resized_interrupted_and_ends_with_its_code",
    "kubectl_exec_by_a_websocket_in_a_terminal_is_resized_interrupted_and_ends_with_its_code",
    SLEEPER, false, terminal;
    "kubectl_cp_copies_there_and_back",
    "kubectl_cp_by_a_websocket_copies_there_and_back",
    WITH_TAR, false, copy;
    "kubectl_port_forward_reaches_the_pod",
    "kubectl_port_forward_by_a_websocket_reaches_the_pod",
    SERVER, false, port_forward;
];

/// kubectl with a configuration of the world's own.
fn kubectl(world: &World) -> Result<Kubectl, String> {
    let address = format!("http://{}", world.api);
    let config = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "test",
        "clusters": [{"name": "test", "cluster": {"server": address}}],
        "users": [{"name": "test", "user": {}}],
        "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test"}}],
    });
    let path = world.folder.join("kubeconfig");
    std::fs::write(&path, config.to_string()).map_err(|error| error.to_string())?;
    Ok(Kubectl::new(&path, &world.folder, world.by_websockets))
}

/// Runs it to its end: exit code, output, and what it says on standard error.
async fn run(
    world: &World,
    arguments: &[&str],
    input: &str,
) -> Result<(Option<i32>, String, String), String> {
    let Ended { code, out, said } = kubectl(world)?.run(arguments, input).await?;
    Ok((code, out, said))
}

fn check<T: PartialEq + std::fmt::Debug>(what: &str, found: T, expected: T) -> Outcome {
    if found == expected { Ok(()) } else { Err(format!("{what}: {found:?}, not {expected:?}")) }
}

async fn logs(world: &World) -> Outcome {
    let all = "one\ntwo\nthree\n";
    // The container may just have begun.
    while run(world, &["logs", &world.pod], "").await?.1 != all {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let reported = run(world, &["logs", &world.pod, "--tail=1"], "").await?;
    check("--tail", reported, (Some(0), "three\n".to_owned(), String::new()))?;
    let reported = run(world, &["logs", &world.pod, "--limit-bytes=5"], "").await?;
    check("--limit-bytes", reported.1, "one\nt".to_owned())?;
    let (code, text, _) = run(world, &["logs", &world.pod, "--timestamps"], "").await?;
    let stamped = text.lines().all(|line| line.split(' ').next().is_some_and(|stamp| stamp.len() >= 30));
    check("--timestamps", (code, text.lines().count(), stamped), (Some(0), 3, true))?;
    let reported = run(world, &["logs", &world.pod, "--all-containers", "--since=1h"], "").await?;
    check("--all-containers --since", (reported.0, reported.1.as_str()), (Some(0), all))?;
    let (code, text, said) = run(world, &["logs", &world.pod, "--previous"], "").await?;
    check("--previous", (code, text.is_empty(), said.is_empty()), (Some(1), true, false))?;
    let mut follow =
        kubectl(world)?.command(&["logs", &world.pod, "--follow"]).spawn().map_err(|e| e.to_string())?;
    let mut lines = BufReader::new(follow.stdout.take().ok_or("no output")?).lines();
    for expected in ["one", "two", "three"] {
        let line = lines.next_line().await.map_err(|error| error.to_string())?;
        check("--follow", line.as_deref(), Some(expected))?;
    }
    world.end().await?;
    let status = follow.wait().await.map_err(|error| error.to_string())?;
    check("the end of --follow", status.code(), Some(0))
}

async fn exec(world: &World) -> Outcome {
    let script = "cat; echo bad >&2; exit 42";
    let arguments = ["exec", "-i", world.pod.as_str(), "-c", "app", "--", "sh", "-c", script];
    let (code, out, said) = run(world, &arguments, "through and back\n").await?;
    check("exec", (code, out.as_str()), (Some(42), "through and back\n"))?;
    check("its standard error", said.starts_with("bad\n"), true)?;
    let (code, out, _) = run(world, &["exec", &world.pod, "--", "echo", "a  b"], "").await?;
    check("exec without input", (code, out.as_str()), (Some(0), "a  b\n"))?;
    let (code, _, said) = run(world, &["exec", &world.pod, "--", "/no/such/program"], "").await?;
    check("exec of nothing", (code.is_some_and(|code| code != 0), said.is_empty()), (true, false))
}

/// What kubectl runs in the container to copy.
const WITH_TAR: &str = "busybox ln -sf busybox /bin/tar; trap 'exit 0' TERM; while :; do sleep 0.1; done";

/// More than any buffer between here and there.
const COPIED_BYTES: usize = 3_000_000;

async fn copy(world: &World) -> Outcome {
    let failed = |error: std::io::Error| error.to_string();
    // The link is made when the container has just begun.
    while run(world, &["exec", &world.pod, "--", "tar", "--help"], "").await?.0 != Some(0) {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let [from, back] = ["sent", "back"].map(|name| world.folder.join(name));
    let bytes: Vec<u8> = (0..COPIED_BYTES).map(|at| u8::try_from(at % 251).unwrap_or_default()).collect();
    std::fs::write(&from, &bytes).map_err(failed)?;
    let there = format!("{}:/tmp/there", world.pod);
    for (source, target) in [(&*from.to_string_lossy(), &*there), (&there, &back.to_string_lossy())] {
        let (code, _, said) = run(world, &["cp", source, target, "-c", "app"], "").await?;
        check("cp", (code, said), (Some(0), String::new()))?;
    }
    check("what came back", std::fs::read(&back).map_err(failed)? == bytes, true)
}

async fn terminal(world: &World) -> Outcome {
    let mut terminal = kubectl(world)?.terminal(&["exec", "-it", &world.pod, "-c", "app", "--", "sh"])?;
    // What the terminal shows of the keys themselves never has the words in whole.
    terminal.until("stty size; echo s$((1+1))zed\n", "33 99").await?;
    terminal.resize(41, 111)?;
    terminal.until("stty size\n", "41 111").await?;
    terminal.until("test -t 0 && echo a$((3+4))terminal\n", "a7terminal").await?;
    terminal.press("echo now$((1+1)); sleep 1000\n").await?;
    terminal.until("", "now2").await?;
    terminal.until("\x03\necho broken$((20+22))\n", "broken42").await?;
    terminal.press("exit 7\n").await?;
    check("the exit code", terminal.end().await?.0, Some(7))
}

async fn attach(world: &World) -> Outcome {
    let failed = |error: std::io::Error| error.to_string();
    let mut child: Child = kubectl(world)?
        .command(&["attach", "-i", &world.pod, "-c", "app"])
        .stdin(Stdio::piped())
        .spawn()
        .map_err(failed)?;
    let mut stdin = child.stdin.take().ok_or("no input")?;
    let mut lines = BufReader::new(child.stdout.take().ok_or("no output")?).lines();
    for word in ["one", "two"] {
        stdin.write_all(format!("{word}\n").as_bytes()).await.map_err(failed)?;
        let expected = format!("got {word}");
        while lines.next_line().await.map_err(failed)?.ok_or("the output ended")? != expected {}
    }
    child.kill().await.map_err(failed)
}

async fn port_forward(world: &World) -> Outcome {
    let failed = |error: std::io::Error| error.to_string();
    let mut child = kubectl(world)?
        .command(&["port-forward", &world.pod, ":8080", "--address=127.0.0.1"])
        .spawn()
        .map_err(failed)?;
    let mut lines = BufReader::new(child.stdout.take().ok_or("no output")?).lines();
    let line = lines.next_line().await.map_err(failed)?;
    let line = match line {
        Some(line) => line,
        None => {
            let output = child.wait_with_output().await.map_err(failed)?;
            return Err(String::from_utf8_lossy(&output.stderr).into_owned());
        }
    };
    let address = line.strip_prefix("Forwarding from ").and_then(|rest| rest.split(' ').next());
    let address = address.ok_or_else(|| format!("it says {line:?}"))?.to_owned();
    while !fetched(&address).await? {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    // Several at once, each in streams of its own.
    for one in four_times(&address).await {
        check("one of several", one?, true)?;
    }
    child.kill().await.map_err(failed)
}

/// Whether the page comes through the forwarded port.
async fn fetched(address: &str) -> Result<bool, String> {
    let failed = |error: std::io::Error| error.to_string();
    let mut stream = TcpStream::connect(address).await.map_err(failed)?;
    stream.write_all(b"GET /index.html HTTP/1.0\r\n\r\n").await.map_err(failed)?;
    let mut answer = String::new();
    // One that the pod refused is broken off.
    let read = stream.read_to_string(&mut answer).await;
    Ok(read.is_ok() && answer.ends_with("\r\n\r\nhello from the pod\n"))
}

async fn four_times(address: &str) -> [Result<bool, String>; 4] {
    let all = tokio::join!(fetched(address), fetched(address), fetched(address), fetched(address));
    all.into()
}
