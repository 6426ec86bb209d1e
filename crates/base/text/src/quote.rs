//! Quotes names for terminals, shells and messages.
//!
//! [`Quoting`] has the styles of `ls --quoting-style`; [`message`] quotes a
//! path in an error message; [`Terminal`] replaces characters that a terminal
//! must not receive; [`find_ls`] escapes names as `find -ls` does.

use std::borrow::Cow;

use crate::locale::Locale;

/// The styles of `ls --quoting-style`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Quoting {
    /// Unchanged.
    Literal,
    /// Quoted for a shell if necessary; control characters are kept.
    Shell,
    /// Always quoted for a shell; control characters are kept.
    ShellAlways,
    /// Quoted for a shell if necessary; control characters are escaped as
    /// `$'\n'`.
    ShellEscape,
    /// Always quoted for a shell; control characters are escaped as `$'\n'`.
    ShellEscapeAlways,
    /// A C string.
    C,
    /// Like `C`, without the quotes (`ls -b`, which [also](Quoting::quote_also)
    /// escapes spaces).
    Escape,
    /// Like `C`, between ‘ and ’, or between ' and ' if text is not UTF-8.
    Locale,
}

impl Quoting {
    /// Returns the style with this name in `ls --quoting-style`.
    pub fn parse(name: &str) -> Option<Quoting> {
        Some(match name {
            "literal" => Quoting::Literal,
            "shell" => Quoting::Shell,
            "shell-always" => Quoting::ShellAlways,
            "shell-escape" => Quoting::ShellEscape,
            "shell-escape-always" => Quoting::ShellEscapeAlways,
            "c" => Quoting::C,
            "escape" => Quoting::Escape,
            "locale" => Quoting::Locale,
            _ => return None,
        })
    }

    /// Returns `name` in this style.
    pub fn quote<'a>(self, name: &'a [u8], locale: Locale) -> Cow<'a, [u8]> {
        self.quote_also(name, b"", locale)
    }

    /// Like [`Quoting::quote`], but the characters `also` are special where the
    /// name is shown: they are escaped, or make quotes necessary.
    pub fn quote_also<'a>(self, name: &'a [u8], also: &[u8], locale: Locale) -> Cow<'a, [u8]> {
        let wrapped = |open: &[u8], close: &[u8], quotes: &'static [u8]| {
            let mut out = open.to_vec();
            escape_into(&mut out, name, Escapes { quotes, also }, locale);
            out.extend_from_slice(close);
            Cow::Owned(out)
        };
        match self {
            Quoting::Literal => Cow::Borrowed(name),
            Quoting::Shell => shell(name, locale, Needed::UnlessPlain(also), Controls::Kept),
            Quoting::ShellAlways => shell(name, locale, Needed::Always, Controls::Kept),
            Quoting::ShellEscape => {
                shell(name, locale, Needed::UnlessPlain(also), Controls::Escaped)
            }
            Quoting::ShellEscapeAlways => shell(name, locale, Needed::Always, Controls::Escaped),
            Quoting::C => wrapped(b"\"", b"\"", b"\""),
            Quoting::Escape => wrapped(b"", b"", b""),
            Quoting::Locale if locale.is_utf8() => wrapped("‘".as_bytes(), "’".as_bytes(), b""),
            Quoting::Locale => wrapped(b"'", b"'", b"'"),
        }
    }
}

/// Quotes a path for an error message: ‘path’, with control characters escaped.
pub fn message(path: &[u8], locale: Locale) -> String {
    String::from_utf8_lossy(&Quoting::Locale.quote(path, locale)).into_owned()
}

/// Length in bytes of the next character, which is printable or not.
enum Piece {
    Printable(usize),
    Other(usize),
}

fn next_piece(rest: &[u8], locale: Locale) -> Option<Piece> {
    let first = *rest.first()?;
    if first.is_ascii() {
        let printable = (b' '..0x7f).contains(&first);
        return Some(if printable {
            Piece::Printable(1)
        } else {
            Piece::Other(1)
        });
    }
    if !locale.is_utf8() {
        return Some(Piece::Other(1));
    }
    let window = rest.get(..4).unwrap_or(rest);
    let chunk = window.utf8_chunks().next()?;
    Some(match chunk.valid().chars().next() {
        Some(c) if is_printable(c) => Piece::Printable(c.len_utf8()),
        Some(c) => Piece::Other(c.len_utf8()),
        None => Piece::Other(1),
    })
}

