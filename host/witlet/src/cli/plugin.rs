//! `witlet plugin`: names, defaults and help of its commands and flags.

use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand, ValueEnum};
use witlet_conformance::Layer;
use witlet_templates::{Language, Name, Role};

use super::common::{API_SOCKET, ComponentCacheArgs, OutputFormat};

/// What the columns of `witlet plugin list` mean.
pub(super) const LIST_HELP: &str = "Columns:
  ERRORS   calls without a usable answer
  P50 P99  how long half, and 99 of 100, of the calls took at most: estimated from a histogram, evenly within a bucket
  MEMORY   the most that one instance had

Examples:
  witlet plugin list
  witlet plugin list no-latest-tag -o yaml";

/// `witlet plugin list` and `witlet get plugins`
#[derive(Debug, Args)]
pub(crate) struct PluginListArgs {
    /// Only this one
    #[arg(value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// How it looks; json and yaml have everything that is known, differing verdicts of shadows among it
    #[arg(short, long, value_name = "FORMAT", default_value = "table")]
    pub(crate) output: OutputFormat,
    /// Socket of the daemon
    #[arg(long, value_name = "PATH", default_value = API_SOCKET)]
    pub(crate) api_socket: PathBuf,
}

/// How registries are asked for `oci://…`.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct RegistryArgs {
    /// Credentials for registries, in the form of docker's config.json; those of `docker login` if not given
    #[arg(long, value_name = "FILE")]
    pub(crate) registry_credentials: Option<PathBuf>,
    /// Speak HTTP without TLS also to registries that aren't on this machine
    #[arg(long)]
    pub(crate) plain_http: bool,
}

/// `witlet plugin new`
#[derive(Debug, Args)]
pub(crate) struct NewArgs {
    /// Its name: small letters, digits and dashes
    #[arg(value_name = "NAME", value_parser = Name::parse)]
    pub(crate) name: Name,
    /// The language that it is written in
    #[arg(long, value_name = "LANGUAGE", value_parser = languages())]
    pub(crate) lang: Language,
    /// What it is: admission decides about pods, probe finds out how containers are, pod-source brings pods
    #[arg(long, value_name = "ROLE", value_parser = roles())]
    pub(crate) role: Role,
    /// The project's folder; NAME in the working folder if not given
    #[arg(long, value_name = "FOLDER")]
    pub(crate) into: Option<PathBuf>,
    /// Write also into a folder that isn't empty: files of the project are replaced, others stay
    #[arg(long)]
    pub(crate) force: bool,
    /// How it looks; json and yaml list the files
    #[arg(short, long, value_name = "FORMAT", default_value = "table")]
    pub(crate) output: OutputFormat,
}

/// `witlet plugin test`
#[derive(Debug, Args)]
pub(crate) struct TestArgs {
    /// The component; `builtin:NAME` is one that ships, `oci://…` one in a registry
    #[arg(value_name = "FILE")]
    pub(crate) file: String,
    /// Case files, or folders of them; cases.yaml or the folder cases beside the component if not given
    #[arg(long, value_name = "PATH")]
    pub(crate) cases: Vec<PathBuf>,
    /// `config:` for all but the cases, and for cases whose file has none: a file, or the value
    #[arg(long, value_name = "FILE|JSON")]
    pub(crate) config: Option<String>,
    /// `limits:` as in a PluginConfiguration, in place of the case files'
    #[arg(long, value_name = "JSON")]
    pub(crate) limits: Option<String>,
    /// `grants:` as in a PluginConfiguration, where no case file has some; may be given several times
    #[arg(long, value_name = "JSON")]
    pub(crate) grants: Vec<String>,
    /// Recorded calls to ask again
    #[arg(long, value_name = "FILE")]
    pub(crate) record: Vec<PathBuf>,
    /// What generated inputs are made from; a report names it, so that a finding can be repeated
    #[arg(long, value_name = "NUMBER")]
    pub(crate) seed: Option<u64>,
    /// How many generated inputs each property is tried with
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) property_cases: Option<u32>,
    /// Do only these layers; the component is loaded in any case
    #[arg(long, value_name = "LAYER,…", value_delimiter = ',')]
    pub(crate) only: Vec<Layer>,
    /// Leave these layers out
    #[arg(long, value_name = "LAYER,…", value_delimiter = ',')]
    pub(crate) skip: Vec<Layer>,
    /// How the report looks
    #[arg(short, long, value_name = "FORMAT", default_value = "human")]
    pub(crate) output: ReportFormat,
    /// Where the report goes instead of standard output, which then has one line
    #[arg(long, value_name = "PATH")]
    pub(crate) output_file: Option<PathBuf>,
    /// Signs what came of it, passed or not: an Ed25519 key (PKCS#8, PEM)
    #[arg(long, value_name = "KEY.pem")]
    pub(crate) sign: Option<PathBuf>,
    /// Where the signed report goes; FILE.conformance.json if not given
    #[arg(long, value_name = "PATH", requires = "sign")]
    pub(crate) attestation: Option<PathBuf>,
    /// How registries are asked
    #[command(flatten)]
    pub(crate) registry: RegistryArgs,
    /// Compiled code of components
    #[command(flatten)]
    pub(crate) cache: ComponentCacheArgs,
}

