//! Tests of the selection of nodes.

use std::collections::BTreeMap;

use super::{Affinity, NodeNames, Requirement, Term, selects};

/// Parses `zone In a,b`.
fn requirement(text: &str) -> Requirement {
    let words: Vec<&str> = text.split(' ').collect();
    let values = words.get(2).map(|list| list.split(',').map(str::to_owned).collect());
    Requirement {
        key: words[0].to_owned(),
        operator: words[1].to_owned(),
        values: values.unwrap_or_default(),
    }
}

fn expressions(requirements: &[&str]) -> Term {
    Term { match_expressions: requirements.iter().map(|text| requirement(text)).collect(), ..Term::default() }
}

fn fields(requirements: &[&str]) -> Term {
    Term { match_fields: requirements.iter().map(|text| requirement(text)).collect(), ..Term::default() }
}

fn holds(terms: Vec<Term>) -> bool {
    let labels = [
        ("zone", "a"),
        ("cores", "8"),
        ("empty", ""),
        ("example.com/disk", "ssd"),
        ("big", "9223372036854775808"),
    ];
    let labels: BTreeMap<String, String> =
        labels.into_iter().map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
    let node = NodeNames { name: "n1", labels: &labels };
    selects(&BTreeMap::new(), Some(&Affinity { node_selector_terms: terms }), &node)
}

#[test]
fn requirements_on_labels_hold_as_upstreams_do() {
    let cases = [
        ("zone In a,b", true),
        ("zone In b", false),
        ("rack In a", false),
        ("zone NotIn b", true),
        ("zone NotIn a,b", false),
        ("rack NotIn a", true),
        ("zone Exists", true),
        ("rack Exists", false),
        ("zone DoesNotExist", false),
        ("rack DoesNotExist", true),
        ("example.com/disk In ssd", true),
        ("empty In ", true),
        ("cores Gt 7", true),
        ("cores Gt 8", false),
        ("cores Lt 9", true),
        ("cores Lt 8", false),
        ("rack Gt 1", false),
        ("zone Gt 1", false),
        ("big Gt 1", false),
    ];
    for (text, expected) in cases {
        assert_eq!(holds(vec![expressions(&[text])]), expected, "{text}");
    }
}

#[test]
fn malformed_requirements_hold_for_no_node() {
    for text in [
        "zone In",
        "rack NotIn",
        "zone Exists a",
        "rack DoesNotExist a",
        "cores Gt",
        "cores Gt 1,2",
        "cores Gt seven",
        "cores Lt 99999999999999999999",
        "zone Near a",
        "zone in a",
        "rack NotIn white/space",
        "-rack DoesNotExist",
        "a/b/c DoesNotExist",
    ] {
        assert!(!holds(vec![expressions(&[text])]), "{text}");
    }
}

#[test]
fn fields_select_by_the_nodes_name_alone() {
    let cases = [
        ("metadata.name In n1", true),
        ("metadata.name In n2", false),
        ("metadata.name NotIn n2", true),
        ("metadata.name NotIn n1", false),
        ("metadata.name In n1,n2", false),
        ("metadata.name NotIn n2,n3", false),
        ("metadata.name Exists", false),
        ("metadata.namespace In n1", false),
        ("metadata.namespace NotIn n1", true),
    ];
    for (text, expected) in cases {
        assert_eq!(holds(vec![fields(&[text])]), expected, "{text}");
    }
}

#[test]
fn one_term_suffices_and_all_of_its_requirements_must_hold() {
    let (good, bad) = ("zone In a", "zone In b");
    assert!(holds(vec![expressions(&[good, "cores Gt 1"])]));
    assert!(!holds(vec![expressions(&[good, bad])]));
    assert!(holds(vec![expressions(&[bad]), expressions(&[good])]));
    assert!(holds(vec![expressions(&["zone Near a"]), expressions(&[good])]));
    assert!(!holds(vec![expressions(&[good, "zone Near a"])]));
    let both = |label: &str, name: &str| Term {
        match_expressions: vec![requirement(label)],
        match_fields: vec![requirement(name)],
    };
    assert!(holds(vec![both(good, "metadata.name In n1")]));
    assert!(!holds(vec![both(good, "metadata.name In n2")]));
    assert!(!holds(vec![both(bad, "metadata.name In n1")]));
}

#[test]
fn an_affinity_without_terms_or_with_empty_ones_selects_nothing() {
    assert!(!holds(Vec::new()));
    assert!(!holds(vec![Term::default()]));
    assert!(holds(vec![Term::default(), expressions(&["zone Exists"])]));
}
