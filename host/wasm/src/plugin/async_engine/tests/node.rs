//! What the tests' guests run on.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Arc, LazyLock, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use k8s_openapi::api::core::v1::{Container, ContainerPort, Pod, PodSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use tokio::net::TcpListener;
use wasmtime::component::Component;
use witlet_core::probe::{ProbeKind, ProbeOutcome, ProbeRequest};
use witlet_core::runtime::{ContainerId, ExecOutput};
use witlet_egress::Egress;
use witlet_ports::{CommandRunner, RuntimeError};

use crate::guest::{GuestServices, LogTap, Secrets};
use crate::plugin::CallError;
use crate::plugin::async_engine::{AsyncCalled, AsyncHost, AsyncPlugin, AsyncPluginSpec, Machine};
use crate::plugin::config::{Grants, Warm};
use crate::worlds::detect::{Capabilities, detect};
use crate::worlds::probe::facts::ProbeFacts;

/// How long guests have that aren't expected to take any time: only a hang takes it.
pub(super) const WAIT_TIMEOUT: Duration = Duration::from_secs(300);

/// Code of both guests, compiled once for an engine that all tests share.
struct Compiled {
    machine: Arc<Machine>,
    prober: Component,
    sourcer: Component,
}

static COMPILED: LazyLock<Compiled> = LazyLock::new(|| {
    let machine = Arc::new(Machine::start().expect("an engine"));
    let compile = |wasm| Component::new(&machine.engine, wasm).expect("a component");
    let prober = compile(witlet_test_guests::PROBER);
    let sourcer = compile(witlet_test_guests::SOURCER);
    Compiled { machine, prober, sourcer }
});

/// Answers each command with its name, in some way.
pub(super) struct Runtime;

/// What plugins are loaded with.
pub(super) struct Setting {
    pub(super) containers: Option<Arc<dyn CommandRunner>>,
    pub(super) config: &'static str,
    pub(super) warm: Option<Warm>,
    pub(super) grants: Grants,
    pub(super) secrets: BTreeMap<String, Arc<[u8]>>,
    pub(super) source_timeout: Duration,
    pub(super) state: Option<std::path::PathBuf>,
    pub(super) log: Option<LogTap>,
}

impl Default for Setting {
    fn default() -> Self {
        Self {
            containers: Some(Arc::new(Runtime)),
            config: "null",
            warm: None,
            grants: Grants::default(),
            secrets: BTreeMap::new(),
            source_timeout: WAIT_TIMEOUT,
            state: None,
            log: None,
        }
    }
}

impl Setting {
    pub(super) fn granted(network: &[&str]) -> Self {
        let network: Vec<_> = network.iter().map(|grant| grant.parse().expect("a grant")).collect();
        Self { grants: Grants { network: network.into(), ..Grants::default() }, ..Self::default() }
    }

    pub(super) fn prober(self) -> Arc<AsyncPlugin> {
        self.link(&COMPILED.prober)
    }

    pub(super) fn sourcer(self) -> Arc<AsyncPlugin> {
        self.link(&COMPILED.sourcer)
    }

    /// A component of a test's own.
    pub(super) fn made(self, wasm: &[u8]) -> Arc<AsyncPlugin> {
        self.link(&Component::new(&COMPILED.machine.engine, wasm).expect("a component"))
    }

    fn link(self, component: &Component) -> Arc<AsyncPlugin> {
        let secrets = Arc::new(Secrets::default());
        secrets.replace(self.secrets);
        let given =
            GuestServices { secrets, containers: self.containers, log: self.log, ..GuestServices::default() };
        let host =
            AsyncHost { egress: Egress::system(), machine: Mutex::new(Some(COMPILED.machine.clone())) };
        let ty = component.component_type();
        let engine = &COMPILED.machine.engine;
        let imports: Vec<_> = ty.imports(engine).map(|(name, _)| name).collect();
        let exports: Vec<_> = ty.exports(engine).map(|(name, _)| name).collect();
        let detected = detect(imports, exports, Capabilities::ALL).expect("nothing is in the way");
        let spec = AsyncPluginSpec {
            name: "guest".into(),
            config: self.config.into(),
            source_timeout: self.source_timeout,
            validate_timeout: WAIT_TIMEOUT,
            memory_bytes: 16 << 20,
            warm: self.warm,
            grants: Arc::new(self.grants),
            state_folder: self.state,
            data: Arc::default(),
        };
        host.link(spec, &given, component, &detected).expect("it links")
    }
}

