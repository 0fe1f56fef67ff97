//! Admission handlers, which may neither wait nor reach anything.

use super::Expected::{Fails, Refused, Tells};
use super::Role::Admission;
use super::{Attack, Expected, LONG, SHORT};

const fn written(name: &'static str, timeout: u32, expected: Expected) -> Attack {
    Attack::written(name, Admission, timeout, expected)
}

const fn intruder(name: &'static str, config: &'static str, timeout: u32, expected: Expected) -> Attack {
    Attack::intruder(name, Admission, config, timeout, expected)
}

const TIMED_OUT: Expected = Fails("no answer within 100ms");
const TOO_MUCH: Expected = Fails("it passed more than 2097152 bytes in one call");
const WAITED: Expected = Fails("and in admission nothing may wait");

pub(super) const ATTACKS: &[Attack] = &[
    written("loop-in-realloc", SHORT, TIMED_OUT),
    written("realloc-beyond-memory", LONG, Fails("realloc return: beyond end of memory")),
    written("loop-after-return", SHORT, TIMED_OUT),
    written("ask-for-ever", SHORT, TIMED_OUT),
    written("hoard-handles", LONG, Fails("handle limit exceeded")),
    written("forge-a-handle", LONG, Fails("unknown handle index 77")),
    written("drop-twice", LONG, Fails("unknown handle index")),
    written("long-pointer", LONG, TOO_MUCH),
    written("pointer-that-is-no-text", LONG, Fails("invalid utf-8")),
    written("many-log-fields", LONG, TOO_MUCH),
    written("forged-list", LONG, Fails("out of bounds")),
    written("forged-case", LONG, Fails("unexpected discriminant")),
    written("forty-thousand-shortages", LONG, Fails("40000 shortages are more than 64")),
    written("grow-tables", LONG, Fails("it exceeded its limit of 40000 table elements")),
    written("memory64", LONG, Refused(&["memory64 must be enabled"])),
    written("shared-memory", LONG, Refused(&["threads must be enabled"])),
    written("giant-answer", LONG, Refused(&["more than 16384 values"])),
    written("many-imports", LONG, Refused(&["more than 256 imports"])),
    intruder("admission-spin", "spin", SHORT, TIMED_OUT),
    intruder("admission-grow", "grow", LONG, Fails("it exceeded its memory limit of 16777216 bytes")),
    intruder("admission-recurse", "recurse", LONG, Fails("it ran out of stack")),
    intruder("admission-recurse-indirectly", "recurse-indirectly", LONG, Fails("it ran out of stack")),
    intruder("admission-exit", "exit 1", LONG, Fails("it exited with code 1")),
    intruder("admission-abort", "abort", LONG, Fails("unreachable")),
    intruder("admission-huge-text", "huge-text", LONG, TOO_MUCH),
    intruder("admission-long-text", "long-text", LONG, Tells("xxx…")),
    intruder("admission-escapes", "escapes", LONG, Tells("forged line")),
    intruder("admission-own-thread", "own-thread", LONG, Tells("refused: Unsupported")),
    intruder("admission-log-forever", "log-forever", SHORT, TIMED_OUT),
    intruder("admission-log-lines", "log-lines", LONG, Tells("came back")),
    intruder("admission-log-line", "log-line", LONG, Tells("came back")),
    intruder("admission-log-giant-line", "log-giant-line", LONG, TOO_MUCH),
    intruder("admission-log-escapes", "log-escapes", LONG, Tells("came back")),
    intruder("admission-print-forever", "print-forever", SHORT, TIMED_OUT),
    intruder("admission-print-line", "print-line", LONG, Tells("came back")),
    intruder("admission-config-forever", "config-forever", SHORT, TIMED_OUT),
    intruder("admission-clocks-forever", "clocks-forever", SHORT, TIMED_OUT),
    intruder("admission-random-forever", "random-forever", SHORT, TIMED_OUT),
    intruder("admission-random-terabyte", "random-terabyte", LONG, Fails("it trapped")),
    intruder("admission-pollables", "pollables", LONG, Fails("it trapped")),
    intruder("admission-headers", "headers", LONG, Tells("refused after 0")),
    intruder("admission-sleep-a-day", "sleep-a-day", LONG, WAITED),
    intruder("admission-wait-for-ever", "wait-for-ever", LONG, WAITED),
    intruder("admission-poll-nothing", "poll-nothing", LONG, Fails("it trapped")),
    intruder("admission-poll-many", "poll-many", LONG, Fails("handle limit exceeded")),
    intruder("admission-read-stdin", "read-stdin", LONG, Tells("Closed")),
    intruder("admission-connect-host", "connect {host}", LONG, Tells("access-denied")),
    intruder("admission-connect-metadata", "connect 169.254.169.254:80", LONG, Tells("access-denied")),
    intruder("admission-listen", "listen 0.0.0.0:0", LONG, Tells("access-denied")),
    intruder("admission-udp", "udp {host}", LONG, Tells("access-denied")),
    intruder("admission-lookup", "lookup localhost", LONG, Tells("refused")),
    intruder("admission-get", "get {host}/", LONG, Tells("HttpRequestDenied")),
    intruder("admission-read-file", "read /etc/passwd", LONG, Tells("no folder")),
];
