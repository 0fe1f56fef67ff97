//! Guests that call each function of a role's contract, made from the WIT: with handles that an earlier call had, and while they are loaded.

use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};
use wit_parser::abi::{AbiVariant, WasmType};
use wit_parser::{
    Function, FunctionKind, Handle, InterfaceId, Resolve, TypeDefKind, TypeId, WorldId, WorldItem,
};

/// Where a guest gets a resource that it may keep.
struct Source {
    resource: &'static str,
    /// The method that hands it out, without its interface.
    method: &'static str,
    shape: Shape,
}

/// How a resource is handed out.
enum Shape {
    Plain,
    /// The first of a list.
    List,
    /// What is there of an option.
    Option,
    /// By this call of a function of no resource's.
    Own(&'static str),
    /// By this call of a function that may fail.
    Result(&'static str),
}

const fn source(resource: &'static str, method: &'static str, shape: Shape) -> Source {
    Source { resource, method, shape }
}

/// A role, as the guest is made for it.
pub(super) struct Role {
    pub(super) name: witlet_wasm::role::Role,
    world: &'static str,
    packages: &'static [(&'static str, &'static str)],
    /// The interface with the role's types.
    types: &'static str,
    /// What is kept, each from something before it.
    kept: &'static [Source],
    /// What it subscribes to while it is loaded.
    subscribes: &'static str,
    /// The interface that has `validate`.
    validated: &'static str,
    /// Exports but for `validate`.
    exports: &'static str,
}

/// Of a plugin's data, which `data.open` finds.
pub(super) const DATA: &str = "list";

/// What the host's package hands out in every role.
const SNAPSHOT: Source = source(
    "snapshot",
    "",
    Shape::Result("(call $f_data__open (i32.const 32) (i32.const 4) (i32.const 8192))"),
);
const ERROR: Source = source(
    "error",
    "",
    Shape::Own("(call $f_errors__error (i32.const 32) (i32.const 4) (i32.const 32) (i32.const 4))"),
);

const HOST: &str = include_str!("../../../../wit/host-0.2.0/host.wit");

pub(super) const ADMISSION: Role = Role {
    name: witlet_wasm::role::Role::Admission,
    world: "package tests:phases; world phases { include witlet:admission/admission-handler@0.2.0;
        import witlet:host/data@0.2.0; import witlet:host/metrics@0.2.0;
        import witlet:host/secret@0.2.0; }",
    packages: &[
        ("host.wit", HOST),
        ("admission.wit", include_str!("../../../../wit/admission-0.2.0/admission.wit")),
    ],
    types: "witlet:admission/admission-types@0.2.0",
    kept: &[
        source("pod", "[method]request.pod", Shape::Plain),
        source("node", "[method]request.node", Shape::Plain),
        source("resolved-image", "[method]request.image", Shape::Option),
        source("container", "[method]pod.containers", Shape::List),
        source("image", "[method]container.image", Shape::Plain),
        source("container-port", "[method]container.ports", Shape::List),
        source("mount", "[method]container.mounts", Shape::List),
        source("volume", "[method]pod.volumes", Shape::List),
        source("owner", "[method]pod.owners", Shape::List),
        source("host-port", "[method]pod.host-ports", Shape::List),
        source("taint", "[method]node.taints", Shape::List),
        source("condition", "[method]node.conditions", Shape::List),
        SNAPSHOT,
        ERROR,
    ],
    subscribes: "(call $f_setup_subscribe (local.get $setup) (i32.const 8) (i32.const 14))",
    validated: "witlet:admission/handler@0.2.0",
    // What is asked is in the pod's name.
    exports: r#"
        (func (export "witlet:admission/handler@0.2.0#admit") (param $request i32) (param $answer i32) (result i32)
            (local $pod i32)
            (call $begin)
            (call $f_answer_admit (local.get $answer))
            (local.set $pod (call $f_request_pod (local.get $request)))
            (call $f_pod_name (local.get $pod) (i32.const 4096))
            (call $read (i32.load (i32.const 4096)) (i32.load (i32.const 4100)))
            (if (i32.lt_s (global.get $selected) (i32.const 0)) (then (call $keep (local.get $request))))
            (call $drop_answer (local.get $answer)) (call $drop_request (local.get $request))
            (global.set $h_request (local.get $request)) (global.set $h_answer (local.get $answer))
            (if (i32.ge_s (global.get $selected) (i32.const 0)) (then (call $use)))
            (i32.const 1024))"#,
};

pub(super) const PROBE: Role = Role {
    name: witlet_wasm::role::Role::Probe,
    world: "package tests:phases; world phases { include witlet:probe/probe-type@0.2.0;
        import witlet:probe/exec@0.2.0; import witlet:probe/connections@0.2.0;
        import witlet:host/data@0.2.0; import witlet:host/metrics@0.2.0;
        import witlet:host/secret@0.2.0; }",
    packages: &[("host.wit", HOST), ("probe.wit", include_str!("../../../../wit/probe-0.2.0/probe.wit"))],
    types: "witlet:probe/probe-types@0.2.0",
    kept: &[
        source("pod", "[method]target.pod", Shape::Plain),
        source("container", "[method]target.container", Shape::Plain),
        source("container-port", "[method]container.ports", Shape::List),
        source(
            "ended",
            "",
            Shape::Result(
                "(call $f_exec__run (local.get $first) (i32.const 48) (i32.const 1) (i32.const 8192))",
            ),
        ),
        source(
            "connection",
            "",
            Shape::Result(
                "(call $f_connections__open (local.get $first) (i32.const 64) (i32.const 9) (i32.const PORT) (i32.const 8192))",
            ),
        ),
        SNAPSHOT,
        ERROR,
    ],
    subscribes: "",
    validated: "witlet:probe/prober@0.2.0",
    // What is asked is in the parameters.
    exports: r#"
        (func (export "witlet:probe/prober@0.2.0#check-parameters")
            (param $check i32) (param $text i32) (param $length i32) (result i32)
            (call $begin)
            (call $read (local.get $text) (local.get $length))
            (global.set $h_check (local.get $check))
            (if (i32.ge_s (global.get $selected) (i32.const 0)) (then (call $use)))
            (call $drop_check (local.get $check)) (i32.const 1024))
        (func (export "witlet:probe/prober@0.2.0#probe")
            (param $target i32) (param $text i32) (param $length i32) (param $answer i32) (result i32)
            (call $begin)
            (call $f_answer_success (local.get $answer) (i32.const 0) (i32.const 0))
            (call $read (local.get $text) (local.get $length))
            ;; `hold` gives the connection back no more than the rest.
            (if (i32.lt_s (global.get $selected) (i32.const 0)) (then
                (call $keep (local.get $target))
                (if (i32.ne (i32.load8_u (i32.add (local.get $text) (i32.const 1))) (i32.const 104))
                    (then (call $drop_connection (global.get $h_connection))))))
            (call $drop_answer (local.get $answer)) (call $drop_target (local.get $target))
            (global.set $h_target (local.get $target)) (global.set $h_answer (local.get $answer))
            (if (i32.ge_s (global.get $selected) (i32.const 0)) (then (call $use)))
            (i32.const 1024))"#,
};

