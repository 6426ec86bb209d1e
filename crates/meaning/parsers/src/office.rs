//! Office Open XML, OpenDocument and EPUB: archives of XML. Text in reading order, and properties.

use std::io::{BufRead, BufReader, Read, Seek};

use quick_xml::Reader;
use quick_xml::events::{BytesRef, Event};
use trawl_hooks::Value;
use trawl_hooks::found::Findings;
use zip::ZipArchive;

use crate::input::{Input, damaged};
use crate::markup;
use crate::text::decode;

/// Families of formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Word, Excel and PowerPoint (ECMA-376).
    OfficeOpen,
    /// ODF 1.3.
    OpenDocument,
    /// Web pages in an archive.
    Epub,
}

/// Elements whose text is read, by local name; all if empty.
type Wanted = &'static [&'static str];

/// Elements that end a line, by local name.
const LINES: &[&str] = &["p", "h", "si", "row", "table-row", "tr"];

/// Local names of properties, and their attributes.
const PROPERTIES: &[(&str, &str)] = &[
    ("title", "title"),
    ("creator", "author"),
    ("initial-creator", "author"),
    ("subject", "subject"),
    ("keywords", "keywords"),
    ("keyword", "keywords"),
    ("language", "language"),
];

const TIMES: &[(&str, &str)] = &[
    ("created", "created"),
    ("creation-date", "created"),
    ("modified", "modified"),
];

pub(crate) fn run(kind: Kind, input: &Input, findings: &mut Findings) {
    let mut archive = match ZipArchive::new(input.reader()) {
        Ok(archive) => archive,
        Err(error) => return damaged(error, findings),
    };
    let mut names: Vec<String> = archive.file_names().map(str::to_owned).collect();
    if kind != Kind::Epub {
        names.sort_by_key(|name| order(name));
    }
    // What is decompressed, of all members together.
    let mut room = input.limits.input_bytes;
    for name in &names {
        let Some(part) = part(kind, name) else {
            continue;
        };
        let read = match archive.by_name(name) {
            Ok(member) => read_part(part, member.take(room), findings),
            Err(error) => return damaged(error, findings),
        };
        match read {
            Ok(bytes) => room = room.saturating_sub(bytes),
            Err(error) => damaged(format!("{name}: {error}"), findings),
        }
        if room == 0 {
            return findings.exceeded("decompressed size");
        }
    }
}

/// Sorts `slide2.xml` before `slide10.xml`.
fn order(name: &str) -> (usize, String) {
    (name.len(), name.to_owned())
}

/// What a member of an archive contains.
#[derive(Clone, Copy)]
enum Part {
    Text(Wanted),
    Properties,
    Page,
}

fn part(kind: Kind, name: &str) -> Option<Part> {
    let is_page = ["xhtml", "html", "htm"]
        .iter()
        .any(|end| name.ends_with(end));
    match kind {
        Kind::OfficeOpen => match name {
            "docProps/core.xml" => Some(Part::Properties),
            "word/document.xml"
            | "word/footnotes.xml"
            | "word/endnotes.xml"
            | "word/comments.xml"
            | "xl/sharedStrings.xml" => Some(Part::Text(&["t"])),
            _ if name.starts_with("ppt/slides/slide") || name.starts_with("ppt/notesSlides/") => {
                name.ends_with(".xml").then_some(Part::Text(&["t"]))
            }
            _ => None,
        },
        Kind::OpenDocument => match name {
            "meta.xml" => Some(Part::Properties),
            "content.xml" => Some(Part::Text(&[])),
            _ => None,
        },
        Kind::Epub if name.ends_with(".opf") => Some(Part::Properties),
        Kind::Epub => is_page.then_some(Part::Page),
    }
}

/// Reads a member, and returns the number of bytes read.
fn read_part<R: Read>(part: Part, member: R, findings: &mut Findings) -> Result<u64, String> {
    let mut counted = Counted {
        inner: member,
        bytes: 0,
    };
    match part {
        Part::Text(wanted) => xml(BufReader::new(&mut counted), wanted, findings)?,
        Part::Properties => properties(BufReader::new(&mut counted), findings)?,
        Part::Page => {
            let mut bytes = Vec::new();
            let read = counted.read_to_end(&mut bytes);
            read.map_err(|error| error.to_string())?;
            markup::page(&decode(&bytes, true).1, findings);
        }
    }
    Ok(counted.bytes)
}

/// Counts what is read.
struct Counted<R> {
    inner: R,
    bytes: u64,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let read = self.inner.read(into)?;
        self.bytes += read as u64;
        Ok(read)
    }
}

