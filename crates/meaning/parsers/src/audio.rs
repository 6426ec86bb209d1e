//! Music and other sound: tags (ID3, Vorbis comments, MP4 and others) and the properties of the
//! stream.

use lofty::config::ParseOptions;
use lofty::file::{AudioFile, TaggedFileExt};
use lofty::probe::Probe;
use lofty::tag::{Accessor, ItemKey, Tag};
use trawl_hooks::Value;
use trawl_hooks::found::Findings;

use crate::input::{Input, damaged, unreadable};

/// Texts, and their attributes.
const TEXTS: &[(ItemKey, &str)] = &[
    (ItemKey::TrackTitle, "title"),
    (ItemKey::TrackArtist, "artist"),
    (ItemKey::AlbumTitle, "album"),
    (ItemKey::AlbumArtist, "album-artist"),
    (ItemKey::Composer, "composer"),
    (ItemKey::Genre, "genre"),
];

pub(crate) fn run(input: &Input, findings: &mut Findings) {
    let mut options = ParseOptions::new();
    options.read_cover_art(false);
    let probe = match Probe::new(input.reader())
        .options(options)
        .guess_file_type()
    {
        Ok(probe) => probe,
        Err(error) => return unreadable(&error, findings),
    };
    let file = match probe.read() {
        Ok(file) => file,
        Err(error) => return damaged(error, findings),
    };
    if let Some(tag) = file.primary_tag().or_else(|| file.first_tag()) {
        tags(tag, findings);
    }
    let properties = file.properties();
    let duration = properties.duration();
    if !duration.is_zero() {
        findings.attribute("duration", Value::Real(duration.as_secs_f64()));
    }
    let numbers = [
        ("sample-rate", properties.sample_rate()),
        ("channels", properties.channels().map(u32::from)),
        ("bit-rate", properties.audio_bitrate()),
    ];
    for (name, number) in numbers {
        if let Some(number) = number {
            findings.attribute(name, Value::Integer(number.into()));
        }
    }
}

fn tags(tag: &Tag, findings: &mut Findings) {
    for (key, name) in TEXTS {
        if let Some(text) = tag.get_string(*key) {
            findings.attribute_text(name, text);
            findings.line(text);
        }
    }
    let year = tag.date().map(|date| u32::from(date.year));
    for (name, number) in [("track", tag.track()), ("disc", tag.disk()), ("year", year)] {
        if let Some(number) = number {
            findings.attribute(name, Value::Integer(number.into()));
        }
    }
    for key in [ItemKey::Comment, ItemKey::Lyrics, ItemKey::UnsyncLyrics] {
        if let Some(text) = tag.get_string(key) {
            findings.line(text);
        }
    }
}
