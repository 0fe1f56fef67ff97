//! Which components are plugins.

use super::*;

const HANDLER: &str = "witlet:admission/handler@0.1.0";
const PROBER: &str = "witlet:probe/prober@0.1.0";
const SOURCE: &str = "witlet:pod-source/source@0.1.0";
const FEEDBACK: &str = "witlet:pod-source/feedback@0.1.0";

fn obstacles(imports: &[&str], exports: &[&str]) -> Vec<String> {
    match detect(imports.iter().copied(), exports.iter().copied(), Capabilities::default()) {
        Ok(_) => Vec::new(),
        Err(found) => found.iter().map(ToString::to_string).collect(),
    }
}

fn detected(imports: &[&str], exports: &[&str], granted: Capabilities) -> Detected {
    detect(imports.iter().copied(), exports.iter().copied(), granted).expect("nothing is in the way")
}

#[test]
fn a_handler_with_given_imports_is_found() {
    let imports = [
        "witlet:admission/types@0.1.0",
        "witlet:host/log@0.1.0",
        "witlet:host/config@0.1.0",
        "wasi:cli/environment@0.2.6",
        "wasi:clocks/wall-clock@0.2.0",
    ];
    let found = detected(&imports, &[HANDLER], Capabilities::default());
    assert_eq!(found.roles(), [(Role::Admission, "0.1.0")]);
    assert!(!found.waits() && !found.network && found.denied.is_empty());
}

#[test]
fn one_component_may_have_several_roles() {
    let cases: [(&[&str], &[Role], bool); 5] = [
        (&[HANDLER], &[Role::Admission], false),
        (&[PROBER], &[Role::Probe], false),
        (&[SOURCE], &[Role::PodSource], false),
        (&[SOURCE, FEEDBACK], &[Role::PodSource], true),
        (&[FEEDBACK, SOURCE, PROBER, HANDLER], &Role::ALL, true),
    ];
    for (exports, expected, feedback) in cases {
        let found = detected(&[], exports, Capabilities::default());
        let roles: Vec<Role> = found.roles().into_iter().map(|(role, _)| role).collect();
        assert_eq!((roles.as_slice(), found.feedback), (expected, feedback), "{exports:?}");
    }
}

#[test]
fn what_another_role_needs_links_as_a_refusal_on_the_engine_that_has_it_not() {
    let imports = [
        "witlet:admission/types@0.1.0",
        "witlet:probe/types@0.1.0",
        "witlet:probe/exec@0.1.0",
        "wasi:http/types@0.2.3",
        "wasi:http/outgoing-handler@0.2.3",
        "wasi:http/incoming-handler@0.2.3",
        "wasi:keyvalue/store@0.2.0",
    ];
    let found = detected(&imports, &[HANDLER, PROBER], Capabilities::ALL);
    assert_eq!(found.denied, &imports[1..]);
    assert_eq!(found.denied_async, [imports[0], imports[5], imports[6]]);
    assert!(found.network);
    assert_eq!(found.wants, Capabilities { secret: false, exec: true });
}

#[test]
fn capabilities_need_their_grants() {
    let imports = ["witlet:host/secret@0.1.0", "witlet:probe/exec@0.1.0"];
    assert_eq!(
        obstacles(&imports, &[PROBER]),
        [
            "it imports witlet:host/secret@0.1.0, which isn't granted (grants.secrets)",
            "it imports witlet:probe/exec@0.1.0, which isn't granted (grants.exec)",
        ]
    );
    assert_eq!(detected(&imports, &[PROBER], Capabilities::ALL).wants, Capabilities::ALL);
}

