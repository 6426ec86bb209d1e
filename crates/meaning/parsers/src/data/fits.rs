//! FITS: keywords of the headers. The format is lines of 80 characters, so it is read here (FITS
//! Standard 4.0, section 4: <https://fits.gsfc.nasa.gov/fits_standard.html>).

use std::collections::HashSet;
use std::io::{Read, Seek, SeekFrom};

use trawl_hooks::Value;
use trawl_hooks::found::Findings;

use crate::input::{Input, damaged};
use crate::office::time;

/// Length of a line ("card").
const CARD_BYTES: usize = 80;
/// Headers and data consist of blocks of this length.
const BLOCK_BYTES: u64 = 2880;
/// Headers that are read, with their data skipped.
const HEADERS_MAX: usize = 64;
/// Blocks of one header.
const BLOCKS_MAX: usize = 1000;

/// Sizes that a header declares, from which follows where the next one begins.
#[derive(Debug, Default)]
struct Shape {
    bits: u64,
    axes: Vec<u64>,
    parameters: u64,
    groups: Option<u64>,
}

impl Shape {
    /// Returns the length of the data in bytes, in whole blocks (section 4.4.1.1, equation 2).
    fn data_bytes(&self) -> u64 {
        if self.axes.is_empty() {
            return 0;
        }
        let elements = self
            .axes
            .iter()
            .fold(1u64, |all, axis| all.saturating_mul(*axis));
        let elements = elements.saturating_add(self.parameters);
        let bytes = elements.saturating_mul(self.groups.unwrap_or(1));
        let bytes = bytes.saturating_mul(self.bits / 8);
        bytes.div_ceil(BLOCK_BYTES).saturating_mul(BLOCK_BYTES)
    }
}

pub(crate) fn run(input: &Input, findings: &mut Findings) {
    let mut reader = input.reader();
    let mut seen = HashSet::new();
    let mut at = 0u64;
    for number in 0..HEADERS_MAX {
        if at >= input.size_bytes() || reader.seek(SeekFrom::Start(at)).is_err() {
            return;
        }
        match header(&mut reader, &mut seen, findings) {
            Some((bytes, shape)) => {
                at = at.saturating_add(bytes).saturating_add(shape.data_bytes());
            }
            // After the last header, a file may have anything.
            None if number > 0 => return,
            None => return damaged("the header has no END", findings),
        }
    }
}

/// Reads one header, and returns its length and what it says about its data.
fn header(
    reader: &mut impl Read,
    seen: &mut HashSet<String>,
    findings: &mut Findings,
) -> Option<(u64, Shape)> {
    let mut shape = Shape::default();
    let mut block = [0; BLOCK_BYTES as usize];
    for number in 1..=BLOCKS_MAX {
        reader.read_exact(&mut block).ok()?;
        if number == 1 && !block.starts_with(b"SIMPLE  =") && !block.starts_with(b"XTENSION=") {
            return None;
        }
        for card in block.chunks_exact(CARD_BYTES) {
            if card.starts_with(b"END     ") {
                return Some((number as u64 * BLOCK_BYTES, shape));
            }
            read_card(card, &mut shape, seen, findings);
        }
    }
    None
}

fn read_card(card: &[u8], shape: &mut Shape, seen: &mut HashSet<String>, findings: &mut Findings) {
    let text: String = card.iter().map(|byte| char::from(*byte)).collect();
    let keyword: String = card[..8].iter().map(|byte| char::from(*byte)).collect();
    let keyword = keyword.trim_end();
    if ["COMMENT", "HISTORY", ""].contains(&keyword) {
        findings.line(text.get(8..).unwrap_or_default().trim());
        return;
    }
    if &card[8..10] != b"= " {
        return;
    }
    let Some(value) = value(&text[10..]) else {
        return;
    };
    note(keyword, &value, shape);
    let name = format!("fits.{}", keyword.to_ascii_lowercase());
    // What a later header says about other data does not replace what the first one says.
    if trawl_hooks::found::is_name(&name) && seen.insert(name.clone()) {
        if let Value::Text(text) = &value {
            findings.line(text);
        }
        let is_time = keyword.starts_with("DATE");
        let value = match &value {
            Value::Text(text) if is_time => time(text).map_or(value, Value::Time),
            _ => value,
        };
        findings.attribute(&name, value);
    }
}

fn note(keyword: &str, value: &Value, shape: &mut Shape) {
    let Value::Integer(number) = value else {
        return;
    };
    let size = number.unsigned_abs();
    match keyword {
        "BITPIX" => shape.bits = size,
        "PCOUNT" => shape.parameters = size,
        "GCOUNT" => shape.groups = Some(size),
        "NAXIS" => {}
        _ if keyword.starts_with("NAXIS") => shape.axes.push(size),
        _ => {}
    }
}

/// Reads a value (section 4.2): a string between quotes, a logical value, or a number; a comment
/// after `/` is no part of it. Complex numbers are left out.
fn value(text: &str) -> Option<Value> {
    let text = text.trim_start();
    if let Some(rest) = text.strip_prefix('\'') {
        // A quote within is doubled.
        let mut string = String::new();
        let mut letters = rest.chars().peekable();
        while let Some(letter) = letters.next() {
            if letter == '\'' && letters.next_if_eq(&'\'').is_none() {
                break;
            }
            string.push(letter);
        }
        return Some(Value::Text(string.trim_end().to_owned()));
    }
    let text = text.split('/').next().unwrap_or_default().trim();
    match text {
        "T" => return Some(Value::Text("true".to_owned())),
        "F" => return Some(Value::Text("false".to_owned())),
        _ => {}
    }
    if let Ok(number) = text.parse() {
        return Some(Value::Integer(number));
    }
    let text = text.replace(['D', 'd'], "E");
    let is_number = text.bytes().all(|byte| b"+-.0123456789E".contains(&byte));
    text.parse().ok().filter(|_| is_number).map(Value::Real)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The forms of section 4.2, with examples from the standard.
    #[test]
    fn values_are_those_of_the_standard() {
        let text = |text: &str| Some(Value::Text(text.to_owned()));
        for (card, found) in [
            ("'O''HARA'", text("O'HARA")),
            (
                "'  keyword string value  '   / comment",
                text("  keyword string value"),
            ),
            (
                "'27/10/82'           / date of file creation",
                text("27/10/82"),
            ),
            ("                   T / file conforms", text("true")),
            ("                 -16 / bits", Some(Value::Integer(-16))),
            ("          1.25750D+1 / m", Some(Value::Real(12.575))),
            (" 1.5E-3", Some(Value::Real(0.0015))),
            ("(1.0, 2.0)", None),
            ("inf", None),
            ("", None),
        ] {
            assert_eq!(value(card), found, "{card}");
        }
    }

    #[test]
    fn data_fills_whole_blocks() {
        let shape = |bits, axes: &[u64], parameters| Shape {
            bits,
            axes: axes.to_vec(),
            parameters,
            groups: Some(1),
        };
        assert_eq!(shape(16, &[], 0).data_bytes(), 0);
        assert_eq!(shape(16, &[100, 100], 0).data_bytes(), 7 * 2880);
        assert_eq!(shape(8, &[2880], 1).data_bytes(), 2 * 2880);
        let huge = shape(64, &[u64::MAX, u64::MAX], 0).data_bytes();
        assert!(huge > 1 << 60, "{huge}");
    }
}
