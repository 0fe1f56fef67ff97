//! Signals by name: Kubernetes has `SIGRTMIN+1` where the CRI has `SIGRTMINPLUS1`.

use witlet_proto::cri::Signal;

/// The CRI's signal of this name; none if it knows none.
pub(crate) fn from_name(name: &str) -> Option<Signal> {
    let name = name.replace('+', "PLUS").replace('-', "MINUS");
    Signal::from_str_name(&name).filter(|signal| *signal != Signal::RuntimeDefault)
}

/// The name of the CRI's signal; none if it says nothing, or one of a later release.
pub(crate) fn name_of(signal: i32) -> Option<String> {
    match Signal::try_from(signal) {
        Ok(Signal::RuntimeDefault) | Err(_) => None,
        Ok(signal) => Some(signal.as_str_name().replace("PLUS", "+").replace("MINUS", "-")),
    }
}

#[cfg(test)]
mod tests;
