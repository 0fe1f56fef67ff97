//! Entries that are compared with others, and which calls are recorded.

use super::*;

const SOURCE: &str = "allow: {namespaces: [edge]}";

#[test]
fn a_shadow_names_the_entry_that_it_is_compared_with() {
    let text = format!(
        "- {{name: old, component: a.wasm, admission: {{}}, probe: {{}}, podSource: {{{SOURCE}}}}}\n\
         - {{name: new, component: b.wasm, admission: {{mode: shadow, shadowOf: old}}, probe: {{shadowOf: old}}, \
         podSource: {{shadowOf: old, {SOURCE}}}}}\n"
    );
    let taken = parse(&file(&text), SHIPPED).unwrap_or_else(|error| panic!("{error}"));
    let [old, new] = &taken.plugins[..] else { panic!("{taken:?}") };
    let of = |entry: &PluginEntry| {
        [
            entry.admission.as_ref().and_then(|role| role.shadow_of.clone()),
            entry.probe.as_ref().and_then(|role| role.shadow_of.clone()),
            entry.pod_source.as_ref().and_then(|role| role.shadow_of.clone()),
        ]
    };
    assert_eq!(
        (of(old), of(new)),
        ([None, None, None], [Some("old".into()), Some("old".into()), Some("old".into())])
    );
}

#[test]
fn what_a_shadow_cannot_be_compared_with_is_refused() {
    let old = "- {name: old, component: a.wasm, admission: {}, probe: {}}\n";
    let cases = [
        (
            "- {name: new, component: b.wasm, admission: {shadowOf: old}}",
            "plugins[1].admission.shadowOf: only allowed for a shadow: set `mode: shadow`, or remove it",
        ),
        (
            "- {name: new, component: b.wasm, admission: {mode: shadow, shadowOf: new}}",
            "plugins[1].admission.shadowOf: \"new\" is this entry: name the one that it is compared with",
        ),
        (
            "- {name: new, component: b.wasm, admission: {mode: shadow, shadowOf: missing}}",
            "plugins[1].admission.shadowOf: no other entry is called \"missing\": name the one that it is compared with",
        ),
        (
            "- {name: new, component: b.wasm, podSource: {shadowOf: old, allow: {namespaces: [edge]}}}",
            "plugins[1].podSource.shadowOf: \"old\" does not have the role podSource, so that there is nothing to compare with",
        ),
        (
            "- {name: new, component: b.wasm, probe: {type: x, shadowOf: old}}",
            "plugins[1].probe.type: must not be set with `shadowOf`: pods cannot use a shadow",
        ),
        (
            "- {name: new, component: b.wasm, probe: {shadowOf: old}}\n- {name: newer, component: c.wasm, probe: {shadowOf: new}}",
            "plugins[2].probe.shadowOf: \"new\" is a shadow itself: name the entry whose answers count",
        ),
        (
            "- {name: new, component: b.wasm, admission: {}, record: {max: 1, on: []}}",
            "plugins[1].record.on: must not be empty: remove it to keep every call",
        ),
        (
            "- {name: new, component: b.wasm, admission: {}, record: {max: 1, on: [slow, odd]}}",
            "plugins[1].record.on[1]: \"odd\" is none of reject, differ, slow, error",
        ),
    ];
    for (entry, expected) in cases {
        assert_eq!(error(&file(&format!("{old}{entry}\n"))), expected, "{entry}");
    }
}
