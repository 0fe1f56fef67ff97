//! A small systemd: the methods of its manager that the driver calls, recorded.

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::net::UnixListener;
use tokio::task::JoinSet;
use zbus::object_server::SignalEmitter;
use zbus::{Connection, Guid, OwnedObjectPath, OwnedVariant, connection, fdo, interface};

use super::named::NamedSocket;

/// What it does with the next calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Behaviour {
    /// All that it is asked for.
    #[default]
    Well,
    /// Units are there already.
    Exists,
    /// Refuses to start and to stop.
    Refuses,
    RefusesProperties,
    /// Jobs end with this result.
    Ends(&'static str),
    NeverEnds,
    /// The next job's connection breaks before it has ended.
    BreaksOnce,
}

/// Shared by all connections.
#[derive(Default)]
struct Inner {
    behaviour: Behaviour,
    calls: Vec<String>,
    jobs: u32,
    connections: Vec<Connection>,
}

/// Listens until it is dropped.
pub(super) struct FakeSystemd {
    inner: Arc<Mutex<Inner>>,
    _work: JoinSet<()>,
}

fn lock(inner: &Mutex<Inner>) -> MutexGuard<'_, Inner> {
    inner.lock().unwrap_or_else(PoisonError::into_inner)
}

impl FakeSystemd {
    pub(super) fn listen(socket: &Path) -> Self {
        let listener = UnixListener::bind(socket).unwrap();
        let inner = Arc::<Mutex<Inner>>::default();
        let mut work = JoinSet::new();
        let shared = inner.clone();
        work.spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let manager = Manager { inner: shared.clone() };
                let served = connection::Builder::socket(NamedSocket(stream))
                    .user_id(rustix::process::geteuid().as_raw())
                    .server(Guid::generate())
                    .p2p()
                    .serve_at("/org/freedesktop/systemd1", manager);
                let connection = served.build().await.unwrap();
                lock(&shared).connections.push(connection);
            }
        });
        Self { inner, _work: work }
    }

    pub(super) fn behave(&self, behaviour: Behaviour) {
        lock(&self.inner).behaviour = behaviour;
    }

    pub(super) fn calls(&self) -> Vec<String> {
        lock(&self.inner).calls.clone()
    }

    pub(super) fn forget_calls(&self) {
        lock(&self.inner).calls.clear();
    }

    /// How many there were.
    pub(super) fn connections(&self) -> usize {
        lock(&self.inner).connections.len()
    }

    /// As a systemd that is executed again.
    pub(super) async fn break_connections(&self) {
        let connections = lock(&self.inner).connections.clone();
        for connection in connections {
            connection.close().await.unwrap();
        }
    }
}

type Properties = Vec<(String, OwnedVariant)>;

struct Manager {
    inner: Arc<Mutex<Inner>>,
}

fn shown(properties: &[(String, OwnedVariant)]) -> String {
    let value = |value: &OwnedVariant| match &**value {
        zbus::Variant::Array(array) => {
            let all: Vec<String> = array.iter().map(plain).collect();
            format!("[{}]", all.join(", "))
        }
        other => plain(other),
    };
    properties.iter().map(|(name, property)| format!(" {name}={}", value(property))).collect()
}

fn plain(value: &zbus::Variant<'_>) -> String {
    match value {
        zbus::Variant::Bool(value) => value.to_string(),
        zbus::Variant::U8(value) => value.to_string(),
        zbus::Variant::U64(value) => value.to_string(),
        zbus::Variant::Str(text) => format!("{:?}", text.as_str()),
        other => format!("{other:?}"),
    }
}

#[derive(Debug, zbus::DBusError)]
#[zbus(prefix = "org.freedesktop.systemd1")]
enum Refusal {
    #[zbus(error)]
    Other(zbus::Error),
    UnitExists(String),
    Refused(String),
}

impl Manager {
    /// Begins a job, which ends after its answer.
    async fn job(&self, unit: &str, emitter: SignalEmitter<'_>) -> Result<OwnedObjectPath, Refusal> {
        let (id, behaviour) = {
            let mut inner = lock(&self.inner);
            inner.jobs += 1;
            let behaviour = inner.behaviour;
            if behaviour == Behaviour::BreaksOnce {
                inner.behaviour = Behaviour::Well;
            }
            (inner.jobs, behaviour)
        };
        let path = OwnedObjectPath::try_from(format!("/org/freedesktop/systemd1/job/{id}")).unwrap();
        let result = match behaviour {
            Behaviour::Exists => return Err(Refusal::UnitExists("it exists".to_owned())),
            Behaviour::Refuses => {
                return Err(Refusal::Refused("no".to_owned()));
            }
            Behaviour::NeverEnds => return Ok(path),
            Behaviour::BreaksOnce => {
                let connection = lock(&self.inner).connections.last().cloned();
                connection.unwrap().close().await.unwrap();
                return Ok(path);
            }
            Behaviour::Ends(result) => result,
            Behaviour::Well | Behaviour::RefusesProperties => "done",
        };
        // Before the answer, which is the harder order: systemd may do that, too.
        Self::job_removed(&emitter, id, path.clone(), unit.to_owned(), result.to_owned()).await.unwrap();
        Ok(path)
    }

    fn note(&self, call: String) {
        lock(&self.inner).calls.push(call);
    }
}

#[interface(name = "org.freedesktop.systemd1.Manager")]
impl Manager {
    async fn start_transient_unit(
        &self,
        name: String,
        mode: String,
        properties: Properties,
        others: Vec<(String, Properties)>,
        #[zbus(signal_emitter)] emitter: SignalEmitter<'_>,
    ) -> Result<OwnedObjectPath, Refusal> {
        assert!(others.is_empty());
        self.note(format!("StartTransientUnit {name} {mode}{}", shown(&properties)));
        self.job(&name, emitter).await
    }

    async fn stop_unit(
        &self,
        name: String,
        mode: String,
        #[zbus(signal_emitter)] emitter: SignalEmitter<'_>,
    ) -> Result<OwnedObjectPath, Refusal> {
        self.note(format!("StopUnit {name} {mode}"));
        self.job(&name, emitter).await
    }

    fn set_unit_properties(&self, name: String, runtime: bool, properties: Properties) -> fdo::Result<()> {
        self.note(format!("SetUnitProperties {name} runtime={runtime}{}", shown(&properties)));
        match lock(&self.inner).behaviour {
            Behaviour::RefusesProperties => Err(fdo::Error::InvalidArgs("no".to_owned())),
            _ => Ok(()),
        }
    }

    fn reset_failed_unit(&self, name: String) {
        self.note(format!("ResetFailedUnit {name}"));
    }

    #[zbus(property)]
    fn version(&self) -> String {
        "252 (252.39-1~deb12u2)".to_owned()
    }

    #[zbus(signal)]
    async fn job_removed(
        emitter: &SignalEmitter<'_>,
        id: u32,
        job: OwnedObjectPath,
        unit: String,
        result: String,
    ) -> zbus::Result<()>;
}
