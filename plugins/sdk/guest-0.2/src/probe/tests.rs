//! What a probe type sees of plain data, and what it says.

use serde::Deserialize;
use serde_json::{Value, json};

use super::{Check, Ended, Finding, Outcome, ProbeType, Setup, Target};
use crate::facts::{TargetFacts, check_parameters, validate_probe_type};
use crate::{Error, ProbeKind};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Sees {
    #[serde(default)]
    old: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    port: String,
}

impl ProbeType for Sees {
    type Parameters = Parameters;

    fn validate(&self, setup: &Setup<'_>) -> Result<(), Error> {
        if self.old {
            setup.warn("`old` will go away");
        }
        Ok(())
    }

    fn check_parameters(&self, parameters: &Parameters, check: &Check<'_>) -> Result<(), Error> {
        match parameters.port.as_str() {
            "" => Err(Error::new("InvalidParameters", "port: name one")),
            "http" => {
                check.warn("http is in the clear");
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn probe(&self, target: &Target<'_>, parameters: &Parameters) -> Result<Outcome, Error> {
        let (pod, container) = (target.pod(), target.container());
        let Some(port) = container.port(&parameters.port) else {
            return Ok(Outcome::unknown(format!("{} has no port {}", container.name(), parameters.port)));
        };
        Ok(Outcome::success(format!("{}:{port}", pod.address()?)).annotate("image", container.image()))
    }
}

fn manifest() -> Value {
    json!({
        "metadata": {"namespace": "shop", "name": "web", "uid": "1", "labels": {"b": "2", "a": "1"}},
        "spec": {
            "hostNetwork": true,
            "containers": [
                {"name": "app", "image": "nginx", "ports": [{"name": "web", "containerPort": 80}, {"containerPort": 53, "protocol": "UDP"}]},
            ],
            "initContainers": [{"name": "side", "image": "log"}],
        },
    })
}

#[test]
fn a_target_says_what_the_manifest_has() {
    let facts = TargetFacts {
        restarts: 2,
        host_addresses: vec!["192.0.2.1".to_owned()],
        ..TargetFacts::of(&manifest())
    };
    let facts = facts.at("10.0.0.7");
    let target = facts.target();
    let (pod, container) = (target.pod(), target.container());
    assert_eq!([pod.namespace(), pod.name(), pod.uid()], ["shop", "web", "1"]);
    let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
    assert_eq!(pod.labels(), [pair("a", "1"), pair("b", "2")]);
    assert_eq!(
        (pod.label("b"), pod.annotation("b"), pod.annotations()),
        (Some("2".to_owned()), None, Vec::new())
    );
    assert_eq!(
        (pod.addresses(), pod.host_addresses()),
        (vec!["10.0.0.7".to_owned()], vec!["192.0.2.1".to_owned()])
    );
    assert!(pod.host_network() && pod.json().contains("nginx"));
    assert_eq!(pod.at::<String>("/metadata/name"), Ok(Some("web".to_owned())));
    assert_eq!([container.name(), container.id(), container.image()], ["app", "id", "nginx"]);
    assert_eq!((container.restarts(), container.port("web"), container.port("dns")), (2, Some(80), None));
    let ports: Vec<_> = container.ports().map(|port| (port.name(), port.number(), port.protocol())).collect();
    assert_eq!(ports, [("web".to_owned(), 80, "TCP".to_owned()), (String::new(), 53, "UDP".to_owned())]);
    assert_eq!(container.pointer("/image").as_deref(), Some("\"nginx\""));
    assert_eq!((target.kind(), target.timeout()), (ProbeKind::Readiness, target.remaining()));
    let side = TargetFacts { container: "side".to_owned(), ..TargetFacts::of(&manifest()) };
    assert_eq!(side.target().container().image(), "log");
    assert_eq!(side.target().host_or_address(Some("db")).as_deref(), Ok("db"));
    assert_eq!(
        side.target().host_or_address(None).map_err(|error| error.code().to_owned()),
        Err("NoAddress".to_owned())
    );
}

#[test]
fn a_probe_type_is_asked_as_the_host_asks_it() {
    let facts = TargetFacts::of(&manifest()).at("10.0.0.7");
    let probe =
        |port: &str| Sees { old: false }.probe(&facts.target(), &Parameters { port: port.to_owned() });
    let found = probe("web").expect("an outcome");
    assert_eq!(
        (found.finding(), found.message()),
        (&Finding::Success("10.0.0.7:80".to_owned()), "10.0.0.7:80")
    );
    assert_eq!(found.annotations(), [("image".to_owned(), "nginx".to_owned())]);
    assert_eq!(probe("dns"), Ok(Outcome::unknown("app has no port dns")));
}

#[test]
fn warnings_and_refusals_are_there_to_be_checked() {
    assert_eq!(validate_probe_type(&Sees { old: true }), Ok(vec!["`old` will go away".to_owned()]));
    assert_eq!(validate_probe_type(&Sees { old: false }), Ok(Vec::new()));
    let check = |parameters: Value| check_parameters(&Sees { old: false }, &parameters);
    assert_eq!(check(json!({"port": "http"})), Ok(vec!["http is in the clear".to_owned()]));
    assert_eq!(
        check(json!({"port": ""})).map_err(|error| error.to_string()),
        Err("InvalidParameters: port: name one".to_owned())
    );
    let misspelt = check(json!({"prot": "http"})).map_err(|error| error.code().to_owned());
    assert_eq!(misspelt, Err("InvalidParameters".to_owned()));
}

#[test]
fn commands_come_to_what_the_facts_say() {
    let command = ["true".to_owned()];
    let ended = Ended { exit_code: 3, ..Ended::default() };
    let facts = TargetFacts::of(&manifest()).running(&command, Ok(ended.clone()));
    assert_eq!(facts.target().exec(&command), Ok(ended));
    let unknown = facts.target().exec(&["false".to_owned()]).map_err(|error| error.code().to_owned());
    assert_eq!(unknown, Err("Failed".to_owned()));
}
