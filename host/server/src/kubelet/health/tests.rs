//! Checks in upstream's form.

use super::*;

/// Checks, verbose, excluded → code, words.
type HealthCase<'a> = (&'a [Check], bool, &'a [&'a str], StatusCode, &'a str);

#[test]
fn checks_are_reported_as_upstream_tells_them() {
    let well: Vec<Check> = vec![("ping", Ok(())), ("log", Ok(()))];
    let sick: Vec<Check> = vec![("ping", Ok(())), ("syncloop", Err("it stands still".to_owned()))];
    let ok = StatusCode::OK;
    let code = StatusCode::INTERNAL_SERVER_ERROR;
    let reported = "[+]ping ok\n[-]syncloop failed: reason withheld\nhealthz check failed\n";
    let cases: [HealthCase<'_>; 9] = [
        (&well, false, &[], ok, "ok"),
        (&well, true, &[], ok, "[+]ping ok\n[+]log ok\nhealthz check passed\n"),
        (&sick, false, &[], code, reported),
        (&sick, true, &[], code, reported),
        (&sick, false, &["syncloop"], ok, "ok"),
        (&sick, true, &["syncloop"], ok, "[+]ping ok\n[+]syncloop excluded: ok\nhealthz check passed\n"),
        (&well, false, &["nope"], ok, "ok"),
        (
            &well,
            true,
            &["z", "log", "a \"b\"", "z"],
            ok,
            "[+]ping ok\n[+]log excluded: ok\nwarn: some health checks cannot be excluded: no matches for \"a \\\"b\\\"\",\"z\"\nhealthz check passed\n",
        ),
        (
            &sick,
            false,
            &["z"],
            code,
            "[+]ping ok\n[-]syncloop failed: reason withheld\nwarn: some health checks cannot be excluded: no matches for \"z\"\nhealthz check failed\n",
        ),
    ];
    for (checks, verbose, excluded, expected, words) in cases {
        let counts = HealthCounts::default();
        assert_eq!(together(checks, verbose, excluded, &counts), (expected, words.to_owned()));
    }
    assert_eq!(failed("it stands still"), (code, "internal server error: it stands still\n".to_owned()));
}

#[tokio::test(start_paused = true)]
async fn a_loop_that_does_nothing_for_too_long_is_not_well() {
    let silence = Duration::from_secs(300);
    let failed = Err("sync Loop took longer than expected".to_owned());
    let watched = SyncLoop::new(silence);
    assert_eq!(watched.check(None), Ok(()), "it begins");
    let last = Some(Instant::now());
    tokio::time::advance(silence).await;
    assert_eq!((watched.check(last), watched.check(None)), (Ok(()), Ok(())));
    tokio::time::advance(Duration::from_secs(1)).await;
    assert_eq!((watched.check(last), watched.check(None)), (failed.clone(), failed));
    // The first question finds it, however long no one asked.
    let later = Some(Instant::now());
    assert_eq!((watched.check(later), SyncLoop::new(silence).check(last).is_err()), (Ok(()), true));
}