/// Looks of conformance reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReportFormat {
    /// For people.
    Human,
    /// JSON, `kind: ConformanceReport`.
    Json,
    /// JUnit's XML.
    Junit,
}

/// `witlet plugin bench`
#[derive(Debug, Args)]
pub(crate) struct BenchArgs {
    /// The component; `builtin:NAME` is one that ships, `oci://…` one in a registry
    #[arg(value_name = "FILE")]
    pub(crate) file: String,
    /// Case files, or folders of them, with the question; cases.yaml beside the component if not given
    #[arg(long, value_name = "PATH")]
    pub(crate) cases: Vec<PathBuf>,
    /// The case to ask; the first one that expects an answer if not given
    #[arg(long, value_name = "NAME")]
    pub(crate) case: Option<String>,
    /// Measure only this role of the component
    #[arg(long, value_name = "ROLE", value_parser = roles())]
    pub(crate) role: Option<Role>,
    /// How often one instance is asked; fresh instances are asked 2000 times at most
    #[arg(long, value_name = "NUMBER", default_value_t = 20_000, value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    pub(crate) calls: u32,
    /// Ask only one instance that is kept
    #[arg(long, conflicts_with = "fresh")]
    pub(crate) warm: bool,
    /// Ask only fresh instances
    #[arg(long)]
    pub(crate) fresh: bool,
    /// `config:` where no case has one
    #[arg(long, value_name = "JSON")]
    pub(crate) config: Option<String>,
    /// `limits:` as in a PluginConfiguration, in place of the case file's
    #[arg(long, value_name = "JSON")]
    pub(crate) limits: Option<String>,
    /// `grants:` as in a PluginConfiguration, where no case has some
    #[arg(long, value_name = "JSON")]
    pub(crate) grants: Option<String>,
    /// How registries are asked
    #[command(flatten)]
    pub(crate) registry: RegistryArgs,
    /// How it looks
    #[arg(short, long, value_name = "FORMAT", default_value = "table")]
    pub(crate) output: OutputFormat,
}

fn languages() -> impl TypedValueParser<Value = Language> {
    PossibleValuesParser::new(Language::ALL.map(Language::as_str))
        .try_map(|name| Language::parse(&name).ok_or("there is no such language"))
}

fn roles() -> impl TypedValueParser<Value = Role> {
    PossibleValuesParser::new(Role::ALL.map(Role::as_str))
        .try_map(|name| Role::parse(&name).ok_or("there is no such role"))
}

/// Who asks a registry.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct LoginArgs {
    /// How registries are asked
    #[command(flatten)]
    pub(crate) registry: RegistryArgs,
    /// The user, in place of a file with credentials
    #[arg(long, value_name = "NAME", requires = "password_stdin", conflicts_with = "registry_credentials")]
    pub(crate) username: Option<String>,
    /// Read the password of --username from standard input
    #[arg(long, requires = "username")]
    pub(crate) password_stdin: bool,
}

/// `witlet plugin push`
#[derive(Debug, Args)]
pub(crate) struct PushArgs {
    /// The component
    #[arg(value_name = "FILE")]
    pub(crate) file: String,
    /// Where to; without a tag the digest is its only name
    #[arg(value_name = "REGISTRY/REPOSITORY[:TAG]")]
    pub(crate) to: String,
    /// The component's signed conformance report, pushed beside it
    #[arg(long, value_name = "FILE")]
    pub(crate) attestation: Option<PathBuf>,
    /// An annotation of the manifest, such as org.opencontainers.image.version=1.4; may be given several times
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) annotation: Vec<String>,
    /// Seconds since 1970 that the manifest says it was made at, so that the same component has the same digest; now if not given
    #[arg(long, value_name = "SECONDS", env = "SOURCE_DATE_EPOCH")]
    pub(crate) source_date_epoch: Option<i64>,
    /// Who asks
    #[command(flatten)]
    pub(crate) login: LoginArgs,
    /// How the answer looks; a table is the reference alone
    #[arg(short, long, value_name = "FORMAT", default_value = "table")]
    pub(crate) output: OutputFormat,
}

/// `witlet plugin pull`
#[derive(Debug, Args)]
pub(crate) struct PullArgs {
    /// The component; `latest` without tag and digest
    #[arg(value_name = "oci://REGISTRY/REPOSITORY[:TAG][@DIGEST]")]
    pub(crate) from: String,
    /// File to write; the repository's last part with .wasm if not given. A report goes beside it
    #[arg(long, value_name = "FILE")]
    pub(crate) to: Option<PathBuf>,
    /// Replace files that have something else in them
    #[arg(long)]
    pub(crate) force: bool,
    /// Who asks
    #[command(flatten)]
    pub(crate) login: LoginArgs,
    /// How the answer looks; a table is the reference alone
    #[arg(short, long, value_name = "FORMAT", default_value = "table")]
    pub(crate) output: OutputFormat,
}

