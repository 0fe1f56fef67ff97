//! `witlet plugin`: names, defaults and help of its commands and flags.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand, ValueEnum};
use witlet_conformance::Layer;
use witlet_templates::{Contract, Language, Name, Role};

use super::common::{API_SOCKET, ComponentCacheArgs, LogArgs, OutputFormat, RegistryArgs};
use super::eval::{AUDIT_HELP, AuditArgs, EVAL_HELP, EvalArgs};
use super::manifest::{MANIFEST_HELP, ManifestArgs};
use super::recorded::{DIFF_HELP, DiffArgs, REPLAY_HELP, ReplayArgs};
use super::transfer::{
    PULL_HELP, PUSH_HELP, PUSH_SET_HELP, PullArgs, PushArgs, PushSetArgs, SIGN_HELP, SignArgs,
};
use super::webhook_target::WebhookTarget;

/// What the columns of `witlet plugin list` mean.
pub(super) const LIST_HELP: &str = "Columns:
  ERRORS   calls without a usable answer
  P50 P99  time within which half, and 99 of 100, of the calls ended: estimated from a histogram
  MEMORY   the most that one instance had
  SHADOW   verdicts of a shadow that agreed with the node's decisions, and that differed
  ROLLOUT  the share of pods that it judges in another plugin's place, and how far the step is

Examples:
  witlet plugin list
  witlet plugin list no-latest-tag -o yaml";

/// `witlet plugin list` and `witlet get plugins`
#[derive(Debug, Args)]
pub(crate) struct PluginListArgs {
    /// Name of the object (default: all)
    #[arg(value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Output format; json and yaml have all details, such as differing verdicts of shadows
    #[arg(short, long, value_name = "FORMAT", default_value = "table")]
    pub(crate) output: OutputFormat,
    /// Socket of the daemon
    #[arg(long, value_name = "PATH", default_value = API_SOCKET)]
    pub(crate) api_socket: PathBuf,
}

/// `witlet plugin new`
#[derive(Debug, Args)]
pub(crate) struct NewArgs {
    /// Name of the plugin: lower-case letters, digits and dashes
    #[arg(value_name = "NAME", value_parser = Name::parse)]
    pub(crate) name: Name,
    /// Programming language; typescript is another name of javascript, whose projects are in TypeScript
    #[arg(long, value_name = "LANGUAGE", value_parser = languages())]
    pub(crate) lang: Language,
    /// Role of the plugin: admission judges pods, probe checks containers, pod-source provides pods
    #[arg(long, value_name = "ROLE", value_parser = roles())]
    pub(crate) role: Role,
    /// Folder of the project (default: NAME in the working folder)
    #[arg(long, value_name = "FOLDER")]
    pub(crate) into: Option<PathBuf>,
    /// Write into a folder that is not empty: overwrites the project's files, keeps others
    #[arg(long)]
    pub(crate) force: bool,
    /// Output format; json and yaml list the files
    #[arg(short, long, value_name = "FORMAT", default_value = "table")]
    pub(crate) output: OutputFormat,
}

/// `witlet plugin upgrade`
#[derive(Debug, Args)]
pub(crate) struct UpgradeArgs {
    /// Folder of the project (default: the working folder)
    #[arg(value_name = "DIR")]
    pub(crate) folder: Option<PathBuf>,
    /// Show what would be done, and write nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Name of the plugin, for a project without .witlet-template.json whose files don't say it
    #[arg(long, value_name = "NAME", value_parser = Name::parse)]
    pub(crate) name: Option<Name>,
    /// Programming language, for such a project
    #[arg(long, value_name = "LANGUAGE", value_parser = languages())]
    pub(crate) lang: Option<Language>,
    /// Role of the plugin, for such a project
    #[arg(long, value_name = "ROLE", value_parser = roles())]
    pub(crate) role: Option<Role>,
    /// Move a project of an older contract to the one that projects of this release are on
    #[arg(long, value_name = "CONTRACT", value_parser = contracts())]
    pub(crate) contract: Option<Contract>,
    /// Output format; json and yaml list all files
    #[arg(short, long, value_name = "FORMAT", default_value = "table")]
    pub(crate) output: OutputFormat,
}

