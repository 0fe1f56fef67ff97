//! Which fault is planted where, which check has to find it, and in which words.

use witlet_wasm::role::Role;

use Role::{Admission, PodSource, Probe};

/// A component with a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Guest {
    /// All three roles, faults by configuration.
    Faults,
    /// A probe type with a secret and commands, faults by configuration.
    Tattler,
    /// Never ends its initialisation.
    LoopAtStart,
    /// A handler whose functions have other types.
    OtherTypesHandler,
    /// Written by hand, by its name.
    Made(&'static str),
}

impl Guest {
    pub(crate) fn name(self) -> String {
        match self {
            Self::Faults => "faults.wasm".to_owned(),
            Self::Tattler => "tattler.wasm".to_owned(),
            Self::LoopAtStart => "loop-at-start.wasm".to_owned(),
            Self::OtherTypesHandler => "other-types.wasm".to_owned(),
            Self::Made(name) => format!("{name}.wasm"),
        }
    }
}

/// One fault.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Planted {
    pub(crate) guest: Guest,
    /// What the configuration says; none for a guest that has nothing but its fault.
    pub(crate) fault: Option<&'static str>,
    pub(crate) role: Role,
    /// The check that has to find it.
    pub(crate) check: &'static str,
    /// What the finding has to say.
    pub(crate) words: &'static str,
}

impl Planted {
    /// For the test's name.
    pub(crate) fn name(&self) -> String {
        format!("{} ({}, {})", self.fault.unwrap_or("the fault"), self.guest.name(), self.check)
    }
}

const fn fault(fault: &'static str, role: Role, check: &'static str, words: &'static str) -> Planted {
    Planted { guest: Guest::Faults, fault: Some(fault), role, check, words }
}

const fn tattler(fault: &'static str, check: &'static str, words: &'static str) -> Planted {
    Planted { guest: Guest::Tattler, fault: Some(fault), role: Probe, check, words }
}

const fn fixed(guest: Guest, role: Role, check: &'static str, words: &'static str) -> Planted {
    Planted { guest, fault: None, role, check, words }
}

