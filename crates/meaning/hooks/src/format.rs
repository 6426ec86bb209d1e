//! Formats of files, recognised by their first bytes, and by names where these do not decide.
//!
//! Only bytes are compared here: parsing is done elsewhere.

use serde::{Deserialize, Serialize};

use crate::builtin::Builtin;

/// Number of bytes at the beginning of a file that are looked at.
pub const HEAD_BYTES: usize = 4096;

/// A format that a built-in hook reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[allow(missing_docs, reason = "each is the format of that name")]
pub enum Format {
    Text,
    C,
    Cpp,
    Rust,
    Python,
    JavaScript,
    Go,
    Java,
    Pdf,
    /// Office Open XML: Word, Excel and PowerPoint.
    OfficeOpen,
    /// OpenDocument: LibreOffice and others.
    OpenDocument,
    Epub,
    Html,
    Markdown,
    Mail,
    Picture,
    Audio,
    Zip,
    Tar,
    Gzip,
    Zstandard,
    Fits,
    Parquet,
    Hdf5,
    /// NetCDF's own formats; NetCDF-4 is HDF5.
    #[serde(rename = "netcdf")]
    NetCdf,
}

/// Bytes at the beginning of a file: all of these parts, each at its position.
type Magic = &'static [(usize, &'static [u8])];

/// How a format is recognised, and which hook reads it.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// The format.
    pub format: Format,
    /// MIME type.
    pub mime: &'static str,
    /// Ends of names, in lower case, without the dot.
    pub extensions: &'static [&'static str],
    /// First bytes, of which one must match; none for text that only its name distinguishes.
    magic: &'static [Magic],
    /// The hook.
    pub hook: Builtin,
}

const fn binary(
    format: Format,
    mime: &'static str,
    extensions: &'static [&'static str],
    magic: &'static [Magic],
    hook: Builtin,
) -> Row {
    Row {
        format,
        mime,
        extensions,
        magic,
        hook,
    }
}

const fn text(
    format: Format,
    mime: &'static str,
    extensions: &'static [&'static str],
    hook: Builtin,
) -> Row {
    binary(format, mime, extensions, &[], hook)
}

const ZIP: &[Magic] = &[&[(0, b"PK\x03\x04")], &[(0, b"PK\x05\x06")]];
const MP4: &[Magic] = &[&[(4, b"ftyp")]];
const DOCUMENT: Builtin = Builtin::Document;
const PICTURE: Builtin = Builtin::Picture;
const AUDIO: Builtin = Builtin::Audio;
const ARCHIVE: Builtin = Builtin::Archive;
const DATA: Builtin = Builtin::Data;