pub(super) const POD_SOURCE: Role = Role {
    name: witlet_wasm::role::Role::PodSource,
    world: "package tests:phases; world phases { include witlet:pod-source/pod-source-with-feedback@0.2.0;
        import witlet:host/data@0.2.0; import witlet:host/metrics@0.2.0;
        import witlet:host/secret@0.2.0; }",
    packages: &[
        ("host.wit", HOST),
        ("pod-source.wit", include_str!("../../../../wit/pod-source-0.2.0/pod-source.wit")),
    ],
    types: "witlet:pod-source/source-types@0.2.0",
    kept: &[source("change", "[method]news.next", Shape::Option), SNAPSHOT, ERROR],
    subscribes: "",
    validated: "witlet:pod-source/source@0.2.0",
    // What is asked is in the cursor: at once, or with the next news if it begins with `n`.
    exports: r#"
        (global $stored (mut i32) (i32.const -1))
        (func (export "witlet:pod-source/source@0.2.0#poll")
            (param $is i32) (param $text i32) (param $length i32) (param $answer i32) (result i32)
            (call $begin)
            (global.set $selected (i32.const -1))
            (if (local.get $is) (then (call $read (local.get $text) (local.get $length))))
            (call $f_answer_unchanged (local.get $answer))
            (call $drop_answer (local.get $answer)) (global.set $h_answer (local.get $answer))
            (if (i32.ge_s (global.get $selected) (i32.const 0)) (then
                (if (i32.eq (i32.load8_u (local.get $text)) (i32.const 110))
                    (then (global.set $stored (global.get $selected)))
                    (else (call $use)))))
            (i32.const 1024))
        (func (export "witlet:pod-source/feedback@0.2.0#notify") (param $news i32) (result i32)
            (call $begin)
            (if (i32.lt_s (global.get $stored) (i32.const 0)) (then (call $keep (local.get $news))))
            (call $drop_news (local.get $news)) (global.set $h_news (local.get $news))
            (if (i32.ge_s (global.get $stored) (i32.const 0)) (then
                (global.set $selected (global.get $stored)) (global.set $stored (i32.const -1)) (call $use)))
            (i32.const 1024))"#,
};

/// One of the host's functions.
pub(super) struct Called {
    pub(super) interface: String,
    pub(super) name: String,
    /// The resource that it is a method of, or that it takes: of what an earlier call had.
    pub(super) resource: Option<String>,
}

