//! A picture: rectangles, lines, polygons and text on a plane, with what they mean.
//!
//! Every chart is drawn once, as a [`Picture`]; SVG and PNG are two ways to write one down. A shape
//! that stands for a number carries it as a [`Mark`], so that a reader of the SVG, a person with a
//! pointer and a test get the number itself.
//!
//! Invariant: all text is clean: control characters and those that change the direction of writing
//! are replaced. Lengths are CSS pixels; y grows downwards.

use crate::ink::Ink;

/// A picture.
#[derive(Clone, Debug)]
pub struct Picture {
    /// Title of the picture, in a few words.
    pub(crate) title: String,
    /// Description of the picture for people who cannot see it.
    pub(crate) description: String,
    pub(crate) width: f64,
    pub(crate) height: f64,
    pub(crate) items: Vec<Item>,
}

/// Height of the line above each picture that holds its title. A page, which has a heading of its
/// own, leaves it out.
pub(crate) const HEADING: f64 = 34.0;

/// A rectangle.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Rect {
    pub(crate) left: f64,
    pub(crate) top: f64,
    pub(crate) width: f64,
    pub(crate) height: f64,
}

impl Rect {
    pub(crate) fn right(&self) -> f64 {
        self.left + self.width
    }

    pub(crate) fn bottom(&self) -> f64 {
        self.top + self.height
    }
}

/// Where a text begins relative to its point.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Anchor {
    /// The point is the text's left end.
    #[default]
    Start,
    /// The point is the text's middle.
    Middle,
    /// The point is the text's right end.
    End,
}

/// How a text looks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Style {
    pub(crate) ink: Ink,
    pub(crate) size: f64,
    pub(crate) anchor: Anchor,
    pub(crate) weight: Weight,
}

/// The strength of letters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Weight {
    Normal,
    Bold,
}

impl Style {
    /// Text of an axis.
    pub(crate) const AXIS: Style = Style {
        ink: Ink::Faint,
        size: 11.0,
        anchor: Anchor::Middle,
        weight: Weight::Normal,
    };

    /// A name beside a chart.
    pub(crate) const NAME: Style = Style {
        ink: Ink::Text,
        size: 13.0,
        anchor: Anchor::Start,
        weight: Weight::Bold,
    };

    pub(crate) const fn at(self, anchor: Anchor) -> Style {
        Style { anchor, ..self }
    }

    pub(crate) const fn in_ink(self, ink: Ink) -> Style {
        Style { ink, ..self }
    }
}

/// Meaning of a shape.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mark {
    /// The bucket.
    pub(crate) bucket: usize,
    /// The number of calls.
    pub(crate) count: u64,
    /// Which row the shape belongs to: the first slice's number in a picture over time.
    pub(crate) row: Option<usize>,
    /// All of it in words.
    pub(crate) tip: String,
}

/// A shape or a text.
#[derive(Clone, Debug)]
pub(crate) enum Item {
    Rect {
        rect: Rect,
        ink: Ink,
    },
    Line {
        from: (f64, f64),
        to: (f64, f64),
        ink: Ink,
        dashed: Dashes,
    },
    Polygon {
        points: Vec<(f64, f64)>,
        ink: Ink,
        /// How much darker than its ink it is, 0 to 1.
        shade: f64,
    },
    Text {
        at: (f64, f64),
        text: String,
        style: Style,
    },
    /// A shape that stands for a number. A pointer finds it anywhere in `area`.
    Mark {
        shape: Shape,
        area: Rect,
        ink: Ink,
        mark: Mark,
    },
    /// Begins what belongs to one operation, up to `Close`.
    Open {
        operation: String,
    },
    Close,
}

/// The shape of a mark.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Shape {
    Bar(Rect),
    /// A ring, which marks a second value above a bar.
    Ring {
        x: f64,
        y: f64,
        radius: f64,
    },
}

/// Whether a line is drawn in dashes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dashes {
    Solid,
    Dashed,
}

impl Picture {
    pub(crate) fn new(title: &str, width: f64) -> Picture {
        Picture {
            title: clean(title),
            description: String::new(),
            width,
            height: HEADING,
            items: Vec::new(),
        }
    }

    /// Returns what the picture shows, in a few words.
    pub fn title(&self) -> &str {
        &self.title
    }

