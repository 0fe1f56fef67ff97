//! Columns of fields.

use expect_test::expect;

use super::*;

#[test]
fn values_stand_in_a_column_until_a_heading() {
    let mut text = Text::default();
    text.field(0, "Name", "web");
    text.list(0, "Labels", ["a=b".to_owned(), "c=d".to_owned()]);
    text.list(0, "Annotations", []);
    text.heading(0, "Containers");
    text.heading(1, "app");
    text.field(2, "Image", "busybox");
    text.some(2, "Reason", Some(""));
    text.some(2, "Message", Some("no\nway \u{1b}[2J"));
    text.table("Events", 1, "TYPE\nNormal\n", "<none>");
    text.table("Probes", 0, "", "<none>");
    expect![[r#"
        Name:         web
        Labels:       a=b
                      c=d
        Annotations:  <none>
        Containers:
          app:
            Image:    busybox
            Message:  no way �[2J
        Events:
          TYPE
          Normal
        Probes:  <none>
    "#]]
    .assert_eq(&text.render());
}
