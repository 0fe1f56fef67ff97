//! Components that no compiler would make.

pub(crate) fn text(source: &str) -> Vec<u8> {
    wat::parse_str(source).expect("the text is a constant of this file and tests parse it")
}

/// A core module, which people mistake for a component.
pub fn core_module() -> Vec<u8> {
    text("(module (func (export \"run\")))")
}

/// A component that begins well and ends in the middle.
pub fn truncated() -> Vec<u8> {
    let mut bytes = text("(component (core module (func (export \"run\"))))");
    bytes.truncate(bytes.len() - 3);
    bytes
}

/// Valid, and no plugin: it exports a function of its own.
pub fn wrong_world() -> Vec<u8> {
    text(
        r#"(component
            (core module $m (func (export "run")))
            (core instance $i (instantiate $m))
            (func $run (canon lift (core func $i "run")))
            (export "run" (func $run)))"#,
    )
}

/// Imports things that no plugin here has, and a capability of the project that isn't granted.
pub fn unknown_imports() -> Vec<u8> {
    text(
        r#"(component
            (import "acme:rockets/launch@1.0.0" (instance))
            (import "acme:coffee/brew@2.1.0" (instance))
            (import "witlet:host/secret@0.1.0" (instance))
            (import "wasi:keyvalue/store@0.2.0" (instance)))"#,
    )
}

/// Starts with four gigabytes less one page of memory.
pub fn giant_memory() -> Vec<u8> {
    text("(component (core module $m (memory 65535)) (core instance (instantiate $m)))")
}

/// Starts with a table of ten million elements.
pub fn giant_table() -> Vec<u8> {
    text("(component (core module $m (table 10000000 funcref)) (core instance (instantiate $m)))")
}

/// Has more memories than any honest component.
pub fn many_memories() -> Vec<u8> {
    let module = "(core module (memory 1))";
    text(&format!("(component {})", module.repeat(40)))
}

/// A plugin with a core module more, which isn't instantiated and which has to be compiled all the same.
pub(crate) fn plugin_with_module(module: &[u8]) -> Vec<u8> {
    let mut component = crate::NO_LATEST_TAG.to_vec();
    section(&mut component, 1, module);
    component
}

/// A plugin with a function that adds numbers which aren't there.
pub fn invalid_code() -> Vec<u8> {
    let mut module = text("(module (func nop))");
    let nop = module.iter().rposition(|byte| *byte == 0x01).expect("the function's body is a nop");
    module[nop] = 0x6a;
    plugin_with_module(&module)
}

/// A plugin with many functions, each a nest of loops that a compiler suffers from.
pub fn compile_bomb(functions: u32) -> Vec<u8> {
    // (func (param i32) …) with a body of nested loops whose every level changes every local.
    const LOCALS: u32 = 200;
    const DEPTH: u32 = 500;
    let mut body = vec![1];
    body.extend(leb(LOCALS));
    body.push(0x7f);
    for level in 0..DEPTH {
        body.extend([0x03, 0x40]); // loop
        for step in 0..8 {
            let local = (level * 7 + step * 13) % LOCALS;
            let other = (level * 3 + step * 5) % LOCALS;
            body.push(0x20); // local.get
            body.extend(leb(local));
            body.push(0x20);
            body.extend(leb(other));
            body.extend([0x6c, 0x21]); // i32.mul, local.set
            body.extend(leb(local));
        }
        body.push(0x20);
        body.extend(leb(level % LOCALS));
        body.extend([0x0d, 0]); // br_if 0
    }
    body.extend(std::iter::repeat_n(0x0b, DEPTH as usize + 1));
    compile_bomb_with(functions, &body)
}

/// A plugin with this function so many times: the bytes of its locals and of its code.
pub(crate) fn compile_bomb_with(functions: u32, body: &[u8]) -> Vec<u8> {
    let mut code = leb(functions);
    for _ in 0..functions {
        code.extend(leb(length(body)));
        code.extend(body);
    }
    let mut declared = leb(functions);
    declared.extend(std::iter::repeat_n(0, functions as usize));
    let mut module = vec![0, b'a', b's', b'm', 1, 0, 0, 0];
    section(&mut module, 1, &[1, 0x60, 0, 0]);
    section(&mut module, 3, &declared);
    section(&mut module, 10, &code);
    plugin_with_module(&module)
}

pub(crate) fn section(into: &mut Vec<u8>, id: u8, content: &[u8]) {
    into.push(id);
    into.extend(leb(length(content)));
    into.extend(content);
}

fn length(bytes: &[u8]) -> u32 {
    u32::try_from(bytes.len()).expect("the sizes are constants far below the format's limit")
}

pub(crate) fn leb(mut number: u32) -> Vec<u8> {
    let mut bytes = Vec::new();
    loop {
        let low = (number & 0x7f) as u8;
        number >>= 7;
        if number == 0 {
            bytes.push(low);
            return bytes;
        }
        bytes.push(low | 0x80);
    }
}
