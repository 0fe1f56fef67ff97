//! Attacks by waiting: for ever, for nothing, for what never comes.

use wasip2::cli::stdin::get_stdin;
use wasip2::clocks::monotonic_clock::subscribe_duration;
use wasip2::io::poll::poll;

use crate::reported;

const DAY_NANOSECONDS: u64 = 24 * 3600 * 1_000_000_000;

pub(crate) fn run(word: &str, _aim: &str) -> Option<String> {
    match word {
        "sleep-a-day" => subscribe_duration(DAY_NANOSECONDS).block(),
        "wait-for-ever" => subscribe_duration(u64::MAX).block(),
        "poll-nothing" => _ = poll(&[]),
        "poll-many" => {
            let one = subscribe_duration(u64::MAX);
            _ = poll(&vec![&one; 100_000]);
        }
        "read-stdin" => return Some(reported(get_stdin().blocking_read(1 << 40))),
        // Neither computes nor waits for long, again and again.
        "nap-for-ever" => loop {
            subscribe_duration(1).block();
        },
        _ => return None,
    }
    Some("came back".to_owned())
}
