//! Queries as Go reads them.

use super::*;

#[test]
fn a_malformed_pair_is_left_out_and_the_others_stay() {
    let cases: [(&str, &[(&str, &str)]); 9] = [
        ("/logs/", &[]),
        ("/logs/?", &[]),
        ("/logs/?query=a&query=b", &[("query", "a"), ("query", "b")]),
        ("/logs/?a=b+c%2Bd%20e", &[("a", "b c+d e")]),
        ("/logs/?a&b=&=c&&", &[("a", ""), ("b", ""), ("", "c")]),
        ("/logs/?a=b=c", &[("a", "b=c")]),
        ("/logs/?a=%zz&b=%4&c=%&d=1", &[("d", "1")]),
        ("/logs/?a=1;b=2&c=3", &[("c", "3")]),
        ("/logs/?%61=%C3%A4&b=%ff", &[("a", "\u{e4}"), ("b", "\u{fffd}")]),
    ];
    for (uri, expected) in cases {
        let found = query(&uri.parse().unwrap());
        let found: Vec<(&str, &str)> = found.iter().map(|(name, value)| (&**name, &**value)).collect();
        assert_eq!(found, expected, "{uri}");
    }
}
