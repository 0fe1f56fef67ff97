//! Mistakes in the one rule of `witlet plugin eval --expression`: each message has its place, what is wrong, and what to do. The
//! command prints them as they are, behind the name of the plugin.

use serde_json::json;

use super::refused;

/// Expression, line, column, what is wrong, what to do.
type Mistake = (&'static str, usize, usize, &'static str, &'static str);

const SYNTAX: &[Mistake] = &[
    ("", 1, 1, "the expression is empty", "write what must be true"),
    (
        "true and false",
        1,
        6,
        "found and: the expression should end here, or go on with an operator",
        "\"and\" is written &&",
    ),
    ("not true", 1, 1, "not is no operator", "\"not\" is written !"),
    ("true & false", 1, 6, "'&' has no meaning here", "\"and\" is written &&"),
    ("object.spec.priority = 1", 1, 22, "'=' has no meaning here", "values are compared by =="),
    (
        "object.metadata.name == 'a\\d'",
        1,
        27,
        "\\d has no meaning in a text",
        "a backslash by itself is written \\\\, or the text begins with r as in r'\\d'",
    ),
    ("“web”", 1, 1, "'“' has no meaning here", "texts stand between straight quotation marks"),
    ("500Mi", 1, 1, "\"500Mi\" is no number", "amounts are written quantity('500Mi')"),
    ("if == 1", 1, 1, "if is a reserved word", "a condition is written a ? b : c"),
    ("Pod{name: 'a'}", 1, 4, "objects can't be made by naming a type", "maps are written {'key': value}"),
    (
        "has(object.metadata.labels['a'])",
        1,
        1,
        "has() takes one field, as in has(object.spec.hostname)",
        "keys of maps are asked for by `'key' in map`",
    ),
    (
        "object.spec.containers.all(c.name, true)",
        1,
        30,
        "the first argument of all() names a variable",
        "as in list.all(x, …)",
    ),
    (
        "object.spec.containers.filter(c)",
        1,
        24,
        "filter() takes 2 arguments, not 1",
        "as in list.filter(x, …)",
    ),
    ("all(c, true)", 1, 1, "all() is called on a list or a map", "as in object.spec.containers.all(c, …)"),
];

const NAMES: &[Mistake] = &[
    ("objekt.spec == null", 1, 1, "there is no variable objekt", "did you mean object?"),
    (
        "pod.spec == null",
        1,
        1,
        "there is no variable pod",
        "there are object, oldObject, node, request, others, image, params, variables",
    ),
    (
        "authorizer == null",
        1,
        1,
        "there is no variable authorizer",
        "a node asks no authorizer; the others are object, oldObject, node, request, others, image, params and variables",
    ),
    ("authorizer.path('/').check('get')", 1, 12, "there is no function path()", "a node asks no authorizer"),
    ("object.spek.containers == []", 1, 8, "Pod has no field spek", "did you mean spec?"),
    ("object.spec.container == []", 1, 13, "PodSpec has no field container", "did you mean containers?"),
    ("has(object.spec.hostNetwrok)", 1, 17, "PodSpec has no field hostNetwrok", "did you mean hostNetwork?"),
    (
        "object.spec.image == ''",
        1,
        13,
        "PodSpec has no field image",
        "its fields are those of Kubernetes' API",
    ),
    (
        "object.spec.containers.all(c,\n  c.securityContext.privilged)",
        2,
        21,
        "SecurityContext has no field privilged",
        "did you mean privileged?",
    ),
    (
        "object.metadata.name.startWith('a')",
        1,
        22,
        "there is no function startWith()",
        "did you mean startsWith()?",
    ),
    ("len(object.spec.containers) == 1", 1, 1, "there is no function len()", "the length is size(…)"),
    ("object.spec.containers.any(c, true)", 1, 24, "there is no function any()", "it is called exists(…)"),
    (
        "object.metadata.name.toLowerCase() == 'a'",
        1,
        22,
        "there is no function toLowerCase()",
        "it is called lowerAscii()",
    ),
    (
        "startsWith(object.metadata.name, 'a')",
        1,
        1,
        "startsWith() is a method",
        "it is called x.startsWith(…)",
    ),
];

const TYPES: &[Mistake] = &[
    (
        "object.metadata.name",
        1,
        1,
        "the result must be bool, it is string",
        "compare it with what it should be",
    ),
    (
        "object.spec.?hostNetwork",
        1,
        1,
        "the result must be bool, it is optional(bool)",
        "say what counts where nothing is, as in .orValue(…)",
    ),
    (
        "object.spec.priority == '7'",
        1,
        22,
        "== doesn't take int and string",
        "write int(…) around the string, or quantity(…) around an amount",
    ),
    (
        "object.spec.hostname == null",
        1,
        22,
        "== doesn't take string and null",
        "whether a field is there is asked by has(…)",
    ),
    (
        "object.spec.hostname + object.spec.priority == 'a7'",
        1,
        22,
        "+ doesn't take string and int",
        "write string(…) around what isn't a string",
    ),
    ("object.spec.priority && true", 1, 13, "&& takes a bool, not int", "compare it, as in x > 0"),
    (
        "object.spec.containers.all(c, c.image)",
        1,
        33,
        "all() takes a bool, not string",
        "compare it, as in x == '…'",
    ),
    (
        "object.spec.?hostname == 'a'",
        1,
        23,
        "== doesn't take optional(string) and string",
        "say what counts where nothing is, as in .orValue('')",
    ),
    (
        "object.spec.containers.image == 'a'",
        1,
        24,
        "list(Container) has no fields: .image was asked for",
        "ask its elements, as in list.all(x, …) or list[0]",
    ),
    (
        "object.metadata.name.size == 3",
        1,
        22,
        "string has no fields: .size was asked for",
        "functions are called, as in .size(…)",
    ),
    (
        "object.spec.containers['app'].image == ''",
        1,
        24,
        "list(Container) is asked by int, not by string",
        "elements are looked for by exists(x, …) or filter(x, …)",
    ),
    (
        "request.requests.cpu < quantity('1')",
        1,
        22,
        "< doesn't take quantity and quantity",
        "amounts are compared by isLessThan(…), isGreaterThan(…) and compareTo(…)",
    ),
    (
        "'app' in object.metadata.name",
        1,
        7,
        "in doesn't take string and string",
        "texts are searched by text.contains('…')",
    ),
    (
        "[1, 'a'].size() == 2",
        1,
        5,
        "the elements of a list have different types, int and string",
        "write dyn(…) around one of them if both are meant",
    ),
    (
        "object.metadata.name.matches('(')",
        1,
        30,
        "\"(\" is no pattern: found open group without closing ')'",
        "patterns are those of RE2, best in a raw text such as r'^\\d+$'",
    ),
    (
        "request.requests.cpu.isLessThan(quantity('500MB'))",
        1,
        42,
        "\"500MB\" is no quantity",
        "amounts are written like 500m, 1.5Gi or 2e3",
    ),
    (
        "'%s %s'.format([1]) == ''",
        1,
        1,
        "the format has 2 clauses and 1 arguments",
        "each clause takes one; % itself is written %%",
    ),
];

#[test]
fn each_mistake_has_its_place_its_cause_and_a_way_out() {
    for (expression, line, column, cause, help) in SYNTAX.iter().chain(NAMES).chain(TYPES) {
        let expected = format!("validations[0].expression, line {line}, column {column}: {cause}; {help}");
        let rules = json!({"validations": [{"expression": expression, "message": "no"}]});
        assert_eq!(refused(rules), expected, "{expression}");
    }
}

/// As a cell of a table in the book.
fn cell(text: &str) -> String {
    let text = text.replace('|', "\\|").replace('\n', " ⏎ ");
    match (text.is_empty(), text.contains('`')) {
        (true, _) => "(nothing)".to_owned(),
        (false, true) => format!("`` {text} ``"),
        (false, false) => format!("`{text}`"),
    }
}

#[test]
fn the_book_has_each_mistake_with_its_message_and_no_other() {
    let page = include_str!("../../../../docs/src/cel-mistakes.md");
    let in_book = page.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| Written "));
    let rows = SYNTAX.iter().chain(NAMES).chain(TYPES).map(|(expression, line, column, cause, help)| {
        format!("| {} | {line}:{column} | {} | {} |", cell(expression), cell(cause), cell(help))
    });
    assert_eq!(in_book.collect::<Vec<_>>(), rows.collect::<Vec<_>>());
}