/// A guest for this role, and what it can be asked to call: the number of each function is its place. A probe type connects to this port.
pub(super) fn guest(role: &Role, port: u16) -> (Vec<u8>, Vec<Called>) {
    let mut wit = Resolve::default();
    for (name, text) in role.packages {
        wit.push_source(name, text).expect("the contract is valid");
    }
    let package = wit.push_source("phases.wit", role.world).expect("the world is valid");
    let world = wit.select_world(&[package], Some("phases")).expect("the package has it");
    let (core, called) = core(role, &wit, world);
    let core = core.replace("PORT", &port.to_string());
    let mut module = wat::parse_str(core).expect("it is made of what the contract says");
    embed_component_metadata(&mut module, &wit, world, StringEncoding::UTF8).expect("the world is valid");
    let encoded = ComponentEncoder::default().module(&module).and_then(|mut encoder| encoder.encode());
    (encoded.expect("the module fits the world"), called)
}

/// A function's name in the module; those of the role's types have no prefix.
fn id(prefix: &str, name: &str) -> String {
    let name = name.trim_start_matches("[method]").trim_start_matches("[constructor]");
    format!("$f_{prefix}{}", name.replace(['.', '-'], "_"))
}

/// What the names of an interface's functions begin with.
fn prefix(role: &Role, module: &str) -> String {
    let interface = module.split(['/', '@']).nth(1).unwrap_or_default();
    if module == role.types { String::new() } else { format!("{}__", interface.replace('-', "_")) }
}

fn resource_of(wit: &Resolve, function: &Function) -> Option<String> {
    let name = |id: TypeId| wit.types[id].name.clone();
    if let FunctionKind::Method(resource) = function.kind {
        return name(resource);
    }
    function.params.iter().find_map(|parameter| {
        let wit_parser::Type::Id(id) = parameter.ty else { return None };
        match &wit.types[id].kind {
            TypeDefKind::Handle(Handle::Borrow(resource)) => name(*resource),
            _ => None,
        }
    })
}

fn zero(of: WasmType) -> &'static str {
    match of {
        WasmType::I64 | WasmType::PointerOrI64 => "(i64.const 0)",
        WasmType::F32 => "(f32.const 0)",
        WasmType::F64 => "(f64.const 0)",
        WasmType::I32 | WasmType::Pointer | WasmType::Length => "(i32.const 0)",
    }
}

fn wasm(of: WasmType) -> &'static str {
    match of {
        WasmType::I64 | WasmType::PointerOrI64 => "i64",
        WasmType::F32 => "f32",
        WasmType::F64 => "f64",
        WasmType::I32 | WasmType::Pointer | WasmType::Length => "i32",
    }
}

/// What is written of the imports.
#[derive(Default)]
struct Written {
    imports: String,
    globals: String,
    confuses: String,
    uses: String,
    called: Vec<Called>,
}

impl Written {
    /// The resources of an interface: how each is dropped, and where its handle is kept.
    fn resources(&mut self, wit: &Resolve, interface: InterfaceId, module: &str) {
        for (name, id) in &wit.interfaces[interface].types {
            if !matches!(wit.types[*id].kind, TypeDefKind::Resource) {
                continue;
            }
            let id = name.replace('-', "_");
            self.imports +=
                &format!("(import \"{module}\" \"[resource-drop]{name}\" (func $drop_{id} (param i32)))\n");
            self.globals += &format!("(global $h_{id} (mut i32) (i32.const 0))\n");
            self.confuses += &format!("(global.set $h_{id} (local.get $handle))\n");
        }
    }

    /// A function, and its call with zeros and the kept handle.
    fn function(&mut self, wit: &Resolve, function: &Function, module: &str, id: &str) {
        let signature = wit.wasm_signature(AbiVariant::GuestImport, function);
        let list = |word: &str, all: &[WasmType]| match all {
            [] => String::new(),
            all => format!("({word} {})", all.iter().map(|of| wasm(*of)).collect::<Vec<_>>().join(" ")),
        };
        let (parameters, results) = (list("param", &signature.params), list("result", &signature.results));
        let name = &function.name;
        self.imports += &format!("(import \"{module}\" \"{name}\" (func {id} {parameters} {results}))\n");
        let resource = resource_of(wit, function);
        let mut arguments: Vec<String> = signature.params.iter().map(|of| zero(*of).to_owned()).collect();
        if let (Some(resource), Some(first)) = (&resource, arguments.first_mut()) {
            *first = format!("(global.get $h_{})", resource.replace('-', "_"));
        }
        if signature.retptr
            && let Some(last) = arguments.last_mut()
        {
            *last = "(i32.const 8192)".to_owned();
        }
        let (number, arguments) = (self.called.len(), arguments.join(" "));
        let drops = "(drop)".repeat(signature.results.len());
        self.uses += &format!(
            "(if (i32.eq (global.get $selected) (i32.const {number})) (then (call {id} {arguments}) {drops}))\n"
        );
        self.called.push(Called { interface: module.to_owned(), name: name.clone(), resource });
    }
}