/// Returns whether iswprint(3) holds: no control character, no line or
/// paragraph separator, no non-character, no unassigned code point.
fn is_printable(c: char) -> bool {
    let code = u32::from(c);
    !c.is_control()
        && !matches!(c, '\u{2028}' | '\u{2029}')
        && code & 0xfffe != 0xfffe
        && !(0xfdd0..0xfdf0).contains(&code)
        && is_assigned(c)
}

/// Returns whether Unicode assigns `c`, or leaves it to private use.
///
/// The standard library escapes the unassigned code points, and others that are
/// not visible; those are listed here.
fn is_assigned(c: char) -> bool {
    let is_shown = || {
        let mut text = [b'a'; 5];
        let length = 1 + c.encode_utf8(&mut text[1..]).len();
        // Combining characters are escaped only at the beginning.
        let text = std::str::from_utf8(&text[..length]).unwrap_or_default();
        text.escape_debug().nth(1) == Some(c)
    };
    match u32::from(c) {
        // Latin, Chinese and Korean have no gaps here.
        0..0x378 | 0x4e00..0xa000 | 0xac00..0xd7a4 => true,
        // Private use.
        0xe000..0xf900 | 0xf_0000..0xf_fffe | 0x10_0000..0x10_fffe => true,
        // Spaces.
        0x1680 | 0x2000..0x200b | 0x202f | 0x205f | 0x3000 => true,
        // Formats.
        0x600..0x606 | 0x61c | 0x6dd | 0x70f | 0x890..0x892 | 0x8e2 | 0x180e => true,
        0x200b..=0x200f | 0x202a..=0x202e | 0x2060..=0x2064 | 0x2066..=0x206f => true,
        0xfeff | 0xfff9..0xfffc | 0x1_10bd | 0x1_10cd | 0x1_3430..0x1_3440 => true,
        0x1_bca0..0x1_bca4 | 0x1_d173..0x1_d17b | 0xe_0001 | 0xe_0020..0xe_0080 => true,
        _ => is_shown(),
    }
}

/// Further characters that a C string escapes.
#[derive(Clone, Copy)]
struct Escapes<'a> {
    quotes: &'static [u8],
    also: &'a [u8],
}

impl Escapes<'_> {
    fn has(&self, byte: u8) -> bool {
        self.quotes.contains(&byte) || self.also.contains(&byte)
    }
}

fn escape_into(out: &mut Vec<u8>, name: &[u8], escapes: Escapes<'_>, locale: Locale) {
    let mut rest = name;
    while let Some(piece) = next_piece(rest, locale) {
        match piece {
            Piece::Printable(length) => {
                let bytes = &rest[..length];
                if bytes == b"\\" || (length == 1 && escapes.has(bytes[0])) {
                    out.push(b'\\');
                }
                out.extend_from_slice(bytes);
                rest = &rest[length..];
            }
            Piece::Other(length) => {
                rest[..length].iter().for_each(|b| escape_byte(out, *b));
                rest = &rest[length..];
            }
        }
    }
}

/// Appends an escape such as `\n` or `\033`.
fn escape_byte(out: &mut Vec<u8>, byte: u8) {
    let letter = match byte {
        0x07 => b'a',
        0x08 => b'b',
        0x0c => b'f',
        b'\n' => b'n',
        b'\r' => b'r',
        b'\t' => b't',
        0x0b => b'v',
        _ => return push_octal(out, byte),
    };
    out.extend([b'\\', letter]);
}

fn push_octal(out: &mut Vec<u8>, byte: u8) {
    out.extend([
        b'\\',
        b'0' + (byte >> 6),
        b'0' + (byte >> 3 & 7),
        b'0' + (byte & 7),
    ]);
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Needed<'a> {
    /// Unless the name holds nothing special, and none of these characters.
    UnlessPlain(&'a [u8]),
    Always,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Controls {
    Kept,
    Escaped,
}

/// Quotes a name for a shell: not at all, in double quotes if apostrophes are
/// the only special characters, otherwise in single quotes.
fn shell<'a>(
    name: &'a [u8],
    locale: Locale,
    needed: Needed<'_>,
    controls: Controls,
) -> Cow<'a, [u8]> {
    let survey = Survey::of(name, locale);
    if let Needed::UnlessPlain(also) = needed
        && !survey.needs_quotes(controls)
        && !name.iter().any(|b| also.contains(b))
        && !name.is_empty()
    {
        return Cow::Borrowed(name);
    }
    if survey.apostrophes && survey.fits_double_quotes {
        return Cow::Owned([b"\"", name, b"\""].concat());
    }
    let mut out = vec![b'\''];
    let mut rest = name;
    // gnulib scans a name with an apostrophe twice, and begins the second scan
    // in the state in which the first one ended.
    let mut in_escape =
        survey.apostrophes && survey.ends_unprintable && controls == Controls::Escaped;
    while let Some(piece) = next_piece(rest, locale) {
        let (length, escaped) = match piece {
            Piece::Printable(length) => (length, false),
            Piece::Other(length) => (length, controls == Controls::Escaped),
        };
        let bytes = &rest[..length];
        if escaped != in_escape && bytes != b"'" {
            out.extend_from_slice(if escaped { b"'$'" } else { b"''" });
        }
        in_escape = escaped;
        match bytes {
            b"'" => out.extend_from_slice(b"'\\''"),
            _ if escaped => bytes.iter().for_each(|b| escape_byte(&mut out, *b)),
            _ => out.extend_from_slice(bytes),
        }
        rest = &rest[length..];
    }
    out.push(b'\'');
    Cow::Owned(out)
}

