//! When windows are open, and when the next one opens.

use crate::WindowConfig;
use crate::calendar::{DAY, time_of_day, weekday};

/// Days of the week, as they are written.
const DAYS: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];

/// One window, in local time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Window {
    /// On which days of the week it opens.
    days: [bool; 7],
    /// Seconds after midnight.
    from: i64,
    /// How long it is open: more than nothing, a day at most.
    lasts: i64,
}

impl Window {
    /// The error is a key and what is wrong with its value.
    pub(crate) fn parse(config: &WindowConfig) -> Result<Self, (String, String)> {
        let mut days = [config.days.is_none(); 7];
        for (index, name) in config.days.iter().flatten().enumerate() {
            let day = DAYS.iter().position(|day| day == name).ok_or_else(|| {
                (format!("days[{index}]"), format!("{name:?} is none of {}", DAYS.join(", ")))
            })?;
            days[day] = true;
        }
        if !days.contains(&true) {
            return Err(("days".to_owned(), "may be left out, but not empty".to_owned()));
        }
        let time = |key: &str, text: &str| {
            time_of_day(text).ok_or_else(|| (key.to_owned(), format!("{text:?} isn't a time like 06:30")))
        };
        let (from, to) = (time("from", &config.from)?, time("to", &config.to)?);
        if from == DAY {
            return Err(("from".to_owned(), "must be before 24:00".to_owned()));
        }
        if from == to {
            return Err((
                "to".to_owned(),
                "must differ from `from`; a whole day is 00:00 to 24:00".to_owned(),
            ));
        }
        Ok(Self { days, from, lasts: if to > from { to - from } else { to - from + DAY } })
    }

    /// Whether it opens on this day since 1970-01-01.
    fn opens_on(&self, day: i64) -> bool {
        self.days[weekday(day)]
    }
}

/// All windows at their offset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Windows {
    offset: i64,
    windows: Vec<Window>,
}

impl Windows {
    pub(crate) fn new(offset: i64, windows: Vec<Window>) -> Self {
        Self { offset, windows }
    }

    /// Seconds east of UTC.
    pub(crate) fn offset(&self) -> i64 {
        self.offset
    }

    /// When the next window opens, in seconds since 1970; none if one is open.
    pub(crate) fn opens(&self, now: i64) -> Option<i64> {
        let local = now.saturating_add(self.offset);
        let today = local.div_euclid(DAY);
        // A window of yesterday may still be open; within a week each opens again.
        let openings = (today - 1..=today + 7).flat_map(|day| {
            self.windows
                .iter()
                .filter(move |window| window.opens_on(day))
                .map(move |window| (day * DAY + window.from, window.lasts))
        });
        let mut next = i64::MAX;
        for (opening, lasts) in openings {
            if (opening..opening + lasts).contains(&local) {
                return None;
            }
            if opening > local {
                next = next.min(opening);
            }
        }
        Some(next.saturating_sub(self.offset))
    }
}

#[cfg(test)]
mod tests;
