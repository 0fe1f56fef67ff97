//! Calls that are never answered: an agent that is killed meanwhile doesn't know whether they were carried out.

/// What is to be cut, and what was counted.
#[derive(Debug, Default)]
pub(super) struct CallCuts {
    pub(super) calls: usize,
    cut: Option<Cut>,
}

#[derive(Clone, Copy, Debug)]
struct Cut {
    /// The number of the call.
    at: usize,
    is_carried_out: bool,
    is_reached: bool,
}

/// What becomes of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    Answered,
    CarriedOutInSilence,
    Lost,
}

impl CallCuts {
    /// Of the calls from now on this one, the next being 0, and all that follow are never answered; the first is carried out or isn't.
    pub(super) fn set(&mut self, number: usize, is_carried_out: bool) {
        self.cut = Some(Cut { at: self.calls + number, is_carried_out, is_reached: false });
    }

    /// Whether a call has been cut since it was to be; then calls are answered again.
    pub(super) fn take(&mut self) -> bool {
        let is_reached = self.cut.is_some_and(|cut| cut.is_reached);
        if is_reached {
            self.cut = None;
        }
        is_reached
    }

    /// Counts a call.
    pub(super) fn next(&mut self) -> Fate {
        let number = self.calls;
        self.calls += 1;
        let Some(cut) = self.cut.as_mut().filter(|cut| number >= cut.at) else { return Fate::Answered };
        let is_first = !std::mem::replace(&mut cut.is_reached, true);
        if is_first && cut.is_carried_out { Fate::CarriedOutInSilence } else { Fate::Lost }
    }
}
