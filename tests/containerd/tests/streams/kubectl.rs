//! kubectl itself.

use std::process::Stdio;
use std::time::Duration;

use serde_json::json;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use crate::Outcome;
use crate::cases::{ECHO, SERVER, SLEEPER};
use crate::world::{Case, Running, World};

const PROGRAM: &str = "kubectl";

/// Runs a command in a terminal (util-linux).
const TERMINAL: &str = "script";

pub(crate) const CASES: &[Case] = &[
    case("kubectl_logs_shows_follows_and_cuts", "echo one; echo two; echo three; sleep 600", |world| {
        Box::pin(logs(world))
    }),
    case("kubectl_exec_passes_input_output_and_exit_code", SLEEPER, |world| Box::pin(exec(world))),
    Case {
        stdin: true,
        ..case("kubectl_attach_talks_to_the_process", ECHO, |world| Box::pin(attach(world)))
    },
    case("kubectl_exec_in_a_terminal_is_resized_interrupted_and_ends_with_its_code", SLEEPER, |world| {
        Box::pin(terminal(world))
    }),
    case("kubectl_cp_copies_there_and_back", WITH_TAR, |world| Box::pin(copy(world))),
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
    let told = run(world, &["logs", &world.pod, "--all-containers", "--since=1h"], "").await?;
    check("--all-containers --since", (told.0, told.1.as_str()), (Some(0), all))?;
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

/// kubectl in a terminal of `script`'s, for it looks whether it has one. A file tells the terminal to change its size.
async fn terminal(world: &World) -> Outcome {
    let failed = |error: std::io::Error| error.to_string();
    let resize = world.folder.join("resize");
    let line = format!(
        "stty rows 33 cols 99; t=$(tty); (while ! [ -e {resize} ]; do sleep 0.1; done; stty -F $t rows 41 cols 111) & \
         exec {PROGRAM} exec -it {pod} -c app -- sh",
        resize = resize.display(),
        pod = world.pod,
    );
    let mut command = kubectl(world, &[])?;
    let environment: Vec<_> = command
        .as_std()
        .get_envs()
        .filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned())))
        .collect();
    command = Command::new(TERMINAL);
    command.args(["-q", "-e", "-c", &line, "/dev/null"]).envs(environment).kill_on_drop(true);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().map_err(failed)?;
    let (keys, screen) = (child.stdin.take().ok_or("no input")?, child.stdout.take().ok_or("no output")?);
    let mut terminal = Terminal { keys, screen, seen: String::new() };
    // What the terminal shows of the keys themselves never has the words in whole.
    terminal.until("stty size; echo s$((1+1))zed\n", "33 99").await?;
    std::fs::write(&resize, "").map_err(failed)?;
    terminal.until("stty size\n", "41 111").await?;
    terminal.until("test -t 0 && echo a$((3+4))terminal\n", "a7terminal").await?;
    terminal.press("echo now$((1+1)); sleep 1000\n").await?;
    terminal.until("", "now2").await?;
    terminal.until("\x03\necho broken$((20+22))\n", "broken42").await?;
    terminal.press("exit 7\n").await?;
    terminal.rest().await?;
    let status = child.wait().await.map_err(failed)?;
    check("the exit code", status.code(), Some(7))
}

/// What is typed, and what is seen.
struct Terminal {
    keys: ChildStdin,
    screen: ChildStdout,
    seen: String,
}

impl Terminal {
    async fn press(&mut self, keys: &str) -> Outcome {
        self.keys.write_all(keys.as_bytes()).await.map_err(|error| error.to_string())
    }

    /// Presses these keys again and again until the words are seen; what came before them is forgotten.
    async fn until(&mut self, keys: &str, words: &str) -> Outcome {
        loop {
            self.press(keys).await?;
            let pause = tokio::time::sleep(Duration::from_millis(500));
            tokio::pin!(pause);
            loop {
                if let Some(at) = self.seen.find(words) {
                    self.seen.drain(..at + words.len());
                    return Ok(());
                }
                let mut bytes = [0; 1024];
                let read = tokio::select! {
                    () = &mut pause => break,
                    read = self.screen.read(&mut bytes) => read.map_err(|error| error.to_string())?,
                };
                if read == 0 {
                    return Err(format!("it ended before {words:?}: {:?}", self.seen));
                }
                self.seen.push_str(&String::from_utf8_lossy(&bytes[..read]));
            }
        }
    }

    async fn rest(&mut self) -> Outcome {
        let mut rest = Vec::new();
        self.screen.read_to_end(&mut rest).await.map_err(|error| error.to_string()).map(|_| ())
    }
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