/// What a component is loaded with, as an entry of a PluginConfiguration has it.
#[derive(Debug, Default, Args)]
pub(crate) struct EntryArgs {
    /// `config:` for case files that have none, and without cases: a file, or JSON
    #[arg(long, value_name = "FILE|JSON")]
    pub(crate) config: Option<String>,
    /// `limits:` of a PluginConfiguration; overrides those of case files
    #[arg(long, value_name = "JSON")]
    pub(crate) limits: Option<String>,
    /// `grants:` of a PluginConfiguration, for case files that have none; repeatable
    #[arg(long, value_name = "JSON")]
    pub(crate) grants: Vec<String>,
}

/// `witlet plugin test`
#[derive(Debug, Args)]
pub(crate) struct TestArgs {
    /// Component: a file, `builtin:NAME`, or `oci://…` in a registry
    #[arg(value_name = "FILE")]
    pub(crate) file: String,
    /// Case files, or folders of them (default: cases.yaml or the folder `cases` next to the component)
    #[arg(long, value_name = "PATH")]
    pub(crate) cases: Vec<PathBuf>,
    /// What the component is loaded with
    #[command(flatten)]
    pub(crate) entry: EntryArgs,
    /// Recorded calls to replay
    #[arg(long, value_name = "FILE")]
    pub(crate) record: Vec<PathBuf>,
    /// Seed of generated inputs; reports have it, so that a finding can be repeated
    #[arg(long, value_name = "NUMBER")]
    pub(crate) seed: Option<u64>,
    /// Number of generated inputs for each property
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) property_cases: Option<u32>,
    /// Run only these layers; the component is always loaded
    #[arg(long, value_name = "LAYER,…", value_delimiter = ',')]
    pub(crate) only: Vec<Layer>,
    /// Skip these layers
    #[arg(long, value_name = "LAYER,…", value_delimiter = ',')]
    pub(crate) skip: Vec<Layer>,
    /// Report format
    #[arg(short, long, value_name = "FORMAT", default_value = "human")]
    pub(crate) output: ReportFormat,
    /// File for the report instead of standard output, which then has one line
    #[arg(long, value_name = "PATH")]
    pub(crate) output_file: Option<PathBuf>,
    /// Ed25519 key (PKCS#8, PEM) to sign the report with, passed or not
    #[arg(long, value_name = "KEY.pem")]
    pub(crate) sign: Option<PathBuf>,
    /// File for the signed report (default: FILE.conformance.json)
    #[arg(long, value_name = "PATH", requires = "sign")]
    pub(crate) attestation: Option<PathBuf>,
    /// How registries are asked
    #[command(flatten)]
    pub(crate) registry: RegistryArgs,
    /// Compiled code of components
    #[command(flatten)]
    pub(crate) cache: ComponentCacheArgs,
}

/// Checks of conformance reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReportFormat {
    /// For people.
    Human,
    /// JSON, `kind: ConformanceReport`.
    Json,
    /// JUnit's XML.
    Junit,
}

/// `witlet plugin run`
#[derive(Debug, Args)]
pub(crate) struct PluginRunArgs {
    /// Component: a file, `builtin:NAME`, or `oci://…` in a registry
    #[arg(value_name = "FILE")]
    pub(crate) file: String,
    /// Case files or folders of them, recorded calls, manifests of pods (default: cases.yaml or the folder `cases` next to the component)
    #[arg(value_name = "REQUEST")]
    pub(crate) requests: Vec<PathBuf>,
    /// Name of a case to run (default: all); repeatable
    #[arg(long, value_name = "NAME")]
    pub(crate) case: Vec<String>,
    /// What the component is loaded with
    #[command(flatten)]
    pub(crate) entry: EntryArgs,
    /// How registries are asked
    #[command(flatten)]
    pub(crate) registry: RegistryArgs,
    /// Output format
    #[arg(short, long, value_name = "FORMAT", default_value = "table")]
    pub(crate) output: OutputFormat,
    /// Compiled code of components
    #[command(flatten)]
    pub(crate) cache: ComponentCacheArgs,
}