/// The formats. Of rows whose first bytes match, the first whose extension matches counts; otherwise
/// the first of them.
#[rustfmt::skip]
pub static FORMATS: &[Row] = &[
    binary(Format::Pdf, "application/pdf", &["pdf"], &[&[(0, b"%PDF-")]], DOCUMENT),
    binary(Format::Zip, "application/zip", &["zip"], ZIP, ARCHIVE),
    binary(Format::Zip, "application/java-archive", &["jar", "war", "apk"], ZIP, ARCHIVE),
    binary(Format::OfficeOpen, "application/vnd.openxmlformats-officedocument.wordprocessingml.document", &["docx", "docm", "dotx"], ZIP, DOCUMENT),
    binary(Format::OfficeOpen, "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", &["xlsx", "xlsm"], ZIP, DOCUMENT),
    binary(Format::OfficeOpen, "application/vnd.openxmlformats-officedocument.presentationml.presentation", &["pptx", "pptm", "ppsx"], ZIP, DOCUMENT),
    binary(Format::OpenDocument, "application/vnd.oasis.opendocument.text", &["odt", "ott"], ZIP, DOCUMENT),
    binary(Format::OpenDocument, "application/vnd.oasis.opendocument.spreadsheet", &["ods", "ots"], ZIP, DOCUMENT),
    binary(Format::OpenDocument, "application/vnd.oasis.opendocument.presentation", &["odp", "otp"], ZIP, DOCUMENT),
    binary(Format::OpenDocument, "application/vnd.oasis.opendocument.graphics", &["odg"], ZIP, DOCUMENT),
    binary(Format::Epub, "application/epub+zip", &["epub"], ZIP, DOCUMENT),
    binary(Format::Gzip, "application/gzip", &["gz", "tgz"], &[&[(0, b"\x1f\x8b\x08")]], ARCHIVE),
    binary(Format::Zstandard, "application/zstd", &["zst", "tzst"], &[&[(0, b"\x28\xb5\x2f\xfd")]], ARCHIVE),
    binary(Format::Tar, "application/x-tar", &["tar"], &[&[(257, b"ustar")]], ARCHIVE),
    binary(Format::Picture, "image/jpeg", &["jpg", "jpeg"], &[&[(0, b"\xff\xd8\xff")]], PICTURE),
    binary(Format::Picture, "image/png", &["png"], &[&[(0, b"\x89PNG\r\n\x1a\n")]], PICTURE),
    binary(Format::Picture, "image/gif", &["gif"], &[&[(0, b"GIF87a")], &[(0, b"GIF89a")]], PICTURE),
    binary(Format::Picture, "image/webp", &["webp"], &[&[(0, b"RIFF"), (8, b"WEBP")]], PICTURE),
    binary(Format::Picture, "image/tiff", &["tif", "tiff", "dng", "nef", "cr2", "arw"], &[&[(0, b"II*\0")], &[(0, b"MM\0*")]], PICTURE),
    binary(Format::Picture, "image/heif", &["heic", "heif", "avif"], &[&[(4, b"ftyphei")], &[(4, b"ftypmif1")], &[(4, b"ftypavif")]], PICTURE),
    binary(Format::Audio, "audio/mpeg", &["mp3"], &[&[(0, b"ID3")], &[(0, b"\xff\xfb")], &[(0, b"\xff\xf3")], &[(0, b"\xff\xf2")]], AUDIO),
    binary(Format::Audio, "audio/flac", &["flac"], &[&[(0, b"fLaC")]], AUDIO),
    binary(Format::Audio, "audio/ogg", &["ogg", "oga", "opus", "spx"], &[&[(0, b"OggS")]], AUDIO),
    binary(Format::Audio, "audio/wav", &["wav"], &[&[(0, b"RIFF"), (8, b"WAVE")]], AUDIO),
    binary(Format::Audio, "audio/aiff", &["aif", "aiff"], &[&[(0, b"FORM"), (8, b"AIFF")]], AUDIO),
    binary(Format::Audio, "audio/mp4", &["m4a", "m4b"], MP4, AUDIO),
    binary(Format::Audio, "video/mp4", &["mp4", "m4v", "mov"], MP4, AUDIO),
    binary(Format::Fits, "image/fits", &["fits", "fit", "fts"], &[&[(0, b"SIMPLE  =")]], DATA),
    binary(Format::Parquet, "application/vnd.apache.parquet", &["parquet"], &[&[(0, b"PAR1")]], DATA),
    binary(Format::Hdf5, "application/x-hdf5", &["h5", "hdf5", "nc4"], &[&[(0, b"\x89HDF\r\n\x1a\n")]], DATA),
    binary(Format::NetCdf, "application/x-netcdf", &["nc", "cdf"], &[&[(0, b"CDF\x01")], &[(0, b"CDF\x02")], &[(0, b"CDF\x05")]], DATA),
    text(Format::C, "text/x-c", &["c", "h"], Builtin::Source),
    text(Format::Cpp, "text/x-c++", &["cc", "cpp", "cxx", "hh", "hpp", "hxx"], Builtin::Source),
    text(Format::Rust, "text/rust", &["rs"], Builtin::Source),
    text(Format::Python, "text/x-python", &["py"], Builtin::Source),
    text(Format::JavaScript, "text/javascript", &["js", "mjs", "cjs", "jsx"], Builtin::Source),
    text(Format::Go, "text/x-go", &["go"], Builtin::Source),
    text(Format::Java, "text/x-java", &["java"], Builtin::Source),
    text(Format::Html, "text/html", &["html", "htm", "xhtml"], Builtin::Markup),
    text(Format::Markdown, "text/markdown", &["md", "markdown"], Builtin::Markup),
    text(Format::Mail, "message/rfc822", &["eml"], Builtin::Mail),
    // Text without a name that says more: always the last row.
    text(Format::Text, "text/plain", &["txt", "log", "csv", "json", "xml"], Builtin::Text),
];

