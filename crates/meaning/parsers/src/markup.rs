//! Web pages and Markdown: text, title and links.

use html5gum::emitters::default::DefaultEmitter;
use html5gum::{HtmlString, StartTag, Token, Tokenizer};
use pulldown_cmark::{Event, HeadingLevel, Parser, Tag, TagEnd};
use trawl_hooks::found::Findings;

use crate::input::{Input, unreadable};
use crate::text::decode;

pub(crate) fn html(input: &Input, findings: &mut Findings) {
    if let Some(text) = read(input, findings) {
        page(&text, findings);
    }
}

fn read(input: &Input, findings: &mut Findings) -> Option<String> {
    match input.beginning(input.limits.input_bytes) {
        Ok((bytes, is_all)) => {
            if !is_all {
                findings.exceeded("size of a file of this format");
            }
            Some(decode(&bytes, is_all).1.into_owned())
        }
        Err(error) => {
            unreadable(&error, findings);
            None
        }
    }
}

/// Elements whose content is no text to read.
const SILENT: &[&[u8]] = &[b"script", b"style", b"noscript", b"template"];

/// Elements within a line: text on both sides may belong to one word.
const INLINE: &[&[u8]] = &[
    b"a", b"abbr", b"b", b"cite", b"code", b"em", b"font", b"i", b"mark", b"q", b"s", b"small",
    b"span", b"strong", b"sub", b"sup", b"tt", b"u", b"wbr",
];

/// Elements that name another file, with the attribute that does and the kind of relation.
const REFERENCES: &[(&[u8], &[u8], &str)] = &[
    (b"a", b"href", "links-to"),
    (b"area", b"href", "links-to"),
    (b"link", b"href", "includes"),
    (b"img", b"src", "includes"),
    (b"script", b"src", "includes"),
    (b"iframe", b"src", "includes"),
];

/// Adds what a web page says.
pub(crate) fn page(text: &str, findings: &mut Findings) {
    let mut emitter = DefaultEmitter::default();
    // What scripts, styles and titles contain is no markup.
    emitter.naively_switch_states(true);
    let (mut silent, mut title) = (None, None);
    for token in Tokenizer::new_with_emitter(text, emitter) {
        let Ok(token) = token;
        match token {
            Token::StartTag(tag) => {
                if &tag.name[..] == b"title" && title.is_none() {
                    title = Some(String::new());
                    silent = Some(&b"title"[..]);
                } else if silent.is_none() {
                    silent = SILENT.iter().find(|one| **one == &tag.name[..]).copied();
                }
                begin(&tag, findings);
            }
            Token::EndTag(tag) => {
                if silent == Some(&tag.name[..]) {
                    silent = None;
                }
                separate(&tag.name, findings);
            }
            Token::String(part) => {
                let part = String::from_utf8_lossy(&part);
                match (silent, &mut title) {
                    (None, _) => {
                        findings.text(&part);
                    }
                    (Some(b"title"), Some(title)) => title.push_str(&part),
                    _ => {}
                }
            }
            _ => {}
        }
    }
    if let Some(title) = title {
        let words: Vec<&str> = title.split_whitespace().collect();
        findings.attribute_text("title", &words.join(" "));
    }
}

fn separate(name: &[u8], findings: &mut Findings) {
    if !INLINE.contains(&name) {
        findings.text("\n");
    }
}

fn begin(tag: &StartTag<()>, findings: &mut Findings) {
    let value = |name: &[u8]| {
        let value = tag.attributes.get(&HtmlString(name.to_vec()))?;
        Some(String::from_utf8_lossy(value).trim().to_owned())
    };
    separate(&tag.name, findings);
    for (element, attribute, kind) in REFERENCES {
        if &tag.name[..] == *element
            && let Some(target) = value(attribute)
        {
            findings.relation(kind, &target);
        }
    }
    match &tag.name[..] {
        b"html" => {
            if let Some(language) = value(b"lang") {
                findings.attribute_text("language", &language);
            }
        }
        b"meta" => {
            let name = value(b"name").unwrap_or_default().to_ascii_lowercase();
            let attribute = match &name[..] {
                "author" => "author",
                "description" => "subject",
                "keywords" => "keywords",
                _ => return,
            };
            findings.attribute_text(attribute, &value(b"content").unwrap_or_default());
        }
        _ => {}
    }
}

pub(crate) fn markdown(input: &Input, findings: &mut Findings) {
    let Some(text) = read(input, findings) else {
        return;
    };
    // The text of the first heading of the first level, once it has begun.
    let (mut title, mut is_title) = (None, false);
    for event in Parser::new(&text) {
        match event {
            Event::Start(Tag::Heading {
                level: HeadingLevel::H1,
                ..
            }) if title.is_none() => {
                is_title = true;
                title = Some(String::new());
            }
            Event::Start(Tag::Link { dest_url, .. }) => findings.relation("links-to", &dest_url),
            Event::Start(Tag::Image { dest_url, .. }) => findings.relation("includes", &dest_url),
            Event::Text(part) | Event::Code(part) => {
                findings.text(&part);
                if let Some(title) = title.as_mut().filter(|_| is_title) {
                    title.push_str(&part);
                }
            }
            Event::SoftBreak | Event::HardBreak => {
                findings.text("\n");
            }
            Event::End(end) => {
                is_title &= !matches!(end, TagEnd::Heading(_));
                let is_inline = matches!(
                    end,
                    TagEnd::Emphasis | TagEnd::Strong | TagEnd::Link | TagEnd::Strikethrough
                );
                if !is_inline {
                    findings.text("\n");
                }
            }
            _ => {}
        }
    }
    if let Some(title) = title {
        findings.attribute_text("title", &title);
    }
}