/// All of them.
pub(crate) const PLANTED: &[Planted] = &[
    // Configurations.
    fault("validate-unwraps", Admission, "hostile/config", "trapped"),
    fault("validate-unwraps", Probe, "hostile/config", "trapped"),
    fault("validate-unwraps", PodSource, "hostile/config", "trapped"),
    fault("validate-spins", Admission, "hostile/config", "no answer within"),
    fault("validate-reads-the-clock", Admission, "determinism/other-clock", "the licence has ended"),
    fault("validate-reads-the-clock", Probe, "determinism/other-clock", "the licence has ended"),
    fault("validate-reads-the-clock", PodSource, "determinism/other-clock", "the licence has ended"),
    tattler("honest", "hostile/config", "trapped"),
    // Verdicts that aren't a function of the request.
    fault("counts-calls", Admission, "determinism/warm-instance", "call 3 of one instance: reject NotNow"),
    fault(
        "tires-after-a-hundred-calls",
        Admission,
        "determinism/warm-instance",
        "call 101 of one instance: reject NotNow",
    ),
    fault(
        "keeps-the-time",
        Admission,
        "determinism/after-other-questions",
        "after a question of yesterday: reject",
    ),
    fault("keeps-the-first-namespace", Admission, "determinism/after-other-questions", "reject NotNow"),
    fault("caches-by-name", Admission, "determinism/after-other-questions", "reject NotNow"),
    fault("draws-lots", Admission, "determinism/random-numbers", "with other random numbers"),
    fault("follows-its-hash-map", Admission, "determinism/random-numbers", "with other random numbers"),
    fault("takes-the-first-fact", Admission, "properties/added-facts", "admit, and then reject NotNow"),
    fault("misreads-milli-cpu", Admission, "properties/quantity-notation", "TooMuchCpu"),
    fault("misreads-memory", Admission, "properties/quantity-notation", "TooMuchMemory"),
    // Pods that a handler can't cope with.
    fault("trap-without-labels", Admission, "hostile/pods", "trapped"),
    fault("trap-without-spec", Admission, "hostile/pods", "trapped"),
    fault("trap-without-containers", Admission, "hostile/pods", "trapped"),
    fault("cuts-inside-a-letter", Admission, "hostile/pods", "trapped"),
    fault("port-as-u16", Admission, "hostile/pods", "trapped"),
    fault("negative-is-impossible", Admission, "hostile/pods", "trapped"),
    fault("hoards-a-huge-pod", Admission, "hostile/pods", "exceeded its memory limit"),
    fault("recurses-with-the-pod", Admission, "hostile/pods", "ran out of stack"),
    fault("compares-all-labels", Admission, "hostile/pods", "no answer within 100ms"),
    fault("error-for-a-resize", Admission, "properties/verdicts", "trapped"),
    // Verdicts that the contract doesn't have.
    fault("empty-reason", Admission, "properties/verdicts", "the reason is empty"),
    fault("sentence-for-a-reason", Admission, "properties/verdicts", "isn't a CamelCase word"),
    fault("empty-message", Admission, "properties/verdicts", "an empty message"),
    fault("megabyte-message", Admission, "properties/verdicts", "a message of more than 4096 bytes"),
    fault("empty-shortage", Admission, "properties/verdicts", "the list of shortages is empty"),
    fault("nameless-shortage", Admission, "properties/verdicts", "names no resource"),
    fault("sleeps", Admission, "properties/verdicts", "in admission nothing may wait"),
    // Time, memory and the log.
    fault("leaks-per-call", Admission, "budget/leak", "bytes more with each call"),
    fault("slow-to-start", Admission, "budget/time", "in each of 5 fresh instances"),
    fault("slow-to-answer", Admission, "budget/time", "no answer within 100ms"),
    fault("floods-the-log", Admission, "budget/log", "64 lines in one call"),
    // Probes and their servers.
    fault("success-when-refused", Probe, "hostile/success-from-nothing", "a server that refuses: success"),
    fault(
        "success-after-silence",
        Probe,
        "hostile/success-from-nothing",
        "a server that says nothing: success",
    ),
    fault("success-without-network", Probe, "grants/network", "it can't be checked"),
    fault("error-for-a-refusal", Probe, "hostile/servers", "trapped"),
    fault("trap-on-garbage", Probe, "hostile/servers", "trapped"),
    fault("hoards-what-it-reads", Probe, "hostile/servers", "exceeded its memory limit"),
    fault("never-ends", Probe, "hostile/servers", "no answer within"),
    fault("ignores-its-deadline", Probe, "hostile/deadline", "no answer within 600ms"),
    fault("reads-without-end", Probe, "hostile/deadline", "no answer within 600ms"),
    fault("busy-waits", Probe, "budget/busy-waiting", "of its time"),
    // Parameters and targets.
    fault(
        "check-accepts-anything",
        Probe,
        "hostile/parameters",
        "check-parameters is content, and the probe: it trapped",
    ),
    fault(
        "nan-is-a-number",
        Probe,
        "hostile/parameters",
        "check-parameters is content, and the probe: it trapped",
    ),
    fault("trap-on-null-parameters", Probe, "hostile/parameters", "trapped"),
    fault("recurses-with-parameters", Probe, "hostile/parameters", "ran out of stack"),
    fault("trap-without-address", Probe, "hostile/targets", "trapped"),
    fault("megabyte-detail", Probe, "properties/outcomes", "a detail of more than 10240 bytes"),
    fault("probe-leaks-per-call", Probe, "budget/leak", "bytes more with each call"),
    // Secrets and commands.
    tattler("tells-in-its-detail", "grants/secrets-untold", "the secret \"password\" in its answer"),
    tattler("tells-in-its-log", "grants/secrets-untold", "the secret \"password\" in a line of its log"),
    tattler("trap-without-secret", "grants/secret-not-found", "trapped"),
    tattler("success-without-secret", "grants/secret-not-granted", "no one needs a password"),
    tattler("trap-without-command", "grants/exec", "trapped"),
    tattler("success-without-command", "grants/exec", "it was worth trying"),
    // Sources and what they read.
    fault("empty-on-error", PodSource, "hostile/empty-on-error", "empty"),
    fault("empty-on-error", PodSource, "grants/files", "empty"),
    fault("skips-what-it-cannot-read", PodSource, "vectors/case", "pods"),
    fault("trap-on-a-broken-file", PodSource, "hostile/folders", "trapped"),
    fault("trap-without-folder", PodSource, "grants/files", "trapped"),
    fault("reads-files-of-any-size", PodSource, "hostile/folders", "exceeded its memory limit"),
    fault("follows-any-name", PodSource, "hostile/folders", "trapped"),
    fault("source-recurses", PodSource, "hostile/folders", "ran out of stack"),
    fault("error-without-reason", PodSource, "hostile/folders", "the reason is empty"),
    fault("unchanged-at-first", PodSource, "properties/first-poll", "unchanged at the first poll"),
    fault("unchanged-for-any-cursor", PodSource, "hostile/pods-gone", "unchanged"),
    fault("pods-twice", PodSource, "properties/snapshots", "twice in one set"),
    fault("no-pod-at-all", PodSource, "properties/snapshots", "is no Pod of v1"),
    fault("no-pods-for-empty", PodSource, "vectors/case", "empty"),
    fault("first-two-as-listed", PodSource, "properties/folder-order", "and then"),
    fault("cursor-grows", PodSource, "budget/cursor", "bytes more with each of"),
    fault("time-in-manifests", PodSource, "properties/unchanged-world", "with other contents"),
    fault("counts-polls", PodSource, "properties/unchanged-world", "with other contents"),
    fault("source-leaks-per-call", PodSource, "budget/leak", "bytes more with each call"),
    // Components that aren't a plugin.
    fixed(Guest::LoopAtStart, Admission, "load/validate", "no answer within"),
    fixed(Guest::OtherTypesHandler, Admission, "load/link", "doesn't fit the contract"),
    fixed(Guest::Made("probe-other-answer"), Probe, "load/link", "doesn't fit the contract"),
    fixed(Guest::Made("source-other-answer"), PodSource, "load/link", "doesn't fit the contract"),
];

