//! Mistakes as people make them: each message has its place, its cause and, where there is one, the way out.

use crate::{Environment, Program, Schema, Type};

const MISSING: [(&str, &str); 2] =
    [("authorizer", "a node asks no authorizer"), ("Request.userInfo", "a node doesn't know who asks")];

fn environment() -> Environment {
    let schema = Schema::parse(
        "Pod metadata:ObjectMeta spec:PodSpec\n\
         ObjectMeta name:string namespace:string labels:map(string,string)\n\
         PodSpec containers:list(Container) hostNetwork:bool hostname:string priority:int securityContext:SecurityContext\n\
         Container name:string image:string args:list(string) limits:map(string,string) securityContext:SecurityContext\n\
         SecurityContext runAsUser:int privileged:bool\n\
         Request name:string",
    );
    let variables = [
        ("request", Type::object("Request")),
        ("object", Type::object("Pod")),
        ("oldObject", Type::object("Pod")),
        ("now", Type::Timestamp),
        ("used", Type::map(Type::Quantity)),
        ("params", Type::Dyn),
    ];
    let variables = variables.map(|(name, of)| (name.to_owned(), of)).into();
    Environment { schema, variables, missing: MISSING.to_vec(), ..Environment::default() }
}

fn problem(source: &str) -> String {
    let checked = Program::parse(source).and_then(|program| program.check(&environment()));
    checked.map_or_else(|problem| problem.to_string(), |of| format!("no problem: {of}"))
}

fn check(cases: &[(&str, &str)]) {
    for (source, expected) in cases {
        assert_eq!(&problem(source), expected, "{source}");
    }
}

#[test]
fn mistakes_of_syntax_have_place_and_help() {
    check(&[
        ("", "line 1, column 1: the expression is empty; write what must be true"),
        ("  // nothing", "line 1, column 1: the expression is empty; write what must be true"),
        ("object.spec.", "line 1, column 13: found the end: a name is expected behind the point"),
        ("(1 + 2", "line 1, column 7: found the end: ) is expected"),
        ("[1, 2", "line 1, column 6: found the end: ] is expected behind the elements of a list"),
        ("{'a' 1}", "line 1, column 6: found 1: : is expected between key and value"),
        (
            "true and false",
            "line 1, column 6: found and: the expression should end here, or go on with an operator; \"and\" is written &&",
        ),
        ("not true", "line 1, column 1: not is no operator; \"not\" is written !"),
        ("true & false", "line 1, column 6: '&' has no meaning here; \"and\" is written &&"),
        ("object.spec.priority = 1", "line 1, column 22: '=' has no meaning here; values are compared by =="),
        (
            "object.metadata.name ==\n  'web",
            "line 2, column 3: a text doesn't end; its quotation mark is missing",
        ),
        (
            "'a\\d'",
            "line 1, column 3: \\d has no meaning in a text; a backslash by itself is written \\\\, or the text begins with r as in r'\\d'",
        ),
        ("“web”", "line 1, column 1: '“' has no meaning here; texts stand between straight quotation marks"),
        ("500Mi", "line 1, column 1: \"500Mi\" is no number; amounts are written quantity('500Mi')"),
        ("true ? 1", "line 1, column 9: found the end: : is expected between the two results of a condition"),
        ("1 2", "line 1, column 3: found 2: the expression should end here, or go on with an operator"),
        ("if == 1", "line 1, column 1: if is a reserved word; a condition is written a ? b : c"),
        (
            "Pod{name: 'a'}",
            "line 1, column 4: objects can't be made by naming a type; maps are written {'key': value}",
        ),
        ("has(object)", "line 1, column 1: has() takes one field, as in has(object.spec.hostname)"),
        (
            "has(object.metadata.labels['a'])",
            "line 1, column 1: has() takes one field, as in has(object.spec.hostname); keys of maps are asked for by `'key' in map`",
        ),
        (
            "object.spec.containers.all(c.name, true)",
            "line 1, column 30: the first argument of all() names a variable; as in list.all(x, …)",
        ),
        (
            "object.spec.containers.filter(c)",
            "line 1, column 24: filter() takes 2 arguments, not 1; as in list.filter(x, …)",
        ),
        (
            "all(c, true)",
            "line 1, column 1: all() is called on a list or a map; as in object.spec.containers.all(c, …)",
        ),
    ]);
}

