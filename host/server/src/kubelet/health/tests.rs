//! Checks in upstream's form.

use super::*;

/// Checks, verbose, excluded → code, words.
type HealthCase<'a> = (&'a [Check], bool, &'a [&'a str], StatusCode, &'a str);

#[test]
fn checks_are_reported_as_upstream_tells_them() {
    let well: Vec<Check> = vec![("ping", Ok(())), ("log", Ok(()))];
    let sick: Vec<Check> = vec![("ping", Ok(())), ("syncloop", Err("it stands still".to_owned()))];
    let ok = StatusCode::OK;
    let failed = StatusCode::INTERNAL_SERVER_ERROR;
    let reported = "[+]ping ok\n[-]syncloop failed: reason withheld\nhealthz check failed\n";
    let cases: [HealthCase<'_>; 6] = [
        (&well, false, &[], ok, "ok"),
        (&well, true, &[], ok, "[+]ping ok\n[+]log ok\nhealthz check passed\n"),
        (&sick, false, &[], failed, reported),
        (&sick, true, &[], failed, reported),
        (&sick, false, &["syncloop"], ok, "ok"),
        (&sick, true, &["syncloop"], ok, "[+]ping ok\n[+]syncloop excluded: ok\nhealthz check passed\n"),
    ];
    for (checks, verbose, excluded, code, words) in cases {
        let counts = HealthCounts::default();
        assert_eq!(together(checks, verbose, excluded, &counts), (code, words.to_owned()));
    }
    assert_eq!(single(&sick[1].1), (failed, "internal server error: it stands still\n".to_owned()));
}

#[tokio::test(start_paused = true)]
async fn a_loop_that_does_nothing_for_too_long_is_not_well() {
    let silence = Duration::from_secs(300);
    let watched = SyncLoop::new(silence);
    assert_eq!(watched.check(7), Ok(()));
    tokio::time::advance(silence).await;
    assert_eq!(watched.check(7), Ok(()));
    tokio::time::advance(Duration::from_secs(1)).await;
    assert_eq!(watched.check(7), Err("sync Loop took longer than expected".to_owned()));
    assert_eq!(watched.check(8), Ok(()));
    tokio::time::advance(silence).await;
    assert_eq!(watched.check(8), Ok(()));
}
