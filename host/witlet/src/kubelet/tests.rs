//! Whose name makes it the kubelet, which files are read in which order, and what is reported.

use serde_json::json;

use super::*;
use crate::cli::LogFormat;
use crate::logging::vmodule::FileVerbosity;

fn words(line: &str) -> Vec<OsString> {
    line.split_whitespace().map(OsString::from).collect()
}

fn start_of(line: &str) -> Result<Box<Start>, KubeletError> {
    // What this machine is doesn't matter here.
    match read(&words(&format!("{line} --fail-cgroupv1=false --fail-swap-on=false")))? {
        Invocation::Run(start) => Ok(start),
        Invocation::Text(text) => panic!("it only says {text}"),
    }
}

fn write(folder: &Path, name: &str, fields: &str) -> String {
    let path = folder.join(name);
    std::fs::create_dir_all(path.parent().expect("it is below the folder")).expect("a temporary folder");
    let text = format!("apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n{fields}\n");
    std::fs::write(&path, text).expect("a temporary file");
    path.display().to_string()
}

#[test]
fn it_is_the_kubelet_by_its_name_or_its_first_word() {
    let is_command = |word: &str| ["run", "runtime", "compile-component", "kubelet"].contains(&word);
    let cases: [(&str, Option<&str>); 9] = [
        ("/usr/bin/kubelet --v=2", Some("--v=2")),
        ("kubelet", Some("")),
        ("witlet-kubelet --v=2", Some("--v=2")),
        ("kubelet start", Some("start")),
        ("/usr/bin/witlet kubelet --v=2", Some("--v=2")),
        ("kubelet kubelet --v=2", Some("--v=2")),
        ("/usr/bin/kubelet compile-component x", None),
        ("witlet run", None),
        ("witlet", None),
    ];
    for (line, expected) in cases {
        let all = words(line);
        let expected = expected.map(words);
        assert_eq!(arguments(&all, is_command), expected.as_deref(), "{line}");
    }
    assert_eq!(arguments(&[], is_command), None);
}

#[test]
fn help_and_version_are_reported_before_any_file_is_read() {
    let reported = |line: &str| match read(&words(line)) {
        Ok(Invocation::Text(text)) => text,
        other => panic!("{line}: {other:?}"),
    };
    let help = reported("--config=/no/such/file --help");
    for flag in flags::table::FLAGS {
        assert!(help.contains(&format!("--{}", flag.name)), "--{} isn't in the help", flag.name);
    }
    assert!(help.contains("*     --lock-file"), "what does nothing is marked:\n{help}");
    assert_eq!(reported("-h"), help);
    // kubeadm cuts the first word off and reads the rest as a semantic version.
    assert_eq!(reported("--version"), format!("Kubernetes v1.36.0+witlet.{}\n", env!("CARGO_PKG_VERSION")));
    assert!(reported("--version=raw").starts_with("version.Info{GitVersion:\"v1.36.0+witlet."));
}

#[test]
fn drop_ins_lie_over_the_file_in_the_order_of_their_paths_and_flags_over_all() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file =
        write(folder.path(), "config.yaml", "maxPods: 1\nport: 1001\nhealthzPort: 1002\nsyncFrequency: 3s");
    write(folder.path(), "d/20-b.conf", "maxPods: 3\nport: 2001");
    write(folder.path(), "d/10-a.conf", "maxPods: 2\nport: 2002\nhealthzPort: 2003");
    write(folder.path(), "d/15/c.conf", "healthzPort: 2004");
    write(folder.path(), "d/99-other.yaml", "maxPods: 99");
    let line = format!("--config={file} --config-dir={} --max-pods=4", folder.path().join("d").display());
    let settings = start_of(&line).expect("all can be read").settings;
    assert_eq!(settings.node.max_pods, 4);
    assert_eq!(settings.server.expect("it is on").address.port(), 2001);
    assert_eq!(
        settings.healthz.expect("it is on").port(),
        2004,
        "folders below count, in the order of paths"
    );
    assert_eq!(settings.resync.as_secs(), 3);
}

#[test]
fn a_drop_in_takes_away_by_null_lies_over_default_thresholds_and_leaves_relative_paths() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let main = "maxPods: 7\nstaticPodPath: m\nfeatureGates: {AllAlpha: true, AllBeta: true}\nauthentication: {anonymous: {enabled: true}}";
    let file = write(folder.path(), "config.yaml", main);
    let drop_in = "maxPods: null\nresolvConf: r\nfeatureGates: {AllAlpha: null}\nauthentication: null\n\
                   evictionHard: {memory.available: 1Gi, nodefs.available: null}";
    write(folder.path(), "d/10.conf", drop_in);
    let line = format!("--config={file} --config-dir={}", folder.path().join("d").display());
    let configz = start_of(&line).expect("all can be read").settings.configz;
    let shown = &configz["kubeletconfig"];
    assert_eq!(
        (&shown["maxPods"], &shown["authentication"]["anonymous"]["enabled"]),
        (&json!(110), &json!(false))
    );
    assert_eq!(
        shown["staticPodPath"],
        json!(folder.path().join("m")),
        "of the main file, against its folder"
    );
    assert_eq!((&shown["resolvConf"], &shown["featureGates"]), (&json!("r"), &json!({"AllBeta": true})));
    let thresholds = json!({
        "imagefs.available": "15%", "imagefs.inodesFree": "5%", "memory.available": "1Gi",
        "nodefs.inodesFree": "5%",
    });
    assert_eq!(shown["evictionHard"], thresholds);
    assert_eq!(shown["kind"], "KubeletConfiguration");
    write(folder.path(), "d/20.conf", "");
    std::fs::write(folder.path().join("d/20.conf"), "").expect("written");
    assert!(start_of(&line).is_err(), "an empty drop-in says nothing of its kind");
}