#[test]
fn unknown_names_come_with_the_nearest_one() {
    check(&[
        ("objekt.spec", "line 1, column 1: there is no variable objekt; did you mean object?"),
        (
            "pod.spec",
            "line 1, column 1: there is no variable pod; there are request, object, oldObject, now, used, params",
        ),
        (
            "authorizer.group('')",
            "line 1, column 12: there is no function group(); a node asks no authorizer",
        ),
        (
            "authorizer == null",
            "line 1, column 1: there is no variable authorizer; a node asks no authorizer",
        ),
        ("object.spek.containers", "line 1, column 8: Pod has no field spek; did you mean spec?"),
        (
            "object.spec.container",
            "line 1, column 13: PodSpec has no field container; did you mean containers?",
        ),
        (
            "has(object.spec.hostNetwrok)",
            "line 1, column 17: PodSpec has no field hostNetwrok; did you mean hostNetwork?",
        ),
        (
            "object.spec.?hostNetwrok.orValue(false)",
            "line 1, column 14: PodSpec has no field hostNetwrok; did you mean hostNetwork?",
        ),
        (
            "object.metadata.owner",
            "line 1, column 17: ObjectMeta has no field owner; it has labels, name, namespace",
        ),
        (
            "object.spec.containers.all(c,\n  c.securityContext.runAsRoot)",
            "line 2, column 21: SecurityContext has no field runAsRoot; it has privileged, runAsUser",
        ),
        (
            "object.metadata.name.startWith('a')",
            "line 1, column 22: there is no function startWith(); did you mean startsWith()?",
        ),
        (
            "len(object.spec.containers)",
            "line 1, column 1: there is no function len(); the length is size(…)",
        ),
        (
            "object.metadata.name.toLowerCase()",
            "line 1, column 22: there is no function toLowerCase(); it is called lowerAscii()",
        ),
        (
            "object.spec.containers.any(c, true)",
            "line 1, column 24: there is no function any(); it is called exists(…)",
        ),
    ]);
}

#[test]
fn what_other_languages_write_is_said_in_this_ones_words() {
    check(&[
        (
            "object.spec.containers.all(c => c.image != '')",
            "line 1, column 30: '=' has no meaning here; a variable and what is asked about it are two arguments, as in list.all(x, x != '')",
        ),
        (
            "object.spec.hostNetwork === true",
            "line 1, column 27: '=' has no meaning here; values are compared by ==",
        ),
        (
            "object.spec.hostNetwork <> true",
            "line 1, column 26: found >: a value is expected; \"different\" is written !=",
        ),
        (
            "object.spec.hostNetwork is true",
            "line 1, column 25: found is: the expression should end here, or go on with an operator; values are compared by ==, and whether a field is there is asked by has(…)",
        ),
        (
            "object.spec.hostNetwork ?? false",
            "line 1, column 26: found ?: a value is expected; what counts where nothing is: object.spec.?hostname.orValue('')",
        ),
        (
            "object?.spec?.hostNetwork",
            "line 1, column 13: found ?: : is expected between the two results of a condition; a field that may be missing is asked for by .?field, as in object.spec.?hostname",
        ),
        (
            "object.spec.containers.0.image == 'a'",
            "line 1, column 23: found 0: the expression should end here, or go on with an operator; elements are asked for by their number, as in list[0]",
        ),
        (
            "for c in object.spec.containers: c.image",
            "line 1, column 1: for is a reserved word; lists are asked by all(x, …), exists(x, …), filter(x, …) and map(x, …)",
        ),
        (
            "{{ .Values.x }} == 'a'",
            "line 1, column 2: a map can't be a key of a map; maps are written {'key': value}; templates with {{ }} aren't filled in",
        ),
        ("'1h' == 30s", "line 1, column 9: \"30s\" is no number; spans of time are written duration('30s')"),
        (
            "3a == 1",
            "line 1, column 1: \"3a\" is no number; numbers are written like 7, 1.5, 2e3 or 0x1f, and texts between quotation marks",
        ),
    ]);
}

