//! The report: one HTML file about a [`Story`].
//!
//! All pictures are SVG in the page, so it can be read and printed without scripts. The script adds
//! what moves: values under the pointer or the arrow keys, one operation at a time, the switch
//! between light and dark, and the picture in three dimensions.
//!
//! Invariants: nothing is loaded; the content security policy allows this script and this style, by
//! their hashes, and nothing else. All text is escaped; data for the script is JSON without `<`.

mod data;
mod markup;
mod sections;

use std::fmt::Write as _;

use crate::ink::Theme;
use crate::story::Story;
use crate::svg;
use markup::text;
use sections::Subject;

const SCRIPT: &str = include_str!("page.js");
const RULES: &str = include_str!("page.css");

/// SHA-256 of [`SCRIPT`], in base64. A test compares it.
const SCRIPT_HASH: &str = "Bu0LmwtkL7/RYzXZfs2ejriFROOs46P/L4397VUewLs=";

/// SHA-256 of [`style`].
const STYLE_HASH: &str = "RQ67QXsl/QHvVwX22VW3lKiVKMMcDNCy2JmOHJNDu9o=";

/// Returns the page.
pub fn html(story: &Story) -> String {
    let subject = Subject::new(story);
    let mut out = String::new();
    head(&mut out, &story.title);
    out.push_str("<header><h1>");
    out.push_str(&text(&story.title));
    out.push_str(
        "</h1><p class=\"tools\"><button type=\"button\" id=\"theme\" class=\"moving\">Dark or light\
         </button> <button type=\"button\" id=\"print\" class=\"moving\">Print</button></p></header>\
         <main>",
    );
    subject.introduction(&mut out);
    subject.complete(&mut out);
    subject.operations(&mut out);
    subject.space(&mut out);
    subject.mixes(&mut out);
    subject.pair(&mut out);
    subject.layers(&mut out);
    out.push_str("</main><p id=\"readout\" role=\"status\" aria-live=\"polite\"></p>");
    let _ = writeln!(
        out,
        "<script type=\"application/json\" id=\"data\">{}</script><script>{SCRIPT}</script></body>\
         </html>",
        data::json(&subject)
    );
    out
}

fn head(out: &mut String, title: &str) {
    let _ = write!(
        out,
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; \
         script-src 'sha256-{SCRIPT_HASH}'; style-src 'sha256-{STYLE_HASH}'; base-uri 'none'; \
         form-action 'none'\"><meta name=\"viewport\" content=\"width=device-width\">\
         <meta name=\"color-scheme\" content=\"light dark\"><title>{}</title><style>{}</style></head>\
         <body>",
        text(title),
        style()
    );
}

/// Returns the style: the themes' variables, the classes of pictures, and the rules of the page. Dark
/// if the system or the switch says so; light on paper.
fn style() -> String {
    let (light, dark) = (svg::variables(Theme::Light), svg::variables(Theme::Dark));
    format!(
        ":root{{color-scheme:light;{light}}}\
         @media(prefers-color-scheme:dark){{:root:not([data-theme=light])\
         {{color-scheme:dark;{dark}}}}}\
         :root[data-theme=dark]{{color-scheme:dark;{dark}}}\
         @media print{{:root:root:root{{color-scheme:light;{light}}}}}\
         {}{}{RULES}",
        svg::page_classes(),
        svg::SHAPES
    )
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use sha2::Digest as _;

    fn hash(text: &str) -> String {
        base64::engine::general_purpose::STANDARD.encode(sha2::Sha256::digest(text))
    }

    #[test]
    fn the_policy_names_the_script_and_the_style_that_the_page_has() {
        let expected = [hash(super::SCRIPT), hash(&super::style())];
        assert_eq!([super::SCRIPT_HASH, super::STYLE_HASH], expected);
    }
}
