//! `witlet plugin push`: a component goes into a registry, with its conformance report.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::json;
use thiserror::Error;
use witlet_egress::Egress;
use witlet_node::SystemClock;
use witlet_oci::{Artifact, Client, Login, Pushed, REPORT_BYTES_MAX, TransferError};
use witlet_ports::Clock as _;
use witlet_wasm::annotations::annotations as own_annotations;
use witlet_wasm::attestation::{VerifyError, subjects};
use witlet_wasm::inspect::Inspection;
use witlet_wasm::manifest::{Manifest, ManifestError, SECTION};

use super::component::{self, ComponentError};
use crate::bounded;
use crate::cli::{LoginArgs, OutputFormat, PushArgs};
use crate::output::{OutputError, print, structured};
use crate::progress::Transfer;

/// How long a password may be.
const PASSWORD_BYTES_MAX: u64 = 64 << 10;
/// What the component is called, for people.
const TITLE: &str = "org.opencontainers.image.title";

/// How the file of a component ends.
const ENDING: &str = ".wasm";

/// Why nothing was pushed, or not all of it.
#[derive(Debug, Error)]
pub(crate) enum Error {
    /// There is nothing to push, or nowhere.
    #[error(transparent)]
    Component(#[from] ComponentError),
    /// What the component says of itself can't be read.
    #[error("{file}: the section {SECTION}")]
    Manifest {
        /// As it was named.
        file: String,
        /// What is wrong with it.
        #[source]
        cause: ManifestError,
    },
    /// A push makes digests, and doesn't take one.
    #[error("a push target must not have a digest: use a tag")]
    Digest,
    /// Not `KEY=VALUE`.
    #[error("--annotation must be KEY=VALUE, found {text:?}")]
    Annotation {
        /// As it was written.
        text: String,
    },
    /// The time is none.
    #[error("SOURCE_DATE_EPOCH {seconds} is out of range")]
    Epoch { seconds: i64 },
    /// The report can't be read.
    #[error("failed to read the conformance report {}", path.display())]
    ReadReport {
        path: PathBuf,
        #[source]
        cause: std::io::Error,
    },
    /// The report is none.
    #[error("the conformance report {}", path.display())]
    Report {
        path: PathBuf,
        /// What is wrong with it.
        #[source]
        cause: VerifyError,
    },
    /// The report is about another component.
    #[error("the conformance report {} is about another component than sha256:{digest}: create one with `witlet plugin test`", path.display())]
    OtherComponent { path: PathBuf, digest: String },
    /// The password can't be read.
    #[error("failed to read the password from standard input")]
    Password(#[source] std::io::Error),
    /// The registry doesn't take it.
    #[error("failed to push {target}")]
    Push {
        target: String,
        /// Why not, with the way out.
        #[source]
        cause: Box<TransferError>,
    },
    /// The answer can't be written.
    #[error(transparent)]
    Output(#[from] OutputError),
}

/// Pushes, and prints what a plugin file takes as `component`.
pub(crate) async fn run(args: &PushArgs) -> Result<(), Error> {
    let target = component::target(&args.to)?;
    if target.digest().is_some() {
        return Err(Error::Digest);
    }
    let component = component::read(&args.file, &args.login.registry).await?;
    let inspection = component::inspected(&args.file, &component.wasm)?;
    let manifest =
        Manifest::of(&component.wasm).map_err(|cause| Error::Manifest { file: args.file.clone(), cause })?;
    let mut own = own_annotations(&component.wasm);
    own.extend(manifest.map(|manifest| manifest.annotations()).unwrap_or_default());
    let annotations = annotations(&component.name, own, &args.annotation)?;
    let created = created(args.source_date_epoch)?;
    let report = args.attestation.as_deref().map(|path| report(path, &inspection.digest)).transpose()?;
    let login = login(&args.login)?;
    let Inspection { exports, imports, .. } = inspection;
    let size = component.wasm.len() as u64;
    let artifact = Artifact {
        wasm: component.wasm.to_vec().into(),
        file_name: file_name(&component.name),
        exports,
        imports,
        created,
        annotations,
        report: report.map(Into::into),
    };
    let transfer = Arc::new(Transfer::start("pushing"));
    let reporter = transfer.clone();
    let client = Client::new(Egress::system(), login, args.login.registry.plain_http);
    let pushed =
        client.push(&target, &artifact, &(Arc::new(move |bytes| reporter.at(bytes, size)) as _)).await;
    transfer.done();
    let pushed = pushed.map_err(|cause| {
        let (target, cause) = (target.to_string(), Box::new(cause));
        Error::Push { target, cause }
    })?;
    let reference = target.pinned(&pushed.digest);
    let text = match args.output {
        OutputFormat::Table | OutputFormat::Wide => format!("{reference}\n"),
        OutputFormat::Json | OutputFormat::Yaml => {
            structured(&for_programs(&reference, &pushed, size), args.output)?
        }
    };
    Ok(print(&text)?)
}

/// Returns what is in the registry now.
pub(crate) fn for_programs(reference: &str, pushed: &Pushed, size: u64) -> serde_json::Value {
    let Pushed { digest, component, report, sent } = pushed;
    json!({
        "reference": reference,
        "digest": digest,
        "component": {"digest": component, "sizeBytes": size},
        "report": report,
        "sentBytes": sent,
    })
}

/// Returns what the command says, above what the component says of itself in its manifest and in other sections, above the name of its file.
pub(super) fn annotations(
    title: &str,
    own: BTreeMap<String, String>,
    given: &[String],
) -> Result<BTreeMap<String, String>, Error> {
    let mut annotations = BTreeMap::from([(TITLE.to_owned(), title.to_owned())]);
    annotations.extend(own);
    for text in given {
        match text.split_once('=') {
            Some((key, value)) if !key.is_empty() => annotations.insert(key.to_owned(), value.to_owned()),
            Some(_) | None => return Err(Error::Annotation { text: text.clone() }),
        };
    }
    Ok(annotations)
}

/// Returns what others call the file: the component's name, with the ending that says what it is.
fn file_name(component: &str) -> String {
    match component.ends_with(ENDING) {
        true => component.to_owned(),
        false => format!("{component}{ENDING}"),
    }
}

/// When the component was made: the same time makes the same digest (<https://reproducible-builds.org/specs/source-date-epoch/>).
pub(super) fn created(epoch: Option<i64>) -> Result<Timestamp, Error> {
    match epoch {
        Some(seconds) => Timestamp::from_second(seconds).map_err(|_range| Error::Epoch { seconds }),
        // Whole seconds, as others write it.
        None => Ok(Timestamp::from_second(SystemClock.now().as_second()).unwrap_or_default()),
    }
}

/// A report's bytes, which must be about the component with this digest.
fn report(path: &Path, digest: &str) -> Result<Vec<u8>, Error> {
    let own = || path.to_owned();
    let bytes = bounded::read(path, REPORT_BYTES_MAX as u64)
        .map_err(|cause| Error::ReadReport { path: own(), cause })?;
    let about = subjects(&bytes).map_err(|cause| Error::Report { path: own(), cause })?;
    if about.iter().any(|(_, about)| about == digest) {
        Ok(bytes)
    } else {
        Err(Error::OtherComponent { path: own(), digest: digest.to_owned() })
    }
}

/// Whose credentials are sent.
pub(super) fn login(args: &LoginArgs) -> Result<Login, Error> {
    let Some(username) = &args.username else { return Ok(component::login(&args.registry)) };
    let password = bounded::whole(std::io::stdin().lock(), PASSWORD_BYTES_MAX).and_then(bounded::text);
    let password = password.map_err(Error::Password)?;
    // Only the end of the line is none of it.
    let password =
        password.strip_suffix('\n').map_or(&*password, |rest| rest.strip_suffix('\r').unwrap_or(rest));
    Ok(Login::User { username: username.clone(), password: password.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn annotations_are_keys_and_values_and_win_over_the_title_and_the_components_own() {
        let own = |key: &str| BTreeMap::from([(key.to_owned(), "of the component".to_owned())]);
        let cases = [
            (
                "z",
                ["a=b=c", "empty=", "z=mine"],
                vec![("a", "b=c"), ("empty", ""), (TITLE, "a.wasm"), ("z", "mine")],
            ),
            (
                "z",
                ["a=b", "a=c", "b="],
                vec![("a", "c"), ("b", ""), (TITLE, "a.wasm"), ("z", "of the component")],
            ),
            (TITLE, ["a=", "b=", "c="], vec![("a", ""), ("b", ""), ("c", ""), (TITLE, "of the component")]),
        ];
        for (key, given, expected) in cases {
            let annotations = annotations("a.wasm", own(key), &given.map(str::to_owned)).expect("taken");
            let pairs: Vec<_> =
                annotations.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
            assert_eq!(pairs, expected, "{given:?}");
        }
        for text in ["a", "=b", ""] {
            assert!(annotations("a", BTreeMap::new(), &[text.to_owned()]).is_err(), "{text:?}");
        }
    }

    #[test]
    fn a_file_is_called_as_the_component_with_its_ending() {
        assert_eq!(file_name("team-label.wasm"), "team-label.wasm");
        assert_eq!(file_name("image-policy"), "image-policy.wasm");
    }

    #[test]
    fn a_given_time_is_the_time() {
        assert_eq!(created(Some(1_767_323_045)).expect("a time").to_string(), "2026-01-02T03:04:05Z");
        assert!(matches!(created(Some(i64::MAX)), Err(Error::Epoch { seconds: i64::MAX })));
    }
}
