//! Components that mustn't be loaded, or mustn't hurt while they are.

use super::Expected::{Bounded, Refused};
use super::Role::{Admission, PodSource, Probe};
use super::{Attack, LONG, Origin};
use crate::bombs;

pub(super) const ATTACKS: &[Attack] = &[
    Attack::made("core-module", crate::core_module, Refused(&["core module"])),
    Attack::made("empty-file", Vec::new, Refused(&["empty"])),
    Attack::made("no-plugin", crate::wrong_world, Refused(&["not a plugin: it exports run"])),
    Attack::made("cut-off", crate::truncated, Refused(&["unexpected end"])),
    Attack::made("invalid-code", crate::invalid_code, Refused(&["type mismatch"])),
    Attack::made(
        "unknown-imports",
        crate::unknown_imports,
        Refused(&["acme:rockets/launch@1.0.0, which this host doesn't provide"]),
    ),
    Attack::made("giant-memory", crate::giant_memory, Refused(&["4294901760 bytes of memory"])),
    Attack::made("giant-table", crate::giant_table, Refused(&["tables of 10000000 elements"])),
    Attack::made("many-memories", crate::many_memories, Refused(&["has 40 memories"])),
    Attack::made(
        "ten-thousand-imports",
        bombs::ten_thousand_imports,
        Refused(&["acme:many/i0, which this host doesn't provide", "more"]),
    ),
    Attack::made("ten-thousand-exports", bombs::ten_thousand_exports, Refused(&["not a plugin", "e15"])),
    Attack::made("nested-components", bombs::nested_components, Refused(&[])),
    Attack::made("nested-types", bombs::nested_types, Refused(&[])),
    Attack::made("doubled-types", bombs::doubled_types, Refused(&[])),
    Attack::made("giant-name", bombs::giant_name, Refused(&[])),
    Attack::made("control-name", bombs::control_name, Refused(&[r"\u{1b}[2J"])),
    Attack::made(
        "bidirectional-name",
        bombs::bidirectional_name,
        Refused(&["which this host doesn't provide"]),
    ),
    Attack::made("empty-handler", bombs::empty_handler, Refused(&["doesn't fit the contract"])),
    Attack::made("other-version", bombs::other_version, Refused(&["this host serves version 0.1.0"])),
    Attack::made("feedback-alone", bombs::feedback_alone, Refused(&["without witlet:pod-source/source"])),
    Attack {
        role: Probe,
        ..Attack::made(
            "exec-without-grant",
            bombs::exec_without_grant,
            Refused(&["which isn't granted (grants.exec)"]),
        )
    },
    Attack {
        role: PodSource,
        ..Attack::made("no-source", handler, Refused(&["its entry names the role podSource"]))
    },
    Attack::made("many-instances", bombs::many_instances, Refused(&[])),
    Attack::made("many-modules", bombs::many_modules, Refused(&[])),
    Attack {
        name: "giant-section",
        role: Admission,
        origin: Origin::Sparse(bombs::giant_section),
        config: "null",
        grants: "",
        memory: "",
        timeout: LONG,
        expected: Refused(&["more than 67108864"]),
    },
    Attack::made("flipped-1", || bombs::flipped(1), Bounded),
    Attack::made("flipped-2", || bombs::flipped(2), Bounded),
    Attack::made("flipped-3", || bombs::flipped(3), Bounded),
    Attack::made("flipped-4", || bombs::flipped(4), Bounded),
    Attack::made("bomb-of-loops", || crate::compile_bomb(400), Refused(&["compiling took"])),
    Attack::made("bomb-of-locals", bombs::bomb_of_locals, Bounded),
    Attack::made("bomb-of-tables", bombs::bomb_of_tables, Bounded),
    Attack::made("bomb-of-blocks", bombs::bomb_of_blocks, Bounded),
    Attack::made("bomb-of-types", bombs::bomb_of_types, Bounded),
];

/// An honest handler.
fn handler() -> Vec<u8> {
    crate::NO_LATEST_TAG.to_vec()
}