#[test]
fn a_probe_type_of_0_2_is_found_and_its_commands_need_the_grant() {
    let imports = ["witlet:probe/probe-types@0.2.0", "witlet:host/errors@0.2.0"];
    let prober = "witlet:probe/prober@0.2.0";
    let found = detected(&imports, &[prober], Capabilities::default());
    assert_eq!((found.roles(), found.waits()), (vec![(Role::Probe, "0.2.0")], true));
    assert_eq!(found.denied, ["witlet:probe/probe-types@0.2.0"]);
    let exec = "witlet:probe/exec@0.2.0";
    assert_eq!(
        obstacles(&[exec], &[prober]),
        ["it imports witlet:probe/exec@0.2.0, which isn't granted (grants.exec)"]
    );
    assert!(detected(&[exec], &[prober], Capabilities::ALL).wants.exec);
}

#[test]
fn of_two_versions_the_newer_one_serves() {
    let (old, new) = ("witlet:probe/prober@0.1.0", "witlet:probe/prober@0.2.0");
    for exports in [[old, new], [new, old]] {
        let found = detected(&[], &exports, Capabilities::default());
        assert_eq!(found.roles(), [(Role::Probe, "0.2.0")], "{exports:?}");
    }
    let found = detected(&[], &["witlet:probe/prober@0.9.0", old], Capabilities::default());
    assert_eq!(found.roles(), [(Role::Probe, "0.1.0")], "what isn't served is for other hosts");
}

#[test]
fn a_handler_of_0_2_is_found_with_what_every_plugin_may_import() {
    let imports = [
        "witlet:admission/admission-types@0.2.0",
        "witlet:host/errors@0.2.0",
        "witlet:host/log@0.2.0",
        "witlet:host/config@0.2.0",
        "witlet:host/node@0.2.0",
        "witlet:host/features@0.2.0",
    ];
    let handler = "witlet:admission/handler@0.2.0";
    let found = detected(&imports, &[handler], Capabilities::default());
    assert_eq!((found.roles(), found.newer), (vec![(Role::Admission, "0.2.0")], vec![]));
    let secret = "witlet:host/secret@0.2.0";
    assert_eq!(
        obstacles(&[secret], &[handler]),
        ["it imports witlet:host/secret@0.2.0, which isn't granted (grants.secrets)"]
    );
    assert!(detected(&[secret], &[handler], Capabilities::ALL).wants.secret);
}

#[test]
fn a_draft_serves_who_was_built_against_it_and_no_other() {
    let draft = "witlet:probe/prober@0.3.0-draft.1";
    let found = detected(&["witlet:probe/types@0.3.0-draft.1"], &[draft], Capabilities::default());
    assert_eq!((found.roles(), found.newer), (vec![(Role::Probe, "0.3.0-draft.1")], vec![]));
    let published = "witlet:probe/prober@0.2.0";
    for exports in [[draft, published], [published, draft]] {
        let found = detected(&[], &exports, Capabilities::default());
        assert_eq!(found.roles(), [(Role::Probe, "0.3.0-draft.1")], "{exports:?}");
    }
    let served = probe::VERSIONS.join(", ");
    for other in ["witlet:probe/prober@0.3.0-draft.2", "witlet:probe/prober@0.3.0"] {
        let log = other.replace("probe/prober", "host/log");
        assert_eq!(
            obstacles(&[log.as_str()], &[other]),
            [
                format!("it exports {other}, but this host serves version {served}"),
                format!("it imports {log}, which doesn't exist in this release"),
            ]
        );
        let found = detected(&[], &[other, published], Capabilities::default());
        assert_eq!(found.roles(), [(Role::Probe, "0.2.0")], "what isn't served is for other hosts");
    }
}

