//! Patience with a machine that others keep busy: what finds no answer in time is tried again, before the plugin is taken for the
//! reason and not the machine.

use witlet_wasm::plugin::CallError;

/// How often a call is made that finds no answer in time, before the plugin is taken for the reason and not the machine.
pub(crate) const TRIES: usize = 3;
/// How often a call is made that the machine has no turn for.
const TURNS_MAX: usize = 10;

/// Does something until it says something about the plugin: an answer that comes too late may be the machine's fault, and that
/// there was no turn for it always is. `error` is why there is no answer, if there is none.
pub(crate) async fn patiently<T>(again: impl AsyncFn() -> T, error: impl Fn(&T) -> Option<&CallError>) -> T {
    let (mut late, mut got) = (0, again().await);
    for _ in 1..TURNS_MAX {
        let Some(CallError::Timeout { .. } | CallError::Busy | CallError::Host) = error(&got) else { break };
        late += usize::from(matches!(error(&got), Some(CallError::Timeout { .. })));
        if late == TRIES {
            break;
        }
        got = again().await;
    }
    got
}
