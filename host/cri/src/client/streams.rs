//! Streams to containers and sandboxes: the runtime gives the address, and nothing else goes through here.

use async_trait::async_trait;
use witlet_core::runtime::{ContainerId, SandboxId};
use witlet_ports::{RuntimeError, StreamOptions, Streaming};
use witlet_proto::cri;

use super::CriClient;
use crate::connection::request;

#[async_trait]
impl Streaming for CriClient {
    async fn exec(
        &self,
        id: &ContainerId,
        command: &[String],
        options: StreamOptions,
    ) -> Result<String, RuntimeError> {
        const CALL: &str = "Exec";
        let limit = self.deadlines.request;
        let exec = cri::ExecRequest {
            container_id: id.to_string(),
            cmd: command.to_vec(),
            tty: options.tty,
            stdin: options.stdin,
            stdout: options.stdout,
            stderr: options.stderr,
        };
        let mut client = self.runtime.runtime_service();
        let answer = self.runtime.answer(CALL, limit, client.exec(request(exec, limit))).await?;
        url(CALL, answer.url)
    }

    async fn attach(&self, id: &ContainerId, options: StreamOptions) -> Result<String, RuntimeError> {
        const CALL: &str = "Attach";
        let limit = self.deadlines.request;
        let attach = cri::AttachRequest {
            container_id: id.to_string(),
            stdin: options.stdin,
            tty: options.tty,
            stdout: options.stdout,
            stderr: options.stderr,
        };
        let mut client = self.runtime.runtime_service();
        let answer = self.runtime.answer(CALL, limit, client.attach(request(attach, limit))).await?;
        url(CALL, answer.url)
    }

    async fn port_forward(&self, id: &SandboxId, ports: &[u16]) -> Result<String, RuntimeError> {
        const CALL: &str = "PortForward";
        let limit = self.deadlines.request;
        let forward = cri::PortForwardRequest {
            pod_sandbox_id: id.to_string(),
            port: ports.iter().copied().map(i32::from).collect(),
        };
        let mut client = self.runtime.runtime_service();
        let answer = self.runtime.answer(CALL, limit, client.port_forward(request(forward, limit))).await?;
        url(CALL, answer.url)
    }
}

fn url(call: &'static str, url: String) -> Result<String, RuntimeError> {
    if url.is_empty() {
        return Err(RuntimeError::Malformed { call, message: "the URL is empty".to_owned() });
    }
    Ok(url)
}
