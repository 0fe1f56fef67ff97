//! What Prometheus' own tool says about all metrics of a node with pods, and about the rules in `examples/monitoring`.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use jiff::SignedDuration;
use libtest_mimic::Failed;
use witlet_api_server::Identity;
use witlet_harness::cluster::Cluster;

/// The paths of metrics.
pub(crate) const PATHS: &[&str] =
    &["/metrics", "/metrics/cadvisor", "/metrics/resource", "/metrics/probes", "/metrics/slis"];

/// The tool, of Debian's package `prometheus`.
const PROMTOOL: &str = "promtool";

/// How it ends where it read everything and has findings (`lintErrExitCode`).
const HAS_FINDINGS: i32 = 3;

/// What it prints of a family without a help text, which no family may have.
const NO_HELP: &str = "no help text";

/// How families of this agent begin. The names of all others are upstream's, and not ours to change: `kubelet_evictions` is a counter
/// without `_total`, `container_fs_inodes_total` is none, `cadvisor_version_info` has labels in camel case.
const OWN: &str = "witlet_";

const PODS: [&str; 2] = ["web-0", "web-1"];

/// Why it can't be asked.
pub(crate) fn why_not() -> Option<String> {
    let asked = Command::new(PROMTOOL).arg("--version").output();
    match asked {
        Ok(output) if output.status.success() => None,
        Ok(output) => Some(format!("{PROMTOOL} doesn't work: {}", output.status)),
        Err(error) => {
            Some(format!("{PROMTOOL} can't be run: {error} (Debian has it in the package prometheus)"))
        }
    }
}

/// Every path can be read, and no name of the agent's own is against the conventions.
pub(super) async fn has_no_finding() -> Result<(), Failed> {
    let cluster = Cluster::start().await?;
    cluster.node_ready().await?;
    for name in PODS {
        cluster.create(name)?;
    }
    for name in PODS {
        cluster.ready(name).await?;
    }
    let who = Identity::new("kube-apiserver-kubelet-client", &["system:masters"]);
    let issued = cluster.api().client_certificate(&who, SignedDuration::from_hours(1))?;
    let client = cluster.node_client(&issued).await?;
    let mut findings = Vec::new();
    for path in PATHS {
        let exposed = client.request_text(http::Request::get(*path).body(Vec::new())?).await?;
        if !exposed.contains("# TYPE ") {
            findings.push(format!("{path} has no family"));
        }
        findings.extend(findings_about(&exposed)?.into_iter().map(|what| format!("{path}: {what}")));
    }
    cluster.end().await?;
    if findings.is_empty() { Ok(()) } else { Err(findings.join("\n").into()) }
}

/// What is played to the rules in `examples/monitoring`.
const INCIDENTS: &[&str] = &["rules-test.yaml", "kubelet-rules-test.yaml"];

/// The rules record and fire what they should when incidents are played to them.
pub(super) fn plays_incidents_to_the_rules() -> Result<(), Failed> {
    let output = Command::new(PROMTOOL)
        .args(["test", "rules"])
        .args(INCIDENTS)
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/monitoring"))
        .output()?;
    if output.status.success() {
        return Ok(());
    }
    let (said, failed) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    Err(format!("{PROMTOOL} test rules: {}\n{said}{failed}", output.status).into())
}

/// Its lines, `FAMILY WHAT`, but for those about names that are upstream's.
fn findings_about(exposed: &str) -> Result<Vec<String>, Failed> {
    let mut promtool = Command::new(PROMTOOL)
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()?;
    if let Some(mut input) = promtool.stdin.take() {
        // What it doesn't read, it says why.
        let _unread = input.write_all(exposed.as_bytes());
    }
    let output = promtool.wait_with_output()?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    if !output.status.success() && output.status.code() != Some(HAS_FINDINGS) {
        return Err(format!("{PROMTOOL} can't read it: {said}").into());
    }
    let is_ours = |line: &&str| line.starts_with(OWN) || line.contains(NO_HELP);
    Ok(said.lines().filter(is_ours).map(str::to_owned).collect())
}
