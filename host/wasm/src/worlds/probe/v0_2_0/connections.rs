//! `witlet:probe/connections`: connections that the host opens for a probe.

use tokio::time::Instant;
use wasmtime::component::{HasSelf, Linker, Resource};
use witlet_egress::{Connection, LoopbackError, READ_BYTES_MAX, StreamError};
use witlet_ports::CommandRunner;

use super::bindings::witlet::probe::connections as wit;
use crate::guest::async_guest::AsyncState;
use crate::guest::connection::OpenConnection;
use crate::worlds::host::error::GuestError;
use crate::worlds::probe::facts::ProbeFacts;
use crate::worlds::probe::handles::TargetHandle;

type Opened = Result<Resource<OpenConnection>, Resource<GuestError>>;
type Done = Result<(), Resource<GuestError>>;

pub(super) fn add_to_linker(linker: &mut Linker<AsyncState>) -> wasmtime::Result<()> {
    wit::add_to_linker::<AsyncState, HasSelf<AsyncState>>(linker, |state| state)
}

impl AsyncState {
    /// When a wait in this probe ends.
    fn wait_deadline(&self, probe: &ProbeFacts) -> Instant {
        Instant::min(probe.deadline(), self.deadline())
    }

    /// The connection of a handle, if this call opened it, and when a wait on it ends.
    fn connection(
        &mut self,
        handle: &Resource<OpenConnection>,
    ) -> wasmtime::Result<(&mut Connection, Instant)> {
        let (serial, probe) = (self.serial(), self.probe().cloned());
        let Some(probe) = probe else {
            wasmtime::bail!("the connection belongs to an earlier probe, which is over")
        };
        let deadline = self.wait_deadline(&probe);
        let open = self.resources().get_mut(handle)?;
        if open.serial != serial {
            wasmtime::bail!("the connection belongs to an earlier probe, which is over");
        }
        Ok((&mut open.connection, deadline))
    }

    fn opened(&mut self, connection: Result<Connection, StreamError>) -> wasmtime::Result<Opened> {
        match connection {
            Ok(connection) => {
                let serial = self.serial();
                Ok(Ok(self.resources().push(OpenConnection { connection, serial })?))
            }
            Err(error) => Ok(Err(self.refused(&error)?)),
        }
    }

    fn refused(&mut self, error: &StreamError) -> wasmtime::Result<Resource<GuestError>> {
        let error = GuestError::new(error.code(), &error.to_string());
        Ok(self.resources().push(error)?)
    }

    fn done(&mut self, done: Result<(), StreamError>) -> wasmtime::Result<Done> {
        match done {
            Ok(()) => Ok(Ok(())),
            Err(error) => Ok(Err(self.refused(&error)?)),
        }
    }

    fn too_many(&mut self) -> wasmtime::Result<Resource<GuestError>> {
        let error = GuestError::new("TooMany", "the plugin has as many connections as it may have");
        Ok(self.resources().push(error)?)
    }
}

/// The process whose network is the pod's, once it is known.
async fn process(
    containers: Option<&dyn CommandRunner>,
    probe: &ProbeFacts,
    deadline: Instant,
) -> Result<u32, StreamError> {
    let containers = containers.ok_or(LoopbackError::NoProcess)?;
    let asking = containers.process(&probe.request.container_id);
    let found = tokio::time::timeout_at(deadline, asking).await.map_err(|_| StreamError::Timeout)?;
    Ok(found.ok().flatten().ok_or(LoopbackError::NoProcess)?)
}

impl wit::Host for AsyncState {
    async fn open(
        &mut self,
        target: Resource<TargetHandle>,
        host: String,
        port: u16,
    ) -> wasmtime::Result<Opened> {
        let deadline = self.wait_deadline(self.target(&target)?);
        if !self.count_connection() {
            return Ok(Err(self.too_many()?));
        }
        let (egress, _, reach) = self.tls_egress();
        let opened = egress.open(&reach, &host, port, deadline).await;
        self.opened(opened)
    }

    async fn open_loopback(&mut self, target: Resource<TargetHandle>, port: u16) -> wasmtime::Result<Opened> {
        let probe = self.target(&target)?.clone();
        let deadline = self.wait_deadline(&probe);
        if !self.count_connection() {
            return Ok(Err(self.too_many()?));
        }
        let (egress, _, reach) = self.tls_egress();
        let containers = self.containers();
        let opened: Result<Connection, StreamError> = async {
            if !reach.permits_pod_loopback() {
                return Err(LoopbackError::Denied.into());
            }
            let before = process(containers.as_deref(), &probe, deadline).await?;
            let connection = egress.open_loopback(&reach, before, port, deadline).await?;
            // Its number may have been another process' meanwhile.
            match process(containers.as_deref(), &probe, deadline).await? == before {
                true => Ok(connection),
                false => Err(LoopbackError::NoProcess.into()),
            }
        }
        .await;
        self.opened(opened)
    }
}

impl wit::HostConnection for AsyncState {
    async fn start_tls(
        &mut self,
        connection: Resource<OpenConnection>,
        server_name: String,
    ) -> wasmtime::Result<Done> {
        let (egress, policy, _) = self.tls_egress();
        let (connection, deadline) = self.connection(&connection)?;
        let done = connection.start_tls(&egress, policy, &server_name, deadline).await;
        self.done(done)
    }

    async fn write(
        &mut self,
        connection: Resource<OpenConnection>,
        bytes: Vec<u8>,
    ) -> wasmtime::Result<Done> {
        let (connection, deadline) = self.connection(&connection)?;
        let done = connection.write_all(&bytes, deadline).await;
        self.done(done)
    }

    async fn read(
        &mut self,
        connection: Resource<OpenConnection>,
        length: u64,
    ) -> wasmtime::Result<Result<Vec<u8>, Resource<GuestError>>> {
        let (connection, deadline) = self.connection(&connection)?;
        let length = usize::try_from(length).unwrap_or(READ_BYTES_MAX);
        match connection.read(length, deadline).await {
            Ok(bytes) => Ok(Ok(bytes)),
            Err(error) => Ok(Err(self.refused(&error)?)),
        }
    }

    async fn shutdown(&mut self, connection: Resource<OpenConnection>) -> wasmtime::Result<Done> {
        let (connection, deadline) = self.connection(&connection)?;
        let done = connection.shutdown(deadline).await;
        self.done(done)
    }

    fn peer_certificates(&mut self, connection: Resource<OpenConnection>) -> wasmtime::Result<Vec<Vec<u8>>> {
        Ok(self.connection(&connection)?.0.peer_certificates())
    }

    fn drop(&mut self, connection: Resource<OpenConnection>) -> wasmtime::Result<()> {
        self.resources().delete(connection)?;
        Ok(())
    }
}
