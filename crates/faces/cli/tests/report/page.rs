//! Reads pages with a tokenizer that is not ours. A page that is not well-formed, runs something or
//! refers to something outside fails.

use html5gum::{DefaultEmitter, HtmlString, Spanned, StartTag, Token, Tokenizer};

/// Elements that have no end tag.
const VOID: &[&str] = &["meta", "wbr"];

/// Elements that a page may have.
const KNOWN: &[&str] = &[
    "html",
    "head",
    "meta",
    "title",
    "style",
    "body",
    "header",
    "main",
    "nav",
    "section",
    "h1",
    "h2",
    "dl",
    "div",
    "dt",
    "dd",
    "ul",
    "li",
    "p",
    "a",
    "strong",
    "pre",
    "code",
    "span",
    "bdi",
    "wbr",
    "table",
    "caption",
    "thead",
    "tbody",
    "tr",
    "th",
    "td",
    "figure",
    "figcaption",
    "svg",
    "rect",
    "text",
    "tspan",
    "polyline",
    "circle",
];

/// What a page says.
#[derive(Debug, Default)]
pub(crate) struct Page {
    pub(crate) title: String,
    pub(crate) heading: String,
    pub(crate) policy: String,
    pub(crate) sections: Vec<Section>,
    /// All text outside the style.
    pub(crate) text: String,
}

/// What a section says.
#[derive(Debug, Default)]
pub(crate) struct Section {
    pub(crate) name: String,
    pub(crate) tables: Vec<Table>,
    pub(crate) commands: Vec<String>,
    pub(crate) text: String,
    pub(crate) pictures: usize,
}

/// A table: its caption, and the texts of its cells without those of the head.
#[derive(Debug, Default)]
pub(crate) struct Table {
    pub(crate) caption: String,
    pub(crate) rows: Vec<Vec<String>>,
}

impl Page {
    /// Returns a section.
    pub(crate) fn section(&self, name: &str) -> &Section {
        let mut sections = self.sections.iter();
        let found = sections.find(|section| section.name == name);
        found.unwrap_or_else(|| panic!("there is no section {name}"))
    }
}

impl Section {
    /// Returns the rows of a table.
    pub(crate) fn rows(&self, caption: &str) -> &[Vec<String>] {
        let mut tables = self.tables.iter();
        let found = tables.find(|table| table.caption == caption);
        let captions: Vec<&str> = self.tables.iter().map(|table| &table.caption[..]).collect();
        &found
            .unwrap_or_else(|| panic!("{caption} is not among {captions:?}"))
            .rows
    }
}

/// Reads a page.
pub(crate) fn read(html: &str) -> Page {
    let mut page = Page::default();
    let mut open: Vec<String> = Vec::new();
    let mut ids: Vec<String> = Vec::new();
    let mut links: Vec<String> = Vec::new();
    let mut emitter = DefaultEmitter::default();
    emitter.naively_switch_states(true);
    assert!(html.starts_with("<!DOCTYPE html>\n<html lang=\"en\">"));
    for token in Tokenizer::new_with_emitter(html, emitter) {
        let Ok(token) = token;
        match token {
            Token::StartTag(tag) => {
                let name = text(&tag.name);
                begin(&mut page, &open, &name, &tag, (&mut ids, &mut links));
                if !tag.self_closing && !VOID.contains(&&name[..]) {
                    open.push(name);
                }
            }
            Token::EndTag(tag) => assert_eq!(open.pop().as_deref(), Some(&text(&tag.name)[..])),
            Token::String(string) => say(&mut page, &open, &text(&string)),
            Token::Doctype(_) => {}
            other => panic!("{other:?}"),
        }
    }
    assert!(open.is_empty(), "{open:?}");
    for link in links {
        assert!(ids.contains(&link), "nothing has the id {link}");
    }
    let count = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), count, "an id is used twice");
    page
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("a page is UTF-8")
}