#[test]
fn what_a_newer_host_has_links_as_a_refusal_next_to_a_role_that_is_served() {
    let imports = [
        "witlet:host/log@0.1.0",
        "witlet:host/log@0.1.7",
        "witlet:host/moon@0.1.7",
        "witlet:host/log@0.9.0",
        "witlet:probe/exec@0.1.7",
    ];
    let found = detected(&imports, &["witlet:probe/prober@0.1.7"], Capabilities::ALL);
    assert_eq!(found.roles(), [(Role::Probe, "0.1.0")]);
    assert_eq!(found.unserved, ["witlet:host/moon@0.1.7", "witlet:host/log@0.9.0"]);
    assert!(found.wants.exec, "a newer patch of a capability is that capability");
    let refused =
        |name: &str| format!("it imports {name}, which this host doesn't have: a call of it is refused");
    let built = |name: &str| {
        format!("it was built against {name}, and this host has 0.1.0: a call of what came later is refused")
    };
    assert_eq!(
        found.newer,
        [
            built("witlet:host/log@0.1.7"),
            refused("witlet:host/moon@0.1.7"),
            refused("witlet:host/log@0.9.0"),
            built("witlet:probe/exec@0.1.7"),
        ]
    );
    let both = [PROBER, "witlet:probe/prober@0.9.0"];
    let found = detected(&imports, &both, Capabilities::ALL);
    assert_eq!((found.unserved.len(), found.newer.len()), (2, 0), "it has a version for each host");
    assert_eq!(
        obstacles(&["witlet:probe/exec@0.1.7"], &[PROBER]),
        ["it imports witlet:probe/exec@0.1.7, which isn't granted (grants.exec)"]
    );
}

#[test]
fn everything_in_the_way_is_reported_at_once() {
    let reported = obstacles(
        &["acme:rockets/launch@1.0.0", "witlet:host/secret@0.1.0", "witlet:host/log@0.9.0", "env"],
        &["wasi:cli/run@0.2.0"],
    );
    assert_eq!(
        reported,
        [
            "not a plugin: it exports wasi:cli/run@0.2.0; a plugin exports one of \
             witlet:admission/handler, witlet:probe/prober, witlet:pod-source/source",
            "it imports acme:rockets/launch@1.0.0, which this host doesn't provide",
            "it imports witlet:host/secret@0.1.0, which isn't granted (grants.secrets)",
            "it imports witlet:host/log@0.9.0, which doesn't exist in this release",
            "it imports env, which this host doesn't provide",
        ]
    );
}

#[test]
fn versions_of_other_releases_are_distinguished() {
    let cases = [
        ("witlet:admission/handler@0.9.0", admission::VERSIONS),
        ("witlet:probe/prober@0.9.0", probe::VERSIONS),
        ("witlet:pod-source/source@0.9.0", pod_source::VERSIONS),
    ];
    for (export, served) in cases {
        let reported = format!("it exports {export}, but this host serves version {}", served.join(", "));
        assert_eq!(obstacles(&[], &[export]), [reported]);
        assert_eq!(obstacles(&[], &[export, PROBER]), [""; 0], "a role that is served is enough");
    }
    assert_eq!(
        obstacles(&[], &[FEEDBACK, PROBER]),
        ["it exports witlet:pod-source/feedback@0.1.0 without witlet:pod-source/source"]
    );
}

#[test]
fn what_is_notified_of_foreign_names_is_bounded_and_printable() {
    let long = format!("acme:{}/x", "a".repeat(100_000));
    let escape = "acme:x/\u{1b}[2J\nforged";
    let many: Vec<String> = (0..200).map(|number| format!("acme:x/i{number}")).collect();
    let mut imports = vec![long.as_str(), escape];
    imports.extend(many.iter().map(String::as_str));
    let reported = obstacles(&imports, &[HANDLER]);
    assert_eq!(reported.len(), NAMES_MAX + 1);
    assert_eq!(reported.last().map(String::as_str), Some("and 186 more"));
    assert!(reported[0].len() < 2 * NAME_BYTES_MAX, "{}", reported[0]);
    assert_eq!(reported[1], "it imports acme:x/\\u{1b}[2J\\nforged, which this host doesn't provide");
}

#[test]
fn a_component_with_very_many_imports_is_refused() {
    let imports: Vec<String> = (0..=IMPORTS_MAX).map(|number| format!("wasi:x/i{number}@0.2.0")).collect();
    let all = imports.iter().map(String::as_str);
    let few = all.clone().take(IMPORTS_MAX);
    assert!(detect(few, [HANDLER], Capabilities::default()).is_ok());
    assert_eq!(detect(all, [HANDLER], Capabilities::default()), Err(vec![Obstacle::TooManyImports]));
}

