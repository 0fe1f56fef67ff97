//! What an operator sees of a running pod over the agent's own socket: `witlet logs`, `exec`, `describe` and `top`.

use std::path::Path;
use std::process::Stdio;

use libtest_mimic::Failed;
use serde_json::Value;
use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;

/// How a command ended.
struct Ended {
    code: Option<i32>,
    out: String,
    said: String,
}

async fn witlet(socket: &Path, arguments: &[&str], input: &str) -> Result<Ended, Failed> {
    let program = witlet_harness::program::witlet().map_err(|error| witlet_harness::report(&error))?;
    let (before, command) = match arguments.iter().position(|word| *word == "--") {
        Some(at) => arguments.split_at(at),
        None => (arguments, &[][..]),
    };
    let mut child = Command::new(program)
        .args(before)
        .arg("--api-socket")
        .arg(socket)
        .args(command)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        match stdin.write_all(input.as_bytes()).await {
            // It may have ended without reading.
            Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => return Err(error.into()),
            _ => {}
        }
    }
    let output = child.wait_with_output().await?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Ok(Ended { code: output.status.code(), out: text(&output.stdout), said: text(&output.stderr) })
}

async fn json(socket: &Path, arguments: &[&str]) -> Result<Value, Failed> {
    let Ended { code, out, said } = witlet(socket, arguments, "").await?;
    if code != Some(0) {
        return Err(format!("{arguments:?} ended with {code:?}: {said}").into());
    }
    Ok(serde_json::from_str(&out)?)
}

/// All of it, of the pod that is ready, talks, and has one container.
pub(crate) async fn is_shown(socket: &Path) -> Result<(), Failed> {
    let Ended { code, out, said } = witlet(socket, &["logs", "talks", "--tail", "1"], "").await?;
    if code != Some(0) || !out.starts_with("line ") || out.lines().count() != 1 {
        return Err(format!("its log is {out:?}, {code:?}: {said}").into());
    }
    let command = ["exec", "talks", "-i", "--", "sh", "-c", "cat; echo no good >&2; exit 7"];
    let Ended { code, out, said } = witlet(socket, &command, "to be said back\n").await?;
    if code != Some(7) || out != "to be said back\n" || !said.contains("no good\n") {
        return Err(format!("the command ended with {code:?}, wrote {out:?} and said {said:?}").into());
    }
    let missing = witlet(socket, &["exec", "talks", "--", "/no/such/program"], "").await?;
    if missing.code == Some(0) || missing.said.is_empty() {
        return Err(format!("a program that isn't there ended with {:?}", missing.code).into());
    }
    let described = json(socket, &["describe", "pod", "talks", "-o", "json"]).await?;
    let admitted = described["admission"].as_array().is_some_and(|verdicts| {
        !verdicts.is_empty() && verdicts.iter().all(|verdict| verdict["outcome"] == "Admitted")
    });
    let probe = &described["probes"][0];
    let probed = probe["kind"] == "Readiness" && probe["last"]["outcome"] == "Success";
    let started =
        described["events"].as_array().into_iter().flatten().any(|event| event["reason"] == "Started");
    if !admitted || !probed || !started {
        return Err(format!("its description lacks something: {described:#}").into());
    }
    let top = json(socket, &["top", "pods", "talks", "-o", "json"]).await?;
    match top["items"][0]["containers"][0]["name"].as_str() {
        Some("app") => Ok(()),
        _ => Err(format!("what it uses isn't shown: {top:#}").into()),
    }
}
