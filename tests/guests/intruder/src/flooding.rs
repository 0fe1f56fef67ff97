//! Attacks by calling the host again and again, or with very much at once.

use wasip2::clocks::{monotonic_clock, wall_clock};
use wasip2::http::types::Fields;
use wasip2::random::random::{get_random_bytes, get_random_u64};

use crate::bindings::witlet::host::config;
use crate::bindings::witlet::host::log::{self, Level};
use crate::reported_until;

#[allow(clippy::print_stdout, clippy::print_stderr, reason = "standard output is what it floods")]
pub(crate) fn run(word: &str, _aim: &str) -> Option<String> {
    match word {
        "log-forever" => loop {
            log::write(Level::Error, "spam", &[]);
        },
        "log-lines" => (0..10_000).for_each(|line| log::write(Level::Warn, &format!("line {line}"), &[])),
        "log-line" => log::write(Level::Error, &"x".repeat(1 << 20), &[]),
        "log-giant-line" => log::write(Level::Error, &"x".repeat(6 << 20), &[]),
        "log-escapes" => {
            let field = ("\u{1b}[31mkey\n".to_owned(), "value\r\nERROR another line".to_owned());
            log::write(Level::Info, "\u{1b}[2J\nERROR a forged line", &[field]);
        }
        "print-forever" => loop {
            println!("spam");
        },
        "print-line" => eprintln!("{}", "x".repeat(3 << 20)),
        "config-forever" => loop {
            std::hint::black_box(config::get());
        },
        "clocks-forever" => loop {
            std::hint::black_box((monotonic_clock::now(), wall_clock::now()));
        },
        "random-forever" => loop {
            std::hint::black_box(get_random_u64());
        },
        "random-terabyte" => _ = std::hint::black_box(get_random_bytes(1 << 40)),
        "pollables" => {
            return Some(reported_until(
                |_| Ok::<_, ()>(monotonic_clock::subscribe_duration(1 << 60)),
                1_000_000,
            ));
        }
        "fields" => return Some(reported_until(|_| Ok::<_, ()>(Fields::new()), 1_000_000)),
        "headers" => {
            let fields = Fields::new();
            let value = vec![b'x'; 1000];
            return Some(reported_until(|number| fields.append(&format!("x-{number}"), &value), 1_000_000));
        }
        "header" => {
            let fields = Fields::new();
            return Some(crate::reported(fields.append("x-long", &vec![b'x'; 1 << 20])));
        }
        _ => return None,
    }
    Some("came back".to_owned())
}
