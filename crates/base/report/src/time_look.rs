//! Format of times in `ls` and `du`: the styles of `--time-style` and of the variable `TIME_STYLE`.

use std::ffi::OsString;

use trawl_model::Timestamp;
use trawl_text::date_format;
use trawl_text::zone::Zone;

/// Half a Gregorian year: ls shows times older than this in another format.
const HALF_YEAR_SECS: i64 = 31_556_952 / 2;

/// Formats for old and recent times.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimeLook {
    old: String,
    recent: String,
}

const FULL_ISO: &str = "%Y-%m-%d %H:%M:%S.%N %z";
const LONG_ISO: &str = "%Y-%m-%d %H:%M";

impl TimeLook {
    /// Returns the format `Nov  5 12:34`, with the year in place of the time of day for old times.
    pub fn locale() -> TimeLook {
        TimeLook {
            old: "%b %e  %Y".into(),
            recent: "%b %e %H:%M".into(),
        }
    }

    fn always(format: &str) -> TimeLook {
        TimeLook {
            old: format.into(),
            recent: format.into(),
        }
    }

    /// Returns the format for `ls --time-style`, or without the option the format in the variable.
    /// A locale that is not installed counts as the POSIX one.
    ///
    /// # Errors
    /// Describes an unknown style.
    pub fn of_ls(
        style: Option<&str>,
        get: &dyn Fn(&str) -> Option<OsString>,
        is_installed: &dyn Fn(&str) -> bool,
    ) -> Result<TimeLook, String> {
        let Some(mut style) = style.map(String::from).or_else(|| variable(get)) else {
            return Ok(TimeLook::locale());
        };
        // Styles with this prefix apply only in locales other than the POSIX one.
        while let Some(rest) = style.strip_prefix("posix-") {
            if !has_language(get, is_installed) {
                return Ok(TimeLook::locale());
            }
            style = rest.to_owned();
        }
        if let Some(format) = style.strip_prefix('+') {
            let (old, recent) = format.split_once('\n').unwrap_or((format, format));
            return match recent.contains('\n') && old != recent {
                true => Err(format!(
                    "{style:?} is not a time style: use two lines at most"
                )),
                false => Ok(TimeLook {
                    old: old.into(),
                    recent: recent.into(),
                }),
            };
        }
        let names = ["full-iso", "long-iso", "iso", "locale"];
        match one_of(&names, &style) {
            Some("full-iso") => Ok(TimeLook::always(FULL_ISO)),
            Some("long-iso") => Ok(TimeLook::always(LONG_ISO)),
            Some("iso") => Ok(TimeLook {
                old: "%Y-%m-%d ".into(),
                recent: "%m-%d %H:%M".into(),
            }),
            Some("locale") => Ok(TimeLook::locale()),
            _ => Err(no_style(
                &style,
                "full-iso, long-iso, iso, locale or +FORMAT",
            )),
        }
    }

    /// Returns the format for `du --time-style`, or without the option the format in the variable.
    ///
    /// # Errors
    /// Describes an unknown style.
    pub fn of_du(
        style: Option<&str>,
        get: &dyn Fn(&str) -> Option<OsString>,
    ) -> Result<TimeLook, String> {
        let from_variable = || {
            let style = variable(get)?;
            if let Some(format) = style.strip_prefix('+') {
                let first = format.split('\n').next().unwrap_or_default();
                return Some(format!("+{first}"));
            }
            let style = style.trim_start_matches("posix-");
            // Unlike ls, du has no locale style.
            Some(style.to_owned()).filter(|style| style != "locale")
        };
        let Some(style) = style.map(String::from).or_else(from_variable) else {
            return Ok(TimeLook::always(LONG_ISO));
        };
        if let Some(format) = style.strip_prefix('+') {
            return Ok(TimeLook::always(format));
        }
        match one_of(&["full-iso", "long-iso", "iso"], &style) {
            Some("full-iso") => Ok(TimeLook::always(FULL_ISO)),
            Some("long-iso") => Ok(TimeLook::always(LONG_ISO)),
            Some("iso") => Ok(TimeLook::always("%Y-%m-%d")),
            _ => Err(no_style(&style, "full-iso, long-iso, iso or +FORMAT")),
        }
    }

