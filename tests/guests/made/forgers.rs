//! Probe types and pod sources whose core modules are written by hand: what no compiler would make of any source.

use crate::encode::{self, World};

/// A plugin that attacks its host.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Forger {
    /// What it does.
    pub(crate) name: &'static str,
    role: Role,
    /// Imports, and what comes in addition to the functions that every plugin has.
    items: &'static str,
    /// What `validate` does before it is content.
    validate: &'static str,
    /// What `cabi_realloc` does before it returns `$to`.
    realloc: &'static str,
    /// What `probe` or `poll` does before it returns the answer at 1024: success with no words, or no pods.
    ask: &'static str,
    /// Words of the contract that it has replaced.
    instead: Option<(&'static str, &'static str)>,
}

#[derive(Clone, Copy, Debug)]
enum Role {
    Probe,
    PodSource,
}

const LOOP: &str = "(loop $l (br $l))";
const LOG: &str = r#"(import "witlet:host/log@0.1.0" "write" (func $log (param i32 i32 i32 i32 i32)))"#;
const JSON: &str =
    r#"(import "witlet:probe/types@0.1.0" "[method]target.pod-json" (func $json (param i32 i32)))"#;
const POINTER: &str = r#"(import "witlet:probe/types@0.1.0" "[method]target.pod-pointer" (func $pointer (param i32 i32 i32 i32)))"#;
const IPS: &str =
    r#"(import "witlet:probe/types@0.1.0" "[method]target.pod-ips" (func $ips (param i32 i32)))"#;
const LOOP_AT_START: &str = "(func $s (loop $l (br $l))) (start $s)";
const LOOP_AT_INITIALIZE: &str = r#"(func (export "_initialize") (loop $l (br $l)))"#;
const GROW_AT_START: &str = "(func $s (loop $l (br_if $l (i32.ne (memory.grow (i32.const 16)) (i32.const -1)))) unreachable) (start $s)";
const RECURSE: &str = "(table funcref (elem $deep))
    (func $deep (param i32) (call_indirect (param i32) (i32.add (local.get 0) (i32.const 1)) (i32.const 0)))";

const fn probe(name: &'static str, items: &'static str, ask: &'static str) -> Forger {
    Forger { name, role: Role::Probe, items, validate: "", realloc: "", ask, instead: None }
}

const fn source(name: &'static str, items: &'static str, ask: &'static str) -> Forger {
    Forger { name, role: Role::PodSource, items, validate: "", realloc: "", ask, instead: None }
}