/// `witlet plugin bench`
#[derive(Debug, Args)]
pub(crate) struct BenchArgs {
    /// Component: a file, `builtin:NAME`, or `oci://…` in a registry
    #[arg(value_name = "FILE")]
    pub(crate) file: String,
    /// Case files, or folders of them (default: cases.yaml next to the component)
    #[arg(long, value_name = "PATH")]
    pub(crate) cases: Vec<PathBuf>,
    /// Case to run (default: the first one that expects an answer)
    #[arg(long, value_name = "NAME")]
    pub(crate) case: Option<String>,
    /// Role to measure (default: all)
    #[arg(long, value_name = "ROLE", value_parser = roles())]
    pub(crate) role: Option<Role>,
    /// Number of calls to one instance; at most 2000 to fresh instances
    #[arg(long, value_name = "NUMBER", default_value_t = 20_000, value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    pub(crate) calls: u32,
    /// Measure only an instance that is kept
    #[arg(long, conflicts_with = "fresh")]
    pub(crate) warm: bool,
    /// Measure only fresh instances
    #[arg(long)]
    pub(crate) fresh: bool,
    /// What the component is loaded with
    #[command(flatten)]
    pub(crate) entry: EntryArgs,
    /// How registries are asked
    #[command(flatten)]
    pub(crate) registry: RegistryArgs,
    /// Output format
    #[arg(short, long, value_name = "FORMAT", default_value = "table")]
    pub(crate) output: OutputFormat,
}

fn languages() -> impl TypedValueParser<Value = Language> {
    let value = |language: Language| PossibleValue::new(language.as_str()).aliases(language.alias());
    PossibleValuesParser::new(Language::ALL.map(value))
        .try_map(|name| Language::parse(&name).ok_or("unknown language"))
}

fn contracts() -> impl TypedValueParser<Value = Contract> {
    PossibleValuesParser::new(Contract::ALL.map(Contract::as_str))
        .try_map(|name| Contract::parse(&name).ok_or("unknown contract"))
}

fn roles() -> impl TypedValueParser<Value = Role> {
    PossibleValuesParser::new(Role::ALL.map(Role::as_str))
        .try_map(|name| Role::parse(&name).ok_or("unknown role"))
}

/// `witlet plugin serve`
#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    /// A PluginConfiguration; reloaded when it changes
    #[arg(value_name = "FILE", required_unless_present = "print_webhook")]
    pub(crate) file: Option<PathBuf>,
    /// Address to serve on
    #[arg(long, value_name = "IP:PORT", default_value = "127.0.0.1:8443")]
    pub(crate) listen: SocketAddr,
    /// Certificate of the webhook and those between it and its authority (PEM); reloaded when it changes
    #[arg(long, value_name = "FILE", required_unless_present = "print_webhook")]
    pub(crate) tls_cert_file: Option<PathBuf>,
    /// Private key of the certificate (PEM); reloaded when it changes
    #[arg(long, value_name = "FILE", required_unless_present = "print_webhook")]
    pub(crate) tls_private_key_file: Option<PathBuf>,
    /// Answer reviews only of clients with a certificate of this authority (PEM; reloaded when it changes)
    #[arg(long, value_name = "FILE")]
    pub(crate) client_ca_file: Option<PathBuf>,
    /// Print the ValidatingWebhookConfiguration for a webhook at https://HOST[:PORT] or behind the service NAMESPACE/NAME, and
    /// serve nothing
    #[arg(long, value_name = "URL|SERVICE", value_parser = WebhookTarget::parse)]
    pub(crate) print_webhook: Option<WebhookTarget>,
    /// Authority that signed the certificate, for --print-webhook (default: --tls-cert-file, for one that signed itself)
    #[arg(long, value_name = "FILE", requires = "print_webhook")]
    pub(crate) ca_file: Option<PathBuf>,
    /// Registry credentials in docker's config.json format (default: those of `docker login`)
    #[arg(long, value_name = "FILE")]
    pub(crate) registry_credentials: Option<PathBuf>,
    /// Compiled code of components
    #[command(flatten)]
    pub(crate) cache: ComponentCacheArgs,
    /// The log
    #[command(flatten)]
    pub(crate) log: LogArgs,
}

