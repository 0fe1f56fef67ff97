//! Environment files: what is read, and what is a fault at which line.

use proptest::prelude::*;

use super::*;

#[test]
fn values_stand_in_single_quotes() {
    let file = "\n  \t\n# a comment\nA='one'\n  B='t w o'  # more\nC= 'ignored'\nD='three\nlines # of\n\ntext'\nE=''\nA='late'\nF='x=y'\n";
    let cases = [
        ("A", Some("one")),
        ("B", Some("t w o")),
        ("C", Some("")),
        ("D", Some("three\nlines # of\n\ntext")),
        ("E", Some("")),
        ("F", Some("x=y")),
        ("G", None),
        ("", None),
    ];
    for (key, expected) in cases {
        assert_eq!(value_of(file, key), Ok(expected.map(str::to_owned)), "{key}");
    }
    assert_eq!(value_of("", "A"), Ok(None));
    // As upstream's scanner ends lines: one carriage return before the end, also that of the file.
    for (file, expected) in
        [("A='x'\r\n", "x"), ("A='x'\r", "x"), ("A='x\r\ny'\r\nB", "x\ny"), ("A='x\r\r\ny'", "x\r\ny")]
    {
        assert_eq!(value_of(file, "A"), Ok(Some(expected.to_owned())), "{file:?}");
    }
}

#[test]
fn a_fault_names_its_line_and_counts_only_up_to_the_key() {
    use EnvFileError::*;
    let cases = [
        ("A", NoAssignment { line: 1 }),
        ("\n='x'", NoName { line: 2 }),
        (" \t='x'", NoName { line: 1 }),
        ("A ='x'", SpaceBefore { line: 1 }),
        ("A=x", NotQuoted { line: 1 }),
        ("A=\"x\"", NotQuoted { line: 1 }),
        ("A=", NotQuoted { line: 1 }),
        ("A='x'y", Trailing { line: 1 }),
        ("B='\n'y", Trailing { line: 2 }),
        ("A='x", Unclosed { line: 1 }),
        ("#\nA='x\n\n", Unclosed { line: 2 }),
    ];
    for (file, expected) in cases {
        assert_eq!(value_of(file, "A"), Err(expected), "{file:?}");
        assert_eq!(value_of(&format!("K='v'\n{file}"), "K"), Ok(Some("v".to_owned())), "{file:?}");
    }
}

proptest! {
    #[test]
    fn what_is_quoted_comes_back(value in "[^'\r]{0,60}") {
        prop_assert_eq!(value_of(&format!("A='{value}'"), "A"), Ok(Some(value)));
    }

    #[test]
    fn no_text_breaks_the_reader(text in "[A='# \n\\t]{0,60}") {
        let _ = value_of(&text, "A");
    }
}
