//! `--at TIME`: the moment in the past that a question is about.

use trawl_format::SnapshotId;
use trawl_model::Timestamp;
use trawl_query::{AsOf, SnapshotInfo};
use trawl_text::time_style::full_iso;
use trawl_text::zone::Zone;

use crate::now;

/// Word for the newest snapshot.
const LATEST: &str = "latest";

/// Last nanosecond of a second.
const LAST_NANOSECOND: u32 = 999_999_999;

/// Parses the value of `--at`.
///
/// # Errors
/// Says that the value is invalid, and which values are valid.
pub fn parse(text: &str) -> Result<AsOf, String> {
    read(text, now(), &Zone::local())
        .ok_or_else(|| "it is not a time for date(1), a snapshot's id, latest or -N".to_owned())
}

/// Parses a word that may be a time or a path. Returns `None` for a path and for an invalid time. A
/// word with a slash, with a dot at its beginning, or of a single letter (which date(1) takes for a
/// time zone) is a path.
pub fn parse_word(text: &str) -> Option<AsOf> {
    let is_path = text.contains('/') || text.len() < 2 || text.starts_with('.');
    (!is_path).then(|| parse(text).ok()).flatten()
}

fn read(text: &str, now: Timestamp, zone: &Zone) -> Option<AsOf> {
    let text = text.trim();
    if text == LATEST {
        return Some(AsOf::Back(0));
    }
    if let Ok(id) = text.parse::<SnapshotId>() {
        return Some(AsOf::Snapshot(id));
    }
    let digits = text.strip_prefix('-').unwrap_or_default();
    if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return digits.parse().ok().map(AsOf::Back);
    }
    // A date may begin with a signed number; a sign without a number is a typing error.
    let is_sign = text.starts_with('-') && !digits.starts_with(|c: char| c.is_ascii_digit());
    if text.is_empty() || is_sign {
        return None;
    }
    let time = trawl_text::date::parse(text.as_bytes(), now, zone)?;
    Some(AsOf::Time(match time.nanos {
        // Times are shown without fractions, so the whole second is meant.
        0 if !text.contains(['.', ',']) => Timestamp {
            nanos: LAST_NANOSECOND,
            ..time
        },
        _ => time,
    }))
}

/// Describes `as_of` so that it completes "there is no snapshot …".
pub fn described(as_of: AsOf) -> String {
    match as_of {
        AsOf::Time(time) => format!("that began by {}", time_text(time)),
        AsOf::Snapshot(id) => format!("with the id {id}"),
        AsOf::Back(0) | AsOf::Now => "at all".to_owned(),
        AsOf::Back(steps) => format!("{steps} before the newest"),
    }
}

/// Returns a time as messages show it.
pub fn time_text(time: Timestamp) -> String {
    let mut text = String::new();
    full_iso(&mut text, time, &Zone::local());
    text
}

/// Explains why a source with these snapshots, oldest first, has no answer as of `as_of`.
pub fn why_none(as_of: AsOf, snapshots: &[SnapshotInfo]) -> String {
    let of_these = match snapshots {
        [] => String::new(),
        [only] => format!("; its only one began {}", time_text(only.started)),
        [first, .., last] => format!(
            "; the oldest of its {} began {}, the newest {}",
            snapshots.len(),
            time_text(first.started),
            time_text(last.started)
        ),
    };
    format!("it has no snapshot {}{of_these}", described(as_of))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_ids_and_steps_are_told_apart() {
        let now = Timestamp {
            secs: 1_000_000,
            nanos: 5,
        };
        let read = |text| read(text, now, &Zone::utc());
        let at = |secs, nanos| Some(AsOf::Time(Timestamp { secs, nanos }));
        assert_eq!(read("latest"), Some(AsOf::Back(0)));
        assert_eq!(read("-2"), Some(AsOf::Back(2)));
        let id = SnapshotId(0x18c1);
        assert_eq!(read("00000000000018c1"), Some(AsOf::Snapshot(id)));
        assert_eq!(read("@77"), at(77, LAST_NANOSECOND));
        assert_eq!(read("@77.0"), at(77, 0));
        assert_eq!(read("@77.5"), at(77, 500_000_000));
        assert_eq!(read("1970-01-02 00:00"), at(86_400, LAST_NANOSECOND));
        assert_eq!(read("now"), Some(AsOf::Time(now)));
        assert!(matches!(read("1 day ago"), Some(AsOf::Time(_))));
        for text in ["", "no time", "--2", "-", "-x", "-99999999999999999999999"] {
            assert_eq!(read(text), None, "{text}");
        }
    }

    #[test]
    fn words_with_slashes_and_letters_are_paths() {
        for text in ["/yesterday", "./now", "a", ".", "..", "src"] {
            assert_eq!(parse_word(text), None, "{text}");
        }
        assert_eq!(parse_word("-1"), Some(AsOf::Back(1)));
        assert!(parse_word("yesterday").is_some());
    }
}
