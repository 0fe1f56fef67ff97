//! Components whose very shape is the attack.

use crate::made::{compile_bomb_with, leb, plugin_with_module, section, text};

/// Imports ten thousand interfaces.
pub fn ten_thousand_imports() -> Vec<u8> {
    let imports: String = (0..10_000).map(|n| format!("(import \"acme:many/i{n}\" (instance))")).collect();
    text(&format!("(component {imports})"))
}

/// Exports ten thousand interfaces.
pub fn ten_thousand_exports() -> Vec<u8> {
    let exports: String = (0..10_000).map(|n| format!("(export \"e{n}\" (instance $i))")).collect();
    text(&format!("(component (component $c) (instance $i (instantiate $c)) {exports})"))
}

/// Components within components, five thousand deep.
pub fn nested_components() -> Vec<u8> {
    let mut component = HEADER.to_vec();
    for _ in 0..5000 {
        let mut outer = HEADER.to_vec();
        section(&mut outer, 4, &component);
        component = outer;
    }
    component
}

/// Lists of lists, five thousand deep.
pub fn nested_types() -> Vec<u8> {
    let lists: String = (1..5000).map(|n| format!("(type $t{n} (list $t{}))", n - 1)).collect();
    text(&format!("(component (type $t0 (list u8)) {lists})"))
}

/// Tuples of tuples: a value of the last type would have 2^60 parts.
pub fn doubled_types() -> Vec<u8> {
    let tuples: String = (1..60).map(|n| format!("(type $t{n} (tuple $t{0} $t{0}))", n - 1)).collect();
    text(&format!("(component (type $t0 (tuple u8 u8)) {tuples})"))
}

/// An import with a name of a megabyte.
pub fn giant_name() -> Vec<u8> {
    let name = "a".repeat(1 << 20);
    text(&format!("(component (import \"{name}\" (instance)))"))
}

/// An import whose name would drive a terminal.
pub fn control_name() -> Vec<u8> {
    raw_import("\u{1b}[2J\u{7}\nERROR forged")
}

/// An import whose name is written from right to left.
pub fn bidirectional_name() -> Vec<u8> {
    raw_import("acme:\u{202e}gol/tsoh")
}

/// Exports the handler's interface with nothing in it.
pub fn empty_handler() -> Vec<u8> {
    text(
        r#"(component (component $c) (instance $i (instantiate $c))
            (export "witlet:admission/handler@0.1.0" (instance $i)))"#,
    )
}

/// A handler of a version that doesn't exist.
pub fn other_version() -> Vec<u8> {
    text(
        r#"(component (component $c) (instance $i (instantiate $c))
            (export "witlet:admission/handler@99999999999999999999.0.0" (instance $i)))"#,
    )
}

/// Wants the statuses of pods that it can't have.
pub fn feedback_alone() -> Vec<u8> {
    text(
        r#"(component (component $c) (instance $i (instantiate $c))
            (export "witlet:probe/prober@0.1.0" (instance $i))
            (export "witlet:pod-source/feedback@0.1.0" (instance $i)))"#,
    )
}

/// A handler that imports commands in containers, which only probe types have.
pub fn exec_without_grant() -> Vec<u8> {
    text(
        r#"(component (import "witlet:probe/exec@0.1.0" (instance))
            (component $c) (instance $i (instantiate $c))
            (export "witlet:probe/prober@0.1.0" (instance $i)))"#,
    )
}

/// A hundred instances of a module with a memory.
pub fn many_instances() -> Vec<u8> {
    let instances = "(core instance (instantiate $m))".repeat(100);
    text(&format!(
        r#"(component (core module $m (table 1 funcref)) {instances}
            (component $c) (instance $i (instantiate $c))
            (export "witlet:admission/handler@0.1.0" (instance $i)))"#
    ))
}

/// Thirty thousand core modules.
pub fn many_modules() -> Vec<u8> {
    let mut component = HEADER.to_vec();
    for _ in 0..30_000 {
        section(&mut component, 1, MODULE_HEADER);
    }
    component
}

