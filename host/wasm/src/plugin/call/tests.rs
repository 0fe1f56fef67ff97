//! Which calls go on after their time, and when they have to begin.

use super::*;

#[test]
fn a_call_goes_on_after_its_time_only_where_others_had_the_processor() {
    let ms = Duration::from_millis;
    let cases = [
        ("it computed all the time", ms(100), 0, None),
        ("a little less, as clocks have it", ms(98), 0, None),
        ("three quarters are its own", ms(75), 0, None),
        ("others had a quarter", ms(74), 0, Some(ms(26))),
        ("others had all of it", ms(0), 0, Some(ms(100))),
        ("again", ms(90), 3, None),
        ("again, with little progress", ms(10), 99, Some(ms(90))),
        ("so often that it has to end", ms(10), 100, None),
        ("its clock says more than there was", ms(300), 0, None),
    ];
    for (what, cpu, prolongations, more) in cases {
        assert_eq!(more_time(ms(100), CallProgress { cpu, prolongations }), more, "{what}");
    }
}

#[test]
fn a_call_that_may_be_prolonged_may_begin_later_too() {
    let now = Instant::now();
    for (most, timeout) in [(100, 100), (10_100, 100)]
        .map(|(most, timeout)| (Duration::from_millis(most), Duration::from_millis(timeout)))
    {
        let wait = CallWait { start: None, most, timeout }.beginning(now);
        assert_eq!(wait.start, Some(now + most), "{timeout:?}");
    }
}

#[test]
fn a_guest_that_got_no_memory_ran_out_of_it_however_it_ended() {
    let limits = Limits::with_memory(1 << 20);
    let ended: [fn() -> wasmtime::Error; 4] = [
        || WouldBlock { call: "wasi:io/poll.poll" }.into(),
        || wasmtime_wasi::I32Exit(2).into(),
        || Trap::UnreachableCodeReached.into(),
        || wasmtime::Error::msg("anything"),
    ];
    let named = |error: &wasmtime::Error, hit| classify(error, hit, &limits, Duration::from_secs(1));
    for error in ended.map(|make| make()) {
        let of_memory = named(&error, Some(LimitHit::Memory));
        assert!(matches!(of_memory, CallError::OutOfMemory { limit: 1_048_576 }), "{error}: {of_memory:?}");
        let of_table = named(&error, Some(LimitHit::Table));
        assert!(matches!(of_table, CallError::OutOfTable { .. }), "{error}: {of_table:?}");
        let neither = named(&error, None);
        assert!(
            !matches!(neither, CallError::OutOfMemory { .. } | CallError::OutOfTable { .. }),
            "{neither:?}"
        );
    }
    // What it did afterwards is its own.
    for (trap, expected) in [
        (Trap::Interrupt, CallError::Timeout { limit: Duration::from_secs(1) }),
        (Trap::StackOverflow, CallError::StackOverflow),
    ] {
        let found = named(&trap.into(), Some(LimitHit::Memory));
        assert_eq!(found.to_string(), expected.to_string());
    }
}
