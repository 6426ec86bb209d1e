//! Colours of names by type, from `LS_COLORS` or the defaults of dircolors(1), in the bytes that
//! GNU ls writes.
//!
//! Without `LS_COLORS` there are colours only if `TERM` or `COLORTERM` say that the terminal
//! supports them.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;

use trawl_model::FileType;
use trawl_text::glob::{Case, Glob};
use trawl_text::locale::Locale;

use crate::listing::Item;

/// Labels in `LS_COLORS`, each with the sequence that GNU ls uses by default.
const DEFAULTS: [(&str, Option<&str>); 24] = [
    ("lc", Some("\x1b[")),
    ("rc", Some("m")),
    ("ec", None),
    ("rs", Some("0")),
    ("no", None),
    ("fi", None),
    ("di", Some("01;34")),
    ("ln", Some("01;36")),
    ("pi", Some("33")),
    ("so", Some("01;35")),
    ("bd", Some("01;33")),
    ("cd", Some("01;33")),
    ("mi", None),
    ("or", None),
    ("ex", Some("01;32")),
    ("do", Some("01;35")),
    ("su", Some("37;41")),
    ("sg", Some("30;43")),
    ("st", Some("37;44")),
    ("ow", Some("34;42")),
    ("tw", Some("30;42")),
    ("ca", None),
    ("mh", None),
    ("cl", Some("\x1b[K")),
];

/// Terminals that support colours, as dircolors(1) lists them.
const TERMINALS: [&str; 25] = [
    "Eterm",
    "ansi",
    "*color*",
    "con[0-9]*x[0-9]*",
    "cons25",
    "console",
    "cygwin",
    "*direct*",
    "dtterm",
    "gnome",
    "hurd",
    "jfbterm",
    "konsole",
    "kterm",
    "linux",
    "linux-c",
    "mlterm",
    "putty",
    "rxvt*",
    "screen*",
    "st",
    "terminator",
    "tmux*",
    "vt100",
    "xterm*",
];

/// A set of colours.
#[derive(Clone, Debug)]
pub struct Palette {
    sequences: Vec<Option<Vec<u8>>>,
    /// Suffixes and their colours, later rules first.
    suffixes: Vec<(Vec<u8>, Vec<u8>)>,
    /// Whether links are coloured like their targets (`ln=target`).
    links_as_targets: bool,
}

/// An invalid `LS_COLORS`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BadColours {
    /// A label that ls does not know.
    #[error("unrecognized prefix: {0:?}")]
    Prefix(String),
    /// An invalid rule.
    #[error("unparsable value for LS_COLORS environment variable")]
    Syntax,
}

/// The name of an item that is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown {
    /// Its own name.
    Name,
    /// The target of the link.
    Target,
}

impl Palette {
    /// Returns the colours that the environment asks for; `None` for no colours.
    ///
    /// # Errors
    /// If `LS_COLORS` is invalid.
    pub fn new(get: &dyn Fn(&str) -> Option<OsString>) -> Result<Option<Palette>, BadColours> {
        let mut palette = Palette {
            sequences: DEFAULTS
                .iter()
                .map(|(_, code)| code.map(|code| code.as_bytes().to_vec()))
                .collect(),
            suffixes: Vec::new(),
            links_as_targets: false,
        };
        let rules = get("LS_COLORS").filter(|rules| !rules.is_empty());
        let Some(rules) = rules else {
            return Ok(has_colours(get).then_some(palette));
        };
        palette.read(rules.as_bytes())?;
        palette.links_as_targets = palette.get("ln") == Some(b"target");
        Ok(Some(palette))
    }

    /// Reads the rules of `LS_COLORS`.
    fn read(&mut self, rules: &[u8]) -> Result<(), BadColours> {
        let invalid = || BadColours::Syntax;
        let mut rest = rules;
        while let Some((&first, after)) = rest.split_first() {
            match first {
                b':' => rest = after,
                b'*' => {
                    let (suffix, behind) = sequence(after, Until::Equals).ok_or_else(invalid)?;
                    let (code, behind) = code(behind).ok_or_else(invalid)?;
                    self.suffixes.insert(0, (suffix, code));
                    rest = behind;
                }
                _ => {
                    let (label, behind) = rest.split_at_checked(2).ok_or_else(invalid)?;
                    let (code, behind) = code(behind).ok_or_else(invalid)?;
                    let place = DEFAULTS
                        .iter()
                        .position(|(name, _)| name.as_bytes() == label);
                    let slot = place.and_then(|place| self.sequences.get_mut(place));
                    let label = || String::from_utf8_lossy(label).into_owned();
                    *slot.ok_or_else(|| BadColours::Prefix(label()))? = Some(code);
                    rest = behind;
                }
            }
        }
        Ok(())
    }

    fn get(&self, label: &str) -> Option<&[u8]> {
        let place = DEFAULTS.iter().position(|(name, _)| *name == label)?;
        self.sequences.get(place)?.as_deref()
    }