#[test]
fn run_once_is_refused_in_upstreams_words_and_what_1_36_lacks_is_unknown() {
    let cause = |line: &str| {
        let error = start_of(line).expect_err("upstream refuses it");
        Error::source(&error).map_or_else(|| error.to_string(), ToString::to_string)
    };
    assert_eq!(
        cause("--runonce"),
        "invalid configuration: runOnce (--runOnce) true, Runonce mode has been deprecated and should not be set"
    );
    assert!(start_of("--runonce=false").is_ok());
    assert!(cause("--tls-curve-preferences=29").contains("unknown flag: --tls-curve-preferences"));
    for gates in ["SeparateCacheWatchRPC=false", "ControllerManagerReleaseLeaderElectionLockOnExit=true"] {
        assert!(start_of(&format!("--feature-gates={gates}")).is_ok(), "{gates}");
    }
    assert!(cause("--feature-gates=SeparateCacheWatchRPC=true").contains("locked to false"));
}

#[test]
fn what_cannot_be_read_is_named() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let none = start_of("--config=/no/such/file.yaml").expect_err("there is none");
    assert_eq!(none.to_string(), "failed to load kubelet config file /no/such/file.yaml");
    let none = start_of("--config-dir=/no/such/folder").expect_err("there is none");
    assert_eq!(none.to_string(), "failed to load kubelet config file /no/such/folder");
    let bad = write(folder.path(), "bad.yaml", "maxPods: many");
    let error = start_of(&format!("--config={bad}")).expect_err("it has a mistake");
    let cause = Error::source(&error).expect("it has a cause").to_string();
    assert_eq!(cause, format!("{bad}: line 3, column 10: maxPods: expected a whole number, found \"many\""));
    let long = folder.path().join("long.yaml");
    std::fs::write(&long, vec![b'#'; usize::try_from(FILE_BYTES_MAX).expect("it fits") + 1]).expect("a file");
    let error = start_of(&format!("--config={}", long.display())).expect_err("it is too long");
    assert!(error.to_string().contains("long.yaml"), "{error}");
}

#[test]
fn what_is_not_done_is_reported_once_by_name() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let fields = "topologyManagerPolicy: restricted\nreservedMemory: [{numaNode: 0, limits: {memory: 1Gi}}]\n\
                  featureGates: {PodLevelResourceManagers: true, EnvFiles: true}";
    let file = write(folder.path(), "config.yaml", fields);
    let start = start_of(&format!(
        "--config={file} --lock-file=/l --pod-cidr=10.0.0.0/24 -v=4 --logging-format=json"
    ));
    let start = start.expect("all is known");
    assert_eq!(
        start.warnings,
        [
            "flag --lock-file has no effect in this release",
            "field topologyManagerPolicy (--topology-manager-policy) has no effect with this value in this release",
            "field podCIDR (--pod-cidr) has no effect with this value in this release",
            "field reservedMemory has no effect with this value in this release",
            "feature gate PodLevelResourceManagers has no effect with this value in this release",
        ]
    );
    assert_eq!((start.log.verbosity, start.log.format), (4, LogFormat::Json));
}

#[test]
fn deprecated_flags_without_a_field_are_acted_on_and_warned_of_once() {
    let line = "--maximum-dead-containers=9 --maximum-dead-containers=10 --minimum-container-ttl-duration=1m";
    let start = start_of(line).expect("they are known");
    let instead = "Use --eviction-hard or --eviction-soft instead. Will be removed in a future version.";
    let warning = |flag| format!("Flag --{flag} has been deprecated, {instead}");
    assert_eq!(
        start.warnings,
        [warning("maximum-dead-containers"), warning("minimum-container-ttl-duration")]
    );
    assert_eq!(start.settings.pods.container_gc.total_max, Some(10));
}

