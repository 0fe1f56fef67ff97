//! Cases for what is derived from records.

use super::*;
use crate::workload::ExitReason;

fn second(second: i64) -> Timestamp {
    Timestamp::from_second(second).expect("a time")
}

fn config(image: &str, command: &[&str], arguments: &[&str]) -> ContainerSpec {
    let own = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    ContainerSpec {
        name: "app".to_owned(),
        attempt: 0,
        image: image.to_owned(),
        user_image: String::new(),
        command: own(command),
        arguments: own(arguments),
        working_dir: String::new(),
        environment: vec![("A".to_owned(), "1".to_owned())],
        mounts: Vec::new(),
        labels: BTreeMap::new(),
        annotations: BTreeMap::new(),
        log_path: PathBuf::new(),
        resources: Resources::default(),
    }
}

fn container(id: &str, sandbox_id: &str, life: Life) -> ContainerRecord {
    ContainerRecord {
        id: id.to_owned(),
        sandbox_id: sandbox_id.to_owned(),
        config: config("file:a.wasm", &[], &[]),
        image_id: "sha256:0".to_owned(),
        log: None,
        created_at: second(1),
        life,
    }
}

#[test]
fn a_command_replaces_the_programs_name_and_arguments_follow() {
    for (image, command, arguments_given, expected) in [
        ("file:///srv/hello.wasm", &[][..], &[][..], &["hello"][..]),
        ("file:hello.wasm", &[], &["-v", "x"], &["hello", "-v", "x"]),
        ("file:hello.wasm", &["other"], &[], &["other"]),
        ("file:hello.wasm", &["other", "-a"], &["b"], &["other", "-a", "b"]),
        ("sha256:abc", &[], &[], &["abc"]),
    ] {
        assert_eq!(arguments(&config(image, command, arguments_given)), expected, "{image} {command:?}");
    }
    let by_identifier =
        ContainerSpec { user_image: "file:hello.wasm".to_owned(), ..config("sha256:abc", &[], &[]) };
    assert_eq!(arguments(&by_identifier), ["hello"]);
}

#[test]
fn a_program_knows_its_hosts_name_unless_it_was_reported_another() {
    let mut config = config("file:a.wasm", &[], &[]);
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    assert_eq!(environment(&config, "web"), [pair("A", "1"), pair("HOSTNAME", "web")]);
    assert_eq!(environment(&config, ""), [pair("A", "1")]);
    config.environment = vec![pair("HOSTNAME", "mine")];
    assert_eq!(environment(&config, "web"), [pair("HOSTNAME", "mine")]);
}

#[test]
fn nothing_runs_after_the_process_that_ran_it() {
    let sandbox = SandboxRecord {
        id: "s".to_owned(),
        config: SandboxSpec {
            name: "web".to_owned(),
            uid: "u".to_owned(),
            namespace: "default".to_owned(),
            attempt: 0,
            hostname: "web".to_owned(),
            log_directory: PathBuf::new(),
            labels: BTreeMap::new(),
            annotations: BTreeMap::new(),
            host_network: false,
            runtime_handler: String::new(),
        },
        network: Network::Pod([127, 88, 0, 1].into()),
        created_at: second(1),
        ready: true,
    };
    let over = Life::Exited { started_at: Some(second(2)), finished_at: second(3), exit: Exit::left(0) };
    let before = vec![
        container("running", "s", Life::Running { started_at: second(2) }),
        container("created", "s", Life::Created),
        container("over", "s", over.clone()),
        container("orphan", "gone", Life::Running { started_at: second(2) }),
    ];
    let (sandboxes, containers) = recover(vec![sandbox.clone()], before, second(9));
    assert_eq!(sandboxes, [SandboxRecord { ready: false, ..sandbox }]);
    let lost = Life::Exited { started_at: Some(second(2)), finished_at: second(9), exit: Exit::lost() };
    assert_eq!(
        containers,
        [
            container("running", "s", lost),
            container("created", "s", Life::Created),
            container("over", "s", over)
        ]
    );
    assert_eq!(Exit::lost().reason, ExitReason::Unknown);
}

#[test]
fn a_container_ends_once_and_never_before_it_began() {
    let running = Life::Running { started_at: second(5) };
    let ended = running.end(Exit::left(3), second(4));
    assert_eq!(
        ended,
        Life::Exited { started_at: Some(second(5)), finished_at: second(5), exit: Exit::left(3) }
    );
    assert_eq!(ended.end(Exit::killed(), second(9)), ended);
}

#[test]
fn a_handler_is_served_where_its_container_says() {
    let annotation = |value: &str| [(PORTS_ANNOTATION.to_owned(), value.to_owned())].into();
    for (variable, noted, expected) in [
        (None, "", 8080),
        (Some("9000"), "", 9000),
        (Some("9000"), r#"[{"containerPort":80}]"#, 9000),
        (Some(" 9001\n"), "", 9001),
        (Some("http"), r#"[{"containerPort":80}]"#, 80),
        (Some("0"), "", 8080),
        (Some("70000"), "", 8080),
        (None, r#"[{"name":"web","containerPort":81,"protocol":"TCP"},{"containerPort":82}]"#, 81),
        (None, r#"[{"containerPort":53,"protocol":"UDP"},{"containerPort":82,"protocol":"TCP"}]"#, 82),
        (None, r#"[{"containerPort":53,"protocol":"UDP"}]"#, 8080),
        (None, "[]", 8080),
        (None, "not JSON", 8080),
    ] {
        let mut config = config("file:a.wasm", &[], &[]);
        config.environment.extend(variable.map(|value| ("PORT".to_owned(), value.to_owned())));
        config.annotations = annotation(noted);
        assert_eq!(port(&config), expected, "{variable:?} {noted}");
    }
}

#[test]
fn a_record_of_before_can_still_be_read() {
    let mut record = serde_json::to_value(container("c", "s", Life::Created)).expect("it can be written");
    let fields = record["config"].as_object_mut().expect("an object");
    fields.remove("resources").expect("it was there");
    fields.insert("memory_bytes_max".to_owned(), 7.into());
    let read: ContainerRecord = serde_json::from_value(record).expect("it can be read");
    assert_eq!(read, container("c", "s", Life::Created));
}
