//! Screens of several sizes.

use expect_test::expect;
use serde_json::Value;

use super::*;

fn read(rows: usize) -> Snapshot {
    let row = |n: usize| vec![format!("pod-{n}"), format!("{n}m")];
    Snapshot {
        title: "Pods by cpu, 12:00:00, every 2s; q quits".to_owned(),
        header: vec!["NAME", "CPU(cores)"],
        rows: (0..rows).map(row).collect(),
        document: Value::Null,
    }
}

#[test]
fn what_does_not_fit_is_counted() {
    let shown =
        |rows: usize, width: u16, height: u16| lines(&read(rows), None, Size { width, height }).join("\n");
    expect![[r#"
        Pods by cpu, 12:00:00, every 2s; q quits

        NAME    CPU(cores)
        pod-0   0m
        pod-1   1m"#]]
    .assert_eq(&shown(2, 80, 5));
    expect![[r#"
        Pods by cpu, 12:00:0

        NAME    CPU(cores)
        pod-0   0m
        … 9 more"#]]
    .assert_eq(&shown(10, 20, 5));
    assert_eq!(shown(3, 80, 1), "… 6 more");
}

#[test]
fn what_names_hold_is_no_command_to_the_terminal() {
    let mut snapshot = read(1);
    snapshot.rows[0][0] = "\u{1b}[2Jx".to_owned();
    snapshot.title.push('\u{7}');
    let shown = lines(&snapshot, Some("\u{1b}]0;title"), Size { width: 80, height: 24 });
    assert!(shown.iter().all(|line| !line.chars().any(char::is_control)), "{shown:?}");
}

#[test]
fn a_screen_is_rendered_over_the_one_before() {
    assert_eq!(rendered(&["a".to_owned(), "b".to_owned()]), "\u{1b}[Ha\u{1b}[K\r\nb\u{1b}[K\u{1b}[J");
}
