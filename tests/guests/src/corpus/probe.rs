//! Probe types, which may wait for as long as the probe has time, and reach what they are granted.

use super::Expected::{Bounded, Fails, Refused, Tells};
use super::Role::Probe;
use super::{Attack, Expected, LONGER, SECOND};

const fn written(name: &'static str, timeout: u32, expected: Expected) -> Attack {
    Attack::written(name, Probe, timeout, expected)
}

const fn intruder(name: &'static str, config: &'static str, timeout: u32, expected: Expected) -> Attack {
    Attack::intruder(name, Probe, config, timeout, expected)
}

const fn network(name: &'static str, config: &'static str, timeout: u32, expected: Expected) -> Attack {
    intruder(name, config, timeout, expected).granted("network: [pod]")
}

const TIMED_OUT: Expected = Fails("no answer within 1000ms");
const TOO_MUCH: Expected = Fails("it passed more than 2097152 bytes in one call");
const NO_MEMORY: Expected = Fails("it exceeded its memory limit of 16777216 bytes");
const VALIDATED: Expected = Refused(&["while it validated its configuration", "no answer within 1000ms"]);
/// A probe that waits has failed, and its type did nothing wrong.
const WAITED: Expected = Tells("no answer within 1s");
const DENIED: Expected = Tells("access-denied");

