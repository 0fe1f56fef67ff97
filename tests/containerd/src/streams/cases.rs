//! Requests in the shapes that kubectl and API servers send them.

use serde_json::Value;
use tokio::io::AsyncReadExt;

use crate::Outcome;
use crate::world::{Case, World};
use witlet_harness::streams::http::{PORT_FORWARD, SPDY, ask, upgraded};
use witlet_harness::streams::spdy::Spdy;
use witlet_harness::streams::websocket::{self, WebSocket};

/// Runs until it is stopped.
pub(crate) const SLEEPER: &str = "trap 'exit 0' TERM; while :; do sleep 0.1; done";

/// Answers HTTP on port 8080.
pub(crate) const SERVER: &str = "echo hello from the pod > /tmp/index.html; exec httpd -f -p 8080 -h /tmp";

/// Says back what it reads.
pub(crate) const ECHO: &str = "while read -r line; do echo \"got $line\"; done";

pub(crate) const CASES: &[Case] = &[
    case("a_command_over_spdy_reads_its_input_and_tells_its_exit_code", SLEEPER, |world| {
        Box::pin(spdy_exec(world))
    }),
    case("a_terminal_over_spdy_knows_its_size_and_is_resized", SLEEPER, |world| {
        Box::pin(spdy_terminal(world))
    }),
    case("a_command_over_a_websocket_has_all_its_channels", SLEEPER, |world| Box::pin(websocket_exec(world))),
    Case {
        stdin: true,
        ..case("a_container_is_attached_to_over_spdy", ECHO, |world| Box::pin(spdy_attach(world)))
    },
    case("a_port_is_forwarded_over_spdy", SERVER, |world| Box::pin(spdy_port_forward(world))),
    case("a_port_is_forwarded_over_a_websocket", SERVER, |world| Box::pin(websocket_port_forward(world))),
    case(
        "a_followed_log_grows_and_ends_with_its_container",
        "i=0; while :; do i=$((i+1)); echo line $i; sleep 0.2; done",
        |world| Box::pin(followed_log(world)),
    ),
    case("what_cannot_be_streamed_to_is_refused_in_upstreams_words", SLEEPER, |world| {
        Box::pin(refused(world))
    }),
];

const fn case(
    name: &'static str,
    script: &'static str,
    run: for<'a> fn(&'a World) -> crate::world::Running<'a>,
) -> Case {
    Case { name, script, stdin: false, needs_kubectl: false, by_websockets: false, run }
}

async fn spdy(world: &World, path: &str) -> Result<Spdy, String> {
    upgraded(world.api, "POST", &world.path(path), SPDY).await.map(Spdy::new)
}

fn check(what: &str, found: impl PartialEq<str> + std::fmt::Debug, expected: &str) -> Outcome {
    if found == *expected { Ok(()) } else { Err(format!("{what} is {found:?}, not {expected:?}")) }
}

/// The exit code that the error channel tells; 0 for success.
fn exit_code(reported: &str) -> Result<u64, String> {
    let status: Value = serde_json::from_str(reported).map_err(|error| format!("{error} in {reported:?}"))?;
    if status["status"] == "Success" {
        return Ok(0);
    }
    let causes = status["details"]["causes"].as_array().cloned().unwrap_or_default();
    let code =
        causes.iter().find(|cause| cause["reason"] == "ExitCode").and_then(|cause| cause["message"].as_str());
    code.and_then(|code| code.parse().ok()).ok_or_else(|| format!("no exit code in {reported}"))
}

async fn spdy_exec(world: &World) -> Outcome {
    let script = "command=sh&command=-c&command=cat%3B+echo+no+good+%3E%262%3B+exit+7";
    let path = format!("exec?{script}&container=app&stdin=true&stdout=true&stderr=true");
    let mut spdy = spdy(world, &path).await?;
    let error = spdy.open(&[("streamtype", "error")]).await?;
    let stdin = spdy.open(&[("streamtype", "stdin")]).await?;
    let stdout = spdy.open(&[("streamtype", "stdout")]).await?;
    let stderr = spdy.open(&[("streamtype", "stderr")]).await?;
    spdy.send(stdin, b"to be said back\n").await?;
    spdy.end(stdin).await?;
    check("stdout", spdy.all(stdout).await?, "to be said back\n")?;
    check("stderr", spdy.all(stderr).await?, "no good\n")?;
    match exit_code(&spdy.all(error).await?)? {
        7 => Ok(()),
        other => Err(format!("the exit code is {other}")),
    }
}

