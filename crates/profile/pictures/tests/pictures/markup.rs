//! The report is well-formed HTML, as an independent tokenizer reads it.

use html5gum::{DefaultEmitter, Token, Tokenizer};

use super::story::story;

/// Elements that have no end tag.
const VOID: &[&str] = &["meta"];

/// What a page consists of: its elements with their attributes, and the texts of its scripts.
pub(crate) struct Page {
    pub(crate) elements: Vec<(String, Vec<(String, String)>)>,
    pub(crate) scripts: Vec<String>,
    pub(crate) text: String,
}

/// Reads a page; fails if it is not well-formed.
pub(crate) fn read(html: &str) -> Page {
    let mut page = Page {
        elements: Vec::new(),
        scripts: Vec::new(),
        text: String::new(),
    };
    let mut open: Vec<String> = Vec::new();
    let mut emitter = DefaultEmitter::default();
    emitter.naively_switch_states(true);
    for token in Tokenizer::new_with_emitter(html, emitter) {
        let Ok(token) = token;
        match token {
            Token::StartTag(tag) => {
                let name = String::from_utf8(tag.name.to_vec()).unwrap();
                let attribute = |(name, value): (
                    &html5gum::HtmlString,
                    &html5gum::Spanned<html5gum::HtmlString, ()>,
                )| {
                    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
                    (text(name), text(value))
                };
                page.elements
                    .push((name.clone(), tag.attributes.iter().map(attribute).collect()));
                if name == "script" {
                    page.scripts.push(String::new());
                }
                if !tag.self_closing && !VOID.contains(&name.as_str()) {
                    open.push(name);
                }
            }
            Token::EndTag(tag) => {
                let name = String::from_utf8(tag.name.to_vec()).unwrap();
                assert_eq!(open.pop().as_deref(), Some(name.as_str()));
            }
            Token::String(text) => {
                let text = std::str::from_utf8(&text).unwrap();
                match open.last().map(String::as_str) {
                    Some("script") => page.scripts.last_mut().unwrap().push_str(text),
                    _ => page.text.push_str(text),
                }
            }
            Token::Comment(comment) => panic!("{comment:?}"),
            Token::Error(error) => panic!("{error:?}"),
            Token::Doctype(_) => {}
        }
    }
    assert!(open.is_empty(), "{open:?}");
    page
}

#[test]
fn the_report_is_well_formed() {
    let page = read(&trawl_pictures::html(&story()));
    let count = |name: &str| page.elements.iter().filter(|(one, _)| one == name).count();
    assert_eq!(count("script"), 2);
    assert_eq!(count("style"), 1);
    assert_eq!(count("canvas"), 1);
    // Two complete profiles; for each of 11 operations a histogram and a heat map; columns, mixes,
    // two profiles and layers.
    assert_eq!(count("svg"), 2 + 2 * 11 + 4);
}

#[test]
fn the_report_refers_to_nothing_outside() {
    let page = read(&trawl_pictures::html(&story()));
    for (element, attributes) in &page.elements {
        for (name, value) in attributes {
            let is_link =
                ["src", "href", "xlink:href", "action", "data", "srcset"].contains(&name.as_str());
            assert!(
                !is_link || value.starts_with('#'),
                "{element} {name}={value}"
            );
            assert!(
                !name.starts_with("on") && name != "style",
                "{element} {name}={value}"
            );
        }
    }
    let ids: Vec<&str> = page
        .elements
        .iter()
        .flat_map(|(_, all)| all)
        .filter(|(name, _)| name == "id")
        .map(|(_, id)| id.as_str())
        .collect();
    for (_, attributes) in &page.elements {
        for (_, target) in attributes.iter().filter(|(name, _)| name == "href") {
            assert!(ids.contains(&&target[1..]), "{target}");
        }
    }
    let mut sorted = ids.clone();
    sorted.sort_unstable();
    sorted.dedup();
    assert_eq!(sorted.len(), ids.len(), "an id is used twice");
}

#[test]
fn the_report_says_what_the_peaks_mean() {
    let page = read(&trawl_pictures::html(&story()));
    for words in [
        // §3.1.2: the peak beside a characteristic time is named by it.
        "answered from memory",
        "in all",
        // The comparison: `readdir` no longer waits for the disk.
        "vanished",
        // The layers: the slow peaks come from the driver.
        "comes from driver (submit_read)",
        "Every 5 seconds, reads wait for write_super.",
    ] {
        assert!(page.text.contains(words), "{words}");
    }
}

#[test]
fn the_data_for_the_script_are_the_slices() {
    let story = story();
    let page = read(&trawl_pictures::html(&story));
    let data: serde_json::Value = serde_json::from_str(&page.scripts[0]).unwrap();
    let operation = &data["operations"][0];
    let name = operation["name"].as_str().unwrap();
    let rows = operation["rows"].as_array().unwrap();
    let slices = story.captures[0].profile.slices();
    assert_eq!(rows.len(), slices.len());
    for (row, slice) in rows.iter().zip(slices) {
        for cell in row[1].as_array().unwrap() {
            let bucket = cell[0].as_u64().unwrap() as usize;
            assert_eq!(cell[1].as_u64().unwrap(), slice.buckets(name)[bucket]);
        }
        let filled = slice
            .buckets(name)
            .iter()
            .filter(|count| **count > 0)
            .count();
        assert_eq!(row[1].as_array().unwrap().len(), filled);
    }
}

#[test]
fn a_story_of_nothing_is_a_page() {
    read(&trawl_pictures::html(&trawl_pictures::Story::default()));
}
