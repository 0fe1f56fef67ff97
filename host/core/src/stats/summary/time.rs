//! Times of figures.

use jiff::Timestamp;
use jiff::tz::Offset;
use serde::{Serialize, Serializer};

/// A time as Kubernetes' objects have it: in UTC, without parts of a second. A summary has some ten thousand of them, which the general
/// way takes longer to write than all else.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Time(pub Timestamp);

impl Time {
    /// Returns `None` for a year that hasn't four digits.
    fn text(self) -> Option<[u8; 20]> {
        let at = Offset::UTC.to_datetime(self.0);
        let year = u16::try_from(at.year()).ok().filter(|year| *year < 10_000)?;
        let year = [(year / 100) as u8, (year % 100) as u8];
        let rest = [at.month(), at.day(), at.hour(), at.minute(), at.second()].map(i8::unsigned_abs);
        let mut text = *b"0000-00-00T00:00:00Z";
        let places = [0, 2, 5, 8, 11, 14, 17];
        for (place, number) in places.into_iter().zip(year.into_iter().chain(rest)) {
            if let Some([tens, ones]) = text.get_mut(place..place + 2) {
                *tens += number / 10;
                *ones += number % 10;
            }
        }
        Some(text)
    }
}

impl Serialize for Time {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.text().as_ref().map(|text| str::from_utf8(text)) {
            Some(Ok(text)) => serializer.serialize_str(text),
            _ => serializer.collect_str(&self.0.strftime("%Y-%m-%dT%H:%M:%SZ")),
        }
    }
}
