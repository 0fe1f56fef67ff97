//! What a real Prometheus makes of a node with pods: its scrapes of every path, as text and as messages, and the rules in
//! `examples/monitoring` over what it has stored.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use libtest_mimic::Failed;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep};
use witlet_api_server::Identity;
use witlet_harness::cluster::{Cluster, free_address};

use super::promtool::PATHS;

/// The server, of Debian's package `prometheus`.
const PROGRAM: &str = "prometheus";

/// Without options it prefers text, with this one messages.
const WITH_MESSAGES: &str = "--enable-feature=native-histograms";

const TOKEN: &str = "the-token-of-prometheus";

const PODS: [&str; 2] = ["web-0", "web-1"];

/// Scrapes of each path, so that times and values are compared with those before.
const SCRAPES: f64 = 3.0;

/// They may take so long on a machine that has other work.
const SCRAPES_MAX: Duration = Duration::from_secs(300);

/// How often its state is read meanwhile.
const POLL: Duration = Duration::from_millis(500);

/// How a line of the log begins about samples that it doesn't store.
const NOT_STORED: &str = "Error on ingesting";

/// Why it can't be asked.
pub(crate) fn why_not() -> Option<String> {
    match Command::new(PROGRAM).arg("--version").output() {
        Ok(output) if output.status.success() => None,
        Ok(output) => Some(format!("{PROGRAM} doesn't work: {}", output.status)),
        Err(error) => {
            Some(format!("{PROGRAM} can't be run: {error} (Debian has it in a package of this name)"))
        }
    }
}

/// It stores all samples of all paths, and can evaluate every rule.
pub(super) async fn stores_all() -> Result<(), Failed> {
    let cluster = Cluster::start().await?;
    cluster.node_ready().await?;
    for name in PODS {
        cluster.create(name)?;
    }
    for name in PODS {
        cluster.ready(name).await?;
    }
    cluster.api().add_token(TOKEN, Identity::new("prometheus", &["system:masters"]));
    for option in [None, Some(WITH_MESSAGES)] {
        let prometheus = Prometheus::start(cluster.server, option).await?;
        let missing = prometheus.missing_at_last().await;
        let log = prometheus.end()?;
        let not_stored: Vec<&str> = log.lines().filter(|line| line.contains(NOT_STORED)).collect();
        if !missing.is_empty() || !not_stored.is_empty() {
            let problems = format!("{}\n{}", missing.join("\n"), not_stored.join("\n"));
            return Err(format!("{PROGRAM} with {option:?}: {problems}\n{log}").into());
        }
    }
    cluster.end().await
}

/// One that runs, and is killed when it is dropped.
struct Prometheus {
    process: Child,
    address: SocketAddr,
    folder: TempDir,
}

impl Prometheus {
    async fn start(node: SocketAddr, option: Option<&str>) -> Result<Self, Failed> {
        let (address, folder) = (free_address().await?, tempfile::tempdir()?);
        let at = |name: &str| folder.path().join(name);
        fs::write(at("prometheus.json"), configuration(node).to_string())?;
        let log = File::create(at("log"))?;
        let process = Command::new(PROGRAM)
            .arg(format!("--config.file={}", at("prometheus.json").display()))
            .arg(format!("--storage.tsdb.path={}", at("data").display()))
            .arg(format!("--web.listen-address={address}"))
            .args(option)
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .spawn()?;
        Ok(Self { process, address, folder })
    }

    /// What isn't as it should be: nothing as soon as all is, and the last state if that takes too long.
    async fn missing_at_last(&self) -> Vec<String> {
        let deadline = Instant::now() + SCRAPES_MAX;
        loop {
            let missing = self.missing().await.unwrap_or_else(|error| vec![error.to_string()]);
            if missing.is_empty() || Instant::now() >= deadline {
                return missing;
            }
            sleep(POLL).await;
        }
    }

    async fn missing(&self) -> Result<Vec<String>, std::io::Error> {
        let up = self.by_path("up").await?;
        let samples = self.by_path("scrape_samples_scraped").await?;
        let scrapes = self.by_path("count_over_time(up%5B10m%5D)").await?;
        let mut missing = Vec::new();
        for path in PATHS {
            let of = |all: &BTreeMap<String, f64>| all.get(*path).copied().unwrap_or_default();
            let found = (of(&up), of(&samples), of(&scrapes));
            if found.0 < 1.0 || found.1 < 1.0 || found.2 < SCRAPES {
                missing.push(format!("{path}: up, samples and scrapes are {found:?}"));
            }
        }
        let targets = self.get("/api/v1/targets?state=active").await?;
        let errors = targets["activeTargets"].as_array().into_iter().flatten();
        let errors =
            errors.filter_map(|target| target["lastError"].as_str()).filter(|error| !error.is_empty());
        missing.extend(errors.map(str::to_owned));
        let rules = self.get("/api/v1/rules").await?;
        let groups = rules["groups"].as_array().into_iter().flatten();
        let rules: Vec<&Value> =
            groups.flat_map(|group| group["rules"].as_array().into_iter().flatten()).collect();
        if rules.is_empty() {
            missing.push("it has no rules".to_owned());
        }
        let failed = rules.into_iter().filter(|rule| rule["health"] != "ok");
        missing.extend(
            failed.map(|rule| format!("rule {}: {} {}", rule["name"], rule["health"], rule["lastError"])),
        );
        Ok(missing)
    }

    /// An expression's values by the path that they are of.
    async fn by_path(&self, expression: &str) -> Result<BTreeMap<String, f64>, std::io::Error> {
        let found = self.get(&format!("/api/v1/query?query={expression}")).await?;
        let series = found["result"].as_array().into_iter().flatten();
        let value = |series: &Value| {
            let value: f64 = series["value"][1].as_str()?.parse().ok()?;
            Some((series["metric"]["job"].as_str()?.to_owned(), value))
        };
        Ok(series.filter_map(value).collect())
    }

    /// The data of an answer.
    async fn get(&self, path: &str) -> Result<Value, std::io::Error> {
        let mut stream = TcpStream::connect(self.address).await?;
        let request = format!("GET {path} HTTP/1.0\r\nHost: {}\r\n\r\n", self.address);
        stream.write_all(request.as_bytes()).await?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await?;
        let body = answer.split_once("\r\n\r\n").map_or("", |(_, body)| body);
        let answer: Value = serde_json::from_str(body)?;
        Ok(answer["data"].clone())
    }

    /// Stops it, and returns what it logged.
    fn end(mut self) -> Result<String, std::io::Error> {
        self.process.kill()?;
        self.process.wait()?;
        fs::read_to_string(self.folder.path().join("log"))
    }
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        // One that has ended already can't be killed.
        let _ended = self.process.kill();
        let _status = self.process.wait();
    }
}

/// A job for each path of the node, and the rules of this project.
fn configuration(node: SocketAddr) -> Value {
    let job = |path: &&str| {
        json!({
            "job_name": path, "metrics_path": path, "scheme": "https",
            "authorization": {"credentials": TOKEN},
            "tls_config": {"insecure_skip_verify": true},
            "static_configs": [{"targets": [node.to_string()]}],
        })
    };
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/monitoring");
    let rules = ["rules.yaml", "kubelet-rules.yaml"].map(|name| folder.join(name));
    json!({
        "global": {"scrape_interval": "5s", "scrape_timeout": "5s", "evaluation_interval": "5s"},
        "rule_files": rules,
        "scrape_configs": PATHS.iter().map(job).collect::<Vec<_>>(),
    })
}