    /// Returns true if files with this label have a colour of their own.
    pub fn has(&self, label: &str) -> bool {
        !matches!(self.get(label), None | Some(b"" | b"0" | b"00"))
    }

    /// Returns true if the targets of links must be looked up.
    pub fn follows_links(&self, is_long: bool) -> bool {
        self.has("or") || (self.has("ex") && self.links_as_targets) || (self.has("mi") && is_long)
    }

    /// Returns the bytes before every line.
    pub fn before_line(&self) -> Vec<u8> {
        match self.has("no") {
            true => self.wrapped(self.get("no").unwrap_or_default()),
            false => Vec::new(),
        }
    }

    /// Returns the bytes that end a colour.
    pub fn end(&self) -> Vec<u8> {
        match self.get("ec") {
            Some(end) => end.to_vec(),
            None => self.wrapped(self.get("rs").unwrap_or_default()),
        }
    }

    /// Returns the bytes that ls writes at the very end; empty if they would change nothing.
    pub fn farewell(&self) -> Vec<u8> {
        match (self.get("lc"), self.get("rc")) {
            (Some(b"\x1b["), Some(b"m")) => Vec::new(),
            (left, right) => [left.unwrap_or_default(), right.unwrap_or_default()].concat(),
        }
    }

    /// Returns the bytes that clear the rest of a line that may have wrapped.
    pub fn clear(&self) -> &[u8] {
        self.get("cl").unwrap_or_default()
    }

    fn wrapped(&self, code: &[u8]) -> Vec<u8> {
        let side = |label| self.get(label).unwrap_or_default();
        [side("lc"), code, side("rc")].concat()
    }

    /// Returns the bytes before and after a name of `item`; `None` if the name has no colour.
    pub fn around(&self, item: &Item, shown: Shown) -> Option<(Vec<u8>, Vec<u8>)> {
        match self.code(item, shown) {
            Some(code) => {
                let reset = match self.has("no") {
                    true => self.wrapped(b""),
                    false => Vec::new(),
                };
                Some(([reset, self.wrapped(code)].concat(), self.end()))
            }
            None if self.has("no") => Some((Vec::new(), self.end())),
            None => None,
        }
    }

    fn code(&self, item: &Item, shown: Shown) -> Option<&[u8]> {
        let leads = item.target_mode.is_some();
        let own = item.meta.map(|meta| meta.mode);
        let (mode, name) = match shown {
            Shown::Target => (own.map(|_| item.target_mode.unwrap_or(0)), &item.target),
            Shown::Name if self.links_as_targets && leads => (item.target_mode, &item.name),
            Shown::Name => (own, &item.name),
        };
        if shown == Shown::Target && !leads && self.has("mi") {
            return self.get("mi");
        }
        let label = match mode {
            Some(mode) => self.label(mode, item),
            None => label_of(item.kind),
        };
        if label == "fi" {
            let mut suffixes = self.suffixes.iter();
            let by_suffix = suffixes.find(|(suffix, _)| ends_with(name, suffix));
            if let Some((_, code)) = by_suffix {
                return Some(code);
            }
        }
        let is_orphan = label == "ln" && !leads && shown == Shown::Name;
        match is_orphan && (self.links_as_targets || self.has("or")) {
            true => self.get("or"),
            false => self.get(label),
        }
    }

    /// Returns the label for a mode.
    fn label(&self, mode: u32, item: &Item) -> &'static str {
        let kind = FileType::from_mode(mode);
        let links = item.meta.map_or(1, |meta| meta.nlink);
        let candidates: &[(&'static str, bool)] = match kind {
            FileType::Regular => &[
                ("su", mode & 0o4000 != 0),
                ("sg", mode & 0o2000 != 0),
                ("ca", item.has_capability),
                ("ex", mode & 0o111 != 0),
                ("mh", links > 1),
            ],
            FileType::Directory => &[
                ("tw", mode & 0o1000 != 0 && mode & 0o002 != 0),
                ("ow", mode & 0o002 != 0),
                ("st", mode & 0o1000 != 0),
            ],
            _ => &[],
        };
        let mut special = candidates.iter();
        let found = special.find(|(label, applies)| *applies && self.has(label));
        found.map_or(label_of(kind), |(label, _)| label)
    }
}

fn label_of(kind: FileType) -> &'static str {
    match kind {
        FileType::Regular => "fi",
        FileType::Directory => "di",
        FileType::Symlink => "ln",
        FileType::Fifo => "pi",
        FileType::Socket => "so",
        FileType::Block => "bd",
        FileType::Char => "cd",
        FileType::Unknown => "or",
    }
}

fn ends_with(name: &[u8], suffix: &[u8]) -> bool {
    let tail = name.len().checked_sub(suffix.len());
    tail.and_then(|at| name.get(at..))
        .is_some_and(|tail| tail.eq_ignore_ascii_case(suffix))
}