/// `witlet plugin replay`
#[derive(Debug, Args)]
pub(crate) struct ReplayArgs {
    /// A recorded call
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Ask this component instead of the recorded one: a file, `builtin:NAME` or `oci://…`
    #[arg(long, value_name = "FILE")]
    pub(crate) component: Option<String>,
    /// PluginConfiguration that says where the recorded plugin's component is
    #[arg(long, value_name = "FILE", conflicts_with = "component")]
    pub(crate) plugins: Option<PathBuf>,
    /// How registries are asked
    #[command(flatten)]
    pub(crate) registry: RegistryArgs,
    /// How it looks
    #[arg(short, long, value_name = "FORMAT", default_value = "table")]
    pub(crate) output: OutputFormat,
    /// Compiled code of components
    #[command(flatten)]
    pub(crate) cache: ComponentCacheArgs,
}

/// `witlet plugin`
#[derive(Debug, Subcommand)]
pub(crate) enum Plugin {
    /// Write a project that builds a plugin and passes the conformance kit
    #[command(after_help = "Examples:
  witlet plugin new team-label --lang rust --role admission
  witlet plugin new banner --lang python --role probe --into plugins/banner")]
    New(NewArgs),
    /// List the daemon's plugins: role, version, state, calls, errors, times, memory
    #[command(visible_alias = "ls", after_help = LIST_HELP)]
    List(PluginListArgs),
    /// Show what is in a component: roles, versions, grants, imports, size, needs
    #[command(after_help = "Example:
  witlet plugin inspect no-latest-tag.wasm -o json")]
    Inspect {
        /// The component; `builtin:NAME` is one that ships, `oci://…` one in a registry
        #[arg(value_name = "FILE")]
        file: String,
        /// How registries are asked
        #[command(flatten)]
        registry: RegistryArgs,
        /// How it looks
        #[arg(short, long, value_name = "FORMAT", default_value = "table")]
        output: OutputFormat,
    },
    /// Measure a component: size, loading, calls in fresh and kept instances, memory, beside a module that does nothing
    #[command(
        after_help = "The plugin is asked one question again and again: that of a case, in the case's surroundings.
Each measurement ends after its calls, or after half a minute (fresh instances) or two minutes (one that is kept).

Examples:
  witlet plugin bench no-latest-tag.wasm
  witlet plugin bench builtin:httpGet --cases cases/ --case 'a server that answers' --warm -o json"
    )]
    Bench(BenchArgs),
    /// Push a component to a registry, and print the reference that a plugin file takes
    #[command(
        after_help = "The manifest is the one that wkg and other tools for WebAssembly artifacts read. What the registry has isn't sent again.

Examples:
  witlet plugin push no-latest-tag.wasm registry.example.com/plugins/no-latest-tag:1.0
  witlet plugin push a.wasm registry.example.com/plugins/a:1 --attestation a.wasm.conformance.json
  witlet plugin push a.wasm localhost:5000/a --username ci --password-stdin < password"
    )]
    Push(PushArgs),
    /// Pull a component from a registry into a file, with its conformance report, and print its reference with the digest
    #[command(after_help = "Examples:
  witlet plugin pull oci://registry.example.com/plugins/no-latest-tag:1.0
  witlet plugin pull oci://registry.example.com/plugins/a@sha256:… --to a.wasm -o json")]
    Pull(PullArgs),
    /// Examine whether a component keeps its contract: cases, properties, hostile inputs, determinism, budget, grants
    #[command(
        after_help = "What the plugin must answer stands in case files: cases.yaml beside the component, or --cases. Without any, the
kit does all that it can with `config: null`, or with --config.

Layers: load, vectors, properties, hostile, determinism, budget, grants, replay.

Exit codes: 0 if it passed, 4 if something was found, 1 if it couldn't be examined.

Examples:
  witlet plugin test my-plugin.wasm
  witlet plugin test my-plugin.wasm --config '{\"label\": \"team\"}' --only load,hostile
  witlet plugin test my-plugin.wasm -o junit --output-file report.xml
  witlet plugin test my-plugin.wasm --sign ci.pem"
    )]
    Test(Box<TestArgs>),
    /// Ask a recorded call's question again, and tell whether the answer is the same
    #[command(
        after_help = "Entries of the PluginConfiguration with `record: {max: N}` keep their last N calls below
witlet/recorded in the daemon's --root-dir. Admission is replayed in full; a probe with the results of its commands,
unless it had network access or secrets, which aren't recorded; a pod source not at all.

Exit codes: 0 for the same answer, 4 for another one, 1 if the question can't be asked again.

Examples:
  witlet plugin replay call.json
  witlet plugin replay call.json --component new.wasm -o json"
    )]
    Replay(ReplayArgs),
}
