//! The whole agent on recording fakes and paused time: the scenarios that every world plays, and what only fakes can
//! show.

mod everywhere;
