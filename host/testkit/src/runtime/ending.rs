//! What ends containers and sandboxes, and calls of it that are cut.

use std::future::{Future, pending};
use std::time::Duration;

use witlet_core::runtime::{ContainerId, SandboxId, SandboxState};
use witlet_ports::{Clock, RuntimeError};

use super::cut::Fate;
use super::{ASKED, Behaviour, FakeRuntime, KILLED};

impl FakeRuntime {
    /// How many calls stopped or removed a container or a sandbox.
    pub fn ending_calls(&self) -> usize {
        self.lock().cuts.calls
    }

    /// Of these calls the one of this number from now on, the next one being 0, and all that follow are never answered. The first of
    /// them is carried out, or isn't.
    pub fn cut_ending_call(&self, number: usize, is_carried_out: bool) {
        self.lock().cuts.set(number, is_carried_out);
    }

    /// Whether a call has been cut since it was to be; then calls are answered again.
    pub fn take_call_cut(&self) -> bool {
        self.lock().cuts.take()
    }

    /// Carries the call out unless it is cut before.
    pub(super) async fn unless_cut<T>(&self, call: impl Future<Output = T> + Send) -> T {
        let fate = self.lock().cuts.next();
        if fate == Fate::Lost {
            return pending().await;
        }
        let outcome = call.await;
        if fate == Fate::Answered { outcome } else { pending().await }
    }

    pub(super) async fn stop_sandbox(&self, id: &SandboxId) -> Result<(), RuntimeError> {
        let now = self.clock.now();
        let mut inner = self.answer("StopPodSandbox")?;
        for container in inner.containers.values_mut().filter(|container| container.sandbox == *id) {
            container.end(now, KILLED);
        }
        let name = inner.sandbox_name(id);
        if let Some(sandbox) = inner.sandbox_mut(id).filter(|sandbox| sandbox.state == SandboxState::Ready) {
            sandbox.state = SandboxState::NotReady;
            sandbox.ip = None;
            self.record(&mut inner, "stop sandbox", &name);
        }
        Ok(())
    }

    pub(super) async fn remove_sandbox(&self, id: &SandboxId) -> Result<(), RuntimeError> {
        if self.answer("RemovePodSandbox")?.hangs(id) {
            return pending().await;
        }
        let mut inner = self.lock();
        let name = inner.sandbox_name(id);
        let before = inner.sandboxes.len();
        inner.sandboxes.retain(|_, sandbox| sandbox.id != *id);
        inner.containers.retain(|_, container| container.sandbox != *id);
        if inner.sandboxes.len() < before {
            self.record(&mut inner, "remove sandbox", &name);
        }
        Ok(())
    }

    pub(super) async fn stop_container(&self, id: &ContainerId, grace: Duration) -> Result<(), RuntimeError> {
        let behaviour = {
            let mut inner = self.answer("StopContainer")?;
            let running = inner.container_mut(id).filter(|c| c.state().may_run());
            let Some(behaviour) = running.map(|container| container.behaviour) else { return Ok(()) };
            let name = inner.container_name(id);
            self.record(&mut inner, &format!("stop within {}s", grace.as_secs()), &name);
            behaviour
        };
        let code = match behaviour {
            Behaviour::Sleeps | Behaviour::Exits { .. } => ASKED,
            Behaviour::EndsWell => 0,
            Behaviour::IgnoresStop => {
                tokio::time::sleep(grace).await;
                KILLED
            }
            Behaviour::CannotBeStopped => pending().await,
        };
        let now = self.clock.now();
        let mut inner = self.lock();
        let name = inner.container_name(id);
        if let Some(container) = inner.container_mut(id) {
            container.end(now, code);
            self.record(&mut inner, &format!("ended with {code}"), &name);
        }
        Ok(())
    }

    pub(super) async fn remove_container(&self, id: &ContainerId) -> Result<(), RuntimeError> {
        let hangs = {
            let mut inner = self.answer("RemoveContainer")?;
            let sandbox = inner.container_mut(id).map(|container| container.sandbox.clone());
            sandbox.is_some_and(|sandbox| inner.hangs(&sandbox))
        };
        if hangs {
            return pending().await;
        }
        let mut inner = self.lock();
        let name = inner.container_name(id);
        let before = inner.containers.len();
        inner.containers.retain(|_, container| container.id != *id);
        if inner.containers.len() < before {
            self.record(&mut inner, "remove", &name);
        }
        Ok(())
    }
}