#[test]
fn a_node_that_asks_for_what_is_not_done_starts_and_is_reported_so() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let fields = "serverTLSBootstrap: true\nrotateCertificates: true\nenableControllerAttachDetach: true\n\
                  volumePluginDir: /opt/plugins\nnoSuchField: 1\n\
                  featureGates: {RotateKubeletServerCertificate: true, JobManagedBy: true}";
    let file = write(folder.path(), "config.yaml", fields);
    // As kubeadm and clouds start theirs.
    let line = format!(
        "--config={file} --kubeconfig=/etc/kubernetes/kubelet.conf --image-credential-provider-config=/c.yaml \
         --image-credential-provider-bin-dir=/bin --cloud-provider=external --feature-gates=RotateKubeletServerCertificate=false"
    );
    let start = start_of(&line).expect("the kubelet starts so");
    assert_eq!(
        start.warnings,
        [
            format!("{file}: unknown field \"noSuchField\""),
            "flag --image-credential-provider-config has no effect in this release".to_owned(),
            "flag --image-credential-provider-bin-dir has no effect in this release".to_owned(),
            "field serverTLSBootstrap (--rotate-server-certificates) has no effect with this value in this release"
                .to_owned(),
        ],
        "the flag's gate goes before the file's"
    );
    assert!(!start.settings.feature_gates["RotateKubeletServerCertificate"]);
    let server = start.settings.server.expect("it serves");
    assert_eq!(server.certificate, None, "it serves with a certificate of its own");
    for gates in ["NoSuchGate=true", "SidecarContainers=false"] {
        let error =
            start_of(&format!("--config={file} --feature-gates={gates}")).expect_err("upstream refuses it");
        let begin = "failed to set feature gates from initial flags-based config: ";
        assert!(error.to_string().starts_with(begin), "{error}");
    }
}

#[test]
fn a_log_that_cannot_be_ends_the_start_in_upstreams_words() {
    let error = start_of("--logging-format=xml --vmodule=a=1").expect_err("there is no such format");
    assert_eq!(
        error.to_string(),
        "initialize logging: [logging.format: Invalid value: \"xml\": Unsupported log format, \
         logging.vmodule: Forbidden: Only supported for text log format]"
    );
}

#[test]
fn flags_of_the_log_lie_over_files_and_file_patterns_follow_those_of_files() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let fields = "logging: {format: json, verbosity: 2, flushFrequency: 1000000000, vmodule: [{filePattern: a, verbosity: 1}]}\n\
                  featureGates: {LoggingAlphaOptions: true}";
    let file = write(folder.path(), "config.yaml", fields);
    let line = format!(
        "--config={file} --logging-format=text -v=4 --vmodule=b=2,c*=3 --vmodule=d=4 --log-flush-frequency=1m \
         --log-text-split-stream --log-text-info-buffer-size=64Ki"
    );
    let start = start_of(&line).expect("it is right");
    let vmodule = [("a", 1), ("b", 2), ("c*", 3), ("d", 4)];
    let expected = LogOptions {
        format: LogFormat::Text,
        verbosity: 4,
        vmodule: vmodule.map(|(pattern, verbosity)| FileVerbosity::new(pattern.to_owned(), verbosity)).into(),
        split: true,
        info_buffer_bytes: 64 << 10,
        flush_frequency: std::time::Duration::from_mins(1),
        contextual: true,
    };
    assert_eq!(start.log, expected);
    let shown = &start.settings.configz["kubeletconfig"]["logging"];
    assert_eq!(
        *shown,
        json!({
            "format": "text", "flushFrequency": "1m", "verbosity": 4,
            "vmodule": [
                {"filePattern": "a", "verbosity": 1}, {"filePattern": "b", "verbosity": 2},
                {"filePattern": "c*", "verbosity": 3}, {"filePattern": "d", "verbosity": 4},
            ],
            "options": {"text": {"splitStream": true, "infoBufferSize": "64Ki"}, "json": {"infoBufferSize": "0"}},
        })
    );
    assert_eq!(start.settings.flags["vmodule"], "b=2,c*=3,d=4");
    assert_eq!(start.warnings, [""; 0]);
}

#[test]
fn the_book_says_of_every_flag_and_field_what_becomes_of_it() {
    use configuration::fields::{FIELDS, FieldSupport};
    use flags::table::{FLAGS, Target};
    let book = include_str!("../../../../docs/src/kubelet.md");
    let section =
        |title: &str| book.split("\n## ").find(|part| part.starts_with(title)).expect("the book has it");
    let done = section("Done");
    let nothing = section("Known, with nothing to do");
    let not_yet = section("Known, and not acted on yet");
    for field in FIELDS {
        let place = match field.fate {
            FieldSupport::Acts => done,
            FieldSupport::Moot => nothing,
            FieldSupport::Fixed(_) => not_yet,
        };
        let flag = flags::name_of(field.path).map_or_else(String::new, |name| format!(" `--{name}`"));
        let row = format!("\n| `{}` |{flag} |\n", field.path);
        assert!(place.contains(&row), "docs/src/kubelet.md has no row {row}");
    }
    for flag in FLAGS {
        let place = match flag.target {
            Target::Field(_) => continue,
            Target::Own(_) => done,
            Target::Nothing => nothing,
            Target::NotYet(_) => not_yet,
        };
        assert!(
            place.contains(&format!("`--{}`", flag.name)),
            "docs/src/kubelet.md misplaces --{}",
            flag.name
        );
    }
    let rows = book.lines().filter(|line| line.starts_with("| `")).count();
    assert_eq!(rows, FIELDS.len(), "the book has fields that aren't");
}
