//! `witlet plugin push`, `push-set`, `pull` and `sign`: names, defaults and help of what goes to and comes from registries.

use std::path::PathBuf;

use clap::Args;

use super::common::{OutputFormat, RegistryArgs};

/// What `push` does, with examples.
pub(super) const PUSH_HELP: &str =
    "The manifest is the one that wkg and other tools for WebAssembly artifacts read. What the registry has isn't sent again.

Examples:
  witlet plugin push no-latest-tag.wasm registry.example.com/plugins/no-latest-tag:1.0
  witlet plugin push a.wasm registry.example.com/plugins/a:1 --attestation a.wasm.conformance.json
  witlet plugin push a.wasm localhost:5000/a --username ci --password-stdin < password";

/// Examples of `pull`.
pub(super) const PULL_HELP: &str = "The digest of a reference is always checked. With --key, nothing is written unless one of the keys has signed the manifest, by \
`cosign sign --key` or `witlet plugin sign`: in a layer under the tag sha256-….sig or in a Sigstore bundle.

Examples:
  witlet plugin pull oci://registry.example.com/plugins/no-latest-tag:1.0
  witlet plugin pull oci://registry.example.com/plugins/no-latest-tag:1.0 --key cosign.pub
  witlet plugin pull oci://registry.example.com/plugins/a@sha256:… --to a.wasm -o json";

/// What `sign` does, with examples.
pub(super) const SIGN_HELP: &str = "The signature is what `cosign sign --key` writes, without an entry in a transparency log: a layer under the tag sha256-….sig, \
next to those that are there, or with --bundle a Sigstore bundle that refers to the manifest, as later releases of cosign write it. \
`cosign verify --key --insecure-ignore-tlog` verifies it, and so do nodes with `requireSignature` and `witlet plugin pull --key`.

Keys are ECDSA (P-256) or Ed25519, as PKCS#8 without a password:
  openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out signing.pem
  openssl pkey -in signing.pem -pubout -out signing.pub

Examples:
  witlet plugin sign oci://registry.example.com/plugins/no-latest-tag@sha256:… --key signing.pem
  witlet plugin sign registry.example.com/plugins/a:1 --key signing.pem --bundle -o json";

/// Who asks a registry.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct LoginArgs {
    /// How registries are asked
    #[command(flatten)]
    pub(crate) registry: RegistryArgs,
    /// User name, instead of a file with credentials
    #[arg(long, value_name = "NAME", requires = "password_stdin", conflicts_with = "registry_credentials")]
    pub(crate) username: Option<String>,
    /// Read the password of --username from standard input
    #[arg(long, requires = "username")]
    pub(crate) password_stdin: bool,
}

/// `witlet plugin push`
#[derive(Debug, Args)]
pub(crate) struct PushArgs {
    /// Component to push
    #[arg(value_name = "FILE")]
    pub(crate) file: String,
    /// Target REGISTRY/REPOSITORY[:TAG]; without a tag it is found by its digest only
    #[arg(value_name = "REGISTRY/REPOSITORY[:TAG]")]
    pub(crate) to: String,
    /// Signed conformance report to push with the component
    #[arg(long, value_name = "FILE")]
    pub(crate) attestation: Option<PathBuf>,
    /// Annotation of the manifest, such as org.opencontainers.image.version=1.4; repeatable
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) annotation: Vec<String>,
    /// Creation time of the manifest in seconds since 1970, for reproducible digests (default: now)
    #[arg(long, value_name = "SECONDS", env = "SOURCE_DATE_EPOCH")]
    pub(crate) source_date_epoch: Option<i64>,
    /// Who asks
    #[command(flatten)]
    pub(crate) login: LoginArgs,
    /// Output format; a table is the reference alone
    #[arg(short, long, value_name = "FORMAT", default_value = "table")]
    pub(crate) output: OutputFormat,
}

