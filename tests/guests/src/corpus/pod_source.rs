//! Pod sources, which may keep files, wait for long, and bring pods.

use super::Expected::{Bounded, Fails, Refused, Tells};
use super::Role::PodSource;
use super::{Attack, Expected, LONGER, Origin, SECOND};

const fn written(name: &'static str, timeout: u32, expected: Expected) -> Attack {
    Attack::written(name, PodSource, timeout, expected)
}

const fn intruder(name: &'static str, config: &'static str, timeout: u32, expected: Expected) -> Attack {
    Attack::intruder(name, PodSource, config, timeout, expected)
}

const fn kept(name: &'static str, config: &'static str, expected: Expected) -> Attack {
    intruder(name, config, LONGER, expected).granted("state: true")
}

const fn brings(name: &'static str, config: &'static str, expected: Expected) -> Attack {
    Attack { origin: Origin::Sourcer, ..intruder(name, config, LONGER, expected) }
}

const TIMED_OUT: Expected = Fails("no answer within 1000ms");
const TOO_MUCH: Expected = Fails("it passed more than 16777216 bytes in one call");
const VALIDATED: Expected = Refused(&["while it validated its configuration", "no answer within 1000ms"]);
const TOO_MANY: Expected = Fails("files and folders in /state");
const ESCAPED: Expected = Tells("not-permitted");

pub(super) const ATTACKS: &[Attack] = &[
    written("source-other-answer", LONGER, Refused(&["expected `record` found `string`"])),
    written("source-loop-at-start", LONGER, VALIDATED),
    written("source-grow-at-start", LONGER, Refused(&["it exceeded its memory limit of 67108864 bytes"])),
    written("source-loop-in-validate", LONGER, VALIDATED),
    written("source-loop-in-second-realloc", LONGER, Bounded),
    written("source-loop-after-return", SECOND, TIMED_OUT),
    written("source-trap-after-return", LONGER, Fails("unreachable")),
    written("source-forged-pods", LONGER, Fails("out of bounds")),
    written("source-same-pod-again", LONGER, TOO_MUCH),
    written("source-many-manifests", LONGER, Fails("100000")),
    written("source-pods-no-text", LONGER, Fails("invalid utf-8")),
    written("source-pods-misaligned", LONGER, Fails("not aligned")),
    written("source-forged-snapshot", LONGER, Fails("unexpected discriminant")),
    written("source-cursor-beyond-memory", LONGER, Fails("out of bounds")),
    Attack { memory: "128Mi", ..written("source-cursor-hundred-megabytes", LONGER, TOO_MUCH) },
    written("source-cursor-of-all-memory", LONGER, Fails("cursor")),
    written("source-again-at-once", LONGER, Bounded),
    written("source-never-again", LONGER, Bounded),
    written("source-no-reason", LONGER, Fails("reason")),
    written("source-misaligned-answer", LONGER, Fails("not aligned")),
    written("source-answer-beyond-memory", LONGER, Fails("out of bounds")),
    written("source-indirect-recursion", LONGER, Fails("it ran out of stack")),
    intruder("source-spin", "spin", SECOND, TIMED_OUT),
    intruder("source-wait-for-ever", "wait-for-ever", SECOND, TIMED_OUT),
    intruder("source-grow", "grow", LONGER, Fails("it exceeded its memory limit of 67108864 bytes")),
    intruder("source-recurse-indirectly", "recurse-indirectly", LONGER, Fails("it ran out of stack")),
    intruder("source-exit", "exit 3", LONGER, Fails("it exited with code 1")),
    intruder("source-print-forever", "print-forever", SECOND, TIMED_OUT),
    intruder("source-escapes", "escapes", LONGER, Tells("forged")),
    intruder("source-connect-host", "connect {host}", LONGER, Tells("access-denied")),
    intruder("source-ungranted-file", "read canary", LONGER, Tells("no folder")),
    intruder("source-rebound", "get ip6-localhost:{port}/", LONGER, Tells("refused"))
        .granted("network: ['ip6-localhost:{port}']"),
    kept("source-dots", "read ../../canary", ESCAPED),
    kept("source-absolute", "read /etc/passwd", ESCAPED),
    kept("source-proc", "read /proc/self/environ", ESCAPED),
    kept("source-proc-root", "symlink /proc/self/root/etc/passwd", ESCAPED),
    kept("source-symlink", "symlink ../../canary", ESCAPED),
    kept("source-symlink-absolute", "symlink /etc/passwd", ESCAPED),
    kept("source-symlink-folder", "symlink-folder ../..", ESCAPED),
    kept("source-symlink-chain", "symlink-chain ../canary", ESCAPED),
    kept("source-hard-link", "hard-link ../../canary", Tells("refused")),
    kept("source-rename-out", "rename-out ../../stolen", ESCAPED),
    kept("source-write-out", "write ../../planted", ESCAPED),
    kept("source-folder-out", "make-folder ../../planted", ESCAPED),
    kept("source-null-in-name", "read can\0ary", Tells("refused")),
    kept("source-descriptors", "descriptors", Bounded),
    kept("source-entries", "entries", Bounded),
    kept("source-deep-folders", "deep-folders", TOO_MANY),
    kept("source-many-files", "many-files", TOO_MANY),
    kept("source-fill", "fill", Fails("MiB together")),
    kept("source-sparse", "sparse", Bounded),
    Attack { timeout: SECOND, ..kept("source-rewrite-forever", "rewrite-forever", Bounded) },
    intruder("source-read-only", "write planted", LONGER, ESCAPED)
        .granted("files: [{path: '{folder}', guestPath: /data}]"),
    brings("source-laughs", LAUGHS, Tells("")),
    brings("source-thousands", "{do: pods, text: 'kind: Pod', count: 10000}", Tells("")),
    brings("source-no-pods", "{do: no-pods}", Fails("the list of pods is empty")),
    brings("source-long-cursor", "{do: long-cursor}", Fails("cursor")),
    brings("source-bad-error", "{do: bad-error, text: x}", Fails("reason")),
    brings("source-other-namespace", POD_OF_ANOTHER, Tells("podSource.allow.namespaces")),
    brings("source-privileged", PRIVILEGED_POD, Tells("privileged")),
];

/// Nine levels of ten references each: a billion words.
const LAUGHS: &str = r#"{do: pods, text: "a: &a [l,l,l,l,l,l,l,l,l]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: &f [*e,*e,*e,*e,*e,*e,*e,*e,*e]\ng: &g [*f,*f,*f,*f,*f,*f,*f,*f,*f]\nh: &h [*g,*g,*g,*g,*g,*g,*g,*g,*g]\nkind: Pod\n"}"#;
const POD_OF_ANOTHER: &str = r#"{do: pods, text: "{apiVersion: v1, kind: Pod, metadata: {name: web, namespace: kube-system}, spec: {containers: [{name: main, image: 'app:1'}]}}"}"#;
const PRIVILEGED_POD: &str = r#"{do: pods, text: "{apiVersion: v1, kind: Pod, metadata: {name: web, namespace: edge}, spec: {containers: [{name: main, image: 'app:1', securityContext: {privileged: true}}]}}"}"#;