/// Adds the text of some elements, line by line.
fn xml(source: impl BufRead, wanted: Wanted, findings: &mut Findings) -> Result<(), String> {
    let mut reader = Reader::from_reader(source);
    let mut buffer = Vec::new();
    let mut depth = usize::from(wanted.is_empty());
    loop {
        let event = reader
            .read_event_into(&mut buffer)
            .map_err(|error| error.to_string())?;
        let goes_on = match event {
            Event::Start(start) => {
                depth += usize::from(wanted.contains(&start.local_name().as_ref()));
                true
            }
            Event::End(end) => {
                let name = end.local_name();
                depth -= usize::from(wanted.contains(&name.as_ref())).min(depth);
                !LINES.contains(&name.as_ref()) || findings.text("\n")
            }
            Event::Empty(empty) => match empty.local_name().as_ref() {
                // Tabs and line breaks of both families; spaces of OpenDocument.
                "tab" | "s" => findings.text(" "),
                "br" | "line-break" | "cr" => findings.text("\n"),
                _ => true,
            },
            Event::Text(text) if depth > 0 => findings.text(&text.into_inner()),
            Event::CData(text) if depth > 0 => findings.text(&text.into_inner()),
            Event::GeneralRef(reference) if depth > 0 => match character(&reference) {
                Some(one) => findings.text(one.encode_utf8(&mut [0; 4])),
                None => true,
            },
            Event::Eof => return Ok(()),
            _ => true,
        };
        if !goes_on {
            return Ok(());
        }
        buffer.clear();
    }
}

/// Returns the character that a reference stands for. Entities that a document defines itself are
/// never expanded.
fn character(reference: &BytesRef<'_>) -> Option<char> {
    if let Ok(Some(one)) = reference.resolve_char_ref() {
        return Some(one);
    }
    match &**reference {
        "lt" => Some('<'),
        "gt" => Some('>'),
        "amp" => Some('&'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        _ => None,
    }
}

/// Adds properties: Dublin Core, and those of both families besides.
fn properties(source: impl BufRead, findings: &mut Findings) -> Result<(), String> {
    let mut reader = Reader::from_reader(source);
    let mut buffer = Vec::new();
    let mut found: Vec<(String, String)> = Vec::new();
    let mut element: Option<(String, String)> = None;
    loop {
        let event = reader
            .read_event_into(&mut buffer)
            .map_err(|error| error.to_string())?;
        match event {
            Event::Start(start) => {
                element = Some((start.local_name().as_ref().to_owned(), String::new()));
            }
            Event::Empty(empty) if empty.local_name().as_ref() == "document-statistic" => {
                for attribute in empty.attributes().flatten() {
                    let count = attribute.value.parse();
                    if let ("page-count", Ok(count)) = (attribute.key.local_name().as_ref(), count)
                    {
                        findings.attribute("pages", Value::Integer(count));
                    }
                }
            }
            Event::Text(text) => {
                if let Some((_, value)) = &mut element {
                    value.push_str(&text.into_inner());
                }
            }
            Event::GeneralRef(reference) => {
                if let (Some((_, value)), Some(one)) = (&mut element, character(&reference)) {
                    value.push(one);
                }
            }
            Event::End(_) => found.extend(element.take()),
            Event::Eof => break,
            _ => {}
        }
        buffer.clear();
    }
    report(&found, findings);
    Ok(())
}

fn report(found: &[(String, String)], findings: &mut Findings) {
    let mut told = Vec::new();
    for (element, value) in found {
        let row = PROPERTIES.iter().find(|(name, _)| name == element);
        if let Some((_, name)) = row
            && !told.contains(name)
        {
            told.push(name);
            findings.attribute_text(name, value);
        }
        if let Some((_, name)) = TIMES.iter().find(|(name, _)| name == element)
            && let Some(ns) = time(value)
        {
            findings.attribute(name, Value::Time(ns));
        }
    }
}

/// Reads a time of ISO 8601, in UTC unless it says otherwise, as nanoseconds since the epoch.
pub(crate) fn time(text: &str) -> Option<i64> {
    let text = text.trim();
    let ns = match text.parse::<jiff::Timestamp>() {
        Ok(time) => time.as_nanosecond(),
        Err(_) => {
            let civil: jiff::civil::DateTime = text.parse().ok()?;
            let utc = civil.to_zoned(jiff::tz::TimeZone::UTC).ok()?;
            utc.timestamp().as_nanosecond()
        }
    };
    i64::try_from(ns).ok()
}

/// Returns the names of the members of an archive, and their size when decompressed.
pub(crate) fn listing<R: Read + Seek>(
    source: R,
) -> Result<(Vec<String>, u64), zip::result::ZipError> {
    let archive = ZipArchive::new(source)?;
    let size = archive.decompressed_size().unwrap_or(0);
    let names = archive.file_names().map(str::to_owned).collect();
    Ok((names, u64::try_from(size).unwrap_or(u64::MAX)))
}
