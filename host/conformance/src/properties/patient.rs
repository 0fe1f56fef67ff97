//! A handler that is given time where the machine is to blame: one late answer says nothing about it.

use std::time::Duration;

use witlet_core::admission::{AdmissionRequest, Verdict};
use witlet_wasm::direct::Asked;
use witlet_wasm::plugin::{CallError, LoadError};

use crate::ctx::Handler;
use crate::hostile::patiently;
use crate::{Ctx, Setup};

/// What a handler has that was late again and again: what it computes in it is looked at, and not how long it took.
const TIME: Duration = Duration::from_secs(2);

/// A handler, and the same one with more time.
pub(crate) struct Patient {
    handler: Handler,
    unhurried: Handler,
    timeout: Duration,
}

impl Patient {
    /// Loads both.
    pub(crate) async fn load(ctx: &Ctx<'_>, setup: &Setup) -> Result<Self, LoadError> {
        let unhurried = Setup { timeout: setup.timeout.max(TIME), ..setup.clone() };
        Ok(Self {
            handler: ctx.handler(setup).await?,
            unhurried: ctx.handler(&unhurried).await?,
            timeout: setup.timeout,
        })
    }

    /// Asks about a pod. No answer in time is one only where the handler computes for longer than it may.
    pub(crate) async fn ask(&self, request: &AdmissionRequest) -> Asked<Verdict> {
        let asked = patiently(async || self.handler.ask(request).await).await;
        if !matches!(asked.result, Err(CallError::Timeout { .. })) {
            return asked;
        }
        let again = self.unhurried.ask(request).await;
        if is_late(&again, self.timeout) { asked } else { again }
    }
}

/// Whether a handler with more time shows that its own time isn't enough.
fn is_late<T>(again: &Asked<T>, timeout: Duration) -> bool {
    matches!(again.result, Err(CallError::Timeout { .. })) || again.cpu.is_some_and(|cpu| cpu > timeout)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_computes_for_too_long_is_late_and_what_waited_for_its_turn_is_not() {
        let timeout = Duration::from_millis(100);
        let asked =
            |result, cpu| Asked { cpu: Some(Duration::from_millis(cpu)), ..Asked::unmeasured(result) };
        assert!(!is_late(&asked(Ok(()), 3), timeout));
        assert!(is_late(&asked(Ok(()), 300), timeout));
        assert!(is_late(&asked(Err(CallError::Timeout { limit: TIME }), 50), timeout));
        assert!(!is_late(&asked(Err(CallError::StackOverflow), 50), timeout));
    }
}
