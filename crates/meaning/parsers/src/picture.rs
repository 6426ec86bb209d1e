//! Pictures: their size, and how a photograph was taken (EXIF).

use exif::{DateTime, Exif, In, Reader, Tag};
use trawl_hooks::Value;
use trawl_hooks::found::{Fault, Findings};

use crate::input::Input;

/// Texts, and their attributes.
const TEXTS: &[(Tag, &str)] = &[
    (Tag::LensModel, "lens"),
    (Tag::ImageDescription, "title"),
    (Tag::Artist, "author"),
];

/// Fractions, and their attributes: seconds, the f-number, millimetres.
const FRACTIONS: &[(Tag, &str)] = &[
    (Tag::ExposureTime, "exposure"),
    (Tag::FNumber, "aperture"),
    (Tag::FocalLength, "focal-length"),
];

/// Whole numbers, and their attributes.
const NUMBERS: &[(Tag, &str)] = &[
    (Tag::PhotographicSensitivity, "iso"),
    (Tag::Orientation, "orientation"),
];

pub(crate) fn run(input: &Input, findings: &mut Findings) {
    match imagesize::reader_size(input.reader()) {
        Ok(size) => {
            for (name, pixels) in [("width", size.width), ("height", size.height)] {
                let pixels = i64::try_from(pixels).unwrap_or(i64::MAX);
                findings.attribute(name, Value::Integer(pixels));
            }
        }
        Err(error) => findings.problem(Fault::Damaged, &error.to_string()),
    }
    // The library reads some containers whole.
    if input.size_bytes() > input.limits.input_bytes {
        return findings.exceeded("size of a picture");
    }
    let mut reader = Reader::new();
    reader.continue_on_error(true);
    match reader.read_from_container(&mut input.reader()) {
        Ok(exif) => photograph(&exif, findings),
        Err(exif::Error::PartialResult(partial)) => {
            let (exif, errors) = partial.into_inner();
            photograph(&exif, findings);
            if let Some(error) = errors.first() {
                findings.problem(Fault::Damaged, &error.to_string());
            }
        }
        // Most pictures that are no photographs have none.
        Err(exif::Error::NotFound(_)) => {}
        // Formats that have no place for it.
        Err(exif::Error::InvalidFormat("Unknown image format")) => {}
        Err(error) => findings.problem(Fault::Damaged, &error.to_string()),
    }
}

fn photograph(exif: &Exif, findings: &mut Findings) {
    let maker = text(exif, Tag::Make).unwrap_or_default();
    let model = text(exif, Tag::Model).unwrap_or_default();
    // Many models begin with the maker's name.
    let camera = match model.starts_with(&maker) {
        true => model,
        false => format!("{maker} {model}"),
    };
    findings.attribute_text("camera", &camera);
    for (tag, name) in TEXTS {
        if let Some(text) = text(exif, *tag) {
            findings.attribute_text(name, &text);
        }
    }
    for (tag, name) in FRACTIONS {
        if let Some(number) = fractions(exif, *tag).and_then(|all| all.first().copied()) {
            findings.attribute(name, Value::Real(number));
        }
    }
    for (tag, name) in NUMBERS {
        let field = exif.get_field(*tag, In::PRIMARY);
        if let Some(number) = field.and_then(|field| field.value.get_uint(0)) {
            findings.attribute(name, Value::Integer(number.into()));
        }
    }
    if let Some(ns) = taken(exif) {
        findings.attribute("taken", Value::Time(ns));
    }
    let places = [
        ("latitude", Tag::GPSLatitude, Tag::GPSLatitudeRef, "S"),
        ("longitude", Tag::GPSLongitude, Tag::GPSLongitudeRef, "W"),
    ];
    for (name, tag, side, negative) in places {
        if let Some([degrees, minutes, seconds]) = fractions(exif, tag).as_deref() {
            let place = degrees + minutes / 60.0 + seconds / 3600.0;
            let is_negative = text(exif, side).as_deref() == Some(negative);
            findings.attribute(name, Value::Real(if is_negative { -place } else { place }));
        }
    }
}

fn text(exif: &Exif, tag: Tag) -> Option<String> {
    match &exif.get_field(tag, In::PRIMARY)?.value {
        exif::Value::Ascii(parts) => {
            let first = parts.first()?;
            Some(String::from_utf8_lossy(first).trim().to_owned())
        }
        _ => None,
    }
}

fn fractions(exif: &Exif, tag: Tag) -> Option<Vec<f64>> {
    match &exif.get_field(tag, In::PRIMARY)?.value {
        exif::Value::Rational(all) => Some(all.iter().map(|one| one.to_f64()).collect()),
        _ => None,
    }
}

/// Returns when a photograph was taken. Cameras record their own local time, and only newer ones its
/// distance to UTC, without which UTC is assumed.
fn taken(exif: &Exif) -> Option<i64> {
    let text = text(exif, Tag::DateTimeOriginal).or_else(|| text(exif, Tag::DateTime))?;
    let mut time = DateTime::from_ascii(text.as_bytes()).ok()?;
    if let Some(exif::Value::Ascii(parts)) = exif
        .get_field(Tag::OffsetTimeOriginal, In::PRIMARY)
        .map(|field| &field.value)
        && let Some(offset) = parts.first()
    {
        // Blank if unknown.
        let _ = time.parse_offset(offset);
    }
    let part = |number: u8| i8::try_from(number).ok();
    let civil = jiff::civil::DateTime::new(
        i16::try_from(time.year).ok()?,
        part(time.month)?,
        part(time.day)?,
        part(time.hour)?,
        part(time.minute)?,
        part(time.second)?,
        0,
    );
    let utc = civil.ok()?.to_zoned(jiff::tz::TimeZone::UTC).ok()?;
    let seconds = utc.timestamp().as_second() - i64::from(time.offset.unwrap_or(0)) * 60;
    seconds.checked_mul(1_000_000_000)
}
