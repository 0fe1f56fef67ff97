//! `witlet plugin push-set`: a plugin file goes into a registry, with the files that it names, as one artifact.

mod code;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::json;
use thiserror::Error;
use witlet_egress::Egress;
use witlet_oci::{
    Client, PLUGIN_FILE, PLUGIN_FILE_TYPE, Pushed, REPORT_BYTES_MAX, REPORT_LAYER_TYPE, SET_COMPONENT_TYPE,
    SET_FILE_TYPE, SetArtifact, SetCode, SetFile, TransferError,
};
use witlet_wasm::engine::EngineKind;
use witlet_wasm::plugin::config::{
    ConfigError, SetFileKind, SetFileName, engines_of_set, files_of_set, parse,
};

use super::component::{self, ComponentError};
use super::push;
use crate::bounded;
use crate::cli::{OutputFormat, PushSetArgs};
use crate::output::{OutputError, print, structured};
use crate::run::plugins;

/// How much of a plugin file is read; the parser takes less.
const PLUGIN_FILE_BYTES_MAX: u64 = 2 << 20;
/// How large data of a plugin may be.
const DATA_BYTES_MAX: u64 = 16 << 20;

/// Why nothing was pushed, or not all of it.
#[derive(Debug, Error)]
pub(crate) enum Error {
    /// It names no place in a registry, or no component.
    #[error(transparent)]
    Component(#[from] ComponentError),
    /// There are no credentials, or a flag makes no sense.
    #[error(transparent)]
    Push(#[from] push::Error),
    /// A file can't be read.
    #[error("failed to read {}", path.display())]
    Read {
        path: PathBuf,
        #[source]
        cause: std::io::Error,
    },
    /// The plugin file is wrong, or names what a set can't have.
    #[error("{}", path.display())]
    Configuration {
        path: PathBuf,
        #[source]
        cause: ConfigError,
    },
    /// The registry doesn't take it.
    #[error("failed to push {target}")]
    Transfer {
        target: String,
        /// Why not, with the way out.
        #[source]
        cause: Box<TransferError>,
    },
    /// There is no compiled code.
    #[error(transparent)]
    Code(#[from] code::CodeError),
    /// The answer can't be written.
    #[error(transparent)]
    Output(#[from] OutputError),
}

/// Pushes, and prints what the node's annotation takes.
pub(crate) async fn run(args: &PushSetArgs) -> Result<(), Error> {
    let target = component::target(&args.to)?;
    if target.digest().is_some() {
        return Err(push::Error::Digest.into());
    }
    let (files, engines) = files(&args.file)?;
    let client = Client::new(Egress::system(), push::login(&args.login)?, args.login.registry.plain_http);
    let mut code = code::Code::default();
    if args.compiled {
        code.compile(&files, &engines).await?;
    }
    for from in &args.compiled_from {
        code.take_from(&client, from, &files).await?;
    }
    let set = SetArtifact {
        annotations: push::annotations(PLUGIN_FILE, BTreeMap::new(), &args.annotation)?,
        created: push::created(args.source_date_epoch)?,
        code: code.all,
        files,
    };
    let pushed = client.push_set(&target, &set).await.map_err(|cause| {
        let (target, cause) = (target.to_string(), Box::new(cause));
        Error::Transfer { target, cause }
    })?;
    let reference = target.pinned(&pushed.digest);
    let text = match args.output {
        OutputFormat::Table | OutputFormat::Wide => format!("{reference}\n"),
        OutputFormat::Json | OutputFormat::Yaml => {
            structured(&for_programs(&reference, &pushed, &set), args.output)?
        }
    };
    Ok(print(&text)?)
}

/// Returns what is in the registry now.
pub(crate) fn for_programs(reference: &str, pushed: &Pushed, set: &SetArtifact) -> serde_json::Value {
    let files = set.files.iter().map(|file| json!({"name": file.name, "sizeBytes": file.bytes.len()}));
    let code = set.code.iter().map(|SetCode { component, target, bytes }| {
        json!({
            "component": component,
            "engine": target.engine,
            "architecture": target.architecture,
            "cpuFeatures": target.cpu_features,
            "sizeBytes": bytes.len(),
        })
    });
    json!({
        "reference": reference,
        "digest": pushed.digest,
        "files": files.collect::<Vec<_>>(),
        "compiledCode": code.collect::<Vec<_>>(),
        "sentBytes": pushed.sent,
    })
}

/// Which engines the component of a file runs on.
type EnginesOfFiles = BTreeMap<String, Vec<EngineKind>>;

/// The files of the set: the plugin file, byte for byte, and what it names next to it; and which engines its components run on.
fn files(path: &Path) -> Result<(Vec<SetFile>, EnginesOfFiles), Error> {
    let text = bounded::read_text(path, PLUGIN_FILE_BYTES_MAX)
        .map_err(|cause| Error::Read { path: path.to_owned(), cause })?;
    let wrong = |cause| Error::Configuration { path: path.to_owned(), cause };
    let builtins = plugins::builtins(&[]);
    let configuration = plugins::with_names(&builtins, |shipped| parse(&text, shipped)).map_err(wrong)?;
    let named = files_of_set(&configuration).map_err(wrong)?;
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut files = vec![SetFile {
        name: PLUGIN_FILE.to_owned(),
        media_type: PLUGIN_FILE_TYPE,
        bytes: text.into_bytes().into(),
    }];
    for SetFileName { name, kind } in named {
        let path = folder.join(&name);
        let read = |bytes_max| {
            bounded::read(&path, bytes_max).map_err(|cause| Error::Read { path: path.clone(), cause })
        };
        let (media_type, bytes) = match kind {
            SetFileKind::Component => {
                let wasm = witlet_wasm::compile::read_component(&path)
                    .map_err(|cause| Error::Read { path: path.clone(), cause })?;
                component::inspected(&name, &wasm)?;
                (SET_COMPONENT_TYPE, wasm.to_vec())
            }
            SetFileKind::Data => (SET_FILE_TYPE, read(DATA_BYTES_MAX)?),
            // One that isn't there is looked for in vain on the node, too.
            SetFileKind::Report if !path.exists() => continue,
            SetFileKind::Report => (REPORT_LAYER_TYPE, read(REPORT_BYTES_MAX as u64)?),
        };
        files.push(SetFile { name, media_type, bytes: bytes.into() });
    }
    Ok((files, engines_of_set(&configuration)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "apiVersion: witlet.dev/v1alpha1\nkind: PluginConfiguration\nplugins:\n";

    fn read(entry: &str) -> Result<Vec<(String, &'static str)>, String> {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::create_dir(folder.path().join("team")).expect("made");
        let component = witlet_plugins::SHIPPED[0].component;
        std::fs::write(folder.path().join("team/a.wasm"), component).expect("written");
        std::fs::write(folder.path().join("d.json"), "{}").expect("written");
        std::fs::write(folder.path().join("b.wasm"), "no component").expect("written");
        let path = folder.path().join("fleet.yaml");
        std::fs::write(&path, format!("{HEAD}{entry}")).expect("written");
        let (files, engines) = files(&path).map_err(|error| witlet_core::error::one_line(&error))?;
        assert_eq!(files[0].bytes, format!("{HEAD}{entry}").as_bytes(), "byte for byte");
        let components = files.iter().filter(|file| file.media_type == SET_COMPONENT_TYPE);
        assert!(components.map(|file| &file.name).eq(engines.keys()), "each component runs somewhere");
        Ok(files.into_iter().map(|file| (file.name, file.media_type)).collect())
    }

    #[test]
    fn a_set_has_its_plugin_file_first_and_what_that_names() {
        let entry = "  - {name: a, component: ./team/a.wasm, probe: {}, data: [{name: d, file: d.json}]}\n";
        let expected =
            [(PLUGIN_FILE, PLUGIN_FILE_TYPE), ("d.json", SET_FILE_TYPE), ("team/a.wasm", SET_COMPONENT_TYPE)];
        let expected = expected.map(|(name, media_type)| (name.to_owned(), media_type));
        assert_eq!(read(entry), Ok(expected.to_vec()));
    }

    #[test]
    fn what_a_set_can_not_have_is_named() {
        let cases = [
            ("  - {name: a, component: gone.wasm, probe: {}}\n", "gone.wasm"),
            ("  - {name: a, component: b.wasm, probe: {}}\n", "b.wasm"),
            ("  - {name: a, component: /b.wasm, probe: {}}\n", "/b.wasm isn't in the set"),
            ("  - {name: a, component: team/a.wasm, probe: {}, colour: red}\n", "colour"),
        ];
        for (entry, expected) in cases {
            let error = read(entry).expect_err("refused");
            assert!(error.contains(expected), "{error}");
        }
    }
}