/// The core module: it keeps a handle of each resource when it is given no number, and calls the function with the number otherwise.
fn core(role: &Role, wit: &Resolve, world: WorldId) -> (String, Vec<Called>) {
    let mut written = Written::default();
    for item in wit.worlds[world].imports.values() {
        let WorldItem::Interface { id: interface, .. } = item else { continue };
        let module = wit.id_of(*interface).expect("it has a name");
        written.resources(wit, *interface, &module);
        for function in wit.interfaces[*interface].functions.values() {
            written.function(wit, function, &module, &id(&prefix(role, &module), &function.name));
        }
    }
    let Written { imports, globals, confuses, uses, called } = written;
    let keeps: String = role.kept.iter().map(keeping).collect();
    let Role { subscribes, validated, exports, .. } = role;
    let text = format!(
        r#"(module
        {imports}
        (memory (export "memory") 16)
        (data (i32.const 8) "image-resolved")
        (data (i32.const 32) "list")
        ;; A command of one word, and a host.
        (data (i32.const 40) "true")
        (data (i32.const 48) "\28\00\00\00\04\00\00\00")
        (data (i32.const 64) "127.0.0.1")
        (global $selected (mut i32) (i32.const -1))
        (global $heap (mut i32) (i32.const 65536))
        {globals}
        (func (export "cabi_realloc") (param i32 i32 i32) (param $size i32) (result i32)
            (global.set $heap (i32.and (i32.add (global.get $heap) (i32.const 7)) (i32.const -8)))
            (global.get $heap)
            (global.set $heap (i32.add (global.get $heap) (local.get $size))))
        (func $begin (global.set $heap (i32.const 65536)))
        ;; The number at the end of a text; -1 if it has none.
        (func $read (param $text i32) (param $length i32) (local $digit i32)
            (global.set $selected (i32.const -1))
            (block $done (loop $next
                (br_if $done (i32.eqz (local.get $length)))
                (local.set $digit (i32.sub (i32.load8_u (local.get $text)) (i32.const 48)))
                (local.set $text (i32.add (local.get $text) (i32.const 1)))
                (local.set $length (i32.sub (local.get $length) (i32.const 1)))
                (br_if $next (i32.gt_u (local.get $digit) (i32.const 9)))
                (if (i32.lt_s (global.get $selected) (i32.const 0)) (then (global.set $selected (i32.const 0))))
                (global.set $selected
                    (i32.add (i32.mul (global.get $selected) (i32.const 10)) (local.get $digit)))
                (br $next))))
        (func $keep (param $first i32)
            {keeps})
        (func $use
            {uses})
        ;; Takes one handle for those of all resources.
        (func $confuse (param $handle i32)
            {confuses})
        ;; A number in the configuration is what it calls.
        (func (export "{validated}#validate") (param $setup i32) (param $text i32) (param $length i32) (result i32)
            (call $begin)
            {subscribes}
            (call $read (local.get $text) (local.get $length))
            (if (i32.ge_s (global.get $selected) (i32.const 0))
                (then (call $confuse (local.get $setup)) (call $use)))
            (call $drop_setup (local.get $setup)) (global.set $h_setup (local.get $setup))
            (i32.const 1024))
        {exports})"#
    );
    (text, called)
}

/// Gets a resource and keeps it; a method that hands none out ends the call, for then nothing would be shown.
fn keeping(source: &Source) -> String {
    let from = source.method.trim_start_matches("[method]").split('.').next().unwrap_or_default();
    let of = match from {
        "request" | "target" | "news" => "(local.get $first)".to_owned(),
        other => format!("(global.get $h_{})", other.replace('-', "_")),
    };
    let (call, global) = (id("", source.method), format!("$h_{}", source.resource.replace('-', "_")));
    match source.shape {
        Shape::Plain => format!("(global.set {global} (call {call} {of}))\n"),
        Shape::Own(call) => format!("(global.set {global} {call})\n"),
        Shape::Result(call) => format!(
            "{call}
            (if (i32.load8_u (i32.const 8192)) (then unreachable))
            (global.set {global} (i32.load (i32.const 8196)))\n"
        ),
        Shape::List => format!(
            "(call {call} {of} (i32.const 8192))
            (if (i32.eqz (i32.load (i32.const 8196))) (then unreachable))
            (global.set {global} (i32.load (i32.load (i32.const 8192))))\n"
        ),
        Shape::Option => format!(
            "(call {call} {of} (i32.const 8192))
            (if (i32.eqz (i32.load (i32.const 8192))) (then unreachable))
            (global.set {global} (i32.load (i32.const 8196)))\n"
        ),
    }
}