fn has_colours(get: &dyn Fn(&str) -> Option<OsString>) -> bool {
    if get("COLORTERM").is_some_and(|value| !value.is_empty()) {
        return true;
    }
    let Some(terminal) = get("TERM").filter(|value| !value.is_empty()) else {
        return false;
    };
    let mut known = TERMINALS.iter();
    known.any(|pattern| {
        let glob = Glob::new(pattern.as_bytes(), Case::Sensitive, Locale::Bytes);
        glob.matches(terminal.as_bytes())
    })
}

/// End of a part of `LS_COLORS`.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Until {
    Equals,
    Colon,
}

/// Reads a part up to its end and resolves escapes such as `\e`, `\033`, `\x1b` and `^[`. Returns
/// `None` if an escape is invalid.
fn sequence(text: &[u8], until: Until) -> Option<(Vec<u8>, &[u8])> {
    let mut out = Vec::new();
    let mut rest = text;
    while let Some((&byte, after)) = rest.split_first() {
        rest = match byte {
            b':' => break,
            b'=' if until == Until::Equals => break,
            b'\\' => escape(after, &mut out)?,
            b'^' => {
                let (&letter, after) = after.split_first()?;
                out.push(match letter {
                    b'@'..=b'~' => letter & 0x1f,
                    b'?' => 0x7f,
                    _ => return None,
                });
                after
            }
            _ => {
                out.push(byte);
                after
            }
        };
    }
    Some((out, rest))
}

/// Reads `=` and the code after it.
fn code(text: &[u8]) -> Option<(Vec<u8>, &[u8])> {
    sequence(text.strip_prefix(b"=")?, Until::Colon)
}

fn escape<'t>(text: &'t [u8], out: &mut Vec<u8>) -> Option<&'t [u8]> {
    let (&letter, after) = text.split_first()?;
    let number = |text: &[u8], radix: u32| {
        let digits = text.iter().map_while(|b| char::from(*b).to_digit(radix));
        digits.fold((0u8, 0usize), |(value, count), digit| {
            let value = value.wrapping_mul(radix as u8).wrapping_add(digit as u8);
            (value, count + 1)
        })
    };
    let (byte, used) = match letter {
        b'0'..=b'7' => {
            let (value, count) = number(text, 8);
            (value, count - 1)
        }
        b'x' | b'X' => number(after, 16),
        b'a' => (0x07, 0),
        b'b' => (0x08, 0),
        b'e' => (0x1b, 0),
        b'f' => (0x0c, 0),
        b'n' => (b'\n', 0),
        b'r' => (b'\r', 0),
        b't' => (b'\t', 0),
        b'v' => (0x0b, 0),
        b'?' => (0x7f, 0),
        b'_' => (b' ', 0),
        other => (other, 0),
    };
    out.push(byte);
    after.get(used..)
}

#[cfg(test)]
mod tests {
    use super::*;
    use trawl_model::Meta;

    fn palette(rules: &'static str) -> Option<Palette> {
        Palette::new(&|name| (name == "LS_COLORS").then(|| rules.into())).unwrap_or_default()
    }

    fn paint(rules: &'static str, name: &str, mode: u32) -> String {
        let item = Item {
            meta: Some(Meta {
                mode,
                ..Meta::default()
            }),
            ..Item::unknown(name.as_bytes())
        };
        let palette = palette(rules).unwrap();
        let around = palette.around(&item, Shown::Name).unwrap_or_default();
        let bytes = [&around.0, name.as_bytes(), &around.1].concat();
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn the_defaults_are_those_of_ls() {
        assert_eq!(paint(":", "d", 0o040_755), "\x1b[01;34md\x1b[0m");
        assert_eq!(paint(":", "x", 0o100_755), "\x1b[01;32mx\x1b[0m");
        assert_eq!(paint(":", "t", 0o041_777), "\x1b[30;42mt\x1b[0m");
        assert_eq!(paint(":", "f", 0o100_644), "f");
    }

    #[test]
    fn the_variable_changes_them() {
        let rules = "*.c=31:di=0:*.tar.c=\\x33^?2:ec=E";
        assert_eq!(paint(rules, "a.C", 0o100_644), "\x1b[31ma.CE");
        assert_eq!(paint(rules, "a.tar.c", 0o100_644), "\x1b[3\x7f2ma.tar.cE");
        assert_eq!(paint(rules, "d", 0o040_755), "\x1b[0mdE");
        for nonsense in ["x", "xx=1", "di", "*.c", "di=^!", "di=\\"] {
            assert!(palette(nonsense).is_none(), "{nonsense}");
        }
    }

    #[test]
    fn colours_need_a_terminal_that_knows_them() {
        let with = |name: &'static str, value: &'static str| {
            Palette::new(&|asked| (asked == name).then(|| value.into()))
                .is_ok_and(|found| found.is_some())
        };
        assert!(with("TERM", "xterm-256color") && with("COLORTERM", "1"));
        assert!(!with("TERM", "dumb") && !with("TERM", "") && !with("COLORTERM", ""));
    }
}
