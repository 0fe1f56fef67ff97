//! What is filled in, what stays as it is, and what is refused.

use serde_json::json;

use super::*;

const ZONE: &str = "topology.kubernetes.io/zone";

fn node() -> NodeFacts {
    let mut node = NodeFacts { name: "edge-7".to_owned(), ..NodeFacts::default() };
    node.node.metadata.labels = Some([(ZONE.to_owned(), "eu-1a".to_owned())].into());
    node
}

#[test]
fn values_of_the_node_are_filled_in() {
    let cases = [
        ("${node.name}", "edge-7"),
        (
            "http://${node.name}.example.com/${node.labels['topology.kubernetes.io/zone']}",
            "http://edge-7.example.com/eu-1a",
        ),
        ("a$${node.name}", "a${node.name}"),
        ("$${anything", "${anything"),
        ("$$${node.name}", "$${node.name}"),
        ("^[a-z]+$", "^[a-z]+$"),
        ("$(node.name) $node.name {node.name} $", "$(node.name) $node.name {node.name} $"),
        ("", ""),
    ];
    for (text, expected) in cases {
        assert_eq!(fill(&json!(text), Some(&node())), Ok(json!(expected)), "{text}");
        assert_eq!(check(&json!(text), "config"), Ok(()), "{text}");
    }
}

#[test]
fn texts_are_filled_in_wherever_they_stand_and_keys_are_not() {
    let config =
        json!({"${node.name}": [{"on": "${node.name}"}, 7, null, true], "zone": "${node.labels['x']}"});
    assert_eq!(check(&config, "config"), Ok(()));
    let problem = "config.zone: the node has no label \"x\"".to_owned();
    assert_eq!(fill(&config, Some(&node())), Err(problem));
    let mut labelled = node();
    labelled.node.metadata.labels.get_or_insert_default().insert("x".to_owned(), "${node.name}".to_owned());
    let expected = json!({"${node.name}": [{"on": "edge-7"}, 7, null, true], "zone": "${node.name}"});
    assert_eq!(fill(&config, Some(&labelled)), Ok(expected), "a value isn't filled in again");
}

#[test]
fn what_is_not_known_is_said_with_its_place() {
    let nameless = NodeFacts::default();
    let cases = [
        (None, "${node.name}", "config.a[1]: ${node.name} is unknown: there is no node"),
        (None, "${node.labels['x/y']}", "config.a[1]: ${node.labels['x/y']} is unknown: there is no node"),
        (Some(&nameless), "${node.name}", "config.a[1]: the node has no name"),
        (Some(&nameless), "${node.labels['x/y']}", "config.a[1]: the node has no label \"x/y\""),
    ];
    for (node, text, expected) in cases {
        assert_eq!(fill(&json!({"a": ["", text]}), node), Err(expected.to_owned()), "{text}");
    }
}

#[test]
fn what_is_no_variable_is_refused_with_its_path() {
    let known = "there are ${node.name} and ${node.labels['KEY']}, and $${ is the text ${";
    let cases = [
        ("${node.zone}", format!("${{node.zone}} isn't known: {known}")),
        ("${}", format!("${{}} isn't known: {known}")),
        ("${ node.name }", format!("${{ node.name }} isn't known: {known}")),
        ("${node.labels[x]}", format!("${{node.labels[x]}} isn't known: {known}")),
        ("${node.labels['']}", "\"\" isn't the key of a label".to_owned()),
        ("${node.labels['a b']}", "\"a b\" isn't the key of a label".to_owned()),
        ("${node.name", "${ has no }: write $${ for the text ${".to_owned()),
    ];
    for (text, problem) in cases {
        let expected = ConfigError::Field { field: "plugins[3].config.deep[0].text".to_owned(), problem };
        let config = json!({"deep": [{"text": text}]});
        assert_eq!(check(&config, "plugins[3].config"), Err(expected), "{text}");
    }
    let error =
        check(&json!("${node.name}".repeat(VARIABLES_MAX + 1)), "config").map_err(|error| error.to_string());
    assert_eq!(error, Err("config: more than 256 variables in one configuration".to_owned()));
    assert_eq!(check(&json!("${node.name}".repeat(VARIABLES_MAX)), "config"), Ok(()));
}

#[test]
fn values_are_those_that_a_configuration_names() {
    let config = json!(["${node.name}", "${node.labels['x']}${node.labels['topology.kubernetes.io/zone']}"]);
    let expected = Values::from([
        (Variable::NodeName, Some("edge-7".to_owned())),
        (Variable::NodeLabel("x".to_owned()), None),
        (Variable::NodeLabel(ZONE.to_owned()), Some("eu-1a".to_owned())),
    ]);
    assert_eq!(values(&config, Some(&node())), expected);
    assert!(values(&json!({"a": "$${node.name}"}), None).is_empty());
}