/// A probe of a pod on the loopback interface, with much time.
pub(super) fn request(parameters: &str) -> ProbeRequest {
    let port = |name: &str, port| ContainerPort {
        name: Some(name.to_owned()),
        container_port: port,
        ..ContainerPort::default()
    };
    let ports = vec![port("web", 8080), ContainerPort { container_port: 1, ..ContainerPort::default() }];
    let container = Container { name: "main".to_owned(), ports: Some(ports), ..Container::default() };
    let pod = Pod {
        metadata: ObjectMeta {
            name: Some("web".to_owned()),
            namespace: Some("default".to_owned()),
            uid: Some("uid-1".to_owned()),
            ..ObjectMeta::default()
        },
        spec: Some(PodSpec { containers: vec![container], ..PodSpec::default() }),
        ..Pod::default()
    };
    ProbeRequest {
        probe_type: "guest".into(),
        parameters: parameters.into(),
        pod: Arc::new(pod),
        container: "main".to_owned(),
        container_id: ContainerId::from("c0ffee"),
        restarts: 3,
        pod_ips: vec![IpAddr::from([127, 0, 0, 1])],
        host_ips: vec![IpAddr::from([192, 0, 2, 1])],
        kind: ProbeKind::Readiness,
        timeout: WAIT_TIMEOUT,
    }
}

/// What came of a probe with these parameters.
pub(super) async fn ask(guests: &Arc<AsyncPlugin>, parameters: &str) -> Result<ProbeOutcome, CallError> {
    called(guests, request(parameters)).await.result
}

pub(super) async fn called(guests: &Arc<AsyncPlugin>, request: ProbeRequest) -> AsyncCalled<ProbeOutcome> {
    guests.probe(Arc::new(ProbeFacts::new(request, false))).await
}

/// An HTTP server on the loopback interface that answers each request with its request line and `Host`. Ends with the
/// returned tasks.
pub(super) async fn http_server() -> (u16, tokio::task::JoinSet<()>) {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let mut tasks = tokio::task::JoinSet::new();
    tasks.spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                let mut byte = [0];
                match stream.read(&mut byte).await {
                    Ok(1) => head.push(byte[0]),
                    Ok(_) | Err(_) => break,
                }
            }
            let head = String::from_utf8_lossy(&head).into_owned();
            let host = head.lines().find(|line| line.to_ascii_lowercase().starts_with("host:"));
            let body = format!("{} | {}", head.lines().next().unwrap_or_default(), host.unwrap_or_default());
            let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len());
            // The caller may have gone.
            drop(stream.write_all(answer.as_bytes()).await);
        }
    });
    (port, tasks)
}

#[async_trait]
impl CommandRunner for Runtime {
    async fn exec_sync(
        &self,
        id: &ContainerId,
        command: &[String],
        timeout: Option<Duration>,
    ) -> Result<ExecOutput, RuntimeError> {
        match command.first().map(String::as_str) {
            Some("hang") => std::future::pending().await,
            Some("late") => Err(RuntimeError::DeadlineExceeded { call: "ExecSync", limit: Duration::ZERO }),
            Some("missing") => {
                Err(RuntimeError::NotFound { call: "ExecSync", message: "no such container".to_owned() })
            }
            Some("long") => Ok(ExecOutput { stdout: vec![b'x'; 50_000], stderr: Vec::new(), exit_code: 0 }),
            _ => Ok(ExecOutput {
                stdout: format!("{id} {}", command.join(" ")).into_bytes(),
                stderr: format!(" {}", timeout.is_some()).into_bytes(),
                exit_code: 7,
            }),
        }
    }
}
