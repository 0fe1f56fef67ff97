//! What a plugin may do to its host: the attack that the configuration names (`answer: {attack: NAME}`).
#![allow(clippy::panic, clippy::disallowed_methods, reason = "they are the attacks")]

use std::time::Duration;

use witlet_plugin_sdk::log::{self, Level};
use witlet_plugin_sdk::{Error, Verdict};

/// An answer far beyond what a host takes at once.
const HUGE: usize = 8 << 20;

/// Attacks; few of them return.
pub(crate) fn run(name: &str) -> Result<Verdict, Error> {
    match name {
        "spin" => loop {
            std::hint::black_box(name);
        },
        "grow" => {
            let mut kept = Vec::new();
            loop {
                kept.push(vec![1_u8; 1 << 20]);
                std::hint::black_box(&kept);
            }
        }
        "recurse" => Ok(Verdict::reject("Recursed", recurse(u64::MAX).to_string())),
        "crash" => panic!("a crash of the plugin's own"),
        "exit" => std::process::exit(1),
        "sleep" => {
            std::thread::sleep(Duration::from_secs(86_400));
            Ok(Verdict::Admit)
        }
        "log-forever" => loop {
            log::write(Level::Error, "spam", &[("language", "rust")]);
        },
        "print-forever" => loop {
            spam();
        },
        "huge-answer" => Ok(Verdict::reject("Huge", "x".repeat(HUGE))),
        other => Err(Error::nothing_found(format!("unknown attack {other}"))),
    }
}

fn recurse(depth: u64) -> u64 {
    let frame = std::hint::black_box([depth; 64]);
    if depth == 0 { frame[0] } else { recurse(depth - 1).wrapping_add(std::hint::black_box(frame)[63]) }
}

#[allow(clippy::print_stdout, reason = "standard output is what it floods")]
fn spam() {
    println!("spam");
}
