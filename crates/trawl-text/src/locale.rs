//! The one thing about the locale that changes what is printed or matched:
//! whether text is UTF-8.
//!
//! A locale that is named but not installed counts as "C", as it does after
//! a failed setlocale(3). Languages are not translated.

use std::path::Path;

/// How bytes become characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Locale {
    /// One byte is one character; only ASCII has letters.
    Bytes,
    /// UTF-8.
    Utf8,
}

impl Locale {
    /// The locale that the environment asks for: the first of `LC_ALL`,
    /// `LC_CTYPE` and `LANG` that is set and not empty.
    pub fn from_env() -> Locale {
        let name = ["LC_ALL", "LC_CTYPE", "LANG"]
            .iter()
            .find_map(|key| std::env::var(key).ok().filter(|value| !value.is_empty()));
        match name {
            Some(name) if names_utf8(&name) && is_installed(&name) => Locale::Utf8,
            _ => Locale::Bytes,
        }
    }

    /// True for UTF-8.
    pub const fn is_utf8(self) -> bool {
        matches!(self, Locale::Utf8)
    }
}

fn codeset(name: &str) -> Option<String> {
    let codeset = name.split_once('.')?.1;
    let codeset = codeset.split('@').next().unwrap_or_default();
    Some(codeset.to_ascii_lowercase().replace('-', ""))
}

fn names_utf8(name: &str) -> bool {
    codeset(name).is_some_and(|set| set == "utf8")
}

fn is_installed(name: &str) -> bool {
    let language = name.split('.').next().unwrap_or_default();
    // Built into the C library.
    if matches!(language, "C" | "POSIX") {
        return true;
    }
    let folder = Path::new("/usr/lib/locale");
    folder.join(format!("{language}.utf8")).is_dir()
        || folder.join(name).is_dir()
        || folder.join("locale-archive").is_file()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codesets_are_spelled_in_many_ways() {
        for (name, expected) in [
            ("C.UTF-8", true),
            ("en_US.utf8", true),
            ("de_DE.UTF-8@euro", true),
            ("de_DE", false),
            ("C", false),
            ("de_DE.ISO-8859-1", false),
        ] {
            assert_eq!(names_utf8(name), expected, "{name}");
        }
        assert!(is_installed("C.UTF-8"));
    }
}
