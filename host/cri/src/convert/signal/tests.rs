//! Names there and back.

use super::*;

#[test]
fn names_are_kubernetes_own() {
    for (name, signal) in [
        ("SIGTERM", Signal::Sigterm),
        ("SIGUSR1", Signal::Sigusr1),
        ("SIGRTMIN", Signal::Sigrtmin),
        ("SIGRTMIN+15", Signal::Sigrtminplus15),
        ("SIGRTMAX-1", Signal::Sigrtmaxminus1),
        ("SIGRTMAX", Signal::Sigrtmax),
    ] {
        assert_eq!(from_name(name), Some(signal), "{name}");
        assert_eq!(name_of(signal.into()).as_deref(), Some(name));
    }
}

#[test]
fn every_signal_of_the_cri_has_a_name_that_leads_back_to_it() {
    for number in 1..=65 {
        let signal = Signal::try_from(number).expect("the CRI has 65");
        let name = name_of(number).expect("it has a name");
        assert_eq!(from_name(&name), Some(signal), "{name}");
    }
}

#[test]
fn what_is_no_signal_has_none() {
    for name in ["", "TERM", "sigterm", "SIGRTMIN+16", "RUNTIME_DEFAULT", "SIGNOT"] {
        assert_eq!(from_name(name), None, "{name:?}");
    }
    for number in [0, 66, -1] {
        assert_eq!(name_of(number), None, "{number}");
    }
}
