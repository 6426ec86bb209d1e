//! Pictures as SVG.
//!
//! Alone, a picture brings its colours, for both themes; inside a page it uses the page's. Each mark
//! is a group with `data-bucket`, `data-count` and, over time, `data-row`; its `title` is what a
//! browser shows when the pointer rests on it.
//!
//! Invariant: every text is escaped. There is neither script nor link to anything outside.

use std::fmt::Write as _;

use crate::ink::{Ink, Theme};
use crate::picture::{
    Anchor, Dashes, HEADING, Item, Mark, Picture, Rect, Shape, Style, Weight, clean,
};

/// Where an SVG is going to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Home<'a> {
    /// In a file of its own.
    File,
    /// In a page, which has the colours, and for the N-th of these operations a section `op-N`.
    Page { sections: &'a [&'a str] },
}

impl Picture {
    /// Returns the picture as an SVG file. It follows the light or dark theme of whatever shows it.
    pub fn svg(&self) -> String {
        render(self, Home::File)
    }
}

pub(crate) fn render(picture: &Picture, home: Home<'_>) -> String {
    let (width, height) = (picture.width, picture.height);
    let mut out = String::with_capacity(64 + picture.items.len() * 96);
    let frame = match home {
        Home::File => format!(" width=\"{}\" height=\"{}\"", short(width), short(height)),
        Home::Page { .. } => " tabindex=\"0\"".to_owned(),
    };
    let top = match home {
        Home::File => 0.0,
        Home::Page { .. } => HEADING,
    };
    let view = format!("0 {} {} {}", short(top), short(width), short(height - top));
    let label = escape(&picture.title);
    let _ = write!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"{view}\"{frame} role=\"img\" \
         aria-label=\"{label}\"><desc>{}</desc>",
        escape(&picture.description)
    );
    if home == Home::File {
        let _ = write!(out, "<style>{}</style>", style());
        let paper = Rect {
            left: 0.0,
            top: 0.0,
            width,
            height,
        };
        rect(&mut out, &paper, Ink::Paper);
        let (at, text, style) = picture.heading();
        write_text(&mut out, at, &text, &style);
    }
    for item in &picture.items {
        write_item(&mut out, item, home);
    }
    out.push_str("</svg>");
    out
}

/// Returns the rules for the classes, with colours by `rule`. [`SHAPES`] says whether a shape is
/// filled or outlined with its colour.
fn classes(rule: impl Fn(Ink) -> String) -> String {
    let one = |ink: Ink| {
        let (class, colour) = (ink.class(), rule(ink));
        format!(".{class}{{color:{colour}}}")
    };
    Ink::all().map(one).collect()
}

/// Returns how shapes look, whatever their colours are.
pub(crate) const SHAPES: &str = "svg text{font-family:system-ui,\"DejaVu Sans\",Arial,sans-serif}\
     svg text,svg rect,svg polygon{fill:currentColor}svg path,svg circle{fill:none;\
     stroke:currentColor}svg circle{stroke-width:1.5}svg .hit{fill:transparent}\
     svg .shade{fill:#000}svg .dashes{stroke-dasharray:4 3}svg .bold{font-weight:600}\
     svg .middle{text-anchor:middle}svg .end{text-anchor:end}\
     svg .mark:hover>:last-child,svg .mark.on>:last-child{opacity:.6}";

/// Returns the rules of a page: the colours are variables.
pub(crate) fn page_classes() -> String {
    classes(|ink| format!("var(--{})", ink.class()))
}

/// Returns the variables of a theme.
pub(crate) fn variables(theme: Theme) -> String {
    let one = |ink: Ink| format!("--{}:{};", ink.class(), ink.css(theme));
    Ink::all().map(one).collect()
}

fn style() -> String {
    let (light, dark) = (
        classes(|ink| ink.css(Theme::Light)),
        classes(|ink| ink.css(Theme::Dark)),
    );
    format!("{light}@media(prefers-color-scheme:dark){{{dark}}}{SHAPES}")
}

fn write_item(out: &mut String, item: &Item, home: Home<'_>) {
    match item {
        Item::Rect { rect: one, ink } => rect(out, one, *ink),
        Item::Line {
            from,
            to,
            ink,
            dashed,
        } => {
            let dashes = match dashed {
                Dashes::Dashed => " dashes",
                Dashes::Solid => "",
            };
            let _ = write!(
                out,
                "<path class=\"{}{dashes}\" d=\"M{} {}L{} {}\"/>",
                ink.class(),
                short(from.0),
                short(from.1),
                short(to.0),
                short(to.1)
            );
        }
        Item::Polygon { points, ink, shade } => polygon(out, points, *ink, *shade),
        Item::Text { at, text, style } => {
            write_text(out, *at, text, style);
        }
        Item::Mark {
            shape,
            area,
            ink,
            mark,
        } => write_mark(out, shape, area, *ink, mark),
        Item::Open { operation } => open(out, operation, home),
        Item::Close => out.push_str("</a></g>"),
    }
}