    /// Returns width and height in CSS pixels.
    pub fn size(&self) -> (f64, f64) {
        (self.width, self.height)
    }

    /// Returns the title as it stands above the picture.
    pub(crate) fn heading(&self) -> ((f64, f64), String, Style) {
        let style = Style {
            size: 15.0,
            ..Style::NAME
        };
        let title = fit(&self.title, style.size, self.width - 32.0);
        ((16.0, 23.0), title, style)
    }

    pub(crate) fn rect(&mut self, rect: Rect, ink: Ink) {
        self.items.push(Item::Rect { rect, ink });
    }

    pub(crate) fn line(&mut self, from: (f64, f64), to: (f64, f64), ink: Ink) {
        self.items.push(Item::Line {
            from,
            to,
            ink,
            dashed: Dashes::Solid,
        });
    }

    pub(crate) fn dashes(&mut self, from: (f64, f64), to: (f64, f64), ink: Ink) {
        self.items.push(Item::Line {
            from,
            to,
            ink,
            dashed: Dashes::Dashed,
        });
    }

    pub(crate) fn text(&mut self, at: (f64, f64), text: &str, style: Style) {
        self.items.push(Item::Text {
            at,
            text: clean(text),
            style,
        });
    }

    pub(crate) fn open(&mut self, operation: &str) {
        self.items.push(Item::Open {
            operation: clean(operation),
        });
    }

    pub(crate) fn close(&mut self) {
        self.items.push(Item::Close);
    }
}

/// Replaces characters that a file format forbids, that end a line, or that change how the text
/// around them reads: C0 and C1 controls, directional formatting, noncharacters.
pub(crate) fn clean(text: &str) -> String {
    let is_bad = |one: char| {
        let code = u32::from(one);
        let is_directional = matches!(
            code,
            0x061c | 0x200e | 0x200f | 0x2028..=0x202e | 0x2066..=0x2069
        );
        let is_none = code & 0xfffe == 0xfffe || (0xfdd0..=0xfdef).contains(&code);
        one.is_control() || is_directional || is_none
    };
    let replace = |one: char| if is_bad(one) { '\u{fffd}' } else { one };
    text.chars().map(replace).collect()
}

/// Returns about how wide a text is: wide enough for any sans-serif font.
pub(crate) fn width(text: &str, size: f64) -> f64 {
    let ems = text.chars().map(|one| match u32::from(one) {
        0x20..=0x7e if ".,:;|!'il ".contains(one) => 0.36,
        0..0x300 => 0.63,
        0x300..0x1100 => 0.75,
        _ => 1.0,
    });
    ems.sum::<f64>() * size
}

/// Shortens a text to a width, with an ellipsis in place of its middle: beginnings and ends of names
/// differ most.
pub(crate) fn fit(text: &str, size: f64, most: f64) -> String {
    if width(text, size) <= most {
        return text.to_owned();
    }
    let all: Vec<char> = text.chars().collect();
    let mut kept = all.len().saturating_sub(1);
    loop {
        let (head, tail) = (kept.div_ceil(2), kept / 2);
        let chosen = all[..head].iter().chain([&'…']);
        let short: String = chosen.chain(&all[all.len() - tail..]).collect();
        if kept == 0 || width(&short, size) <= most {
            return short;
        }
        kept -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::{clean, fit, width};

    #[test]
    fn long_names_keep_both_ends() {
        let short = fit(&format!("begin{}end", "x".repeat(255)), 12.0, 100.0);
        assert!(width(&short, 12.0) <= 100.0, "{short}");
        assert!(
            short.starts_with("begin") && short.ends_with("end"),
            "{short}"
        );
        assert_eq!(fit("read", 12.0, 100.0), "read");
    }

    #[test]
    fn text_keeps_letters_of_all_scripts_and_loses_what_hides_them() {
        assert_eq!(clean("räad/日本"), "räad/日本");
        assert_eq!(clean("a\0b\nc\u{1b}d"), "a\u{fffd}b\u{fffd}c\u{fffd}d");
        assert_eq!(clean("x\u{202e}gpj.exe"), "x\u{fffd}gpj.exe");
        assert_eq!(clean("\u{ffff}\u{fffe}\u{85}"), "\u{fffd}\u{fffd}\u{fffd}");
    }
}
