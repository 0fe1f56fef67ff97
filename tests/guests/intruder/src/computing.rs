//! Attacks by what a guest computes: time, memory, stack, and how it ends.

use std::cell::RefCell;

thread_local! {
    static HOARD: RefCell<Vec<Vec<u8>>> = const { RefCell::new(Vec::new()) };
}

#[allow(clippy::panic, clippy::disallowed_methods, reason = "they are the attacks")]
pub(crate) fn run(word: &str, aim: &str) -> Option<String> {
    match word {
        "good" => return Some("good".to_owned()),
        "spin" => loop {
            std::hint::spin_loop();
        },
        "grow" => loop {
            HOARD.with_borrow_mut(|hoard| hoard.push(vec![1; 1 << 20]));
        },
        "recurse" => _ = deep(1),
        "recurse-indirectly" => _ = std::hint::black_box(indirect as fn(u64) -> u64)(1),
        "exit" => std::process::exit(aim.parse().unwrap_or(0)),
        "abort" => std::process::abort(),
        "panic" => panic!("a panic of the plugin's"),
        "huge-text" => return Some("x".repeat(8 << 20)),
        "long-text" => return Some("x".repeat(1 << 20)),
        "escapes" => {
            return Some("\u{1b}[2J\u{7}\u{1b}]0;owned\u{9c}\r\nERROR forged line\u{202e}".to_owned());
        }
        "own-thread" => {
            let spawned = std::thread::Builder::new().spawn(|| ());
            return Some(crate::reported(spawned.map(|_| ()).map_err(|error| error.kind())));
        }
        _ => return None,
    }
    Some("came back".to_owned())
}

#[allow(unconditional_recursion, reason = "it is the attack")]
fn deep(level: u64) -> u64 {
    std::hint::black_box(deep(std::hint::black_box(level + 1))) + 1
}

fn indirect(level: u64) -> u64 {
    let next = std::hint::black_box(indirect as fn(u64) -> u64);
    std::hint::black_box(next(std::hint::black_box(level + 1))) + 1
}
