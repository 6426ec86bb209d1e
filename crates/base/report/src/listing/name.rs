//! Names as `ls` shows them: quoted, coloured, and as links that terminals can open.
//!
//! The first colour is preceded by the sequence that ends colours, so names must be rendered in the
//! order in which they are written.

use std::cell::Cell;

use trawl_text::locale::Locale;
use trawl_text::quote::{Quoting, Terminal};

use crate::listing::Item;
use crate::listing::colour::{Palette, Shown};
use crate::listing::style::{Indicator, Layout, Style};
use crate::width::width_in;

/// Rendering of names in a style.
pub struct Naming {
    quoting: Quoting,
    locale: Locale,
    hide_control: bool,
    /// Characters that are also used as indicators after names, and so are quoted.
    marks: &'static [u8],
    /// Whether names without quotes are indented by one column if other names have quotes.
    aligns_quotes: bool,
    palette: Option<Palette>,
    used_colour: Cell<bool>,
    line_width: usize,
    host: Option<Vec<u8>>,
}

/// A name that is ready to be written.
#[derive(Clone, Debug, Default)]
pub struct Name {
    set_in: bool,
    /// Bytes before and after the name.
    around: Option<(Vec<u8>, Vec<u8>)>,
    shown: Vec<u8>,
    /// Target of the hyperlink, and whether quotes stay outside it.
    link: Option<(Vec<u8>, bool)>,
    /// Width in terminal columns.
    pub width: usize,
}

impl Naming {
    /// Returns the rendering for a style, with the colours in `palette`. With the name of a
    /// `host`, names become links to its files.
    pub fn new(
        style: &Style,
        locale: Locale,
        palette: Option<Palette>,
        host: Option<Vec<u8>>,
    ) -> Naming {
        let in_lines = match style.layout {
            Layout::Long => true,
            Layout::Columns | Layout::Across => style.width > 0,
            Layout::Lines | Layout::Commas => false,
        };
        Naming {
            quoting: style.quoting,
            locale,
            hide_control: style.hide_control,
            marks: match (style.indicator, style.quoting) {
                // The list begins one character too late, as in GNU ls.
                (Indicator::Classify, Quoting::Escape) => b"=>@| ",
                (Indicator::FileType, Quoting::Escape) => b"*=>@| ",
                (_, Quoting::Escape) => b" ",
                (Indicator::Classify, _) => b"=>@|",
                (Indicator::FileType, _) => b"*=>@|",
                _ => b"",
            },
            aligns_quotes: in_lines
                && matches!(style.quoting, Quoting::Shell | Quoting::ShellEscape),
            palette,
            used_colour: Cell::new(false),
            line_width: style.width,
            host,
        }
    }

    /// Returns true if names without quotes are indented in this listing.
    pub fn sets_in(&self, items: &[Item]) -> bool {
        self.aligns_quotes && items.iter().any(|item| self.is_quoted(&item.name))
    }

    fn is_quoted(&self, name: &[u8]) -> bool {
        let quoted = self.quoting.quote_also(name, self.marks, self.locale);
        quoted.len() != name.len() || quoted.first() != name.first()
    }

    fn quoted(&self, name: &[u8], also: &[u8]) -> Vec<u8> {
        let quoted = self.quoting.quote_also(name, also, self.locale);
        let device = match self.hide_control {
            true => Terminal::Watched(self.locale),
            false => Terminal::Absent,
        };
        device.show(&quoted).into_owned()
    }

    /// Renders the name of an item.
    pub fn name(&self, item: &Item, sets_in: bool) -> Name {
        let set_in = sets_in && !self.is_quoted(&item.name);
        let shown = self.quoted(&item.name, self.marks);
        Name {
            set_in,
            around: self.around(item, Shown::Name),
            width: width_in(&shown, self.locale) + usize::from(set_in),
            shown,
            link: item.absolute.clone().map(|path| (path, sets_in && !set_in)),
        }
    }

    /// Renders the target of the link `item`.
    pub fn target(&self, item: &Item, sets_in: bool) -> Name {
        Name {
            set_in: false,
            around: self.around(item, Shown::Target),
            width: 0,
            shown: self.quoted(&item.target, self.marks),
            link: item.absolute.clone().map(|path| {
                let stays_out = sets_in && self.is_quoted(&item.target);
                (path, stays_out)
            }),
        }
    }