fn begin(
    page: &mut Page,
    open: &[String],
    name: &str,
    tag: &StartTag<()>,
    (ids, links): (&mut Vec<String>, &mut Vec<String>),
) {
    let attribute = |name: &str| {
        let mut all = tag.attributes.iter();
        let found =
            all.find(|(key, _): &(&HtmlString, &Spanned<HtmlString, ()>)| text(key) == name);
        found.map(|(_, value)| text(value))
    };
    let in_picture = open.iter().any(|name| name == "svg");
    assert!(KNOWN.contains(&name), "<{name}>");
    for (key, value) in &tag.attributes {
        let (key, value) = (text(key), text(value));
        assert!(
            !key.starts_with("on") && key != "style",
            "{name} {key}={value}"
        );
        let refers = [
            "src",
            "href",
            "xlink:href",
            "action",
            "data",
            "srcset",
            "background",
        ];
        if refers.contains(&&key[..]) {
            links.push(
                value
                    .strip_prefix('#')
                    .expect("a link within the page")
                    .to_owned(),
            );
        }
    }
    ids.extend(attribute("id"));
    match name {
        "meta" if attribute("http-equiv").as_deref() == Some("Content-Security-Policy") => {
            page.policy = attribute("content").unwrap_or_default();
        }
        "section" => page.sections.push(Section {
            name: attribute("id").expect("an id"),
            ..Section::default()
        }),
        "th" => assert!(attribute("scope").is_some()),
        _ => {}
    }
    let is_in_head = open.iter().any(|name| name == "thead");
    let Some(section) = page.sections.last_mut() else {
        return;
    };
    match (name, section.tables.last_mut()) {
        ("table", _) => section.tables.push(Table::default()),
        ("tr", Some(table)) if !is_in_head => table.rows.push(Vec::new()),
        ("th" | "td", Some(table)) if !is_in_head => {
            table.rows.last_mut().expect("a row").push(String::new());
        }
        ("code", _) => section.commands.push(String::new()),
        ("svg", _) if !in_picture && attribute("role").as_deref() == Some("img") => {
            assert!(attribute("aria-label").is_some_and(|label| !label.is_empty()));
            section.pictures += 1;
        }
        _ => {}
    }
}

fn say(page: &mut Page, open: &[String], said: &str) {
    let is_in = |name: &str| open.iter().any(|one| one == name);
    if is_in("style") {
        return;
    }
    page.text.push_str(said);
    match () {
        () if is_in("head") && is_in("title") => page.title.push_str(said),
        () if is_in("h1") => page.heading.push_str(said),
        () => {}
    }
    let Some(section) = page.sections.last_mut() else {
        return;
    };
    section.text.push_str(said);
    if is_in("code") {
        section
            .commands
            .last_mut()
            .expect("a command")
            .push_str(said);
    }
    let Some(table) = section.tables.last_mut() else {
        return;
    };
    match () {
        () if is_in("caption") => table.caption.push_str(said),
        () if is_in("tbody") && (is_in("th") || is_in("td")) => {
            let cell = table.rows.last_mut().and_then(|row| row.last_mut());
            cell.expect("a cell").push_str(said);
        }
        () => {}
    }
}

/// Returns true if a text such as `1.5 MiB` stands for this number of bytes.
#[track_caller]
pub(crate) fn assert_size(shown: &str, bytes: u64) {
    let (number, unit) = shown
        .trim_start_matches('+')
        .split_once(' ')
        .expect("a unit");
    let units = ["B", "KiB", "MiB", "GiB"];
    let power = units.iter().position(|one| *one == unit).expect("a unit");
    let scale = 1024_f64.powi(power as i32);
    let value: f64 = number.parse().expect("a number");
    // The last digit that is shown is rounded.
    let digit = if number.contains('.') { 0.1 } else { 1.0 };
    let error = (value - bytes as f64 / scale).abs();
    assert!(error <= digit / 2.0 + 1e-9, "{shown} for {bytes}");
    assert!(value < 1024.0 && (power == 0 || value >= 1.0), "{shown}");
}
