//! kubectl itself.

use std::process::Stdio;
use std::time::Duration;

use serde_json::json;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::process::{Child, Command};

use crate::Outcome;
use crate::cases::{ECHO, SERVER, SLEEPER};
use crate::world::{Case, Running, World};

const PROGRAM: &str = "kubectl";

pub(crate) const CASES: &[Case] = &[
    case("kubectl_logs_shows_follows_and_cuts", "echo one; echo two; echo three; sleep 600", |world| {
        Box::pin(logs(world))
    }),
    case("kubectl_exec_passes_input_output_and_exit_code", SLEEPER, |world| Box::pin(exec(world))),
    Case {
        stdin: true,
        ..case("kubectl_attach_talks_to_the_process", ECHO, |world| Box::pin(attach(world)))
    },
    case("kubectl_port_forward_reaches_the_pod", SERVER, |world| Box::pin(port_forward(world))),
];

const fn case(name: &'static str, script: &'static str, run: for<'a> fn(&'a World) -> Running<'a>) -> Case {
    Case { name, script, stdin: false, needs_kubectl: true, run }
}

/// Why it can't be run here.
pub(crate) fn missing() -> Option<String> {
    let asked = std::process::Command::new(PROGRAM).args(["version", "--client"]).output();
    match asked {
        Ok(output) if output.status.success() => None,
        Ok(output) => Some(format!("{PROGRAM} doesn't work: {}", output.status)),
        Err(error) => Some(format!("{PROGRAM} can't be run: {error}")),
    }
}

/// A command line, with a configuration of the world's own. SPDY is what an API server makes of WebSockets for a node that
/// doesn't declare them; the small one passes on what it gets.
fn kubectl(world: &World, arguments: &[&str]) -> Result<Command, String> {
    let address = format!("http://{}", world.api);
    let config = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "test",
        "clusters": [{"name": "test", "cluster": {"server": address}}],
        "users": [{"name": "test", "user": {}}],
        "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test"}}],
    });
    let path = world.folder.join("kubeconfig");
    std::fs::write(&path, config.to_string()).map_err(|error| error.to_string())?;
    let mut command = Command::new(PROGRAM);
    command.args(arguments).env("KUBECONFIG", path).env("HOME", &world.folder).kill_on_drop(true);
    for name in ["KUBECTL_REMOTE_COMMAND_WEBSOCKETS", "KUBECTL_PORT_FORWARD_WEBSOCKETS"] {
        command.env(name, "false");
    }
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    Ok(command)
}

/// Runs it to its end: exit code, output, and what it says on standard error.
async fn run(
    world: &World,
    arguments: &[&str],
    input: &str,
) -> Result<(Option<i32>, String, String), String> {
    let failed = |error: std::io::Error| error.to_string();
    let mut child = kubectl(world, arguments)?.stdin(Stdio::piped()).spawn().map_err(failed)?;
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(input.as_bytes()).await.map_err(failed)?;
    }
    let output = child.wait_with_output().await.map_err(failed)?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Ok((output.status.code(), text(&output.stdout), text(&output.stderr)))
}

fn check<T: PartialEq + std::fmt::Debug>(what: &str, found: T, wanted: T) -> Outcome {
    if found == wanted { Ok(()) } else { Err(format!("{what}: {found:?}, not {wanted:?}")) }
}

async fn logs(world: &World) -> Outcome {
    let all = "one\ntwo\nthree\n";
    // The container may just have begun.
    while run(world, &["logs", &world.pod], "").await?.1 != all {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let told = run(world, &["logs", &world.pod, "--tail=1"], "").await?;
    check("--tail", told, (Some(0), "three\n".to_owned(), String::new()))?;
    let told = run(world, &["logs", &world.pod, "--limit-bytes=5"], "").await?;
    check("--limit-bytes", told.1, "one\nt".to_owned())?;
    let (code, text, _) = run(world, &["logs", &world.pod, "--timestamps"], "").await?;
    let stamped = text.lines().all(|line| line.split(' ').next().is_some_and(|stamp| stamp.len() >= 30));
    check("--timestamps", (code, text.lines().count(), stamped), (Some(0), 3, true))?;
    let (code, text, said) = run(world, &["logs", &world.pod, "--previous"], "").await?;
    check("--previous", (code, text.is_empty(), said.is_empty()), (Some(1), true, false))?;
    let mut follow = kubectl(world, &["logs", &world.pod, "--follow"])?.spawn().map_err(|e| e.to_string())?;
    let mut lines = BufReader::new(follow.stdout.take().ok_or("no output")?).lines();
    for wanted in ["one", "two", "three"] {
        let line = lines.next_line().await.map_err(|error| error.to_string())?;
        check("--follow", line.as_deref(), Some(wanted))?;
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

async fn attach(world: &World) -> Outcome {
    let failed = |error: std::io::Error| error.to_string();
    let mut child: Child = kubectl(world, &["attach", "-i", &world.pod, "-c", "app"])?
        .stdin(Stdio::piped())
        .spawn()
        .map_err(failed)?;
    let mut stdin = child.stdin.take().ok_or("no input")?;
    let mut lines = BufReader::new(child.stdout.take().ok_or("no output")?).lines();
    for word in ["one", "two"] {
        stdin.write_all(format!("{word}\n").as_bytes()).await.map_err(failed)?;
        let wanted = format!("got {word}");
        while lines.next_line().await.map_err(failed)?.ok_or("the output ended")? != wanted {}
    }
    child.kill().await.map_err(failed)
}

async fn port_forward(world: &World) -> Outcome {
    let failed = |error: std::io::Error| error.to_string();
    let mut child = kubectl(world, &["port-forward", &world.pod, ":8080", "--address=127.0.0.1"])?
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
    loop {
        let mut stream = TcpStream::connect(&address).await.map_err(failed)?;
        stream.write_all(b"GET /index.html HTTP/1.0\r\n\r\n").await.map_err(failed)?;
        let mut answer = String::new();
        // One that the pod refused is broken off.
        let read = stream.read_to_string(&mut answer).await;
        if read.is_ok() && answer.ends_with("\r\n\r\nhello from the pod\n") {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    child.kill().await.map_err(failed)
}
