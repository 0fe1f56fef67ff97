//! What a rule may cost: each way to take too long or too much ends with an error that has a name.

use super::{Object, evaluate};
use crate::{Budget, Environment, Limits, Program};

fn message(source: &str) -> String {
    evaluate(source).expect_err("a limit is reached")
}

#[test]
fn rules_that_take_too_many_steps_end() {
    let steps = "evaluation takes more than 200000 steps";
    let letters = "a".repeat(6_000);
    for source in [
        "lists.range(1000).all(a, lists.range(1000).all(b, a + b >= 0))",
        "lists.range(99000).map(x, x).all(x, x >= 0)",
        "lists.range(9223372036854775807).size() > 0",
        "lists.range(1000).exists(a, lists.range(1000).indexOf(-1) == 1)",
        "lists.range(1000).all(a, !(a + 1000 in lists.range(1000)))",
        "lists.range(2000).distinct().size() == 2000",
        "lists.range(900).all(x, 'aaaaaaaaaaaaaaaaaaaaaaaa'.matches('^((((a?){8}){8}a){8})*$'))",
        "lists.range(900).all(x, 'aaaaaaaaaaaaaaaaaaaaaaaa'.matches('^((([)a]?){8}){8}a){8}$'))",
        "lists.range(900).all(x, 'aaaaaaaaaaaaaaaaaaaaaaaa'.matches('(((){8}){8}){8}'))",
        // Long keys of one map, of a map that is made each time, and of maps that are compared.
        &format!("[{{'{letters}': 1}}].all(m, lists.range(2500).all(x, '{letters}' in m))"),
        &format!("[{{'{letters}': 1}}].all(m, lists.range(2500).all(x, m['{letters}'] == 1))"),
        &format!("lists.range(2500).all(x, {{'{letters}': 1}} != {{}})"),
        &format!("[{{'{letters}': 1}}].all(m, lists.range(2500).all(x, m == m))"),
        // Texts that are read, and are none of what they are read as.
        &format!(
            "['{letters}'].exists(t, lists.range(2500).exists(x, isIP(t) || isCIDR(t) || isQuantity(t)))"
        ),
        &format!("lists.range(2500).exists(x, int('{letters}') == 1)"),
        &format!("lists.range(2500).exists(x, timestamp('{letters}') == timestamp(0))"),
        &format!("lists.range(2500).exists(x, duration('{letters}') == duration('1s'))"),
        "lists.range(15000).all(x, quantity('1.5Gi').add(x).isGreaterThan(quantity('0')))",
        "lists.range(15000).all(x, timestamp(x).getFullYear('+02:00') == 1970)",
        &format!("'{}'.findAll('a*b|a').size() > 0", &letters[..4000]),
    ] {
        assert_eq!(message(source), steps, "{source}");
    }
}

#[test]
fn rules_that_make_too_much_end() {
    let doubled = "x".repeat(1000);
    let mut source = format!("['{doubled}']");
    for _ in 0..16 {
        source.push_str(".map(x, x + x)");
    }
    assert_eq!(message(&source), "evaluation makes more than 4194304 bytes of values");
    let replaced = format!("'{doubled}'.replace('', '{}').size() > 0", "x".repeat(4_500));
    assert_eq!(message(&replaced), "evaluation makes more than 4194304 bytes of values");
    let joined = format!("lists.range(9000).map(x, '{doubled}').join('{doubled}').size() > 0");
    assert_eq!(message(&joined), "evaluation makes more than 4194304 bytes of values");
    let formatted = format!("lists.range(9000).all(x, '%s%s'.format(['{doubled}', '{doubled}']) != '')");
    assert_eq!(message(&formatted), "evaluation makes more than 4194304 bytes of values");
}

#[test]
fn an_error_that_is_absorbed_leaves_the_depth_as_it_was() {
    let source = "lists.range(300).exists(x, '%s'.format([[optional.none()]]) == '' || x == 250)";
    assert_eq!(super::shown(source), "true");
}

