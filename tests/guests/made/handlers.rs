//! Admission handlers whose core modules are written by hand: what no compiler would make of any source.

use crate::encode::{self, World as Encoded};

/// A handler that attacks its host. It validates any configuration.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Handler {
    /// What it does.
    pub(crate) name: &'static str,
    /// Imports, and what comes in addition to the functions that every handler has.
    items: &'static str,
    /// What `admit` does with `$request` before it answers that it admits.
    admit: &'static str,
    /// Packages that it imports from beyond the contract, and their imports in its world.
    world: World,
}

/// What a handler's world has in addition to the contract.
#[derive(Clone, Copy, Debug)]
enum World {
    Contract,
    /// HTTP as every JavaScript guest imports it: with the streams of `wasi:io`.
    Http,
    /// A function whose result would take the host a gigabyte to make.
    GiantAnswer,
    /// Very many interfaces.
    ManyImports,
}

const JSON: &str = r#"
    (import "witlet:admission/types@0.1.0" "[method]request.pod" (func $pod (param i32) (result i32)))
    (import "witlet:admission/types@0.1.0" "[method]pod.json" (func $json (param i32 i32)))"#;
const POINTER: &str = r#"
    (import "witlet:admission/types@0.1.0" "[method]request.pod" (func $pod (param i32) (result i32)))
    (import "witlet:admission/types@0.1.0" "[method]pod.pointer" (func $pointer (param i32 i32 i32 i32)))
    (import "witlet:admission/types@0.1.0" "[resource-drop]pod" (func $drop_pod (param i32)))"#;
const LOG: &str = r#"(import "witlet:host/log@0.1.0" "write" (func $log (param i32 i32 i32 i32 i32)))"#;
const HTTP: &str = r#"
    (import "wasi:http/types@0.2.0" "[constructor]fields" (func $fields (result i32)))
    (import "wasi:http/types@0.2.0" "[resource-drop]fields" (func $drop_fields (param i32)))
    (import "wasi:http/types@0.2.0" "[method]fields.body" (func $body (param i32 i32)))"#;
const GIANT_ANSWER: &str = r#"(import "wasi:bomb/bomb@0.2.0" "explode" (func $explode (param i32)))"#;

const fn handler(name: &'static str, items: &'static str, admit: &'static str) -> Handler {
    Handler { name, items, admit, world: World::Contract }
}

/// All of them. Memory is four megabytes of zeros; strings from the host go to 128 KiB.
pub(crate) const HANDLERS: &[Handler] = &[
    handler("admit", "", ""),
    handler(
        "loop-in-realloc",
        JSON,
        "(global.set $loop (i32.const 1)) (call $json (call $pod (local.get $request)) (i32.const 2048))",
    ),
    handler(
        "realloc-beyond-memory",
        JSON,
        "(global.set $to (i32.const -16)) (call $json (call $pod (local.get $request)) (i32.const 2048))",
    ),
    handler(
        "loop-after-return",
        r#"(func (export "cabi_post_witlet:admission/handler@0.1.0#admit") (param i32) (loop $l (br $l)))"#,
        "",
    ),
    handler(
        "ask-for-ever",
        JSON,
        "(local.set $pod (call $pod (local.get $request)))
         (loop $l (call $json (local.get $pod) (i32.const 2048)) (br $l))",
    ),
    // A few more than are allowed.
    handler(
        "hoard-handles",
        JSON,
        "(loop $l
            (drop (call $pod (local.get $request)))
            (local.set $pod (i32.add (local.get $pod) (i32.const 1)))
            (br_if $l (i32.lt_u (local.get $pod) (i32.const 20000))))",
    ),
    handler("forge-a-handle", JSON, "(call $json (i32.const 77) (i32.const 2048))"),
    handler(
        "drop-twice",
        POINTER,
        "(local.set $pod (call $pod (local.get $request)))
         (call $drop_pod (local.get $pod)) (call $drop_pod (local.get $pod))",
    ),
    handler(
        "long-pointer",
        POINTER,
        "(call $pointer (call $pod (local.get $request)) (i32.const 0) (i32.const 4000000) (i32.const 2048))",
    ),
    handler(
        "pointer-that-is-no-text",
        POINTER,
        "(i32.store (i32.const 4096) (i32.const -1))
         (call $pointer (call $pod (local.get $request)) (i32.const 4096) (i32.const 4) (i32.const 2048))",
    ),
    handler(
        "many-log-fields",
        LOG,
        "(call $log (i32.const 2) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 200000))",
    ),
    handler(
        "forged-list",
        "",
        "(i32.store8 (i32.const 1032) (i32.const 3)) (i32.store (i32.const 1044) (i32.const -1))",
    ),
    handler("forged-case", "", "(i32.store8 (i32.const 1032) (i32.const 200))"),
    handler(
        "forty-thousand-shortages",
        "",
        "(i32.store8 (i32.const 1032) (i32.const 3)) (i32.store (i32.const 1040) (i32.const 131072))
         (i32.store (i32.const 1044) (i32.const 40000))",
    ),
    handler(
        "grow-tables",
        "(table 1 funcref)",
        "(loop $l (br_if $l (i32.ne (table.grow (ref.null func) (i32.const 1000)) (i32.const -1)))) unreachable",
    ),
    handler("four-memories", "(memory $a 1) (memory $b 1) (memory $c 1)", ""),
    handler("memory64", "(memory $large i64 1)", ""),
    handler("shared-memory", "(memory $shared 1 1 shared)", ""),
    Handler {
        world: World::GiantAnswer,
        ..handler("giant-answer", GIANT_ANSWER, "(call $explode (i32.const 9000))")
    },
    Handler { world: World::ManyImports, ..handler("many-imports", "", "") },
    Handler {
        world: World::Http,
        ..handler(
            "http-with-streams",
            HTTP,
            "(local.set $pod (call $fields)) (call $body (local.get $pod) (i32.const 2048))
             (if (i32.eqz (i32.load8_u (i32.const 2048))) (then unreachable))
             (call $drop_fields (local.get $pod))",
        )
    },
];

