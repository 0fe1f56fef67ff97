//! The start of the process.

use witlet_core::stats::exposition::Format;

use super::*;

#[test]
fn the_start_has_fractions_and_is_left_out_if_it_is_not_known() {
    let written = |at| {
        let mut exposition = Exposition::new(Format::Text);
        write_start(&mut exposition, at);
        exposition.finish().expect("it is small")
    };
    let text = written(Timestamp::from_millisecond(1_790_000_000_250).ok());
    assert!(text.ends_with("\nprocess_start_time_seconds 1790000000.25\n"), "{text}");
    assert_eq!(written(None), "");
}
