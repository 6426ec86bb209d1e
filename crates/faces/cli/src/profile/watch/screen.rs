//! The terminal: its other screen, on which the view is drawn, and the way back.
//!
//! Source of the control sequences: `ctlseqs`,
//! <https://invisible-island.net/xterm/ctlseqs/ctlseqs.html>.

use std::io::{self, Write};
use std::os::fd::AsFd;
use std::sync::Once;

use trawl_sys::terminal::{self, Keys};

use super::state::State;
use super::view::{self, Kind, Line, SHADES};
use crate::failure::Failure;
use crate::output::{ColourWhen, Device};

/// The other screen, without a cursor.
const ENTER: &[u8] = b"\x1b[?1049h\x1b[?25l";
/// The cursor, plain text, and the first screen.
const LEAVE: &[u8] = b"\x1b[0m\x1b[?25h\x1b[?1049l";

/// Size of a terminal that does not tell its own.
const SIZE: (u16, u16) = (80, 24);

/// A terminal that shows the view. Dropping it restores the terminal; a panic does, too.
pub(super) struct Screen {
    _keys: Keys,
    has_colours: bool,
    /// The lines on the screen.
    shown: String,
}

impl Screen {
    /// Takes the terminal.
    pub(super) fn take(stdin: impl AsFd) -> Result<Screen, Failure> {
        let keys = Keys::take(stdin);
        let keys = keys.map_err(|why| Failure::Usage(format!("cannot use the terminal: {why}")))?;
        leave_on_panic();
        put(ENTER)?;
        let no_color = std::env::var_os("NO_COLOR");
        Ok(Screen {
            _keys: keys,
            has_colours: ColourWhen::Auto.decide(Device::Terminal, no_color.as_deref()),
            shown: String::new(),
        })
    }

    /// Draws the view in the terminal's present size, if anything has changed.
    pub(super) fn draw(&mut self, state: &State) -> Result<(), Failure> {
        let stdout = io::stdout();
        let columns = trawl_sys::process::terminal_columns(&stdout).unwrap_or(SIZE.0);
        let rows = trawl_sys::process::terminal_rows(&stdout).unwrap_or(SIZE.1);
        let lines = view::lines(state, columns.into(), rows.into());
        let mut text = String::from("\x1b[H");
        for (at, line) in lines.iter().enumerate() {
            if at > 0 {
                text += "\r\n";
            }
            self.line(line, &mut text);
            text += "\x1b[K";
        }
        text += "\x1b[J";
        if text != self.shown {
            put(text.as_bytes())?;
            self.shown = text;
        }
        Ok(())
    }

    fn line(&self, line: &Line, to: &mut String) {
        let style = match line.kind {
            Kind::Heading => "\x1b[1m",
            Kind::Selected => "\x1b[7m",
            Kind::Heat(from) if self.has_colours => return heat(line, from, to),
            Kind::Heat(_) | Kind::Plain => return to.push_str(&line.text),
        };
        to.push_str(style);
        to.push_str(&line.text);
        to.push_str("\x1b[0m");
    }
}

/// Colours of the shades, from blue to red, of the terminal's 256.
const COLOURS: [u8; SHADES.len()] = [0, 25, 37, 214, 196];

/// Colours the heat map, which begins at a column.
fn heat(line: &Line, from: usize, to: &mut String) {
    let mut last = None;
    for (at, cell) in line.text.chars().enumerate() {
        let shade = SHADES.iter().position(|shade| *shade == cell);
        let colour = shade.filter(|shade| at >= from && *shade > 0);
        let colour = colour.and_then(|shade| COLOURS.get(shade));
        if colour != last {
            match colour {
                Some(colour) => to.push_str(&format!("\x1b[38;5;{colour}m")),
                None => to.push_str("\x1b[0m"),
            }
            last = colour;
        }
        to.push(cell);
    }
    to.push_str("\x1b[0m");
}

impl Drop for Screen {
    fn drop(&mut self) {
        let _ = put(LEAVE);
    }
}

fn put(bytes: &[u8]) -> Result<(), Failure> {
    let mut out = io::stdout();
    let written = out.write_all(bytes).and_then(|()| out.flush());
    written.map_err(Failure::Write)
}

/// A panic ends the process without dropping anything.
fn leave_on_panic() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let next = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            let _ = put(LEAVE);
            terminal::restore();
            next(panic);
        }));
    });
}