/// `witlet plugin`
#[derive(Debug, Subcommand)]
pub(crate) enum Plugin {
    /// Write a project that builds a plugin and passes the conformance kit
    #[command(after_help = "Examples:
  witlet plugin new team-label --lang rust --role admission
  witlet plugin new banner --lang python --role probe --into plugins/banner")]
    New(NewArgs),
    /// Bring a project's contracts, SDK, Makefiles, CI workflow and pins to this release
    #[command(
        after_help = "A file that was not changed since `witlet plugin new` or the last upgrade is replaced. One that was changed stays, and this \
release's is written next to it, as FILE.new. The plugin's sources, tests, cases.yaml, plugins.yaml and README.md are the \
author's and stay. What was made is known from .witlet-template.json; commit that file.

A project that is made for an older contract than this release's projects stays as it is, until --contract moves it; its own \
code is then to be moved by hand.

Exit codes: 0 if all is done, 4 if a file was changed on both sides and is left to you, 1 if nothing could be done.

Examples:
  witlet plugin upgrade
  witlet plugin upgrade plugins/team-label --dry-run
  witlet plugin upgrade --contract 0.2
  witlet plugin upgrade old-project --lang go --role admission --name team-label"
    )]
    Upgrade(UpgradeArgs),
    /// List the daemon's plugins: role, version, state, calls, errors, times, memory
    #[command(visible_alias = "ls", after_help = LIST_HELP)]
    List(PluginListArgs),
    /// List the features that a PluginConfiguration may require of this release
    #[command(after_help = "Example:
  witlet plugin features -o json")]
    Features {
        /// Output format
        #[arg(short, long, value_name = "FORMAT", default_value = "table")]
        output: OutputFormat,
    },
    /// Show what is in a component: manifest, roles, versions, grants, imports, size, needs; or in a set of plugins
    #[command(after_help = "Examples:
  witlet plugin inspect no-latest-tag.wasm -o json
  witlet plugin inspect oci://registry.example.com/fleet/plugins:2026-11")]
    Inspect {
        /// Component: a file, `builtin:NAME`, or `oci://…` in a registry, where it may be a set, too
        #[arg(value_name = "FILE")]
        file: String,
        /// How registries are asked
        #[command(flatten)]
        registry: RegistryArgs,
        /// Output format
        #[arg(short, long, value_name = "FORMAT", default_value = "table")]
        output: OutputFormat,
    },
    /// Put a manifest into a component: its name, version, schemas and requested grants
    #[command(after_help = MANIFEST_HELP)]
    Manifest(ManifestArgs),
    /// Ask a component what cases, recorded calls or manifests ask, and show each answer with its log lines, time and memory
    #[command(
        after_help = "Each case has the servers, folders and commands that it says, and a plugin that is loaded for it alone. \
`witlet plugin test` says whether a component keeps its contract; this shows what it does. A recorded call of an admission handler \
is a case that expects the recorded answer; of a manifest each pod is one in which any verdict will do. All handlers of a node are \
asked about manifests by `witlet plugin eval`, calls of all roles are repeated by `witlet plugin replay`.

Exit codes: 0 if all answers are as the cases expect, 4 if one isn't, 1 if nothing could be asked.