fn open(out: &mut String, operation: &str, home: Home<'_>) {
    let _ = write!(out, "<g data-operation=\"{}\">", escape(operation));
    let section = match home {
        Home::Page { sections } => sections.iter().position(|one| clean(one) == operation),
        Home::File => None,
    };
    match section {
        Some(number) => {
            let _ = write!(out, "<a href=\"#op-{number}\">");
        }
        None => out.push_str("<a>"),
    }
}

fn polygon(out: &mut String, points: &[(f64, f64)], ink: Ink, shade: f64) {
    let pairs = points
        .iter()
        .map(|(x, y)| format!("{},{}", short(*x), short(*y)));
    let points = pairs.collect::<Vec<_>>().join(" ");
    let _ = write!(
        out,
        "<polygon class=\"{}\" points=\"{points}\"/>",
        ink.class()
    );
    if shade > 0.0 {
        let shade = short(shade);
        let _ = write!(
            out,
            "<polygon class=\"shade\" fill-opacity=\"{shade}\" points=\"{points}\"/>"
        );
    }
}

fn write_text(out: &mut String, at: (f64, f64), text: &str, style: &Style) {
    let anchor = match style.anchor {
        Anchor::Start => "",
        Anchor::Middle => " middle",
        Anchor::End => " end",
    };
    let bold = match style.weight {
        Weight::Bold => " bold",
        Weight::Normal => "",
    };
    let (x, y) = (short(at.0), short(at.1));
    let _ = write!(
        out,
        "<text class=\"{}{anchor}{bold}\" x=\"{x}\" y=\"{y}\" font-size=\"{}\">{}</text>",
        style.ink.class(),
        short(style.size),
        escape(text)
    );
}

fn write_mark(out: &mut String, shape: &Shape, area: &Rect, ink: Ink, mark: &Mark) {
    let _ = write!(
        out,
        "<g class=\"mark\" data-bucket=\"{}\" data-count=\"{}\"",
        mark.bucket, mark.count
    );
    if let Some(row) = mark.row {
        let _ = write!(out, " data-row=\"{row}\"");
    }
    let _ = write!(out, "><title>{}</title>", escape(&clean(&mark.tip)));
    match shape {
        Shape::Bar(bar) => {
            if area != bar {
                plain_rect(out, area, "hit");
            }
            rect(out, bar, ink);
        }
        Shape::Ring { x, y, radius } => {
            plain_rect(out, area, "hit");
            let _ = write!(
                out,
                "<circle class=\"{}\" cx=\"{}\" cy=\"{}\" r=\"{}\"/>",
                ink.class(),
                short(*x),
                short(*y),
                short(*radius)
            );
        }
    }
    out.push_str("</g>");
}

fn rect(out: &mut String, rect: &Rect, ink: Ink) {
    plain_rect(out, rect, ink.class());
}

fn plain_rect(out: &mut String, rect: &Rect, class: &str) {
    let _ = write!(
        out,
        "<rect class=\"{class}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>",
        short(rect.left),
        short(rect.top),
        short(rect.width.max(0.0)),
        short(rect.height.max(0.0))
    );
}

/// Returns a length with at most two decimals; 0 in place of what is no number.
fn short(length: f64) -> String {
    let length = if length.is_finite() { length } else { 0.0 };
    let text = format!("{length:.2}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    match text {
        "-0" => "0".to_owned(),
        _ => text.to_owned(),
    }
}

/// Escapes text for XML and HTML, between tags and in quoted attributes.
pub(crate) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for one in text.chars() {
        match one {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            _ => escaped.push(one),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::{escape, short};

    #[test]
    fn lengths_are_short_and_always_numbers() {
        assert_eq!(short(1.0), "1");
        assert_eq!(short(10.0), "10");
        assert_eq!(short(1.256), "1.26");
        assert_eq!(short(-0.001), "0");
        assert_eq!(short(f64::NAN), "0");
        assert_eq!(short(f64::INFINITY), "0");
    }

    #[test]
    fn no_character_of_markup_is_left() {
        assert_eq!(
            escape("</script><img src='x' onerror=\"y\">&"),
            "&lt;/script&gt;&lt;img src=&#39;x&#39; onerror=&quot;y&quot;&gt;&amp;"
        );
    }
}
