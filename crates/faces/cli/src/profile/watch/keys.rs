//! Keys, as terminals send them.
//!
//! Source: `ctlseqs`, <https://invisible-island.net/xterm/ctlseqs/ctlseqs.html> (PC-style function
//! keys).

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::AsFd;

/// A key that means something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Key {
    Quit,
    Up,
    Down,
    First,
    Last,
    /// The next layer.
    Layer,
    /// The next order of operations.
    Order,
    /// Stops or continues.
    Pause,
}

/// The terminal's keyboard.
pub(super) struct Keyboard(File);

impl Keyboard {
    /// Reads keys from a terminal, without a buffer that could hide them from poll(2).
    pub(super) fn of(terminal: impl AsFd) -> io::Result<Keyboard> {
        let own = terminal.as_fd().try_clone_to_owned()?;
        Ok(Keyboard(File::from(own)))
    }

    /// Returns the keys that were typed. A terminal that is gone ends the view.
    pub(super) fn read(&mut self) -> Vec<Key> {
        let mut bytes = [0; 64];
        match self.0.read(&mut bytes) {
            Ok(0) => vec![Key::Quit],
            Ok(read) => keys(bytes.get(..read).unwrap_or_default()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Vec::new(),
            Err(_) => vec![Key::Quit],
        }
    }
}

/// Keys and the bytes that they send.
const KEYS: [(&[u8], Key); 22] = [
    (b"\x1b[A", Key::Up),
    (b"\x1bOA", Key::Up),
    (b"\x1b[B", Key::Down),
    (b"\x1bOB", Key::Down),
    (b"\x1b[C", Key::Layer),
    (b"\x1bOC", Key::Layer),
    (b"\x1b[H", Key::First),
    (b"\x1bOH", Key::First),
    (b"\x1b[1~", Key::First),
    (b"\x1b[F", Key::Last),
    (b"\x1bOF", Key::Last),
    (b"\x1b[4~", Key::Last),
    (b"k", Key::Up),
    (b"j", Key::Down),
    (b"g", Key::First),
    (b"G", Key::Last),
    (b"\t", Key::Layer),
    (b"l", Key::Layer),
    (b"s", Key::Order),
    (b"p", Key::Pause),
    (b" ", Key::Pause),
    (b"q", Key::Quit),
];

/// Returns the keys that sent these bytes. Escape alone ends the view; unknown sequences mean nothing.
fn keys(mut bytes: &[u8]) -> Vec<Key> {
    let mut keys = Vec::new();
    while let Some(first) = bytes.first() {
        let known = KEYS
            .iter()
            .find_map(|(sent, key)| Some((bytes.strip_prefix(*sent)?, *key)));
        if let Some((rest, key)) = known {
            keys.push(key);
            bytes = rest;
        } else if *first == 0x1b && bytes.len() == 1 {
            keys.push(Key::Quit);
            break;
        } else {
            bytes = behind(bytes);
        }
    }
    keys
}

/// Returns what comes after an unknown key: a whole sequence, or one byte.
fn behind(bytes: &[u8]) -> &[u8] {
    let length = match bytes {
        [0x1b, b'[', rest @ ..] => {
            let last = rest.iter().position(|byte| (0x40..=0x7e).contains(byte));
            last.map_or(bytes.len(), |last| last + 3)
        }
        [0x1b, b'O', _, ..] => 3,
        [0x1b, ..] => 2,
        _ => 1,
    };
    bytes.get(length..).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_known_by_what_terminals_send() {
        assert_eq!(
            keys(b"jk\x1b[A\x1bOB"),
            [Key::Down, Key::Up, Key::Up, Key::Down]
        );
        assert_eq!(keys(b"\x1b"), [Key::Quit]);
        assert_eq!(keys(b"\x1b[15~q"), [Key::Quit], "F5 means nothing");
        assert_eq!(
            keys(b"\x1b[1;5Cxq"),
            [Key::Quit],
            "neither does Control with an arrow"
        );
        assert_eq!(keys(b"\xff\x1b["), []);
    }
}