Examples:
  witlet plugin run redis.wasm
  witlet plugin run redis.wasm cases/slow.yaml --case 'a server that hangs'
  witlet plugin run team-label.wasm pod.yaml --config '{\"label\": \"team\"}'
  witlet plugin run team-label.wasm call.json
  witlet plugin run builtin:image-policy policy.yaml -o json"
    )]
    Run(Box<PluginRunArgs>),
    /// Measure a component: size, load time, calls to fresh and kept instances, memory, compared with an empty module
    #[command(
        after_help = "The plugin is asked one question again and again: that of a case, in the case's surroundings. \
Each measurement ends after its calls, or after half a minute (fresh instances) or two minutes (one that is kept).

Examples:
  witlet plugin bench no-latest-tag.wasm
  witlet plugin bench builtin:httpGet --cases cases/ --case 'a server that answers' --warm -o json"
    )]
    Bench(BenchArgs),
    /// Push a component to a registry, and print the reference that a plugin file takes
    #[command(after_help = PUSH_HELP)]
    Push(PushArgs),
    /// Pull a component from a registry into a file, with its conformance report, and print its reference with the digest
    #[command(after_help = PULL_HELP)]
    Pull(PullArgs),
    /// Push a plugin file with its components to a registry, as a set for a fleet, and print its reference with the digest
    #[command(after_help = PUSH_SET_HELP)]
    PushSet(PushSetArgs),
    /// Sign what is in a registry with a key, in cosign's form, and print its reference with the digest
    #[command(after_help = SIGN_HELP)]
    Sign(SignArgs),
    /// Check that a component keeps its contract: cases, properties, hostile inputs, determinism, budget, grants
    #[command(
        after_help = "What the plugin must answer stands in case files: cases.yaml next to the component, or --cases. Without any, \
the kit does all that it can with `config: null`, or with --config.

Layers: load, vectors, properties, hostile, determinism, budget, grants, replay.

Exit codes: 0 if it passed, 4 if something was found, 1 if it couldn't be examined.

Examples:
  witlet plugin test my-plugin.wasm
  witlet plugin test my-plugin.wasm --config '{\"label\": \"team\"}' --only load,hostile
  witlet plugin test my-plugin.wasm -o junit --output-file report.xml
  witlet plugin test my-plugin.wasm --sign ci.pem"
    )]
    Test(Box<TestArgs>),
    /// Ask admission handlers about manifests without a daemon, and print what each says and what becomes of the pod
    #[command(after_help = EVAL_HELP)]
    Eval(Box<EvalArgs>),
    /// Ask admission handlers about the pods of a daemon, and print which of them would not be admitted
    #[command(after_help = AUDIT_HELP)]
    Audit(Box<AuditArgs>),
    /// Repeat a recorded call, and compare the results
    #[command(after_help = REPLAY_HELP)]
    Replay(ReplayArgs),
    /// Ask two versions of an admission handler what was recorded, and print where their verdicts differ
    #[command(after_help = DIFF_HELP)]
    Diff(DiffArgs),
    /// Serve the admission handlers of a PluginConfiguration as a validating admission webhook
    #[command(
        after_help = "The handlers are asked about new pods and resizes, as on a node of a cluster, with a node without name, labels and \
resources and without other pods. A rejection denies the pod. A deferral, a shortage of resources and a failed handler with \
`failurePolicy: Defer` allow it with a warning: its node asks again.

Serves /validate, /healthz and /readyz over HTTPS. Ends on SIGTERM once the reviews under way are answered.

Examples:
  witlet plugin serve plugins.yaml --tls-cert-file tls.crt --tls-private-key-file tls.key
  witlet plugin serve --print-webhook policies/witlet-webhook --ca-file ca.crt | kubectl apply -f -
  witlet plugin serve --print-webhook https://10.0.0.5:8443 --tls-cert-file tls.crt"
    )]
    Serve(Box<ServeArgs>),
}