/// A plugin with bits of its code turned over; which ones follows from the seed.
pub fn flipped(seed: u64) -> Vec<u8> {
    let mut bytes = crate::NO_LATEST_TAG.to_vec();
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    for _ in 0..64 {
        // Numbers that look like chance: xorshift64.
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let at = usize::try_from(state % bytes.len() as u64).expect("less than the length");
        bytes[at] ^= 1 << (state >> 60 & 7);
    }
    bytes
}

/// What a component begins with before a section of custom bytes that has a hundred megabytes; they are zeros, and follow.
pub fn giant_section() -> (Vec<u8>, u64) {
    const BYTES: u32 = 100 << 20;
    let mut head = HEADER.to_vec();
    head.push(0);
    head.extend(leb(BYTES));
    let length = head.len() as u64 + u64::from(BYTES);
    (head, length)
}

/// A plugin with functions that have as many locals as the format allows, all of them used.
pub fn bomb_of_locals() -> Vec<u8> {
    const LOCALS: u32 = 49_000;
    let mut body = vec![1];
    body.extend(leb(LOCALS));
    body.push(0x7f);
    for local in 0..LOCALS - 1 {
        body.push(0x20); // local.get
        body.extend(leb(local));
        body.push(0x21); // local.set
        body.extend(leb(local + 1));
    }
    body.push(0x0b);
    compile_bomb_with(40, &body)
}

/// A plugin with functions of jump tables to everywhere, each inside the others.
pub fn bomb_of_tables() -> Vec<u8> {
    const BLOCKS: u32 = 2000;
    const TARGETS: u32 = 100_000;
    let mut body = vec![0];
    for _ in 0..BLOCKS {
        body.extend([0x02, 0x40]); // block
    }
    for _ in 0..4 {
        body.extend([0x41, 0, 0x0e]); // i32.const 0, br_table
        body.extend(leb(TARGETS));
        for target in 0..TARGETS {
            body.extend(leb(target % BLOCKS));
        }
        body.extend(leb(0));
    }
    body.extend(std::iter::repeat_n(0x0b, BLOCKS as usize + 1));
    compile_bomb_with(8, &body)
}

/// A plugin with a function of a hundred thousand blocks, each inside the next.
pub fn bomb_of_blocks() -> Vec<u8> {
    const BLOCKS: usize = 100_000;
    let mut body = vec![0];
    for _ in 0..BLOCKS {
        body.extend([0x02, 0x40]);
    }
    body.extend(std::iter::repeat_n(0x0b, BLOCKS + 1));
    compile_bomb_with(20, &body)
}

/// A plugin with a module of nothing but types, a thousand parameters each.
pub fn bomb_of_types() -> Vec<u8> {
    let mut types = leb(10_000);
    for number in 0..10_000_u32 {
        types.push(0x60);
        types.extend(leb(1000));
        types.extend((0..1000_u32).map(|at| if (number >> (at % 16)) & 1 == 0 { 0x7f } else { 0x7e }));
        types.push(0);
    }
    let mut module = MODULE_HEADER.to_vec();
    section(&mut module, 1, &types);
    plugin_with_module(&module)
}

const HEADER: &[u8] = &[0, b'a', b's', b'm', 0x0d, 0, 1, 0];
const MODULE_HEADER: &[u8] = &[0, b'a', b's', b'm', 1, 0, 0, 0];

/// A component whose only import is an instance of this name, whatever is in it.
fn raw_import(name: &str) -> Vec<u8> {
    let mut component = HEADER.to_vec();
    // One type: an instance with nothing.
    section(&mut component, 7, &[1, 0x42, 0]);
    let mut import = vec![1, 0];
    import.extend(leb(u32::try_from(name.len()).expect("names here are short")));
    import.extend(name.as_bytes());
    import.extend([5, 0]);
    section(&mut component, 10, &import);
    component
}