/// Cases of a role that the plugin without a fault meets. `word` names the fault.
pub(crate) fn cases(guest: Guest, role: Role, word: Option<&str>) -> Option<String> {
    let text = match (guest, role) {
        (Guest::Faults, Admission) => HANDLER,
        (Guest::Faults, Probe) => PROBER,
        (Guest::Faults, PodSource) => SOURCE,
        (Guest::Tattler, _) => TATTLER,
        (Guest::LoopAtStart | Guest::OtherTypesHandler | Guest::Made(_), _) => return None,
    };
    let honest = match guest {
        Guest::Tattler => "honest",
        Guest::Faults | Guest::LoopAtStart | Guest::OtherTypesHandler | Guest::Made(_) => "null",
    };
    Some(text.replace("FAULT", word.unwrap_or(honest)))
}

const HANDLER: &str = r#"
apiVersion: witlet.dev/v1alpha1
kind: PluginCases
role: admission
config: {fault: FAULT, label: team, milliCpuMax: 2000, folder: /pods}
cases:
  - name: a pod of a team is admitted
    request:
      pod:
        metadata: {name: web, namespace: shop, labels: {team: shop}}
        spec: {containers: [{name: app, image: nginx, resources: {requests: {cpu: 500m, memory: 1Gi}}}]}
    expect: {verdict: admit}
  - name: a pod without the label is rejected
    request: {pod: {metadata: {name: web}, spec: {containers: [{name: app, image: nginx}]}}}
    expect: {verdict: reject, reason: NoTeam, messageContains: team}
  - name: a pod that asks for too much is rejected
    request:
      pod:
        metadata: {name: web, labels: {team: shop}}
        spec: {containers: [{name: app, image: nginx, resources: {requests: {cpu: "2.5"}}}]}
    expect: {verdict: reject, reason: TooMuchCpu, message: 2500m are more than 2000m}
  - name: a pod may be resized
    request: {operation: resize, pod: {metadata: {name: web}, spec: {containers: [{name: app, image: nginx}]}}}
    expect: {verdict: admit}
  - name: a limit that is no number is refused
    config: {milliCpuMax: many}
    expect: {validate: milliCpuMax}
"#;

const PROBER: &str = r#"
apiVersion: witlet.dev/v1alpha1
kind: PluginCases
role: probe
config: {fault: FAULT, label: team, milliCpuMax: 2000, folder: /pods}
grants: {network: [pod]}
cases:
  - name: a server that greets is a success
    parameters: {port: 7025, expect: "220", note: ""}
    servers: [{port: 7025, dialog: [{send: "220 hello\r\n"}]}]
    expect: {outcome: success, detail: 220 hello}
  - name: a server that says something else is a failure
    parameters: {port: 7025, expect: "220"}
    servers: [{port: 7025, dialog: [{send: "500 no\r\n"}]}]
    expect: {outcome: failure, detailContains: 500 no}
  - name: a server that refuses is a failure
    parameters: {port: 7025, expect: "220"}
    servers: [{port: 7025, behaviour: refuse}]
    expect: {outcome: failure, detailContains: refused}
  - name: a port beyond all ports is refused
    parameters: {port: 70000}
    expect: {parameters: port}
"#;

const SOURCE: &str = r#"
apiVersion: witlet.dev/v1alpha1
kind: PluginCases
role: podSource
config: {fault: FAULT, label: team, milliCpuMax: 2000, folder: /pods}
cases:
  - name: each file is a pod
    steps:
      - folders:
          /pods:
            web.json: '{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"}}'
            db.json: '{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "db"}}'
            cache.json: '{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "cache"}}'
        expect: {snapshot: pods, pods: [{metadata: {name: web}}, {metadata: {name: db}}, {metadata: {name: cache}}]}
      - expect: {snapshot: unchanged}
      - folders: {/pods: {}}
        expect: {snapshot: empty}
  - name: half a file is an error that names it
    steps:
      - folders:
          /pods:
            web.json: '{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"}}'
            bad.json: '{"apiVersion": "v1", '
        expect: {error: Invalid, messageContains: bad.json}
"#;

const TATTLER: &str = r#"
apiVersion: witlet.dev/v1alpha1
kind: PluginCases
role: probe
config: {do: FAULT}
grants: {secrets: [password], exec: true}
secrets: {password: s3cret-value}
cases:
  - name: a command that ends well is a success
    parameters: {command: [check, --with]}
    execs: [{command: [check, --with, s3cret-value], exitCode: 0, output: fine}]
    expect: {outcome: success}
  - name: a command that ends badly is a failure
    parameters: {command: [check, --all]}
    execs: [{command: [check, --all, s3cret-value], exitCode: 1, output: bad}]
    expect: {outcome: failure}
"#;