    /// Formats a time.
    pub fn show(&self, time: Timestamp, now: Timestamp, zone: &Zone) -> String {
        let is_recent = now.minus_secs(HALF_YEAR_SECS) < time && time < now;
        let format = if is_recent { &self.recent } else { &self.old };
        let mut out = String::new();
        date_format::format(&mut out, format, time, zone);
        out
    }

    /// Returns the number of columns that an old time takes.
    pub fn expected_width(&self, zone: &Zone) -> usize {
        let mut out = String::new();
        date_format::format(&mut out, &self.old, Timestamp::default(), zone);
        out.chars().count()
    }
}

fn no_style(style: &str, styles: &str) -> String {
    format!("{style:?} is not a time style: use {styles}")
}

fn variable(get: &dyn Fn(&str) -> Option<OsString>) -> Option<String> {
    get("TIME_STYLE")?.into_string().ok()
}

/// Returns true if the environment sets a locale other than the POSIX one.
fn has_language(
    get: &dyn Fn(&str) -> Option<OsString>,
    is_installed: &dyn Fn(&str) -> bool,
) -> bool {
    let mut names = ["LC_ALL", "LC_TIME", "LANG"].into_iter();
    let locale = names.find_map(|name| get(name).filter(|value| !value.is_empty()));
    let locale = locale.as_deref().map(|locale| locale.to_string_lossy());
    locale.is_some_and(|locale| locale != "C" && locale != "POSIX" && is_installed(&locale))
}

/// Returns the word that `given` is or unambiguously abbreviates.
pub fn one_of<'a>(words: &[&'a str], given: &str) -> Option<&'a str> {
    if let Some(exact) = words.iter().find(|word| **word == given) {
        return Some(exact);
    }
    let mut begun = words.iter().filter(|word| word.starts_with(given));
    let first = begun.next().filter(|_| !given.is_empty())?;
    begun.next().is_none().then_some(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn env(name: &str, value: &str) -> impl Fn(&str) -> Option<OsString> {
        let (name, value) = (name.to_owned(), OsString::from(value));
        move |asked| (asked == name).then(|| value.clone())
    }

    #[test]
    fn styles_come_from_the_option_or_the_variable() {
        let none = |_: &str| None;
        let all = |_: &str| true;
        let iso = TimeLook::of_ls(Some("long"), &none, &all).unwrap();
        assert_eq!(iso, TimeLook::always(LONG_ISO));
        let get = env("TIME_STYLE", "posix-long-iso");
        assert_eq!(TimeLook::of_ls(None, &get, &all), Ok(TimeLook::locale()));
        assert_eq!(TimeLook::of_du(None, &get), Ok(TimeLook::always(LONG_ISO)));
        let get = env("TIME_STYLE", "+%s\n%d");
        assert_eq!(TimeLook::of_du(None, &get), Ok(TimeLook::always("%s")));
        assert_eq!(TimeLook::of_ls(None, &get, &all).unwrap().recent, "%d");
        let get = env("LC_ALL", "en_XX.UTF-8");
        for (is_installed, expected) in [
            (true, TimeLook::always(LONG_ISO)),
            (false, TimeLook::locale()),
        ] {
            let found = TimeLook::of_ls(Some("posix-long-iso"), &get, &|_| is_installed);
            assert_eq!(found, Ok(expected));
        }
        for style in ["", "x", "+a\nb\nc"] {
            assert!(
                TimeLook::of_ls(Some(style), &none, &all).is_err(),
                "{style}"
            );
        }
    }
}