/// All of them. Memory is four megabytes of zeros; strings from the host go to 128 KiB.
pub(crate) const FORGERS: &[Forger] = &[
    probe("probe-loop-at-start", LOOP_AT_START, ""),
    probe("probe-loop-at-initialize", LOOP_AT_INITIALIZE, ""),
    probe("probe-trap-at-start", "(func $s unreachable) (start $s)", ""),
    probe("probe-grow-at-start", GROW_AT_START, ""),
    Forger { validate: LOOP, ..probe("probe-loop-in-validate", "", "") },
    Forger {
        realloc: "(if (global.get $asked) (then (loop $l (br $l))))",
        ..probe("probe-loop-in-realloc", JSON, "(call $json (local.get $target) (i32.const 2048))")
    },
    Forger {
        realloc: "(if (global.get $asked) (then
            (call $log (i32.const 2) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0))))",
        ..probe(
            "probe-call-in-realloc",
            r#"(import "witlet:host/log@0.1.0" "write" (func $log (param i32 i32 i32 i32 i32)))
               (import "witlet:probe/types@0.1.0" "[method]target.pod-json" (func $json (param i32 i32)))"#,
            "(call $json (local.get $target) (i32.const 2048))",
        )
    },
    Forger {
        realloc: "(if (global.get $asked) (then
            (loop $l (br_if $l (i32.ne (memory.grow (i32.const 16)) (i32.const -1)))) unreachable))",
        ..probe("probe-grow-in-realloc", JSON, "(call $json (local.get $target) (i32.const 2048))")
    },
    probe(
        "probe-realloc-beyond-memory",
        JSON,
        "(global.set $to (i32.const -16)) (call $json (local.get $target) (i32.const 2048))",
    ),
    probe(
        "probe-realloc-misaligned",
        IPS,
        "(global.set $to (i32.const 131073)) (call $ips (local.get $target) (i32.const 2048))",
    ),
    probe(
        "probe-loop-after-return",
        r#"(func (export "cabi_post_witlet:probe/prober@0.1.0#probe") (param i32) (loop $l (br $l)))"#,
        "",
    ),
    probe(
        "probe-trap-after-return",
        r#"(func (export "cabi_post_witlet:probe/prober@0.1.0#probe") (param i32) unreachable)"#,
        "",
    ),
    probe(
        "probe-call-after-return",
        r#"(import "witlet:host/log@0.1.0" "write" (func $log (param i32 i32 i32 i32 i32)))
           (func (export "cabi_post_witlet:probe/prober@0.1.0#probe") (param i32)
                (call $log (i32.const 2) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0)))"#,
        "",
    ),
    probe("probe-forged-target", JSON, "(call $json (i32.const 77) (i32.const 2048))"),
    probe("probe-dropped-twice", "", "(call $drop (local.get $target))"),
    probe("probe-kept-target", "", "(return (i32.const 1024))"),
    probe(
        "probe-words-no-text",
        "",
        "(i32.store (i32.const 4096) (i32.const -1)) (i32.store (i32.const 1032) (i32.const 4096))
         (i32.store (i32.const 1036) (i32.const 4))",
    ),
    probe(
        "probe-words-beyond-memory",
        "",
        "(i32.store (i32.const 1032) (i32.const -16)) (i32.store (i32.const 1036) (i32.const 64))",
    ),
    probe(
        "probe-words-two-gigabytes",
        "",
        "(i32.store (i32.const 1032) (i32.const 0)) (i32.store (i32.const 1036) (i32.const 0x80000000))",
    ),
    probe(
        "probe-words-of-all-memory",
        "",
        "(i32.store (i32.const 1032) (i32.const 4096)) (i32.store (i32.const 1036) (i32.const 4000000))",
    ),
    probe("probe-forged-case", "", "(i32.store8 (i32.const 1028) (i32.const 99))"),
    probe("probe-forged-result", "", "(i32.store8 (i32.const 1024) (i32.const 2))"),
    probe("probe-misaligned-answer", "", "(call $drop (local.get $target)) (return (i32.const 1025))"),
    probe("probe-answer-beyond-memory", "", "(call $drop (local.get $target)) (return (i32.const -4))"),
    probe("probe-indirect-recursion", RECURSE, "(call $deep (i32.const 0))"),
    probe("probe-ask-for-ever", JSON, "(loop $l (call $json (local.get $target) (i32.const 2048)) (br $l))"),
    probe(
        "probe-long-pointer",
        POINTER,
        "(call $pointer (local.get $target) (i32.const 0) (i32.const 4000000) (i32.const 2048))",
    ),
    probe(
        "probe-many-log-fields",
        LOG,
        "(call $log (i32.const 2) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 200000))",
    ),
    probe(
        "probe-forged-level",
        LOG,
        "(call $log (i32.const 99) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0))",
    ),
    probe(
        "probe-grow-tables",
        "(table $t 1 funcref)",
        "(loop $l (br_if $l (i32.ne (table.grow $t (ref.null func) (i32.const 1000)) (i32.const -1)))) unreachable",
    ),
    probe("probe-throws", "(tag $t)", "(throw $t)"),
    probe(
        "probe-collected-giant",
        "(type $bytes (array (mut i8)))",
        "(drop (array.new_default $bytes (i32.const 1000000000)))",
    ),
    probe("probe-memory64", "(memory $large i64 1)", ""),
    probe("probe-shared-memory", "(memory $shared 1 1 shared)", ""),
    Forger {
        instead: Some(("probe: func(target: borrow<target>,", "probe: func(target: target,")),
        ..probe("probe-owned-target", "", "")
    },
    Forger {
        instead: Some(("result<outcome, string>", "result<string, string>")),
        ..probe("probe-other-answer", "", "")
    },
    Forger {
        instead: Some(("result<poll-result, source-error>", "result<string, source-error>")),
        ..source("source-other-answer", "", "")
    },
    source("source-loop-at-start", LOOP_AT_START, ""),
    source("source-grow-at-start", GROW_AT_START, ""),
    Forger { validate: LOOP, ..source("source-loop-in-validate", "", "") },
    Forger {
        realloc: "(if (i32.ge_u (global.get $allocated) (i32.const 1)) (then (loop $l (br $l))))",
        ..source("source-loop-in-second-realloc", "", "")
    },
    source(
        "source-loop-after-return",
        r#"(func (export "cabi_post_witlet:pod-source/source@0.1.0#poll") (param i32) (loop $l (br $l)))"#,
        "",
    ),
    source(
        "source-trap-after-return",
        r#"(func (export "cabi_post_witlet:pod-source/source@0.1.0#poll") (param i32) unreachable)"#,
        "",
    ),
    source("source-forged-pods", "", PODS_FORGED),
    source("source-same-pod-again", "", PODS_SAME),
    source("source-many-manifests", "", PODS_MANY),
    source(
        "source-pods-no-text",
        "",
        "(i32.store8 (i32.const 1032) (i32.const 1)) (i32.store (i32.const 1036) (i32.const 4096))
         (i32.store (i32.const 1040) (i32.const 1))
         (i32.store (i32.const 4096) (i32.const 8192)) (i32.store (i32.const 4100) (i32.const 4))
         (i32.store (i32.const 8192) (i32.const -1))",
    ),
    source(
        "source-pods-misaligned",
        "",
        "(i32.store8 (i32.const 1032) (i32.const 1)) (i32.store (i32.const 1036) (i32.const 4097))
         (i32.store (i32.const 1040) (i32.const 1))",
    ),
    source("source-forged-snapshot", "", "(i32.store8 (i32.const 1032) (i32.const 7))"),
    source(
        "source-cursor-beyond-memory",
        "",
        "(i32.store8 (i32.const 1044) (i32.const 1)) (i32.store (i32.const 1048) (i32.const 4096))
         (i32.store (i32.const 1052) (i32.const 0x7fffffff))",
    ),
    source(
        "source-cursor-hundred-megabytes",
        "",
        "(drop (memory.grow (i32.const 1700)))
         (i32.store8 (i32.const 1044) (i32.const 1)) (i32.store (i32.const 1048) (i32.const 4096))
         (i32.store (i32.const 1052) (i32.const 104857600))",
    ),
    source(
        "source-cursor-of-all-memory",
        "",
        "(i32.store8 (i32.const 1044) (i32.const 1)) (i32.store (i32.const 1048) (i32.const 4096))
         (i32.store (i32.const 1052) (i32.const 4000000))",
    ),
    source(
        "source-again-at-once",
        "",
        "(i32.store8 (i32.const 1056) (i32.const 1)) (i64.store (i32.const 1064) (i64.const 0))",
    ),
    source(
        "source-never-again",
        "",
        "(i32.store8 (i32.const 1056) (i32.const 1)) (i64.store (i32.const 1064) (i64.const -1))",
    ),
    source("source-no-reason", "", "(i32.store8 (i32.const 1024) (i32.const 1))"),
    source("source-misaligned-answer", "", "(return (i32.const 1028))"),
    source("source-answer-beyond-memory", "", "(return (i32.const -8))"),
    source("source-indirect-recursion", RECURSE, "(call $deep (i32.const 0))"),
];

