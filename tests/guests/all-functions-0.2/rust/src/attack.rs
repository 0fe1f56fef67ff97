//! What a plugin may do to its host: the attack that the configuration names (`{do: attack, attack: NAME}`).
#![allow(clippy::panic, clippy::disallowed_methods, reason = "they are the attacks")]

use std::time::Duration;

use crate::bindings::witlet::admission::admission_types::Answer;
use crate::bindings::witlet::host::log::Level;
use crate::host;

/// An answer far beyond what a host takes at once.
const HUGE: usize = 8 << 20;

/// Attacks; few of them return.
pub(crate) fn run(name: &str, answer: &Answer) {
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
        "recurse" => answer.reject("Recursed", &recurse(u64::MAX).to_string()),
        "crash" => panic!("a crash of the plugin's own"),
        "exit" => std::process::exit(1),
        "sleep" => std::thread::sleep(Duration::from_secs(86_400)),
        "log-forever" => loop {
            host::log(Level::Error, "spam");
        },
        "print-forever" => loop {
            spam();
        },
        "huge-answer" => answer.reject("Huge", &"x".repeat(HUGE)),
        other => answer.reject("Unknown", other),
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
