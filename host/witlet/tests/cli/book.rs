//! The plugin files of the operator's book, tried as a newcomer would: by `witlet check`.

use std::collections::BTreeSet;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use serde_json::{Value, json};

use crate::{scratch, witlet, write};

/// Where the book has the operator's files.
const BOOKS_FOLDER: &str = "/etc/witlet/";

/// Where an entry has its own name, and those of others.
const NAMES: [&str; 5] =
    ["/name", "/admission/rollout/of", "/admission/shadowOf", "/probe/shadowOf", "/podSource/shadowOf"];

/// The plugins of the book and of the example in CEL whose components ship, each under a name of its own that says where it is from, and all secrets.
/// One file, because a check compiles all that is built in.
fn all_in_one() -> Value {
    let book = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/src");
    let folders =
        [book.join("authors"), book].map(|folder| std::fs::read_dir(folder).expect("the book is there"));
    let entries = folders.into_iter().flatten().map(|entry| entry.expect("an entry").path());
    let (mut plugins, mut secrets) = (Vec::new(), BTreeSet::new());
    let mut add = |place: &str, prefix: &str, text: &str| {
        let file: Value = serde_saphyr::from_str(text).expect("the book's files are YAML");
        assert!(file["plugins"].is_array(), "{place}: it has no plugins");
        secrets.extend(file["secrets"].as_array().into_iter().flatten().map(|s| s["name"].to_string()));
        for plugin in file["plugins"].as_array().into_iter().flatten() {
            if plugin["component"].as_str().is_some_and(|from| from.starts_with("builtin:")) {
                let mut plugin = plugin.clone();
                for place in NAMES {
                    if let Some(name) = plugin.pointer_mut(place) {
                        let own = name.as_str().expect("it is a name");
                        *name = json!(format!("{prefix}-{own}"));
                    }
                }
                plugins.push(plugin);
            }
        }
    };
    for path in entries.filter(|path| path.extension().is_some_and(|ending| ending == "md")) {
        let chapter = path.file_stem().expect("a chapter has a name").to_string_lossy().into_owned();
        let blocks = witlet_tidy::blocks(&path).into_iter().filter(|block| block.kind == "yaml,plugins");
        for (index, block) in blocks.enumerate() {
            add(&block.place, &format!("{chapter}-{index}"), &block.text);
        }
    }
    add("restricted.yaml", "example", include_str!("../../../../examples/plugins/cel/restricted.yaml"));
    let secrets = secrets.iter().map(|name| json!({"name": name.trim_matches('"'), "file": "secret"}));
    json!({
        "apiVersion": "witlet.dev/v1alpha1", "kind": "PluginConfiguration",
        "secrets": secrets.collect::<Vec<_>>(), "plugins": plugins,
    })
}

#[test]
fn plugins_of_the_book_pass_the_check() {
    let folder = scratch();
    for name in ["compose", "fleet"] {
        std::fs::create_dir(folder.path().join(name)).expect("a folder in a temporary folder");
    }
    let secret = write(folder.path(), "secret", "s3cret");
    std::fs::set_permissions(secret, Permissions::from_mode(0o600)).expect("it is the test's file");
    let text = all_in_one().to_string().replace(BOOKS_FOLDER, &format!("{}/", folder.path().display()));
    for shipped in witlet_plugins::SHIPPED {
        let component = format!("\"builtin:{}\"", shipped.name);
        assert!(text.contains(&component), "the book has no example of {component}");
    }
    let path = write(folder.path(), "plugins.yaml", &text);
    let path = path.to_str().expect("a temporary path is UTF-8");
    let answer = witlet(&["check", "--plugins", path, "--node-labels", "topology.kubernetes.io/zone=eu-1a"]);
    assert_eq!(answer.code, 0, "{}{}", answer.out, answer.err);
    assert!(answer.out.contains("ok, "), "{}", answer.out);
}