/// The characters of a name that matter to a shell.
struct Survey {
    special: bool,
    unprintable: bool,
    ends_unprintable: bool,
    /// Control characters such as line ends, which need quotes even if they are
    /// kept.
    controls: bool,
    apostrophes: bool,
    fits_double_quotes: bool,
}

impl Survey {
    fn of(name: &[u8], locale: Locale) -> Survey {
        let mut survey = Survey {
            special: false,
            unprintable: false,
            ends_unprintable: false,
            controls: false,
            apostrophes: false,
            fits_double_quotes: true,
        };
        let (mut rest, mut first) = (name, true);
        while let Some(piece) = next_piece(rest, locale) {
            survey.ends_unprintable = matches!(piece, Piece::Other(_));
            let length = match piece {
                Piece::Printable(length) => {
                    survey.note(rest[0], first, name.len());
                    length
                }
                Piece::Other(length) => {
                    survey.unprintable = true;
                    survey.controls |= matches!(rest[0], b'\n' | b'\r' | b'\t' | 0x07..=0x0c);
                    survey.fits_double_quotes = false;
                    length
                }
            };
            rest = &rest[length..];
            first = false;
        }
        survey
    }

    fn note(&mut self, byte: u8, first: bool, length: usize) {
        match byte {
            b'{' | b'}' => self.special |= length == 1,
            b'#' | b'~' => self.special |= first,
            b' ' => self.special = true,
            b'\'' => {
                self.special = true;
                self.apostrophes = true;
            }
            b'!' | b'"' | b'$' | b'&' | b'(' | b')' | b'*' | b';' | b'<' | b'=' | b'>' | b'['
            | b'^' | b'`' | b'|' | b'\\' | b'?' => {
                self.special = true;
                self.fits_double_quotes = false;
            }
            _ => {}
        }
    }

    fn needs_quotes(&self, controls: Controls) -> bool {
        match controls {
            Controls::Escaped => self.special || self.unprintable,
            Controls::Kept => self.special || self.controls,
        }
    }
}

/// How bytes are written to standard output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Terminal {
    /// It is a terminal: characters that are not printable become `?`.
    Watched(Locale),
    /// It is a file or a pipe: every byte is written unchanged.
    Absent,
}

impl Terminal {
    /// Returns `text` as it may be shown: on a terminal, `?` replaces each byte
    /// or character that is not printable, as in find(1) and `ls -q`.
    pub fn show(self, text: &[u8]) -> Cow<'_, [u8]> {
        let Terminal::Watched(locale) = self else {
            return Cow::Borrowed(text);
        };
        if text.iter().all(|b| (b' '..0x7f).contains(b)) {
            return Cow::Borrowed(text);
        }
        let (mut out, mut rest) = (Vec::with_capacity(text.len()), text);
        while let Some(piece) = next_piece(rest, locale) {
            let length = match piece {
                Piece::Printable(length) => {
                    out.extend_from_slice(&rest[..length]);
                    length
                }
                Piece::Other(length) => {
                    out.push(b'?');
                    length
                }
            };
            rest = &rest[length..];
        }
        Cow::Owned(out)
    }
}

