//! Numbers as upstream reads them.

use super::*;

#[test]
fn a_verbosity_is_a_number_of_klogs() {
    let invalid = |text: &str| Err(format!("strconv.ParseUint: parsing {text:?}: invalid syntax"));
    let cases = [
        ("0", Ok(0)),
        ("4", Ok(4)),
        ("010", Ok(10)),
        ("2147483647", Ok(2_147_483_647)),
        (
            "2147483648",
            Err("failed set klog.logging.verbosity 2147483648: strconv.ParseInt: parsing \"2147483648\": value out of range"
                .to_owned()),
        ),
        ("4294967296", Err("strconv.ParseUint: parsing \"4294967296\": value out of range".to_owned())),
        ("", invalid("")),
        ("-1", invalid("-1")),
        ("+1", invalid("+1")),
        ("4\n", invalid("4\n")),
        (" 4", invalid(" 4")),
        ("v", invalid("v")),
    ];
    for (text, expected) in cases {
        assert_eq!(verbosity(text), expected, "{text:?}");
    }
}
