//! The directory of a user's settings.
//!
//! Source: XDG Base Directory Specification, which says that a relative path is invalid and must be
//! ignored, <https://specifications.freedesktop.org/basedir-spec/latest/>

use std::ffi::OsString;
use std::path::PathBuf;

/// The directory of this program in a directory of settings.
const OURS: &str = "trawl";

/// Returns `$XDG_CONFIG_HOME/trawl`, else `$HOME/.config/trawl`. A variable that is empty or a
/// relative path counts as unset; if neither is left, there is no such directory.
#[must_use]
pub fn own() -> Option<PathBuf> {
    of_variables(|name| std::env::var_os(name))
}

/// Returns `.config/trawl` in the home directory of the user's account, for processes that were
/// started without `HOME`. `None` if the account has no home directory.
#[must_use]
pub fn of_account() -> Option<PathBuf> {
    Some(below(absolute(std::env::home_dir()?)?))
}

fn absolute(path: PathBuf) -> Option<PathBuf> {
    path.is_absolute().then_some(path)
}

fn below(home: PathBuf) -> PathBuf {
    home.join(".config").join(OURS)
}

fn of_variables(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let path = |name| absolute(PathBuf::from(variable(name)?));
    let own = path("XDG_CONFIG_HOME").map(|config| config.join(OURS));
    own.or_else(|| path("HOME").map(below))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relative_and_empty_variables_count_as_unset() {
        let found = |config: Option<&str>, home: Option<&str>| {
            let own = of_variables(|name| match name {
                "XDG_CONFIG_HOME" => config.map(OsString::from),
                "HOME" => home.map(OsString::from),
                _ => None,
            });
            own.map(|path| path.to_str().unwrap().to_owned())
        };
        let here = |path: &str| Some(path.to_owned());
        assert_eq!(found(Some("/c"), Some("/h")), here("/c/trawl"));
        assert_eq!(found(Some("/c"), None), here("/c/trawl"));
        for config in [None, Some(""), Some("c"), Some("./c"), Some("../c")] {
            assert_eq!(found(config, Some("/h")), here("/h/.config/trawl"));
            for home in [None, Some(""), Some("h")] {
                assert_eq!(found(config, home), None, "{config:?} {home:?}");
            }
        }
    }
}
