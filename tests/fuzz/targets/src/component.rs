//! What a component says about itself: `host/wasm`.

use wasmparser::{Validator, WasmFeatures};
use witlet_wasm::inspect::inspect;
use witlet_wasm::limits::Limits;

use crate::{Target, check_message};

pub(crate) const TARGET: Target = Target {
    name: "component",
    run,
    words: &[
        "\0asm\x0d\0\x01\0",
        "\0asm\x01\0\0\0",
        "\x05\x03\x01\0\x01",
        "\x04\x04\x01\x70\0\x01",
        "witlet:admission/handler@0.1.0",
        "witlet:probe/prober@0.1.0",
        "witlet:pod-source/source@0.1.0",
        "witlet:host/log@0.1.0",
        "witlet:host/secret@0.1.0",
        "wasi:http/types@0.2.0",
        "wasi:filesystem/types@0.2.0",
        "producers",
        "\x09processed-by",
        "\0\x0a\x09producers\0",
        "\x7f",
        "\u{80}",
    ],
};

/// Names of one kind that are listed.
const ITEMS_MAX: usize = 1000;
/// Bytes of a listed name, with what is made of unprintable letters.
const NAME_BYTES_MAX: usize = 1024;

fn run(data: &[u8]) {
    let is_valid = Validator::new_with_features(WasmFeatures::default()).validate_all(data).is_ok();
    let found = match inspect(data) {
        Ok(found) => found,
        Err(error) => {
            check_message(&error.to_string(), 0);
            // A valid core module is no component, and the only valid thing that is refused.
            assert!(!is_valid || data.get(4) != Some(&0x0d), "a valid component is refused: {error}");
            return;
        }
    };
    let written = serde_json::to_string(&found).expect("an inspection becomes JSON");
    let again = inspect(data).expect("the same bytes are the same component");
    assert_eq!(written, serde_json::to_string(&again).expect("an inspection becomes JSON"));
    assert_eq!(found.size_bytes, data.len());
    for names in [&found.imports, &found.exports, &found.denied] {
        assert!(names.len() <= ITEMS_MAX, "{} names", names.len());
        assert!(names.iter().all(|name| name.len() <= NAME_BYTES_MAX), "a name is too long: {names:?}");
    }
    assert!(found.producers.len() <= ITEMS_MAX);
    found.obstacles.iter().for_each(|obstacle| check_message(obstacle, 16 * NAME_BYTES_MAX));
    assert!(found.roles.is_empty() != found.obstacles.is_empty(), "roles or obstacles: {found:?}");
    for fit in &found.fits {
        let starts = found.needs.check(&Limits::with_memory(fit.memory_bytes_default)).is_ok();
        assert_eq!(fit.obstacle.is_none(), starts);
    }
}
