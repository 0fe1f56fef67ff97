//! Probe types, hooks and credentials that follow a script.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use k8s_openapi::api::core::v1::Pod;
use serde_json::Value;
use witlet_core::hook::HttpHook;
use witlet_core::image::records::{PullCredential, PullSecret, credential_hash};
use witlet_core::probe::{ProbeOutcome, ProbeRequest};
use witlet_core::runtime::ImageAuth;
use witlet_ports::{
    CommandRunner, CredentialsError, HookError, HookRequests, ImageCredentials, ProbeError, ProbeTypes,
    RuntimeError,
};

use crate::{FakeRuntime, ManualClock};

/// How an endpoint answers.
#[derive(Clone, Debug, Default)]
pub struct Endpoint {
    /// What is wrong with it; none if nothing is.
    pub failure: Option<String>,
    /// How long an answer takes.
    pub takes: Duration,
    /// Why a probe of it gives no outcome; none if it gives one.
    pub error: Option<ProbeError>,
}

/// What pods serve, by `host:port/path` for HTTP, `host:port` for TCP, `host:port service` for gRPC and `type host:port` for
/// types that a test adds. What isn't listed answers well at once. Commands are scripted at the runtime.
#[derive(Debug)]
pub struct FakeEndpoints {
    runtime: Arc<FakeRuntime>,
    clock: ManualClock,
    endpoints: Mutex<BTreeMap<String, Endpoint>>,
    /// Types other than the four that a spec can name.
    types: Mutex<BTreeSet<String>>,
    log: Mutex<Vec<String>>,
}

impl FakeEndpoints {
    /// Everything answers well.
    pub fn new(runtime: Arc<FakeRuntime>, clock: ManualClock) -> Self {
        Self { runtime, clock, endpoints: Mutex::default(), types: Mutex::default(), log: Mutex::default() }
    }

    /// From now on there is a type of this name, which wants the parameter `port`.
    pub fn add_type(&self, name: &str) {
        lock(&self.types).insert(name.to_owned());
    }

    /// How this endpoint answers from now on.
    pub fn set(&self, endpoint: &str, answer: Endpoint) {
        lock(&self.endpoints).insert(endpoint.to_owned(), answer);
    }

    /// This endpoint fails from now on, or is well again.
    pub fn set_failing(&self, endpoint: &str, failing: bool) {
        let failure = failing.then(|| "HTTP probe failed with statuscode: 500".to_owned());
        self.set(endpoint, Endpoint { failure, ..Endpoint::default() });
    }

    /// What was asked so far, one line each: seconds since the beginning, endpoint.
    pub fn log(&self) -> Vec<String> {
        lock(&self.log).clone()
    }

    /// Runs the command at the runtime.
    async fn exec(&self, request: &ProbeRequest, parameters: &Value) -> Result<ProbeOutcome, ProbeError> {
        let words = parameters["command"].as_array().into_iter().flatten();
        let command: Vec<String> = words.filter_map(Value::as_str).map(str::to_owned).collect();
        let ran = self.runtime.exec_sync(&request.container_id, &command, Some(request.timeout)).await;
        match ran {
            Ok(output) if output.exit_code == 0 => Ok(ProbeOutcome::Success(String::new())),
            Ok(output) => Ok(ProbeOutcome::Failure(format!("exit code {}", output.exit_code))),
            Err(RuntimeError::DeadlineExceeded { .. }) => {
                Ok(ProbeOutcome::Failure("command timed out".to_owned()))
            }
            Err(error) => Err(ProbeError::NotCarriedOut { message: error.to_string() }),
        }
    }

    /// An answer, or none within the time.
    async fn ask(&self, endpoint: String, timeout: Duration) -> Option<Endpoint> {
        lock(&self.log).push(format!("{:.3} {endpoint}", self.clock.elapsed().as_secs_f64()));
        let answer = lock(&self.endpoints).get(&endpoint).cloned().unwrap_or_default();
        tokio::time::timeout(timeout, tokio::time::sleep(answer.takes)).await.ok()?;
        Some(answer)
    }
}

fn text<'a>(parameters: &'a Value, name: &str) -> &'a str {
    parameters[name].as_str().unwrap_or_default()
}

