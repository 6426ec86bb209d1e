//! PDF: text page by page, and the document's information.

use std::cell::RefCell;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

use pdf_extract::{ConvertToFmt, Dictionary, Document, Object, PlainTextOutput, output_doc_page};
use trawl_hooks::Value;
use trawl_hooks::found::{Fault, Findings};

use crate::input::{Input, damaged};

/// Pages whose text is read.
const PAGES_MAX: usize = 5000;

/// Entries of the information dictionary, and their attributes (ISO 32000-1, table 317).
const INFORMATION: &[(&[u8], &str)] = &[
    (b"Title", "title"),
    (b"Author", "author"),
    (b"Subject", "subject"),
    (b"Keywords", "keywords"),
];

const DATES: &[(&[u8], &str)] = &[(b"CreationDate", "created"), (b"ModDate", "modified")];

pub(crate) fn run(input: &Input, findings: &mut Findings) {
    let Some(bytes) = input.all(findings) else {
        return;
    };
    let mut document = match Document::load_mem(&bytes) {
        Ok(document) => document,
        Err(error) => return damaged(error, findings),
    };
    drop(bytes);
    // Many documents are encrypted without a password, so that everybody can read them.
    if document.is_encrypted() && document.decrypt("").is_err() {
        return findings.problem(Fault::Unreadable, "the document needs a password");
    }
    information(&document, findings);
    let pages = document.get_pages();
    let count = i64::try_from(pages.len()).unwrap_or(i64::MAX);
    findings.attribute("pages", Value::Integer(count));
    let mut bad_pages = 0;
    for number in pages.keys().take(PAGES_MAX) {
        // The library panics on some faults. They cost a page.
        let text = Part::new(input.limits.text_bytes);
        let page = || output_doc_page(&document, &mut PlainTextOutput::new(&text), *number);
        let is_read = matches!(catch_unwind(AssertUnwindSafe(page)), Ok(Ok(())));
        bad_pages += u32::from(!is_read && !text.is_full());
        if !findings.line(text.0.borrow().trim()) {
            break;
        }
    }
    if pages.len() > PAGES_MAX {
        findings.exceeded("number of pages");
    }
    if bad_pages > 0 {
        damaged(
            format!("{bad_pages} pages could not be read, or not to their end"),
            findings,
        );
    }
}

/// Text of a page, with an end.
struct Part(RefCell<String>, usize);

impl Part {
    fn new(bytes_max: usize) -> Part {
        Part(RefCell::new(String::new()), bytes_max)
    }

    fn is_full(&self) -> bool {
        self.0.borrow().len() >= self.1
    }
}

struct Writer<'p>(&'p Part);

impl<'p> ConvertToFmt for &'p Part {
    type Writer = Writer<'p>;

    fn convert(self) -> Writer<'p> {
        Writer(self)
    }
}

impl fmt::Write for Writer<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if self.0.is_full() {
            return Err(fmt::Error);
        }
        self.0.0.borrow_mut().push_str(text);
        Ok(())
    }
}

fn information(document: &Document, findings: &mut Findings) {
    let Some(information) = information_of(document) else {
        return;
    };
    let text = |key: &[u8]| {
        let object = information.get(key).ok()?;
        let (_, object) = document.dereference(object).ok()?;
        match object {
            Object::String(bytes, _) => Some(decoded(bytes)),
            _ => None,
        }
    };
    for (key, name) in INFORMATION {
        if let Some(text) = text(key) {
            findings.attribute_text(name, &text);
        }
    }
    for (key, name) in DATES {
        if let Some(ns) = text(key).and_then(|text| date(&text)) {
            findings.attribute(name, Value::Time(ns));
        }
    }
}

fn information_of(document: &Document) -> Option<&Dictionary> {
    let object = document.trailer.get(b"Info").ok()?;
    document.dereference(object).ok()?.1.as_dict().ok()
}

/// Decodes a text string: UTF-16 or UTF-8 with a byte order mark, or else PDFDocEncoding, which is
/// Latin-1 but for some signs (ISO 32000-2, section 7.9.2.2).
fn decoded(bytes: &[u8]) -> String {
    match encoding_rs::Encoding::for_bom(bytes) {
        Some((encoding, mark)) => encoding
            .decode_without_bom_handling(&bytes[mark..])
            .0
            .into(),
        None => bytes.iter().map(|byte| char::from(*byte)).collect(),
    }
}

/// Reads a date of the form `D:YYYYMMDDHHmmSSOHH'mm'`, whose parts from the month on may be left
/// out, as nanoseconds since the epoch (ISO 32000-1, section 7.9.4).
fn date(text: &str) -> Option<i64> {
    let text = text.trim().strip_prefix("D:")?;
    let digits = text.bytes().take_while(u8::is_ascii_digit).count().min(14);
    let (digits, zone) = text.split_at(digits);
    let part = |at: usize, otherwise: i8| match digits.get(at..at + 2) {
        Some(part) => part.parse().ok(),
        None => Some(otherwise),
    };
    let year = digits.get(..4)?.parse().ok()?;
    let civil = jiff::civil::DateTime::new(
        year,
        part(4, 1)?,
        part(6, 1)?,
        part(8, 0)?,
        part(10, 0)?,
        part(12, 0)?,
        0,
    );
    let utc = civil.ok()?.to_zoned(jiff::tz::TimeZone::UTC).ok()?;
    let seconds = utc.timestamp().as_second() - offset_secs(zone);
    seconds.checked_mul(1_000_000_000)
}

fn offset_secs(zone: &str) -> i64 {
    let number = |at: usize| zone.get(at..at + 2).and_then(|part| part.parse().ok());
    let hours: i64 = number(1).unwrap_or(0);
    let minutes: i64 = number(4).unwrap_or(0);
    let secs = hours * 3600 + minutes * 60;
    match zone.as_bytes().first() {
        Some(b'+') => secs,
        Some(b'-') => -secs,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of ISO 32000-1, section 7.9.4: December 23, 1998, at 7:52 PM, U.S. Pacific
    /// Standard Time. `date -d '1998-12-23 19:52 -0800' +%s`
    #[test]
    fn dates_are_those_of_the_standard() {
        assert_eq!(date("D:199812231952-08'00"), Some(914_471_520_000_000_000));
        assert_eq!(date("D:19700102"), Some(86_400_000_000_000));
        assert_eq!(date("D:1970"), Some(0));
        for wrong in ["", "D:", "19700102", "D:19701302", "D:abcd", "D:1970010"] {
            assert_eq!(
                date(wrong).filter(|_| wrong != "D:1970010"),
                None,
                "{wrong}"
            );
        }
    }

    #[test]
    fn text_strings_are_decoded() {
        assert_eq!(decoded(b"Gr\xfc\xdfe"), "Grüße");
        assert_eq!(decoded(b"\xfe\xff\0G\0r\0\xfc"), "Grü");
    }
}
