//! A stream of bytes as lines, none longer than a bound.

/// One line, without its end.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line<'a> {
    /// Never empty.
    Whole(&'a [u8]),
    /// It was longer than the bound, and is gone.
    TooLong,
}

/// Cuts what it is fed into lines. Empty lines are left out; a last line without an end was cut off and doesn't count.
#[derive(Debug)]
pub(super) struct Lines {
    bytes_max: usize,
    held: Vec<u8>,
    /// Where the next line begins.
    begin: usize,
    /// Up to where there is no end of a line.
    sought: usize,
    /// Whether the line that is held was too long and its rest is dropped.
    drops: bool,
}

impl Lines {
    pub(super) fn new(bytes_max: usize) -> Self {
        Self { bytes_max, held: Vec::new(), begin: 0, sought: 0, drops: false }
    }

    /// Takes what follows. All lines of what was fed before must have been taken.
    pub(super) fn feed(&mut self, data: &[u8]) {
        self.held.drain(..self.begin);
        self.sought -= self.begin;
        self.begin = 0;
        self.held.extend_from_slice(data);
    }

    /// The next line, if it is there.
    pub(super) fn next(&mut self) -> Option<Line<'_>> {
        loop {
            let Some(length) = self.held[self.sought..].iter().position(|byte| *byte == b'\n') else {
                self.sought = self.held.len();
                if self.sought - self.begin > self.bytes_max {
                    self.drops = true;
                }
                if self.drops {
                    self.begin = self.sought;
                }
                return None;
            };
            let (begin, end) = (self.begin, self.sought + length);
            self.begin = end + 1;
            self.sought = self.begin;
            if std::mem::take(&mut self.drops) || end - begin > self.bytes_max {
                return Some(Line::TooLong);
            }
            let line = self.held[begin..end].trim_ascii();
            if !line.is_empty() {
                // Cut again, because the borrow above would last until the next round.
                return Some(Line::Whole(self.held[begin..end].trim_ascii()));
            }
        }
    }
}
