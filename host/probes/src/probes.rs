//! The probe types behind their port.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use witlet_core::probe::{ProbeCheck, ProbeOutcome};
use witlet_core::runtime::ContainerId;
use witlet_ports::{Containers, ProbeError, ProbeTypes};

use crate::http::Target;
use crate::{connect, exec, grpc, http};

/// Probes from the host, and commands through the runtime.
#[derive(Clone)]
pub struct PlainProbes {
    containers: Arc<dyn Containers>,
}

impl PlainProbes {
    /// Commands run in these containers.
    pub fn new(containers: Arc<dyn Containers>) -> Self {
        Self { containers }
    }
}

#[async_trait]
impl ProbeTypes for PlainProbes {
    async fn probe(
        &self,
        container: &ContainerId,
        check: &ProbeCheck,
        timeout: Duration,
    ) -> Result<ProbeOutcome, ProbeError> {
        match check {
            ProbeCheck::Exec { command } => exec::probe(&*self.containers, container, command, timeout).await,
            ProbeCheck::HttpGet { scheme, host, port, path, headers } => {
                let target = Target { scheme: *scheme, host: host.clone(), port: *port, path: path.clone() };
                http::probe(target, headers, timeout).await
            }
            ProbeCheck::TcpSocket { host, port } => Ok(connect::probe(host, *port, timeout).await),
            ProbeCheck::Grpc { host, port, service } => Ok(grpc::probe(host, *port, service, timeout).await),
        }
    }
}