#[test]
fn names_and_methods_of_other_languages_come_with_those_of_this_one() {
    check(&[
        (
            "object.spec.hostname == Running",
            "line 1, column 25: there is no variable Running; there are request, object, oldObject, now, used, params; a text is written 'Running'",
        ),
        (
            "request.userInfo.username == 'a'",
            "line 1, column 9: Request has no field userInfo; a node doesn't know who asks",
        ),
        (
            "object.metadata.labels.has('team')",
            "line 1, column 24: there is no function has(); it is called has(object.field); keys of maps are asked for by `'key' in map`",
        ),
        (
            "object.metadata.labels.contains('team')",
            "line 1, column 24: there is no map(string, string).contains(string); keys are asked for by `key in map`",
        ),
        (
            "object.spec.containers[0].args.contains('a')",
            "line 1, column 32: there is no list(string).contains(string); lists are asked by `element in list`",
        ),
        (
            "cidr('10.0.0.0/8').contains(ip('10.1.1.1'))",
            "line 1, column 20: there is no cidr.contains(ip); networks have containsIP(…) and containsCIDR(…)",
        ),
        (
            "object.spec.containers.count() < 5",
            "line 1, column 24: there is no function count(); the length is size(…)",
        ),
        (
            "object.spec.containers.lenght() < 5",
            "line 1, column 24: there is no function lenght(); the length is size(…)",
        ),
        (
            "object.spec.hostNetwork == 'true'",
            "line 1, column 25: == doesn't take bool and string; true and false are written without quotation marks",
        ),
        (
            "object.spec.containers[0].image.tag == '1'",
            "line 1, column 33: string has no fields: .tag was asked for; parts of a text are asked for by contains(…), matches(…) and split(…)",
        ),
    ]);
}

#[test]
fn types_that_do_not_fit_are_found() {
    check(&[
        (
            "object.spec.priority == '7'",
            "line 1, column 22: == doesn't take int and string; write int(…) around the string, or quantity(…) around an amount",
        ),
        (
            "object.spec.hostname == null",
            "line 1, column 22: == doesn't take string and null; whether a field is there is asked by has(…)",
        ),
        (
            "object.spec.priority > 1.5 + 1",
            "line 1, column 28: + doesn't take double and int; write int(…), uint(…) or double(…) around one of them",
        ),
        (
            "'prio ' + object.spec.priority",
            "line 1, column 9: + doesn't take string and int; write string(…) around what isn't a string",
        ),
        (
            "object.spec.priority && true",
            "line 1, column 13: && takes a bool, not int; compare it, as in x > 0",
        ),
        (
            "!object.metadata.name",
            "line 1, column 18: ! takes a bool, not string; compare it, as in x == '…'",
        ),
        (
            "object.spec.?hostNetwork || true",
            "line 1, column 14: || takes a bool, not an optional value; say what counts where nothing is, as in .orValue(false)",
        ),
        (
            "object.spec.?hostname == 'a'",
            "line 1, column 23: == doesn't take optional(string) and string; say what counts where nothing is, as in .orValue('')",
        ),
        (
            "object.spec.containers.image",
            "line 1, column 24: list(Container) has no fields: .image was asked for; ask its elements, as in list.all(x, …) or list[0]",
        ),
        (
            "object.spec.containers['app']",
            "line 1, column 24: list(Container) is asked by int, not by string; elements are looked for by exists(x, …) or filter(x, …)",
        ),
        (
            "object.spec.containers.all(c, c.image)",
            "line 1, column 33: all() takes a bool, not string; compare it, as in x == '…'",
        ),
    ]);
}