#[test]
fn a_limit_is_not_absorbed() {
    for source in [
        "lists.range(1000).all(a, lists.range(1000).all(b, true)) || true",
        "[1].exists(x, lists.range(1000).all(a, lists.range(1000).all(b, true)) || x == 1)",
        "false && true || lists.range(9223372036854775807) == [] || true",
    ] {
        assert!(message(source).contains("steps"), "{source}");
    }
}

#[test]
fn values_that_share_their_parts_are_compared_within_limits() {
    // Sixty lists, each with the one before twice: small to make, and too large to walk.
    let mut source = String::from("[[0]]");
    for _ in 0..40 {
        source.push_str(".map(x, [x, x])");
    }
    let equal = format!("{source} == {source}");
    let program = Program::parse(&equal).map_err(|problem| problem.message);
    let failed = match program {
        Ok(program) => program.evaluate(&Object, &Budget::new(Limits::DEFAULT)).is_err(),
        Err(message) => message.contains("nests too deep"),
    };
    assert!(failed);
}

#[test]
fn deep_expressions_are_refused() {
    for source in [
        format!("{}1{}", "(".repeat(500), ")".repeat(500)),
        format!("{}1{}", "[".repeat(500), "]".repeat(500)),
        "!".repeat(500),
        "-".repeat(500),
        format!("1{}", " + 1".repeat(500)),
        format!("object{}", ".a".repeat(500)),
        format!("object{}", "[0]".repeat(500)),
        format!("{}1", "true ? 1 : ".repeat(500)),
        format!("{}1{}", "(1 + ".repeat(60), " + 1)".repeat(60)),
    ] {
        let problem = Program::parse(&source).expect_err("too deep");
        assert_eq!(problem.message, "the expression nests too deep", "{source:.40}");
    }
    // Rules are long lists of conditions; those aren't deep.
    assert!(Program::parse(&vec!["true"; 1_000].join(" && ")).is_ok());
    assert!(Program::parse(&"x".repeat(20_000)).is_err());
}

#[test]
fn steps_follow_from_the_expression_alone() {
    let program =
        Program::parse("object.spec.containers.all(c, c.image.matches('^[a-z:0-9./@]+$'))").expect("parses");
    let steps = || {
        let budget = Budget::new(Limits::DEFAULT);
        program.evaluate(&Object, &budget).expect("a value");
        budget.steps_taken()
    };
    assert_eq!(steps(), steps());
}

#[test]
fn long_names_do_not_fill_messages() {
    let name = "ab".repeat(200);
    let cut = &name[..100];
    for (source, expected) in [
        (format!("{name}(1)"), format!("there is no function {cut}()")),
        (format!("format.{name}()"), format!("there is no function format.{}()", &name[..93])),
        (format!("1{name}"), format!("\"1{}\" is no number", &name[..99])),
        (format!("[1].all({name}, {name}, true)"), format!("both variables of all() are called {cut}")),
    ] {
        assert_eq!(Program::parse(&source).expect_err("wrong").message, expected);
    }
}

#[test]
fn expressions_that_share_their_tokens_have_so_many_whether_they_are_right_or_not() {
    // The end counts, too.
    let mut left = 8;
    assert!(Program::parse_one_of("1 < 2", &mut left).is_ok());
    assert_eq!(left, 4);
    assert!(Program::parse_one_of("1 < ", &mut left).is_err());
    assert_eq!(left, 1);
    let problem = Program::parse_one_of("true", &mut left).expect_err("two are one too many");
    assert_eq!(problem.message, "all expressions together have too many names, values and signs");
    assert_eq!(left, 0);
    assert!(Program::parse_one_of("", &mut left).is_err(), "none are left from then on");
}

#[test]
fn patterns_of_all_expressions_are_compiled_within_the_steps_of_one_evaluation() {
    let environment = Environment::default();
    let program = Program::parse("'a'.matches('^((([a-z]?){8}){8}){4}$')").expect("parses");
    let checked: Vec<_> = (0..200).map(|_| program.check(&environment)).collect();
    assert!(checked[0].is_ok());
    let problem = checked.into_iter().find_map(Result::err).expect("no hundred of them");
    assert_eq!(
        problem.to_string(),
        "line 1, column 13: compiling all patterns up to this one takes more than 200000 steps; write fewer of them, or shorter ones"
    );
}
