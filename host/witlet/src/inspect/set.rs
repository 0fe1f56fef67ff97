//! A set of plugins in a registry: its files, and for which processors it has compiled code.

use serde_json::{Value, json};
use witlet_core::node::compiled_code::{CodeOffer, CodeTarget};
use witlet_egress::Egress;
use witlet_oci::{Client, SetListing};

use crate::cli::RegistryArgs;
use crate::plugin::component::{self, ComponentError};

/// Returns what the set has that this names.
pub(super) async fn list(source: &str, from: &RegistryArgs) -> Result<SetListing, ComponentError> {
    let target = component::target(source)?;
    let client = Client::new(Egress::system(), component::login(from), from.plain_http);
    client
        .list_set(&target)
        .await
        .map_err(|cause| ComponentError::Pull { target: target.to_string(), cause: Box::new(cause) })
}

/// Returns the document of `-o json`.
pub(crate) fn for_programs(listing: &SetListing) -> Value {
    let files = listing.files.iter().map(|(name, size)| json!({"name": name, "sizeBytes": size}));
    let code = listing.code.offers.iter().map(code_for_programs);
    json!({
        "digest": listing.digest,
        "files": files.collect::<Vec<_>>(),
        "compiledCode": code.collect::<Vec<_>>(),
    })
}

fn code_for_programs(offer: &CodeOffer) -> Value {
    let CodeOffer { component, target, digest, size } = offer;
    let CodeTarget { engine, compatibility, architecture, cpu_features } = target;
    json!({
        "component": component,
        "engine": engine,
        "architecture": architecture,
        "cpuFeatures": cpu_features,
        "compatibility": compatibility,
        "digest": digest,
        "sizeBytes": size,
    })
}

pub(super) fn for_people(source: &str, listing: &SetListing) -> String {
    let SetListing { digest, files, code } = listing;
    let mut text = format!("{source}\n  {:<10} {digest}\n", "digest");
    let mut lines = |name: &str, items: Vec<String>| {
        for (at, item) in items.iter().enumerate() {
            let name = if at == 0 { name } else { "" };
            text.push_str(&format!("  {name:<10} {item}\n"));
        }
    };
    lines("files", files.iter().map(|(name, size)| format!("{name}, {size} bytes")).collect());
    let mut compiled: Vec<String> = code.offers.iter().map(line).collect();
    if compiled.is_empty() {
        compiled.push("none: each node compiles by itself".to_owned());
    }
    lines("compiled", compiled);
    text
}

fn line(offer: &CodeOffer) -> String {
    let CodeOffer { component, target, size, .. } = offer;
    let CodeTarget { engine, architecture, cpu_features, .. } = target;
    let features = cpu_features.join(" ");
    format!("{component}, {engine}, {architecture} ({features}), {size} bytes")
}

#[cfg(test)]
pub(crate) mod tests {
    //! What is said of a set.

    use witlet_oci::CodeOfSet;

    use super::*;

    /// A set with compiled code.
    pub(crate) fn listing() -> SetListing {
        let target = CodeTarget {
            engine: "synchronous".to_owned(),
            compatibility: "ab".repeat(32),
            architecture: "x86_64".to_owned(),
            cpu_features: ["avx2", "sse4.2"].map(str::to_owned).to_vec(),
        };
        let offer =
            CodeOffer { component: "sha256:c0".to_owned(), target, digest: "sha256:d0".to_owned(), size: 7 };
        SetListing {
            digest: "sha256:00ff".to_owned(),
            files: vec![("plugins.yaml".to_owned(), 80), ("a.wasm".to_owned(), 900)],
            code: CodeOfSet { components: vec!["sha256:c0".to_owned()], offers: vec![offer] },
        }
    }

    #[test]
    fn a_set_is_shown_with_its_files_and_the_processors_that_it_has_code_for() {
        let expected = "oci://r.example.com/a:1
  digest     sha256:00ff
  files      plugins.yaml, 80 bytes
             a.wasm, 900 bytes
  compiled   sha256:c0, synchronous, x86_64 (avx2 sse4.2), 7 bytes
";
        assert_eq!(for_people("oci://r.example.com/a:1", &listing()), expected);
        let bare = SetListing { code: CodeOfSet::default(), ..listing() };
        let text = for_people("oci://r.example.com/a:1", &bare);
        assert!(text.ends_with("  compiled   none: each node compiles by itself\n"), "{text}");
    }
}