/// Appends `name` as `find -ls` prints it, on a terminal or not: everything but
/// visible ASCII is escaped, and so are spaces and double quotes.
pub fn find_ls(out: &mut Vec<u8>, name: &[u8]) {
    for byte in name {
        match byte {
            b'\\' | b' ' | b'"' => out.extend([b'\\', *byte]),
            b'!'..=b'~' => out.push(*byte),
            0x08 | 0x0c | b'\n' | b'\r' | b'\t' => escape_byte(out, *byte),
            _ => push_octal(out, *byte),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::ffi::OsStrExt;

    const NAMES: &[&[u8]] = &[
        b"plain",
        b"two words",
        b"it's",
        b"say \"hi\"",
        b"both ' and \"",
        b"new\nline",
        b"\n",
        b"ends\n",
        b"\x1b[31m",
        b"\xff",
        b"a\xff\xfeb",
        "é".as_bytes(),
        "it's é".as_bytes(),
        b"{",
        b"{a}",
        b"#x",
        b"x#",
        b"~",
        b"a~",
        b"$HOME",
        b"back\\slash",
        b"*",
        b"q?",
        b"=",
        b"a=b",
        b"tab\there",
        b"bell\x07'",
        b"^",
        b"!",
        b"a'\nb",
        b"\x7f",
        "\u{85}x".as_bytes(),
        b"%+,-.:]_",
        "\u{2028}".as_bytes(),
        b"it's $5",
        b"\x01one",
        b"'\n",
        b"\n'\n",
        b"a'\n'b\x01",
        "\u{378}un".as_bytes(),
        "e\u{301}\u{e000}\u{200d}\u{3000}\u{ad}".as_bytes(),
    ];

    #[test]
    fn agrees_with_ls() {
        let folder = std::env::temp_dir().join(format!("trawl-quote-{}", std::process::id()));
        for (name, locale) in [("C", Locale::Bytes), ("C.UTF-8", Locale::Utf8)] {
            for style in [
                "literal",
                "shell",
                "shell-always",
                "shell-escape",
                "shell-escape-always",
                "c",
                "escape",
                "locale",
            ] {
                for file in NAMES {
                    let _ = std::fs::remove_dir_all(&folder);
                    std::fs::create_dir(&folder).unwrap();
                    let path = folder.join(std::ffi::OsStr::from_bytes(file));
                    std::fs::write(path, b"").unwrap();
                    let shown = trawl_testkit::oracle::command("ls")
                        .arg("--show-control-chars")
                        .arg(format!("--quoting-style={style}"))
                        .env("LC_ALL", name)
                        .current_dir(&folder)
                        .output()
                        .expect("ls(1) is part of every system");
                    let also: &[u8] = if style == "escape" { b" " } else { b"" };
                    let mut ours = Quoting::parse(style)
                        .unwrap()
                        .quote_also(file, also, locale)
                        .into_owned();
                    ours.push(b'\n');
                    assert_eq!(
                        ours.escape_ascii().to_string(),
                        shown.stdout.escape_ascii().to_string(),
                        "{style} of {} in {name}",
                        file.escape_ascii()
                    );
                }
            }
        }
        let _ = std::fs::remove_dir_all(&folder);
    }

    #[test]
    fn only_assigned_code_points_are_printable() {
        for c in "\u{e9}\u{301}\u{20ac}\u{4e00}\u{200d}\u{2003}\u{e000}\u{10fffd}\u{1f600}".chars()
        {
            assert!(is_printable(c), "{}", c.escape_unicode());
        }
        for c in "\u{378}\u{2065}\u{fffe}\u{1ffff}\u{50000}\u{e0000}\u{2028}\u{85}".chars() {
            assert!(!is_printable(c), "{}", c.escape_unicode());
        }
        let quoted = Quoting::Escape.quote("\u{378}un".as_bytes(), Locale::Utf8);
        assert_eq!(&*quoted, b"\\315\\270un");
    }

    #[test]
    fn terminals_get_no_control_characters() {
        let utf8 = Terminal::Watched(Locale::Utf8);
        assert_eq!(&*utf8.show(b"\x1b[0m\xff\n"), b"?[0m??");
        assert_eq!(&*utf8.show("é".as_bytes()), "é".as_bytes());
        assert_eq!(
            &*Terminal::Watched(Locale::Bytes).show("é".as_bytes()),
            b"??"
        );
        assert_eq!(&*Terminal::Absent.show(b"\x1b"), b"\x1b");
        let mut out = Vec::new();
        find_ls(&mut out, b"a b\\\"\t\x1b\xc3\xa9\x07");
        assert_eq!(out, b"a\\ b\\\\\\\"\\t\\033\\303\\251\\007");
        assert_eq!(message(b"x\n", Locale::Utf8), "‘x\\n’");
        assert_eq!(message(b"x", Locale::Bytes), "'x'");
    }
}