/// `host:port`; a host that isn't named is the pod's address.
fn address(request: &ProbeRequest, parameters: &Value) -> Result<String, ProbeError> {
    let port = &parameters["port"];
    let named = Some(text(parameters, "host")).filter(|host| !host.is_empty()).map(str::to_owned);
    match named.or_else(|| request.pod_ips.first().map(IpAddr::to_string)) {
        Some(host) => Ok(format!("{host}:{port}")),
        None => Err(ProbeError::NotCarriedOut { message: "the pod has no IP address".to_owned() }),
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[async_trait]
impl ProbeTypes for FakeEndpoints {
    async fn probe(&self, request: &ProbeRequest) -> Result<ProbeOutcome, ProbeError> {
        let timeout = request.timeout;
        let parameters: Value = serde_json::from_str(&request.parameters)
            .map_err(|error| ProbeError::Parameters { words: error.to_string() })?;
        let endpoint = match &*request.probe_type {
            "exec" => return self.exec(request, &parameters).await,
            "httpGet" => format!("{}{}", address(request, &parameters)?, text(&parameters, "path")),
            "tcpSocket" => address(request, &parameters)?,
            "grpc" => format!("{} {}", address(request, &parameters)?, text(&parameters, "service")),
            probe_type if lock(&self.types).contains(probe_type) => {
                if !parameters["port"].is_u64() {
                    let words = "port must be a number".to_owned();
                    return Err(ProbeError::Parameters { words });
                }
                format!("{probe_type} {}", address(request, &parameters)?)
            }
            probe_type => return Err(ProbeError::UnknownType { probe_type: probe_type.to_owned() }),
        };
        Ok(match self.ask(endpoint, timeout).await {
            None => ProbeOutcome::Failure("deadline exceeded".to_owned()),
            Some(Endpoint { error: Some(error), .. }) => return Err(error),
            Some(Endpoint { failure: Some(failure), .. }) => ProbeOutcome::Failure(failure),
            Some(Endpoint { failure: None, .. }) => ProbeOutcome::Success(String::new()),
        })
    }
}

#[async_trait]
impl HookRequests for FakeEndpoints {
    async fn send(&self, hook: &HttpHook, timeout: Duration) -> Result<bool, HookError> {
        let endpoint = format!("{}:{}{}", hook.host, hook.port, hook.path);
        match self.ask(endpoint, timeout).await {
            None => Err(HookError { message: "deadline exceeded".to_owned() }),
            Some(Endpoint { failure: Some(message), .. }) => Err(HookError { message }),
            Some(Endpoint { failure: None, .. }) => Ok(false),
        }
    }
}

/// Credentials by a prefix of the image's name.
#[derive(Debug, Default)]
pub struct FixedCredentials {
    by_prefix: Mutex<BTreeMap<String, Vec<ImageAuth>>>,
    by_secret: Mutex<BTreeMap<String, String>>,
    missing: Mutex<Vec<String>>,
}

impl FixedCredentials {
    /// Images whose name begins so are fetched as these users, tried in order.
    pub fn add(&self, prefix: &str, users: &[&str]) {
        let auths =
            users.iter().map(|user| ImageAuth { username: (*user).to_owned(), ..ImageAuth::default() });
        lock(&self.by_prefix).insert(prefix.to_owned(), auths.collect());
    }

    /// Pods that name this pull secret show this user, for every image.
    pub fn add_secret(&self, name: &str, user: &str) {
        lock(&self.by_secret).insert(name.to_owned(), user.to_owned());
    }

    /// Pull secrets of these names can't be read.
    pub fn set_missing(&self, secrets: &[&str]) {
        *lock(&self.missing) = secrets.iter().map(|name| (*name).to_owned()).collect();
    }
}

#[async_trait]
impl ImageCredentials for FixedCredentials {
    async fn for_image(&self, pod: &Pod, image: &str) -> Result<Vec<PullCredential>, CredentialsError> {
        let secrets = lock(&self.missing).clone();
        if !secrets.is_empty() {
            return Err(CredentialsError { secrets, found: Vec::new() });
        }
        let by_secret = lock(&self.by_secret);
        let named = pod.spec.iter().flat_map(|spec| spec.image_pull_secrets.iter().flatten());
        let shown = named.filter_map(|secret| by_secret.get_key_value(&secret.name)).map(|(name, user)| {
            let auth = ImageAuth { username: user.clone(), ..ImageAuth::default() };
            let secret = PullSecret {
                uid: format!("{name}-uid"),
                namespace: pod.metadata.namespace.clone().unwrap_or_default(),
                name: name.clone(),
                credential_hash: credential_hash(&auth),
            };
            PullCredential { auth, secret: Some(secret) }
        });
        let mut found: Vec<PullCredential> = shown.collect();
        let by_prefix = lock(&self.by_prefix);
        let of_node = by_prefix.iter().find(|(prefix, _)| image.starts_with(prefix.as_str()));
        let of_node = of_node.map(|(_, auths)| auths.clone()).unwrap_or_default();
        found.extend(of_node.into_iter().map(|auth| PullCredential { auth, secret: None }));
        Ok(found)
    }
}