/// 2^28 strings.
const PODS_FORGED: &str = "(i32.store8 (i32.const 1032) (i32.const 1))
    (i32.store (i32.const 1036) (i32.const 4096)) (i32.store (i32.const 1040) (i32.const 0x10000000))";
/// Ten thousand times the same megabyte.
const PODS_SAME: &str = "(i32.store8 (i32.const 1032) (i32.const 1))
    (i32.store (i32.const 1036) (i32.const 4096)) (i32.store (i32.const 1040) (i32.const 10000))
    (loop $l
        (i32.store (i32.add (i32.const 4096) (i32.shl (local.get $n) (i32.const 3))) (i32.const 1048576))
        (i32.store (i32.add (i32.const 4100) (i32.shl (local.get $n) (i32.const 3))) (i32.const 1048576))
        (br_if $l (i32.lt_u (local.tee $n (i32.add (local.get $n) (i32.const 1))) (i32.const 10000))))";
/// A hundred thousand empty ones.
const PODS_MANY: &str = "(i32.store8 (i32.const 1032) (i32.const 1))
    (i32.store (i32.const 1036) (i32.const 4096)) (i32.store (i32.const 1040) (i32.const 100000))";

impl Forger {
    /// The component.
    pub(crate) fn component(&self) -> Vec<u8> {
        let (package, includes) = match self.role {
            Role::Probe => ("probe", "witlet:probe/probe-type@0.1.0"),
            Role::PodSource => ("pod-source", "witlet:pod-source/pod-source@0.1.0"),
        };
        let world = World { package, includes, imports: "", packages: "", instead: self.instead };
        encode::component(world, &self.core())
    }

    fn core(&self) -> String {
        let Self { items, validate, realloc, ask, .. } = self;
        let first = match self.role {
            Role::Probe => {
                r#"(import "witlet:probe/types@0.1.0" "[resource-drop]target" (func $drop (param i32)))"#
            }
            Role::PodSource => "",
        };
        let asked = match self.role {
            Role::Probe => format!(
                r#"(func (export "witlet:probe/prober@0.1.0#check-parameters") (param i32 i32) (result i32) (i32.const 512))
                (func (export "witlet:probe/prober@0.1.0#probe") (param $target i32) (param i32 i32) (result i32)
                    (local $n i32)
                    (global.set $asked (i32.const 1))
                    {ask}
                    (call $drop (local.get $target))
                    (i32.const 1024))"#
            ),
            Role::PodSource => format!(
                r#"(func (export "witlet:pod-source/source@0.1.0#poll") (param i32 i32 i32) (result i32)
                    (local $n i32)
                    (global.set $asked (i32.const 1))
                    (i32.store8 (i32.const 1032) (i32.const 2))
                    {ask}
                    (i32.const 1024))"#
            ),
        };
        let interface = match self.role {
            Role::Probe => "witlet:probe/prober@0.1.0",
            Role::PodSource => "witlet:pod-source/source@0.1.0",
        };
        // Imports stand first, so that what else `items` has may follow.
        format!(
            r#"(module {first}
                {items}
                (memory (export "memory") 64)
                (global $asked (mut i32) (i32.const 0))
                (global $allocated (mut i32) (i32.const 0))
                (global $to (mut i32) (i32.const 131072))
                (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32)
                    {realloc}
                    (global.set $allocated (i32.add (global.get $allocated) (i32.const 1)))
                    (global.get $to))
                (func (export "{interface}#validate") (param i32 i32) (result i32) {validate} (i32.const 512))
                {asked})"#
        )
    }
}