    fn around(&self, item: &Item, shown: Shown) -> Option<(Vec<u8>, Vec<u8>)> {
        self.palette.as_ref()?.around(item, shown)
    }

    /// Renders the line `name:` above a directory's listing.
    pub fn header(&self, name: &[u8], absolute: Option<Vec<u8>>) -> Vec<u8> {
        let marks = self.marks.strip_suffix(b" ").unwrap_or(self.marks);
        let name = Name {
            shown: self.quoted(name, &[marks, b":"].concat()),
            link: absolute.map(|path| (path, false)),
            ..Name::default()
        };
        let mut out = Vec::new();
        self.push(&mut out, &name, 0);
        out.extend_from_slice(b":\n");
        out
    }

    /// Writes the bytes before every line.
    pub fn push_line_start(&self, out: &mut Vec<u8>) {
        if let Some(palette) = &self.palette {
            let start = palette.before_line();
            if !start.is_empty() {
                self.begin_colours(palette, out);
                out.extend(start);
            }
        }
    }

    /// Writes a name that begins at column `start`, and returns its length.
    pub fn push(&self, out: &mut Vec<u8>, name: &Name, start: usize) -> usize {
        if name.set_in {
            out.push(b' ');
        }
        if let (Some(palette), Some((before, _))) = (&self.palette, &name.around) {
            self.begin_colours(palette, out);
            out.extend_from_slice(before);
        }
        self.push_linked(out, name);
        let length = name.shown.len() + usize::from(name.set_in);
        if let (Some(palette), Some((_, behind))) = (&self.palette, &name.around) {
            out.extend_from_slice(behind);
            let line = |column: usize| column.checked_div(self.line_width);
            if line(start) != line((start + length).saturating_sub(1)) {
                out.extend_from_slice(palette.clear());
            }
        }
        length
    }

    fn begin_colours(&self, palette: &Palette, out: &mut Vec<u8>) {
        if !self.used_colour.replace(true) {
            out.extend(palette.end());
        }
    }

    fn push_linked(&self, out: &mut Vec<u8>, name: &Name) {
        let (Some(host), Some((path, quotes_stay_out))) = (&self.host, &name.link) else {
            return out.extend_from_slice(&name.shown);
        };
        let outside = usize::from(*quotes_stay_out);
        let (front, rest) = name.shown.split_at(outside.min(name.shown.len()));
        let (inner, back) = rest.split_at(rest.len().saturating_sub(outside));
        out.extend_from_slice(front);
        out.extend_from_slice(b"\x1b]8;;file://");
        push_escaped(out, host, |byte| byte == b'/');
        let slash: &[u8] = if path.starts_with(b"/") { b"" } else { b"/" };
        out.extend_from_slice(slash);
        push_escaped(out, path, |_| false);
        out.push(7);
        out.extend_from_slice(inner);
        out.extend_from_slice(b"\x1b]8;;\x07");
        out.extend_from_slice(back);
    }

    /// Returns the bytes that are written at the very end.
    pub fn farewell(&self) -> Vec<u8> {
        match &self.palette {
            Some(palette) if self.used_colour.get() => palette.farewell(),
            _ => Vec::new(),
        }
    }

    /// Returns true if the targets of links must be looked up.
    pub fn follows_links(&self, is_long: bool) -> bool {
        let palette = self.palette.as_ref();
        palette.is_some_and(|palette| palette.follows_links(is_long))
    }

    /// Returns true if anything is coloured.
    pub fn is_coloured(&self) -> bool {
        self.palette.is_some()
    }
}

/// Appends text with the escapes of a URI (RFC 3986).
fn push_escaped(out: &mut Vec<u8>, text: &[u8], also: impl Fn(u8) -> bool) {
    for byte in text {
        let is_plain = byte.is_ascii_alphanumeric() || b"-._~/".contains(byte);
        match is_plain && !also(*byte) {
            true => out.push(*byte),
            false => out.extend(format!("%{byte:02x}").bytes()),
        }
    }
}