pub(super) const ATTACKS: &[Attack] = &[
    written("probe-loop-at-start", LONGER, VALIDATED),
    written("probe-loop-at-initialize", LONGER, VALIDATED),
    written("probe-trap-at-start", LONGER, Refused(&["it trapped", "unreachable"])),
    written("probe-grow-at-start", LONGER, Refused(&["it exceeded its memory limit of 16777216 bytes"])),
    written("probe-loop-in-validate", LONGER, VALIDATED),
    written("probe-loop-in-realloc", SECOND, TIMED_OUT),
    written("probe-call-in-realloc", LONGER, Fails("cannot leave")),
    written("probe-grow-in-realloc", LONGER, NO_MEMORY),
    written("probe-realloc-beyond-memory", LONGER, Fails("realloc return: beyond end of memory")),
    written("probe-realloc-misaligned", LONGER, Fails("realloc return: result not aligned")),
    written("probe-loop-after-return", SECOND, TIMED_OUT),
    written("probe-trap-after-return", LONGER, Fails("unreachable")),
    written("probe-call-after-return", LONGER, Fails("cannot leave")),
    written("probe-forged-target", LONGER, Fails("unknown handle index 77")),
    written("probe-dropped-twice", LONGER, Fails("unknown handle index")),
    written("probe-kept-target", LONGER, Fails("borrow handles still remain")),
    written("probe-words-no-text", LONGER, Fails("invalid utf-8")),
    written("probe-words-beyond-memory", LONGER, Fails("out of bounds")),
    written("probe-words-two-gigabytes", LONGER, Fails("out of bounds")),
    written("probe-words-of-all-memory", LONGER, TOO_MUCH),
    written("probe-forged-case", LONGER, Fails("unexpected discriminant")),
    written("probe-forged-result", LONGER, Fails("invalid expected discriminant")),
    written("probe-misaligned-answer", LONGER, Fails("not aligned")),
    written("probe-answer-beyond-memory", LONGER, Fails("out of bounds")),
    written("probe-indirect-recursion", LONGER, Fails("it ran out of stack")),
    written("probe-ask-for-ever", SECOND, TIMED_OUT),
    written("probe-long-pointer", LONGER, TOO_MUCH),
    written("probe-many-log-fields", LONGER, TOO_MUCH),
    written("probe-forged-level", LONGER, Fails("unexpected discriminant")),
    written("probe-grow-tables", LONGER, Fails("it exceeded its limit of 40000 table elements")),
    written("probe-throws", LONGER, Bounded),
    written("probe-collected-giant", LONGER, Bounded),
    written("probe-memory64", LONGER, Refused(&["memory64 must be enabled"])),
    written("probe-shared-memory", LONGER, Refused(&["threads must be enabled"])),
    written("probe-owned-target", LONGER, Fails("it trapped")),
    written("probe-other-answer", LONGER, Refused(&["expected `variant` found `string`"])),
    intruder("probe-spin", "spin", SECOND, TIMED_OUT),
    intruder("probe-spin-too", "spin", SECOND, TIMED_OUT),
    intruder("probe-validate-spin", "validate:spin", LONGER, VALIDATED),
    intruder("probe-validate-wait", "validate:wait-for-ever", LONGER, VALIDATED),
    intruder("probe-grow", "grow", LONGER, NO_MEMORY),
    intruder("probe-recurse", "recurse", LONGER, Fails("it ran out of stack")),
    intruder("probe-exit", "exit 0", LONGER, Fails("it exited with code 0")),
    intruder("probe-panic", "panic", LONGER, Fails("unreachable")),
    intruder("probe-huge-text", "huge-text", LONGER, TOO_MUCH),
    intruder("probe-long-text", "long-text", LONGER, Tells("xxx")),
    intruder("probe-log-forever", "log-forever", SECOND, TIMED_OUT),
    intruder("probe-log-lines", "log-lines", LONGER, Tells("came back")),
    intruder("probe-log-giant-line", "log-giant-line", LONGER, TOO_MUCH),
    intruder("probe-log-escapes", "log-escapes", LONGER, Tells("came back")),
    intruder("probe-print-forever", "print-forever", SECOND, TIMED_OUT),
    intruder("probe-config-forever", "config-forever", SECOND, TIMED_OUT),
    intruder("probe-clocks-forever", "clocks-forever", SECOND, TIMED_OUT),
    intruder("probe-random-forever", "random-forever", SECOND, TIMED_OUT),
    intruder("probe-random-terabyte", "random-terabyte", LONGER, Fails("it trapped")),
    intruder("probe-pollables", "pollables", LONGER, Fails("it trapped")),
    intruder("probe-fields", "fields", LONGER, Fails("it trapped")),
    intruder("probe-headers", "headers", LONGER, Bounded),
    intruder("probe-header", "header", LONGER, Bounded),
    intruder("probe-sleep-a-day", "sleep-a-day", SECOND, WAITED),
    intruder("probe-wait-for-ever", "wait-for-ever", SECOND, WAITED),
    intruder("probe-poll-nothing", "poll-nothing", LONGER, Fails("it trapped")),
    intruder("probe-poll-many", "poll-many", SECOND, Bounded),
    intruder("probe-nap-for-ever", "nap-for-ever", SECOND, Bounded),
    intruder("probe-read-stdin", "read-stdin", LONGER, Tells("Closed")),
    intruder("probe-own-thread", "own-thread", LONGER, Tells("refused: Unsupported")),
    intruder("probe-read-file", "read /etc/passwd", LONGER, Tells("no folder")),
    intruder("probe-ungranted-connect", "connect {server}", LONGER, DENIED),
    intruder("probe-ungranted-get", "get {server}/", LONGER, Tells("HttpRequestDenied")),
    network("probe-connect-other", "connect {other}", LONGER, DENIED),
    network("probe-connect-host", "connect {host}", LONGER, DENIED),
    network("probe-connect-mapped", "connect [::ffff:127.0.0.1]:{port}", LONGER, Tells("refused")),
    network("probe-connect-any", "connect 0.0.0.0:{port}", LONGER, Tells("refused")),
    network("probe-connect-metadata", "connect 169.254.169.254:80", LONGER, DENIED),
    network("probe-connect-metadata-6", "connect [fd00:ec2::254]:80", LONGER, DENIED),
    network("probe-get-other", "get {other}/", LONGER, Tells("HttpRequestDenied")),
    network("probe-get-metadata", "get 169.254.169.254/latest/meta-data", LONGER, Tells("HttpRequestDenied")),
    network("probe-get-mapped", "get [::ffff:127.0.0.1]:{port}/", LONGER, Tells("HttpRequestDenied")),
    network("probe-get-decimal", "get 2130706433:{port}/", LONGER, Tells("refused")),
    network("probe-redirected", "redirects {server}/away", LONGER, Tells("HttpRequestDenied")),
    network("probe-listen", "listen 0.0.0.0:0", LONGER, DENIED),
    network("probe-bind-privileged", "bind 0.0.0.0:22", LONGER, DENIED),
    network("probe-bind-other", "bind 127.0.0.1:0", LONGER, DENIED),
    network("probe-udp-bind", "udp-bind 0.0.0.0:53", LONGER, DENIED),
    network("probe-udp-other", "udp {other}", LONGER, DENIED),
    network("probe-udp-broadcast", "udp 255.255.255.255:9", LONGER, Tells("refused")),
    network("probe-udp-multicast", "udp 224.0.0.1:9", LONGER, DENIED),
    network("probe-udp-flood", "udp-flood {udp}", SECOND, Bounded),
    network("probe-udp-receive", "udp-receive", SECOND, Bounded),
    network("probe-never-read", "never-read {stream}", SECOND, WAITED),
    network("probe-write-for-ever", "write-for-ever {sink}", SECOND, WAITED),
    network("probe-connections", "connections {sink}", LONGER, Tells("new-socket-limit")),
    network("probe-sockets", "sockets", LONGER, Tells("new-socket-limit")),
    network("probe-lookup", "lookup localhost", LONGER, Tells("refused")),
    network("probe-lookups", "lookups example.invalid", LONGER, Bounded),
    // A name that many machines know, and that leads to the machine itself.
    intruder("probe-rebound", "lookup ip6-localhost", LONGER, Tells("refused"))
        .granted("network: ['ip6-localhost:{port}']"),
    intruder("probe-rebound-get", "get ip6-localhost:{port}/", LONGER, Tells("refused"))
        .granted("network: ['ip6-localhost:{port}']"),
    network("probe-trickle", "get-all {server}/trickle", SECOND, WAITED),
    network("probe-hold", "get {server}/hold", SECOND, WAITED),
    network("probe-endless-body", "get-all {server}/endless", SECOND, Bounded),
    network("probe-endless-head", "get {server}/head", LONGER, Bounded),
    network("probe-unfinished-request", "unfinished-request {server}/hold", SECOND, Bounded),
    network("probe-requests", "requests {server}/hold", LONGER, Bounded),
    network("probe-answers", "answers {server}/endless", LONGER, Bounded),
    network("probe-redirects", "redirects {server}/redirect", SECOND, Bounded),
];