#[test]
fn calls_and_literals_that_do_not_fit_are_found() {
    check(&[
        (
            "object.metadata.name.size(1) == 1",
            "line 1, column 22: there is no string.size(int); there is size(string), size(bytes), size(list(A)), size(map(A,B)), string.size(), bytes.size(), list(A).size(), map(A,B).size()",
        ),
        (
            "startsWith(object.metadata.name, 'a')",
            "line 1, column 1: startsWith() is a method; it is called x.startsWith(…)",
        ),
        ("'1'.quantity()", "line 1, column 5: quantity() is no method; it is called quantity(…)"),
        (
            "used['cpu'] < quantity('1')",
            "line 1, column 13: < doesn't take quantity and quantity; amounts are compared by isLessThan(…), isGreaterThan(…) and compareTo(…)",
        ),
        (
            "used['cpu'] + quantity('1')",
            "line 1, column 13: + doesn't take quantity and quantity; amounts have add(…) and sub(…)",
        ),
        (
            "'a' in object.metadata.name",
            "line 1, column 5: in doesn't take string and string; texts are searched by text.contains('…')",
        ),
        (
            "1 in object.metadata.labels",
            "line 1, column 3: in doesn't take int and map(string, string); its keys are string",
        ),
        (
            "[1, 'a']",
            "line 1, column 5: the elements of a list have different types, int and string; write dyn(…) around one of them if both are meant",
        ),
        (
            "true ? 1 : 'a'",
            "line 1, column 12: the results of ?: have different types, int and string; write dyn(…) around one of them if both are meant",
        ),
        (
            "object.metadata.name.matches('(')",
            "line 1, column 30: \"(\" is no pattern: found open group without closing ')'; patterns are those of RE2, best in a raw text such as r'^\\d+$'",
        ),
        (
            "quantity('500MB')",
            "line 1, column 10: \"500MB\" is no quantity; amounts are written like 500m, 1.5Gi or 2e3",
        ),
        ("duration('1d')", "line 1, column 10: \"1d\" is no duration: it is written like 1h30m or 500ms"),
        (
            "now > timestamp('2026-01-02')",
            "line 1, column 17: \"2026-01-02\" is no timestamp: it is written like 2026-01-02T03:04:05Z",
        ),
        ("cidr('10.0.0.0/40')", "line 1, column 6: \"10.0.0.0/40\" is no network: its length is at most 32"),
        (
            "'%s %s'.format([1])",
            "line 1, column 1: the format has 2 clauses and 1 arguments; each clause takes one; % itself is written %%",
        ),
    ]);
}

#[test]
fn what_is_right_has_its_type() {
    for (source, expected) in [
        ("object.spec.containers.all(c, has(c.securityContext) && c.securityContext.runAsUser > 0)", "bool"),
        ("object.spec.containers.filter(c, c.name != '')", "list(Container)"),
        ("object.spec.containers.map(c, c.image)", "list(string)"),
        ("object.spec.containers.map(c, c.image).distinct()[0]", "string"),
        ("object.metadata.labels['a']", "string"),
        ("object.metadata.?labels[?'a'].orValue('')", "string"),
        ("object.spec.?securityContext.runAsUser.orValue(0)", "int"),
        ("params.anything.goes == 1", "bool"),
        ("oldObject == null || object.spec.hostNetwork == oldObject.spec.hostNetwork", "bool"),
        ("now - duration('1h')", "timestamp"),
        ("[1, 2].sum()", "int"),
        ("{'a': 1}", "map(string, int)"),
        ("params.x ? 1 : 2", "int"),
        ("object.metadata.labels.transformMap(k, v, size(v))", "map(string, int)"),
        ("optional.of(1).optMap(x, x + 1).value()", "int"),
        ("type(1) == int", "bool"),
        ("string(params.x)", "string"),
        ("'%s %d'.format(['a', 1])", "string"),
        (
            "'%s'.format([dyn(1), 'a'])",
            "line 1, column 1: the format has 1 clauses and 2 arguments; each clause takes one; % itself is written %%",
        ),
    ] {
        let found = problem(source);
        assert_eq!(found.strip_prefix("no problem: ").unwrap_or(&found), expected, "{source}");
    }
}