async fn spdy_terminal(world: &World) -> Outcome {
    let mut spdy = spdy(world, "exec?command=sh&container=app&stdin=true&stdout=true&tty=true").await?;
    let error = spdy.open(&[("streamtype", "error")]).await?;
    let stdin = spdy.open(&[("streamtype", "stdin")]).await?;
    let stdout = spdy.open(&[("streamtype", "stdout")]).await?;
    let resize = spdy.open(&[("streamtype", "resize")]).await?;
    for (size, expected) in
        [(r#"{"Width":123,"Height":45}"#, "45 123"), (r#"{"Width":80,"Height":24}"#, "24 80")]
    {
        spdy.send(resize, format!("{size}\n").as_bytes()).await?;
        // The size comes on its own way, so that the shell may be asked too early.
        spdy.send(
            stdin,
            format!("until busybox stty size | busybox grep -x '{expected}'; do sleep 0.1; done\n")
                .as_bytes(),
        )
        .await?;
        spdy.until(stdout, |text| text.lines().any(|line| line == expected)).await?;
    }
    spdy.send(stdin, b"exit 3\n").await?;
    match exit_code(&spdy.all(error).await?)? {
        3 => Ok(()),
        other => Err(format!("the exit code is {other}")),
    }
}

async fn websocket_exec(world: &World) -> Outcome {
    let script = "command=sh&command=-c&command=read+a%3B+echo+%22said+%24a%22%3B+echo+bad+%3E%262%3B+exit+5";
    let path = world.path(&format!("exec?{script}&container=app&stdin=true&stdout=true&stderr=true"));
    let stream = upgraded(world.api, "GET", &path, &websocket::headers("v4.channel.k8s.io")).await?;
    let mut socket = WebSocket::new(stream);
    socket.send(0, b"hello\n").await?;
    socket.until(1, |bytes| bytes == b"said hello\n").await?;
    socket.until(2, |bytes| bytes == b"bad\n").await?;
    let reported = socket.until(3, |bytes| bytes.ends_with(b"}")).await?;
    match exit_code(&String::from_utf8_lossy(&reported))? {
        5 => Ok(()),
        other => Err(format!("the exit code is {other}")),
    }
}

async fn spdy_attach(world: &World) -> Outcome {
    let mut spdy = spdy(world, "attach?container=app&stdin=true&stdout=true&stderr=true").await?;
    spdy.open(&[("streamtype", "error")]).await?;
    let stdin = spdy.open(&[("streamtype", "stdin")]).await?;
    let stdout = spdy.open(&[("streamtype", "stdout")]).await?;
    spdy.open(&[("streamtype", "stderr")]).await?;
    spdy.send(stdin, b"one\n").await?;
    spdy.until(stdout, |text| text.contains("got one\n")).await?;
    spdy.send(stdin, b"two\n").await?;
    spdy.until(stdout, |text| text.ends_with("got two\n")).await.map(|_| ())
}

async fn spdy_port_forward(world: &World) -> Outcome {
    let stream = upgraded(world.api, "POST", &world.path("portforward"), PORT_FORWARD).await?;
    let mut spdy = Spdy::new(stream);
    for request in ["0", "1"] {
        let of = |kind| [("streamtype", kind), ("port", "8080"), ("requestid", request)];
        // The server may not listen yet; what it says then comes by the stream of errors.
        loop {
            let error = spdy.open(&of("error")).await?;
            spdy.end(error).await?;
            let data = spdy.open(&of("data")).await?;
            spdy.send(data, b"GET /index.html HTTP/1.0\r\n\r\n").await?;
            let answer = spdy.all(data).await?;
            if answer.starts_with("HTTP/1.") && answer.ends_with("\r\n\r\nhello from the pod\n") {
                break;
            }
            if !answer.is_empty() {
                return Err(format!("the pod answered {answer:?}"));
            }
            tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        }
    }
    Ok(())
}

async fn websocket_port_forward(world: &World) -> Outcome {
    loop {
        let path = world.path("portforward?ports=8080&port=8080");
        let stream = upgraded(world.api, "GET", &path, &websocket::headers("v4.channel.k8s.io")).await?;
        let mut socket = WebSocket::new(stream);
        // Both channels begin with the port, little end first.
        let port = 8080_u16.to_le_bytes();
        socket.until(0, |bytes| bytes.starts_with(&port)).await?;
        socket.until(1, |bytes| bytes.starts_with(&port)).await?;
        socket.send(0, b"GET /index.html HTTP/1.0\r\n\r\n").await?;
        match socket.until(0, |bytes| bytes.ends_with(b"\r\n\r\nhello from the pod\n")).await {
            Ok(_) => return Ok(()),
            // It may not listen yet.
            Err(_) => tokio::time::sleep(std::time::Duration::from_millis(100)).await,
        }
    }
}

async fn followed_log(world: &World) -> Outcome {
    let path = world.path("log?container=app&follow=true");
    let (head, mut stream) = ask(world.api, "GET", &path, &[("Accept", "application/json, */*")]).await?;
    if !head.starts_with("HTTP/1.1 200 ") {
        return Err(head);
    }
    let mut text = Vec::new();
    let mut has_ended = false;
    loop {
        let read = stream.read_buf(&mut text).await.map_err(|error| error.to_string())?;
        let seen = String::from_utf8_lossy(&text);
        if !has_ended && seen.contains("line 5\n") {
            world.end().await?;
            has_ended = true;
        }
        // The last chunk of all.
        if read == 0 || text.ends_with(b"\r\n0\r\n\r\n") {
            break;
        }
    }
    let seen = String::from_utf8_lossy(&text);
    let expected = ["line 1\n", "line 2\n", "line 3\n", "line 4\n", "line 5\n"];
    match expected.iter().all(|line| seen.contains(line)) && has_ended {
        true => Ok(()),
        false => Err(format!("the log is {seen:?}")),
    }
}

async fn refused(world: &World) -> Outcome {
    let (exec, logs) = ("exec?command=true&container=app", "log?container=app");
    let no_streams = "you must specify at least 1 of stdin, stdout, stderr";
    refusal(world, "POST", exec, "400", no_streams).await?;
    let no_previous = format!("previous terminated container \"app\" in pod {:?} not found", world.pod);
    refusal(world, "GET", &format!("{logs}&previous=true"), "400", &no_previous).await?;
    // The words are the API server's.
    refusal(world, "GET", &format!("{logs}&limitBytes=0"), "422", "").await?;
    world.end().await?;
    refusal(world, "POST", &format!("{exec}&stdout=true"), "500", "container not found (\"app\")").await
}

async fn refusal(world: &World, method: &str, path: &str, code: &str, words: &str) -> Outcome {
    let headers = if method == "POST" { SPDY } else { &[] };
    let (head, mut stream) = ask(world.api, method, &world.path(path), headers).await?;
    let mut body = vec![0; 1024];
    let length = stream.read(&mut body).await.map_err(|error| error.to_string())?;
    let said = String::from_utf8_lossy(&body[..length]).into_owned();
    // The API server makes a Status of what a log's reader gets.
    let status: Option<Value> = serde_json::from_str(&said).ok();
    let said = status.as_ref().and_then(|status| status["message"].as_str()).unwrap_or(&said);
    let is_refused = head.starts_with(&format!("HTTP/1.1 {code} ")) && said.contains(words);
    if is_refused { Ok(()) } else { Err(format!("{path}: {head}{said}")) }
}