/// `witlet plugin pull`
#[derive(Debug, Args)]
pub(crate) struct PullArgs {
    /// Component in a registry (default tag: `latest`)
    #[arg(value_name = "oci://REGISTRY/REPOSITORY[:TAG][@DIGEST]")]
    pub(crate) from: String,
    /// File to write (default: last part of the repository with .wasm); a report is written next to it
    #[arg(long, value_name = "FILE")]
    pub(crate) to: Option<PathBuf>,
    /// Public key (PEM), one of which must have signed it in one of cosign's forms; repeatable
    #[arg(long, value_name = "FILE")]
    pub(crate) key: Vec<PathBuf>,
    /// Overwrite files with other content
    #[arg(long)]
    pub(crate) force: bool,
    /// Who asks
    #[command(flatten)]
    pub(crate) login: LoginArgs,
    /// Output format; a table is the reference alone
    #[arg(short, long, value_name = "FORMAT", default_value = "table")]
    pub(crate) output: OutputFormat,
}

/// `witlet plugin sign`
#[derive(Debug, Args)]
pub(crate) struct SignArgs {
    /// What to sign in a registry: a component or a set of plugins (default tag: `latest`)
    #[arg(value_name = "oci://REGISTRY/REPOSITORY[:TAG][@DIGEST]")]
    pub(crate) target: String,
    /// Private key that signs: PEM
    #[arg(long, value_name = "FILE")]
    pub(crate) key: PathBuf,
    /// Put a Sigstore bundle next to it, in place of a layer under a tag
    #[arg(long)]
    pub(crate) bundle: bool,
    /// Who asks
    #[command(flatten)]
    pub(crate) login: LoginArgs,
    /// Output format; a table is the reference alone
    #[arg(short, long, value_name = "FORMAT", default_value = "table")]
    pub(crate) output: OutputFormat,
}

/// What `push-set` does, with examples.
pub(super) const PUSH_SET_HELP: &str = "The set is the plugin file, byte for byte, with the components, data and reports that it names by relative paths. Components in \
registries stay where they are. Secrets, keys and credentials are named by absolute paths: they are each node's own. Sign it with \
`witlet plugin sign`; nodes with --plugin-sets take it when their annotation witlet.dev/plugin-set names it.

--compiled adds native code, which runs outside of the sandbox on nodes whose policy has `compiledCode: Signed`: who signs the set can run \
anything there. It fits nodes with this release and this machine's kind of processor; all others compile by themselves.

Examples:
  witlet plugin push-set fleet/plugins.yaml registry.example.com/fleet/plugins:2026-11
  witlet plugin push-set plugins.yaml registry.example.com/fleet/plugins:2026-11 --compiled
  kubectl annotate nodes --all witlet.dev/plugin-set=registry.example.com/fleet/plugins@sha256:…";

/// `witlet plugin push-set`
#[derive(Debug, Args)]
pub(crate) struct PushSetArgs {
    /// PluginConfiguration file
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Target REGISTRY/REPOSITORY[:TAG]; without a tag it is found by its digest only
    #[arg(value_name = "REGISTRY/REPOSITORY[:TAG]")]
    pub(crate) to: String,
    /// Add each component's code, compiled for this release and this machine's kind of processor
    #[arg(long)]
    pub(crate) compiled: bool,
    /// Add what another set has of these components' code, pushed on a machine of another kind; repeatable
    #[arg(long, value_name = "REGISTRY/REPOSITORY@DIGEST")]
    pub(crate) compiled_from: Vec<String>,
    /// Annotation of the manifest, such as org.opencontainers.image.version=1.4; repeatable
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) annotation: Vec<String>,
    /// Creation time of the manifest in seconds since 1970, for reproducible digests (default: now)
    #[arg(long, value_name = "SECONDS", env = "SOURCE_DATE_EPOCH")]
    pub(crate) source_date_epoch: Option<i64>,
    /// Who asks
    #[command(flatten)]
    pub(crate) login: LoginArgs,
    /// Output format; a table is the reference alone
    #[arg(short, long, value_name = "FORMAT", default_value = "table")]
    pub(crate) output: OutputFormat,
}
