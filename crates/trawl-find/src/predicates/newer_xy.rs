//! `-newerXY`: time X of the entry is later than time Y of a named file.

use trawl_model::ColumnSet;

use crate::age::{Newer, Which};
use crate::error::FindError;
use crate::leaf::Leaf;
use crate::parser::Arguments;
use crate::predicate::{Cost, Kind, Parse, Predicate, Standard};

/// The predicate. Its name stands for all letters X and Y.
pub(crate) static NEWER_XY: Predicate = Predicate {
    name: "-newerXY",
    aliases: &[],
    args: "FILE",
    kind: Kind::Test,
    help: "time X (a, B, c, m) is later than time Y of FILE; for Y = t, FILE is @SECONDS",
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

/// A time given in words: so far, seconds since 1970 behind an `@`.
fn moment(args: &mut Arguments<'_>) -> Result<trawl_model::Timestamp, FindError> {
    let text = args.value()?;
    let shown = String::from_utf8_lossy(text).into_owned();
    let secs = shown
        .strip_prefix('@')
        .and_then(|digits| digits.parse().ok());
    match secs {
        Some(secs) => Ok(trawl_model::Timestamp { secs, nanos: 0 }),
        None => {
            let quoted = args.quoted(text);
            let reason = format!(
                "I cannot figure out how to interpret {quoted} as a date or time; \
                 give it as @SECONDS since 1970, as `date +@%s -d …` prints it"
            );
            Err(FindError::bad("-newerXY", reason))
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{NOW, Spec, error_of, matches};

    /// `here` was last changed 100 seconds ago and last read 50 seconds ago.
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
        ] {
            let spec = Spec::default().mtime_ago(age_secs);
            assert_eq!(matches(&words, &spec), expected, "{words} {age_secs}");
        }
        assert_eq!(error_of("-newerxy here"), "invalid predicate `-newerxy'");
        assert_eq!(error_of("-newerXY here"), "invalid predicate `-newerXY'");
        assert!(error_of("-newermt foo").starts_with("I cannot figure out how to interpret ‘foo’"));
    }
}