/// MIME type of what is neither text nor of a known format.
const UNKNOWN: &str = "application/octet-stream";

/// The format of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recognised {
    /// MIME type.
    pub mime: &'static str,
    /// The format, and the hook that reads it.
    pub read_by: Option<(Format, Builtin)>,
}

impl Row {
    fn recognised(&self) -> Recognised {
        Recognised {
            mime: self.mime,
            read_by: Some((self.format, self.hook)),
        }
    }

    fn begins(&self, head: &[u8]) -> bool {
        let is_there = |(at, part): &(usize, &[u8])| {
            head.get(*at..).is_some_and(|rest| rest.starts_with(part))
        };
        self.magic.iter().any(|magic| magic.iter().all(is_there))
    }

    fn is_named(&self, extension: &[u8]) -> bool {
        let mut extensions = self.extensions.iter();
        extensions.any(|one| one.as_bytes() == extension)
    }
}

/// Returns the format of a file with these first bytes and this name.
#[must_use]
pub fn recognise(head: &[u8], name: &[u8]) -> Recognised {
    let extension = extension(name);
    let similar = || FORMATS.iter().filter(|row| row.begins(head));
    let named = similar().find(|row| row.is_named(&extension));
    if let Some(row) = named.or_else(|| similar().next()) {
        return row.recognised();
    }
    if !is_text(head) {
        return Recognised {
            mime: UNKNOWN,
            read_by: None,
        };
    }
    let mut texts = FORMATS.iter().filter(|row| row.magic.is_empty());
    let named = texts.clone().find(|row| row.is_named(&extension));
    let looks_like = || match is_web_page(head) {
        true => texts.clone().find(|row| row.format == Format::Html),
        false => None,
    };
    let row = named.or_else(looks_like).or_else(|| texts.next_back());
    row.map_or(
        Recognised {
            mime: UNKNOWN,
            read_by: None,
        },
        Row::recognised,
    )
}

fn extension(name: &[u8]) -> Vec<u8> {
    let dot = name.iter().rposition(|byte| *byte == b'.');
    dot.map_or_else(Vec::new, |dot| name[dot + 1..].to_ascii_lowercase())
}

/// Returns whether bytes may be text: no NUL, or a byte order mark of UTF-16.
#[must_use]
pub fn is_text(head: &[u8]) -> bool {
    head.starts_with(b"\xff\xfe") || head.starts_with(b"\xfe\xff") || !head.contains(&0)
}

fn is_web_page(head: &[u8]) -> bool {
    let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
    let begin = head.trim_ascii_start();
    let begin = &begin[..begin.len().min(14)].to_ascii_lowercase();
    begin.starts_with(b"<!doctype html") || begin.starts_with(b"<html")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_bytes_count_more_than_the_name() {
        let zip = b"PK\x03\x04\x14\0";
        for (head, name, mime) in [
            (&b"%PDF-1.7\n"[..], &b"notes.txt"[..], "application/pdf"),
            (
                zip,
                b"a.docx",
                "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
            ),
            (zip, b"a.unknown", "application/zip"),
            (zip, b"A.ODT", "application/vnd.oasis.opendocument.text"),
            (b"int main(void);", b"a.c", "text/x-c"),
            (b"int main(void);", b"a", "text/plain"),
            (b" <!DOCTYPE HTML><p>", b"page", "text/html"),
            (b"\xff\xfea\0", b"a.txt", "text/plain"),
            (b"\x7fELF\x02\0\0", b"a.c", "application/octet-stream"),
            (b"\x89HDF\r\n\x1a\n\0", b"a.h5", "application/x-hdf5"),
            (b"RIFF\x01\x02\x03\x04WAVEfmt ", b"a", "audio/wav"),
            (b"", b"a", "text/plain"),
        ] {
            assert_eq!(recognise(head, name).mime, mime, "{}", name.escape_ascii());
        }
    }

    #[test]
    fn the_last_row_is_plain_text() {
        assert_eq!(FORMATS[FORMATS.len() - 1].format, Format::Text);
    }
}
