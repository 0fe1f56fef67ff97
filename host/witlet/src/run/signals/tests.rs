//! Which signals are ignored, by what the kernel says, and the exit codes of those that aren't.

use super::*;

#[test]
fn the_mask_of_ignored_signals_is_read_bit_by_bit() {
    let cases = [
        ("Name:\twitlet\nSigIgn:\t0000000000000001\nSigCgt:\t0\n", 1, true),
        ("SigIgn:\t0000000000001000\n", 1, false),
        ("SigIgn:\t0000000000001000\n", 13, true),
        ("SigIgn:\t8000000000000000\n", 64, true),
        ("SigIgn:\tffffffffffffffff\n", 65, false),
        ("SigIgn:\tffffffffffffffff\n", 0, false),
        ("SigBlk:\t0000000000000001\n", 1, false),
        ("SigIgn:\tnonsense\n", 1, false),
        ("", 1, false),
    ];
    for (status, signal, expected) in cases {
        assert_eq!(is_ignored(status, signal), expected, "{signal} in {status:?}");
    }
}

#[test]
fn exit_codes_of_signals_are_a_shells() {
    let signals = [StopSignal::Hangup, StopSignal::Interrupt, StopSignal::Terminate];
    assert_eq!(signals.map(StopSignal::exit_code), [129, 130, 143]);
}