/// The chapter with the tables of versions.
const CHAPTER: &str = include_str!("../../../../../docs/src/authors/versions.md");

/// What only tests serve.
const OF_TESTS: &[&str] =
    if cfg!(feature = "next-version") { &["0.3.1", "0.3.0-draft.1"] } else { &["0.3.0-draft.1"] };

/// The rows of the chapter's table whose header begins so, as cells.
fn table(header: &str) -> Vec<Vec<&'static str>> {
    let lines = CHAPTER.lines().skip_while(|line| !line.starts_with(header));
    let rows = lines.take_while(|line| line.starts_with('|')).filter(|line| !line.starts_with("|---"));
    rows.map(|row| row.trim_matches('|').split('|').map(str::trim).collect()).collect()
}

/// What stands between backticks.
fn quoted(cell: &'static str) -> Vec<&'static str> {
    cell.split('`').skip(1).step_by(2).collect()
}

/// A cell without its link.
fn word(cell: &'static str) -> &'static str {
    cell.trim_start_matches('[').split(']').next().unwrap_or_default().trim_matches('`')
}

/// The version that serves a component of these versions of a role, and whether it may find something refused; none if it is refused.
fn served(
    interface: &str,
    types: &[(&'static str, &'static str)],
    versions: &[&str],
) -> Option<(&'static str, bool)> {
    let exports: Vec<String> = versions.iter().map(|version| format!("{interface}@{version}")).collect();
    // A version that isn't served has its types wherever it may.
    let types_of = |version: &str| {
        types.iter().find(|(_, served)| serves(served, version)).map_or(types[0].0, |(name, _)| *name)
    };
    let imports: Vec<String> =
        versions.iter().map(|version| format!("{}@{version}", types_of(version))).collect();
    let (exports, imports) = (exports.iter().map(String::as_str), imports.iter().map(String::as_str));
    let found = detect(imports, exports, Capabilities::ALL).ok()?;
    Some((found.roles()[0].1, !found.newer.is_empty()))
}

#[test]
fn the_book_says_which_components_this_host_serves() {
    let roles = [
        (admission::HANDLER, admission::TYPES),
        (probe::PROBER, probe::TYPES),
        (pod_source::SOURCE, pod_source::TYPES),
    ];
    let rows = table("| Built against | admission | probe | pod source |");
    let mut cells = 0;
    for row in &rows[1..] {
        let versions = quoted(row[0]);
        let components = match row[0].ends_with("in one component") {
            true => vec![versions],
            false => versions.into_iter().map(|version| vec![version]).collect(),
        };
        for (versions, (role, cell)) in
            components.iter().flat_map(|versions| roles.iter().zip(&row[1..]).map(move |it| (versions, it)))
        {
            let found = served(role.0, role.1, versions);
            if found.is_some_and(|(version, _)| OF_TESTS.contains(&version)) {
                continue;
            }
            let shown = match found {
                None => "refused",
                Some((_, true)) => "newer",
                Some((version, false)) if versions.len() > 1 => version,
                Some((_, false)) => "served",
            };
            assert_eq!(shown, word(cell), "{versions:?} {}", role.0);
            cells += 1;
        }
    }
    assert!(cells >= 20, "{cells} cells");
}

#[test]
fn the_book_says_which_version_serves_which() {
    let rows = table("| Built against | `0.1.0`");
    let served: Vec<&str> = rows[0][1..].iter().map(|cell| word(cell)).collect();
    assert!(served.len() >= 6 && rows.len() > 6, "{rows:?}");
    for row in &rows[1..] {
        let expected = word(row[0]);
        for (served, cell) in served.iter().zip(&row[1..]) {
            let shown = match (serves(served, expected), is_newer(expected, served)) {
                (false, _) => "refused",
                (true, true) => "newer",
                (true, false) => "served",
            };
            assert_eq!(shown, *cell, "{expected} on a host with {served}");
        }
    }
}
