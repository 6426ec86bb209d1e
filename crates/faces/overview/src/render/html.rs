//! An overview as one HTML page, which works without a network: no script, no link to elsewhere,
//! pictures as inline SVG. Its content security policy allows nothing but its own style.

use std::fmt::Write as _;

use trawl_text::words::counted;

use super::text::if_complete;
use super::{curve, tiles};
use crate::document::{Align, Cell, Document, Part, Section, Table};
use crate::names::{Piece, pieces, visible};
use crate::numbers;

const STYLE: &str = include_str!("style.css");

const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; \
                      base-uri 'none'; form-action 'none'";

/// Returns the overview as a page.
pub fn html(document: &Document) -> String {
    let title = escape(&visible(&document.title));
    let mut out = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <meta name=\"referrer\" content=\"no-referrer\">\n\
         <meta name=\"generator\" content=\"trawl report\">\n\
         <title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n\
         <header>\n<h1>"
    );
    push_name(&mut out, &document.title);
    out.push_str("</h1>\n<dl class=\"origin\">\n");
    for (name, value) in &document.origin {
        let _ = write!(out, "<div><dt>{}</dt><dd>", escape(name));
        push_name(&mut out, value);
        out.push_str("</dd></div>\n");
    }
    out.push_str("</dl>\n");
    push_contents(&mut out, document);
    out.push_str("</header>\n<main>\n");
    for section in &document.sections {
        push_section(&mut out, section);
    }
    out.push_str("</main>\n</body>\n</html>\n");
    out
}

/// Writes the list of sections, which says which are incomplete.
fn push_contents(out: &mut String, document: &Document) {
    out.push_str("<nav aria-label=\"Sections\"><ul>\n");
    for section in &document.sections {
        let mark = match section.is_complete() {
            true => "",
            false => " <span class=\"mark\">incomplete</span>",
        };
        let (name, title) = (section.name, escape(section.title));
        let _ = writeln!(out, "<li><a href=\"#{name}\">{title}</a>{mark}</li>");
    }
    out.push_str("</ul></nav>\n");
}

fn push_section(out: &mut String, section: &Section) {
    let (name, title) = (section.name, escape(section.title));
    let _ = write!(
        out,
        "<section id=\"{name}\" aria-labelledby=\"{name}-title\">\n\
         <h2 id=\"{name}-title\">{title}</h2>\n"
    );
    if !section.about.is_empty() {
        let _ = writeln!(out, "<p class=\"about\">{}</p>", text_of(&section.about));
    }
    for part in &section.parts {
        match part {
            Part::Sentence(sentence) => {
                out.push_str("<p>");
                push_name(out, sentence);
                out.push_str("</p>\n");
            }
            Part::Table(table) => push_table(out, table),
            Part::Tiles(picture) => tiles::push(out, picture),
            Part::Curve(picture) => curve::push(out, picture),
        }
    }
    push_state(out, section);
    out.push_str("</section>\n");
}

/// Writes as of when a section is true, what it lacks, and the command lines that give the same.
fn push_state(out: &mut String, section: &Section) {
    let class = match section.is_complete() {
        true => "complete",
        false => "incomplete",
    };
    out.push_str("<div class=\"state\">\n");
    for (place, time) in &section.as_of {
        let _ = write!(out, "<p>As of <strong>{}</strong>: ", text_of(time));
        push_name(out, place);
        out.push_str("</p>\n");
    }
    let _ = writeln!(out, "<p class=\"{class}\">{}</p>", if_complete(section));
    if !section.remarks.is_empty() {
        out.push_str("<ul class=\"remarks\">\n");
        for remark in &section.remarks {
            let _ = writeln!(out, "<li>{}</li>", text_of(remark));
        }
        if section.remarks_left_out > 0 {
            let more = counted(section.remarks_left_out, "further message");
            let _ = writeln!(out, "<li>and {more}</li>");
        }
        out.push_str("</ul>\n");
    }
    for command in &section.commands {
        let _ = writeln!(out, "<pre><code>{}</code></pre>", text_of(command));
    }
    out.push_str("</div>\n");
}

fn push_table(out: &mut String, table: &Table) {
    let label = escape(&visible(&table.caption));
    let _ = write!(
        out,
        "<div class=\"wide\" role=\"group\" aria-label=\"{label}\" tabindex=\"0\">\
         <table>\n<caption>"
    );
    push_name(out, &table.caption);
    out.push_str("</caption>\n<thead><tr>");
    for column in &table.columns {
        let heading = escape(column.heading);
        let _ = write!(
            out,
            "<th scope=\"col\"{}>{heading}</th>",
            class(column.align)
        );
    }
    out.push_str("</tr></thead>\n<tbody>\n");
    for row in &table.rows {
        out.push_str("<tr>");
        for (at, (cell, column)) in row.iter().zip(&table.columns).enumerate() {
            let (tag, scope) = match at {
                0 => ("th", " scope=\"row\""),
                _ => ("td", ""),
            };
            let _ = write!(out, "<{tag}{scope}{}>", class(column.align));
            push_cell(out, cell);
            let _ = write!(out, "</{tag}>");
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody>\n</table></div>\n");
}

fn class(align: Align) -> &'static str {
    match align {
        Align::Left => "",
        Align::Right => " class=\"number\"",
    }
}

fn push_cell(out: &mut String, cell: &Cell) {
    match cell {
        Cell::Text(text) => out.push_str(&text_of(text)),
        Cell::Name(name) => push_path(out, name),
        Cell::Share(share) => {
            let (text, wide) = (numbers::share(*share), 100.0 * share);
            let _ = write!(
                out,
                "{text}<svg class=\"bar\" aria-hidden=\"true\" width=\"100%\" height=\"6\">\
                 <rect class=\"rail\" width=\"100%\" height=\"6\"/>\
                 <rect width=\"{wide:.2}%\" height=\"6\"/></svg>"
            );
        }
    }
}

/// Writes a path; its directory stands back behind its name.
fn push_path(out: &mut String, path: &[u8]) {
    let slash = path.iter().rposition(|byte| *byte == b'/');
    let (above, name) = match slash {
        Some(at) if at + 1 < path.len() => path.split_at(at + 1),
        _ => (&b""[..], path),
    };
    out.push_str("<bdi class=\"path\">");
    if !above.is_empty() {
        out.push_str("<span class=\"above\">");
        push_pieces(out, above);
        out.push_str("</span>");
    }
    push_pieces(out, name);
    out.push_str("</bdi>");
}

/// Writes text in which a name may be.
fn push_name(out: &mut String, name: &[u8]) {
    out.push_str("<bdi>");
    push_pieces(out, name);
    out.push_str("</bdi>");
}

/// Returns words as HTML.
fn text_of(words: &str) -> String {
    let mut out = String::new();
    push_pieces(&mut out, words.as_bytes());
    out
}

fn push_pieces(out: &mut String, name: &[u8]) {
    for piece in pieces(name) {
        match piece {
            // A line may break after a slash.
            Piece::Plain(text) => out.push_str(&escape(&text).replace('/', "/<wbr>")),
            Piece::Escape(text, meaning) => {
                let (text, meaning) = (escape(&text), escape(meaning));
                let _ = write!(
                    out,
                    "<span class=\"escape\" title=\"{meaning}\">{text}</span>"
                );
            }
        }
    }
}

/// Returns text as HTML, in elements and between double quotes.
pub(super) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            character => out.push(character),
        }
    }
    out
}
