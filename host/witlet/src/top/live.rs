//! A screen that is printed again and again until a key or a signal ends it.

use std::pin::pin;
use std::time::Duration;

use tokio::signal::unix::{SignalKind, signal};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use witlet_core::error::one_line;

use super::screen::{lines, rendered};
use super::source::{Snapshot, Source};
use crate::get::error::GetError;
use crate::run::signals::stopping;
use crate::terminal::{self, KeyMode, Keys, Screen, Size};

/// Where there is no terminal any more.
const NO_SIZE: Size = Size { width: 0, height: 0 };

/// Shows a snapshot, and then others each interval.
pub(super) async fn run(source: impl Source, first: Snapshot, interval: Duration) -> Result<(), GetError> {
    // What was changed is changed back in the opposite order.
    let _keys = KeyMode::set(Keys::OneByOne);
    let screen = Screen::enter().map_err(GetError::Terminal)?;
    let stop = CancellationToken::new();
    let showing = async {
        tokio::select! {
            biased;
            () = stop.cancelled() => Ok(()),
            () = terminal::quit_key() => Ok(()),
            ended = go_on(source, first, interval, &screen) => ended,
        }
    };
    stopping(showing, stop.clone()).await
}

async fn go_on(
    mut source: impl Source,
    mut snapshot: Snapshot,
    interval: Duration,
    screen: &Screen,
) -> Result<(), GetError> {
    let mut resizes = signal(SignalKind::window_change()).map_err(GetError::Terminal)?;
    let mut note: Option<String> = None;
    loop {
        let draw = || {
            let size = terminal::size().unwrap_or(NO_SIZE);
            screen.write(&rendered(&lines(&snapshot, note.as_deref(), size))).map_err(GetError::Terminal)
        };
        draw()?;
        let mut next = pin!(async {
            sleep(interval).await;
            source.snapshot().await
        });
        let read = loop {
            tokio::select! {
                biased;
                Some(()) = resizes.recv() => draw()?,
                read = &mut next => break read,
            }
        };
        match read {
            Ok(newer) => (snapshot, note) = (newer, None),
            // The agent may come back.
            Err(error) => note = Some(format!("error: {}", one_line(&error))),
        }
    }
}
