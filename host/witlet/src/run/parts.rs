//! Tasks that run as long as the agent: one that ends before, however, ends the process with its name.

use std::any::Any;
use std::collections::HashMap;
use std::future::Future;

use thiserror::Error;
use tokio::task::{Id, JoinError, JoinSet};
use tokio_util::sync::CancellationToken;

#[cfg(test)]
mod tests;

/// A task ended that shouldn't have.
#[derive(Debug, Error, PartialEq, Eq)]
pub(crate) enum PartError {
    /// It returned while the agent ran.
    #[error("{name} ended unexpectedly")]
    Ended { name: &'static str },
    #[error("{name} panicked: {message}")]
    Panicked { name: &'static str, message: String },
}

/// The tasks.
#[derive(Default)]
pub(crate) struct Parts {
    tasks: JoinSet<Result<(), PartError>>,
    names: HashMap<Id, &'static str>,
}

impl Parts {
    /// Starts one that has nothing to tell at its end.
    pub(crate) fn spawn(&mut self, name: &'static str, part: impl Future<Output = ()> + Send + 'static) {
        self.spawn_whole(name, async move {
            part.await;
            Ok(())
        });
    }

    /// Starts one that has parts itself.
    pub(crate) fn spawn_whole(
        &mut self,
        name: &'static str,
        part: impl Future<Output = Result<(), PartError>> + Send + 'static,
    ) {
        let id = self.tasks.spawn(part).id();
        self.names.insert(id, name);
    }

    /// Returns when all have ended after `stop` was cancelled; the others are dropped when one ends before, or panics.
    ///
    /// # Errors
    /// The first task that ended unexpectedly.
    pub(crate) async fn run(mut self, stop: &CancellationToken) -> Result<(), PartError> {
        while let Some(ended) = self.tasks.join_next_with_id().await {
            let name = |id| self.names.get(&id).copied().unwrap_or("a task");
            match ended {
                Ok((_, Ok(()))) if stop.is_cancelled() => {}
                Ok((id, Ok(()))) => return Err(PartError::Ended { name: name(id) }),
                Ok((_, Err(error))) => return Err(error),
                Err(error) => {
                    return Err(PartError::Panicked { name: name(error.id()), message: words(error) });
                }
            }
        }
        Ok(())
    }
}

/// Returns what a panic said.
fn words(error: JoinError) -> String {
    let Ok(panic) = error.try_into_panic() else { return "it was cancelled".to_owned() };
    let panic: &(dyn Any + Send) = &*panic;
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "without a message".to_owned())
}
