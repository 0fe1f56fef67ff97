//! A manifest of this workspace as it reads outside of it.

use toml::{Table, Value};

/// Tables of a manifest whose entries may be inherited from `[workspace.dependencies]`.
const DEPENDENCIES: &[&str] = &["dependencies", "dev-dependencies", "build-dependencies"];

/// The manifest of a crate with everything written out that it inherits from the workspace's, and without lints, which are
/// this project's own. `placed` says where a crate of this workspace is outside of it, from this crate's folder. Panics where it inherits
/// what isn't there, as cargo would.
pub(crate) fn standalone(manifest: &str, root: &str, placed: &dyn Fn(&str) -> String) -> String {
    let mut manifest: Table = manifest.parse().expect("a manifest is TOML");
    let root: Table = root.parse().expect("the workspace's manifest is TOML");
    let workspace = table(&root, "workspace");
    manifest.remove("lints");
    let package = table_mut(&mut manifest, "package");
    for (key, value) in package {
        if inherits(value) {
            *value = get(table(workspace, "package"), key);
        }
    }
    let inherited = table(workspace, "dependencies");
    resolve(&mut manifest, inherited, placed);
    if let Some(Value::Table(targets)) = manifest.get_mut("target") {
        for (_, target) in targets {
            resolve(target.as_table_mut().expect("a target is a table"), inherited, placed);
        }
    }
    let text = toml::to_string(&manifest).expect("what was TOML is TOML");
    format!("# The SDK as it was when this project was made. `witlet plugin new` writes a newer one.\n{text}")
}

/// Replaces inherited dependencies; features that the crate adds stay.
fn resolve(manifest: &mut Table, inherited: &Table, placed: &dyn Fn(&str) -> String) {
    for name in DEPENDENCIES {
        let Some(Value::Table(dependencies)) = manifest.get_mut(*name) else { continue };
        for (name, dependency) in dependencies {
            if !inherits(dependency) {
                continue;
            }
            let mut resolved = match get(inherited, name) {
                Value::Table(table) => table,
                version => Table::from_iter([("version".to_owned(), version)]),
            };
            if let Some(Value::String(path)) = resolved.get_mut("path") {
                *path = placed(path);
            }
            let own = dependency.as_table_mut().expect("what inherits is a table");
            own.remove("workspace");
            if let Some(Value::Array(more)) = own.remove("features") {
                let features = resolved.entry("features").or_insert_with(|| Value::Array(Vec::new()));
                features.as_array_mut().expect("features are a list").extend(more);
            }
            resolved.extend(std::mem::take(own));
            *dependency = Value::Table(resolved);
        }
    }
}

fn inherits(value: &Value) -> bool {
    value.get("workspace").and_then(Value::as_bool) == Some(true)
}

fn get(table: &Table, key: &str) -> Value {
    table.get(key).unwrap_or_else(|| panic!("the workspace's manifest has no {key}")).clone()
}

fn table<'a>(table: &'a Table, key: &str) -> &'a Table {
    table.get(key).and_then(Value::as_table).unwrap_or_else(|| panic!("there is no table {key}"))
}

fn table_mut<'a>(table: &'a mut Table, key: &str) -> &'a mut Table {
    table.get_mut(key).and_then(Value::as_table_mut).unwrap_or_else(|| panic!("there is no table {key}"))
}