impl Handler {
    /// The component.
    pub(crate) fn component(&self) -> Vec<u8> {
        let (packages, imports, core_imports) = self.world.text();
        let world = Encoded {
            package: "admission",
            includes: "witlet:admission/admission-handler@0.1.0",
            imports: &imports,
            packages: &packages,
            instead: None,
        };
        encode::component(world, &self.core(&core_imports))
    }

    fn core(&self, imports: &str) -> String {
        let Self { items, admit, .. } = self;
        // Imports stand first, so that what else `items` has may follow.
        format!(
            r#"(module {imports}
                (import "witlet:admission/types@0.1.0" "[resource-drop]request" (func $drop_request (param i32)))
                {items}
                (memory (export "memory") 64)
                (global $loop (mut i32) (i32.const 0))
                (global $to (mut i32) (i32.const 131072))
                (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32)
                    (loop $l (br_if $l (global.get $loop)))
                    (global.get $to))
                (func (export "witlet:admission/handler@0.1.0#validate") (param i32 i32) (result i32) (i32.const 1024))
                (func (export "witlet:admission/handler@0.1.0#admit") (param $request i32) (result i32)
                    (local $pod i32)
                    {admit}
                    (call $drop_request (local.get $request))
                    (i32.const 1024)))"#
        )
    }
}

impl World {
    /// Packages, imports of the world, and imports of the core module.
    fn text(self) -> (String, String, String) {
        match self {
            Self::Contract => Default::default(),
            Self::Http => (
                "package wasi:io@0.2.0 { interface streams { resource output-stream; } }
                 package wasi:http@0.2.0 { interface types {
                    use wasi:io/streams@0.2.0.{output-stream};
                    resource fields { constructor(); body: func() -> result<output-stream>; } } }"
                    .to_owned(),
                "import wasi:http/types@0.2.0;".to_owned(),
                String::new(),
            ),
            Self::GiantAnswer => {
                let name = "a".repeat(60_000);
                let doublings: String =
                    (1..15).map(|n| format!("type t{n} = tuple<t{0}, t{0}>; ", n - 1)).collect();
                (
                    format!(
                        "package wasi:bomb@0.2.0 {{ interface bomb {{ record t0 {{ {name}: bool }} {doublings}
                            explode: func() -> t14; }} }}"
                    ),
                    "import wasi:bomb/bomb@0.2.0;".to_owned(),
                    String::new(),
                )
            }
            Self::ManyImports => {
                let each = |text: &dyn Fn(u32) -> String| (0..300).map(text).collect::<String>();
                (
                    format!(
                        "package wasi:many@0.2.0 {{ {} }}",
                        each(&|n| format!("interface i{n} {{ f: func(); }} "))
                    ),
                    each(&|n| format!("import wasi:many/i{n}@0.2.0; ")),
                    each(&|n| format!("(import \"wasi:many/i{n}@0.2.0\" \"f\" (func))")),
                )
            }
        }
    }
}
