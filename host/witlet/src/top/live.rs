//! A screen that is drawn again and again until a key or a signal ends it.

use std::pin::pin;
use std::time::Duration;

use tokio::signal::unix::{SignalKind, signal};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use witlet_core::error::one_line;

use super::screen::{drawn, lines};
use super::source::{Look, Source};
use crate::get::error::GetError;
use crate::run::signals::stopping;
use crate::terminal::{self, KeyMode, Keys, Screen, Size};

/// Where there is no terminal any more.
const NO_SIZE: Size = Size { width: 0, height: 0 };

/// Shows a look, and then others each interval.
pub(super) async fn run(source: impl Source, first: Look, interval: Duration) -> Result<(), GetError> {
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
    mut look: Look,
    interval: Duration,
    screen: &Screen,
) -> Result<(), GetError> {
    let mut resizes = signal(SignalKind::window_change()).map_err(GetError::Terminal)?;
    let mut note: Option<String> = None;
    loop {
        let draw = || {
            let size = terminal::size().unwrap_or(NO_SIZE);
            screen.write(&drawn(&lines(&look, note.as_deref(), size))).map_err(GetError::Terminal)
        };
        draw()?;
        let mut next = pin!(async {
            sleep(interval).await;
            source.look().await
        });
        let looked = loop {
            tokio::select! {
                biased;
                Some(()) = resizes.recv() => draw()?,
                looked = &mut next => break looked,
            }
        };
        match looked {
            Ok(newer) => (look, note) = (newer, None),
            // The agent may come back.
            Err(error) => note = Some(format!("error: {}", one_line(&error))),
        }
    }
}
