//! `-newerXY`: has a time X that is later than time Y of a named file.

use trawl_model::{ColumnSet, Timestamp};
use trawl_text::date;

use crate::age::{Newer, Which};
use crate::error::FindError;
use crate::leaf::Leaf;
use crate::parser::Arguments;
use crate::predicate::{Cost, Kind, Parse, Predicate, Standard};

/// The `-newerXY` predicate. Its name stands for every pair of letters X and Y.
pub(crate) static NEWER_XY: Predicate = Predicate {
    name: "-newerXY",
    aliases: &[],
    args: "FILE",
    kind: Kind::Test,
    help: "has time X (a, B, c, m) later than time Y of FILE; if Y is t, FILE is a date",
    cost: Cost::Number,
    columns: ColumnSet::EMPTY,
    standard: Standard::Gnu,
    parse: Parse::Leaf(parse),
};

fn which(letter: u8) -> Option<Which> {
    Some(match letter {
        b'a' => Which::Access,
        b'B' => Which::Birth,
        b'c' => Which::Change,
        b'm' => Which::Modification,
        _ => return None,
    })
}

fn parse(args: &mut Arguments<'_>) -> Result<Box<dyn Leaf>, FindError> {
    let name = args.spelled();
    let invalid = || FindError::bad("-newerXY", format!("invalid predicate `{name}'"));
    let letters = name.as_bytes();
    let (Some(x), Some(y)) = (letters.get(6), letters.get(7)) else {
        return Err(invalid());
    };
    let of_row = which(*x).ok_or_else(invalid)?;
    let than = if *y == b't' {
        moment(args)?
    } else {
        let of_file = which(*y).ok_or_else(invalid)?;
        let file = args.reference("-newerXY")?;
        match of_file {
            Which::Access => file.atime,
            Which::Birth => file.btime.ok_or_else(invalid)?,
            Which::Change => file.ctime,
            Which::Modification => file.mtime,
        }
    };
    Ok(Box::new(Newer {
        which: of_row,
        than,
    }))
}

/// Parses the argument as a date.
fn moment(args: &mut Arguments<'_>) -> Result<Timestamp, FindError> {
    let name = args.spelled();
    let text = args.value().map_err(|_| {
        let name = args.quoted(name.as_bytes());
        FindError::bad("-newerXY", format!("The {name} test needs an argument"))
    })?;
    date::parse(text, args.env.now, &(args.env.zone)()).ok_or_else(|| {
        let quoted = args.quoted(text);
        let reason = format!("I cannot figure out how to interpret {quoted} as a date or time");
        FindError::bad("-newerXY", reason)
    })
}

#[cfg(test)]
mod tests {
    use crate::testing::{NOW, Spec, error_of, matches};

    /// `here` was last modified 100 seconds ago and last accessed 50 seconds
    /// ago.
    #[test]
    fn any_time_is_compared_with_any() {
        let moment = NOW.secs - 10;
        for (words, age_secs, expected) in [
            ("-newermm here".to_owned(), 99, true),
            ("-newermm here".to_owned(), 100, false),
            ("-newerma here".to_owned(), 99, false),
            ("-newerma here".to_owned(), 49, true),
            (format!("-newermt @{moment}"), 9, true),
            (format!("-newermt @{moment}"), 11, false),
            ("-newermt yesterday".to_owned(), 86_399, true),
            ("-newermt yesterday".to_owned(), 86_401, false),
            ("-newerat 2000-01-01T00:00Z".to_owned(), 50, true),
        ] {
            let spec = Spec::default().mtime_ago(age_secs);
            assert_eq!(matches(&words, &spec), expected, "{words} {age_secs}");
        }
        assert_eq!(error_of("-newerxy here"), "invalid predicate `-newerxy'");
        assert_eq!(error_of("-newerXY here"), "invalid predicate `-newerXY'");
        let unread = "I cannot figure out how to interpret ‘foo’ as a date or time";
        assert_eq!(error_of("-newermt foo"), unread);
        assert_eq!(
            error_of("-newermt"),
            "The ‘-newermt’ test needs an argument"
        );
    }
}
