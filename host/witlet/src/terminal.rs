//! The terminal: its size, its modes, and the keys that are pressed. What was changed is changed back, however the program ends.

use std::ffi::OsStr;
use std::io::{IsTerminal as _, Write as _};

use rustix::termios::{self, LocalModes, OptionalActions, SpecialCodeIndex, Termios};
use tokio::io::AsyncReadExt as _;

/// What hides the cursor and shows another screen, and what changes both back.
const ENTER_SCREEN: &str = "\x1b[?1049h\x1b[?25l";
const LEAVE_SCREEN: &str = "\x1b[?25h\x1b[?1049l";

/// Ctrl-C, Ctrl-D and `q`.
const QUIT: [u8; 4] = [3, 4, b'q', b'Q'];

/// Of a terminal that doesn't say.
const SIZE_DEFAULT: Size = Size { width: 80, height: 24 };

/// Columns and rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Size {
    pub(crate) width: u16,
    pub(crate) height: u16,
}

/// Whether people read standard output on a terminal whose cursor can be moved.
pub(crate) fn is_screen() -> bool {
    std::io::stdout().is_terminal() && can_draw(std::env::var_os("TERM").as_deref())
}

/// Terminals without a name, and those of editors and logs that call themselves dumb, show escape sequences as they are.
fn can_draw(term: Option<&OsStr>) -> bool {
    term.is_some_and(|term| !term.is_empty() && term != "dumb")
}

/// Whether people write standard input.
pub(crate) fn is_input() -> bool {
    std::io::stdin().is_terminal()
}

/// The size of the terminal behind standard output; none if there is none.
pub(crate) fn size() -> Option<Size> {
    let size = termios::tcgetwinsize(std::io::stdout()).ok()?;
    let is_known = size.ws_col > 0 && size.ws_row > 0;
    Some(if is_known { Size { width: size.ws_col, height: size.ws_row } } else { SIZE_DEFAULT })
}

/// How the keys of standard input are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keys {
    /// One by one and unseen, also those that make signals.
    OneByOne,
    /// As they are, for a terminal elsewhere.
    Raw,
}

/// Another mode of the terminal behind standard input. The one before comes back when this is dropped.
pub(crate) struct KeyMode {
    before: Option<Termios>,
}

impl KeyMode {
    /// Changes the mode. Without a terminal nothing changes.
    pub(crate) fn set(keys: Keys) -> Self {
        let stdin = std::io::stdin();
        let Ok(before) = termios::tcgetattr(&stdin) else { return Self { before: None } };
        let mut mode = before.clone();
        match keys {
            Keys::Raw => mode.make_raw(),
            Keys::OneByOne => {
                mode.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG);
                mode.special_codes[SpecialCodeIndex::VMIN] = 1;
                mode.special_codes[SpecialCodeIndex::VTIME] = 0;
            }
        }
        let changed = termios::tcsetattr(&stdin, OptionalActions::Now, &mode).is_ok();
        Self { before: changed.then_some(before) }
    }
}

impl Drop for KeyMode {
    fn drop(&mut self) {
        if let Some(before) = &self.before {
            // A terminal that is gone needs nothing.
            let _ = termios::tcsetattr(std::io::stdin(), OptionalActions::Now, before);
        }
    }
}

/// A screen of its own. The one before comes back when this is dropped.
pub(crate) struct Screen;

impl Screen {
    /// Shows an empty one.
    pub(crate) fn enter() -> std::io::Result<Self> {
        let screen = Self;
        screen.write(ENTER_SCREEN)?;
        Ok(screen)
    }

    /// Writes what the screen shows.
    pub(crate) fn write(&self, text: &str) -> std::io::Result<()> {
        let mut out = std::io::stdout().lock();
        out.write_all(text.as_bytes())?;
        out.flush()
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        let _ = self.write(LEAVE_SCREEN);
    }
}

/// Waits until a key is pressed that ends a program. For ever where no keys come.
pub(crate) async fn quit_key() {
    let mut stdin = tokio::io::stdin();
    let mut keys = [0; 64];
    loop {
        match stdin.read(&mut keys).await {
            Ok(read) if read > 0 => {
                if keys[..read].iter().any(|key| QUIT.contains(key)) {
                    return;
                }
            }
            Ok(_) | Err(_) => return std::future::pending().await,
        }
    }
}
