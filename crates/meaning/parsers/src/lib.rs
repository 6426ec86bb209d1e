//! Built-in hooks: parsers of hostile files, from maintained libraries, and the loop in which a
//! worker runs them.
//!
//! | module | hook | libraries |
//! |---|---|---|
//! | `text` | `text` | encoding_rs, chardetng |
//! | `source`, `outline` | `source` | tree-sitter and its grammars |
//! | `pdf`, `office` | `document` | pdf-extract; zip, quick-xml |
//! | `markup` | `markup` | html5gum, pulldown-cmark |
//! | `mail` | `mail` | mail-parser |
//! | `picture` | `picture` | kamadak-exif, imagesize |
//! | `audio` | `audio` | lofty |
//! | `archive` | `archive` | zip, tar, flate2, zstd |
//! | `data` | `data` | parquet, hdf5-reader, netcdf-reader; FITS is read here |
//!
//! Invariants: only a worker links this crate, never a daemon (`xtask/tests/dependencies.rs`); a
//! parser reads through [`Input`], which bounds it, and reports through
//! [`Findings`](trawl_hooks::found::Findings), which bound what it finds. A parser may still panic,
//! exhaust memory or never end: the worker or its parent then ends it.

#![forbid(unsafe_code)]

mod archive;
mod audio;
mod data;
mod input;
mod mail;
mod markup;
mod office;
mod outline;
mod pdf;
mod picture;
mod source;
mod text;
mod worker;

use std::fs::File;

use trawl_hooks::Limits;
use trawl_hooks::builtin::Builtin;
use trawl_hooks::format::Format;
use trawl_hooks::found::{Extracted, Findings};

use input::Input;
pub use worker::serve;

/// Returns what the hook `hook` finds in a file, in this process. Panics of libraries pass through.
#[must_use]
pub fn parse(
    hook: Builtin,
    format: Format,
    file: File,
    size_bytes: u64,
    limits: &Limits,
) -> Extracted {
    let mut findings = Findings::new(hook.name(), limits);
    let input = Input::new(file, size_bytes, *limits);
    run(format, &input, &mut findings);
    findings.finish()
}

fn run(format: Format, input: &Input, findings: &mut Findings) {
    match format {
        Format::Text => text::run(input, findings),
        Format::C
        | Format::Cpp
        | Format::Rust
        | Format::Python
        | Format::JavaScript
        | Format::Go
        | Format::Java => source::run(format, input, findings),
        Format::Pdf => pdf::run(input, findings),
        Format::OfficeOpen => office::run(office::Kind::OfficeOpen, input, findings),
        Format::OpenDocument => office::run(office::Kind::OpenDocument, input, findings),
        Format::Epub => office::run(office::Kind::Epub, input, findings),
        Format::Html => markup::html(input, findings),
        Format::Markdown => markup::markdown(input, findings),
        Format::Mail => mail::run(input, findings),
        Format::Picture => picture::run(input, findings),
        Format::Audio => audio::run(input, findings),
        Format::Zip => archive::zip(input, findings),
        Format::Tar => archive::tar(input, findings),
        Format::Gzip => archive::gzip(input, findings),
        Format::Zstandard => archive::zstandard(input, findings),
        Format::Fits => data::fits::run(input, findings),
        Format::Parquet => data::parquet(input, findings),
        Format::Hdf5 => data::arrays::hdf5(input, findings),
        Format::NetCdf => data::arrays::netcdf(input, findings),
    }
}
