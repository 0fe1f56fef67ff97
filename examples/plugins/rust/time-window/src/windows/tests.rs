//! Cases at the edges of windows, and a property.

use proptest::prelude::*;

use super::*;

/// 2026-03-02, a Monday, at midnight UTC.
const MONDAY: i64 = 1_772_409_600;
const HOUR: i64 = 3_600;

fn window(days: Option<&[&str]>, from: &str, to: &str) -> WindowConfig {
    WindowConfig {
        days: days.map(|days| days.iter().map(|day| (*day).to_owned()).collect()),
        from: from.to_owned(),
        to: to.to_owned(),
    }
}

fn windows(offset: i64, list: &[WindowConfig]) -> Windows {
    Windows::new(offset, list.iter().map(|config| Window::parse(config).expect("a window")).collect())
}

/// Seconds after `MONDAY`; none while one is open.
fn opens(windows: &Windows, after_monday: i64) -> Option<i64> {
    windows.opens(MONDAY + after_monday).map(|opens| opens - MONDAY)
}

#[test]
fn a_window_opens_with_its_first_second_and_closes_with_its_last() {
    let office = windows(0, &[window(Some(&["Mon", "Wed"]), "09:00", "17:30")]);
    for (now, expected) in [
        (0, Some(9 * HOUR)),
        (9 * HOUR - 1, Some(9 * HOUR)),
        (9 * HOUR, None),
        (17 * HOUR + 1_799, None),
        (17 * HOUR + 1_800, Some(2 * DAY + 9 * HOUR)),
        (2 * DAY + 9 * HOUR, None),
        (3 * DAY, Some(7 * DAY + 9 * HOUR)),
        (-1, Some(9 * HOUR)),
    ] {
        assert_eq!(opens(&office, now), expected, "{now}");
    }
}

#[test]
fn a_window_over_midnight_belongs_to_the_day_it_opens_on() {
    let night = windows(0, &[window(Some(&["Sun"]), "22:00", "06:00")]);
    for (now, expected) in [
        (-3 * HOUR, Some(-2 * HOUR)),
        (-2 * HOUR, None),
        (0, None),
        (6 * HOUR - 1, None),
        (6 * HOUR, Some(7 * DAY - 2 * HOUR)),
        (DAY, Some(7 * DAY - 2 * HOUR)),
    ] {
        assert_eq!(opens(&night, now), expected, "{now}");
    }
}

#[test]
fn whole_days_and_windows_side_by_side_leave_no_gap() {
    let weekend = windows(0, &[window(Some(&["Sat", "Sun"]), "00:00", "24:00")]);
    assert_eq!(opens(&weekend, -1), None);
    assert_eq!(opens(&weekend, 0), Some(5 * DAY));
    assert_eq!(opens(&weekend, 5 * DAY - 1), Some(5 * DAY));
    assert_eq!(opens(&weekend, 6 * DAY), None);
    let always = windows(0, &[window(None, "00:00", "12:00"), window(None, "12:00", "24:00")]);
    let daily = windows(0, &[window(None, "12:00", "24:00")]);
    for hour in 0..24 {
        assert_eq!(opens(&always, hour * HOUR), None);
        assert_eq!(opens(&daily, hour * HOUR), (hour < 12).then_some(12 * HOUR));
    }
}

#[test]
fn an_offset_moves_days_and_times() {
    let monday = window(Some(&["Mon"]), "00:00", "24:00");
    let (east, west) = (windows(2 * HOUR, std::slice::from_ref(&monday)), windows(-3 * HOUR, &[monday]));
    assert_eq!(opens(&east, -2 * HOUR), None);
    assert_eq!(opens(&east, 22 * HOUR), Some(7 * DAY - 2 * HOUR));
    assert_eq!(opens(&west, 0), Some(3 * HOUR));
    assert_eq!(opens(&west, 3 * HOUR), None);
}

#[test]
fn what_is_no_window_is_refused_by_its_key() {
    for (config, key, problem) in [
        (window(Some(&[]), "00:00", "01:00"), "days", "may be left out, but not empty"),
        (
            window(Some(&["Mon", "Tag"]), "00:00", "01:00"),
            "days[1]",
            "\"Tag\" is none of Mon, Tue, Wed, Thu, Fri, Sat, Sun",
        ),
        (window(None, "9:00", "10:00"), "from", "\"9:00\" isn't a time like 06:30"),
        (window(None, "09:00", "25:00"), "to", "\"25:00\" isn't a time like 06:30"),
        (window(None, "24:00", "01:00"), "from", "must be before 24:00"),
        (window(None, "09:00", "09:00"), "to", "must differ from `from`; a whole day is 00:00 to 24:00"),
    ] {
        assert_eq!(Window::parse(&config), Err((key.to_owned(), problem.to_owned())), "{config:?}");
    }
}

proptest! {
    #[test]
    fn when_the_next_window_opens_it_is_open_and_until_then_none_is(
        now in -1_000_000_000_i64..10_000_000_000,
        offset in -14 * HOUR..=14 * HOUR,
        day in 0_usize..7,
        from in 0_i64..1_440,
        lasts in 1_i64..1_440,
        part in 0.0..1.0_f64,
    ) {
        let text = |minutes: i64| format!("{:02}:{:02}", minutes / 60, minutes % 60);
        let windows = windows(offset, &[window(Some(&[DAYS[day]]), &text(from), &text((from + lasts) % 1_440))]);
        if let Some(opens) = windows.opens(now) {
            prop_assert!(opens > now && opens - now <= 7 * DAY);
            prop_assert_eq!(windows.opens(opens), None);
            let between = now + ((opens - now - 1) as f64 * part) as i64;
            prop_assert_eq!(windows.opens(between), Some(opens));
        }
    }
}
