//! The only property of the locale that changes output or matching: whether its
//! text is UTF-8.
//!
//! A locale that is named but not installed counts as "C", as after a failed
//! setlocale(3). locale(7) describes where locales are searched for. Messages
//! are not translated.

use std::ffi::OsStr;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// How bytes become characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Locale {
    /// One byte is one character; only ASCII bytes are letters.
    Bytes,
    /// UTF-8.
    Utf8,
}

impl Locale {
    /// Returns the locale of the environment: the first of `LC_ALL`, `LC_CTYPE`
    /// and `LANG` that is set and not empty.
    pub fn from_env() -> Locale {
        let name = ["LC_ALL", "LC_CTYPE", "LANG"]
            .iter()
            .find_map(|key| std::env::var(key).ok().filter(|value| !value.is_empty()));
        match name {
            Some(name) if names_utf8(&name) && is_installed(&name) => Locale::Utf8,
            _ => Locale::Bytes,
        }
    }

    /// Returns true for UTF-8.
    pub const fn is_utf8(self) -> bool {
        matches!(self, Locale::Utf8)
    }
}

/// Returns the name's codeset as the C library spells it in the names of
/// directories: `utf8`, `iso88591`.
fn codeset(name: &str) -> Option<String> {
    let codeset = name.split_once('.')?.1;
    let codeset = codeset.split('@').next().unwrap_or_default();
    let kept = codeset.chars().filter(char::is_ascii_alphanumeric);
    let kept: String = kept.map(|c| c.to_ascii_lowercase()).collect();
    let is_number = !kept.is_empty() && kept.bytes().all(|byte| byte.is_ascii_digit());
    Some(if is_number {
        format!("iso{kept}")
    } else {
        kept
    })
}

fn names_utf8(name: &str) -> bool {
    codeset(name).is_some_and(|set| set == "utf8")
}

/// Directories that are searched for locales first.
fn locale_path() -> Option<std::ffi::OsString> {
    std::env::var_os("LOCPATH").filter(|path| !path.is_empty())
}

/// The directory of the system's locales.
const SYSTEM: &str = "/usr/lib/locale";

/// Returns whether the C library has the locale, so that setlocale(3) succeeds.
pub fn is_installed(name: &str) -> bool {
    is_installed_in(name, locale_path().as_deref())
}

/// Looks in the directories of `path`, and in the system's directory, whose
/// archive is searched only if no path is given.
fn is_installed_in(name: &str, path: Option<&OsStr>) -> bool {
    let (language, rest) = name.split_once('.').unwrap_or((name, ""));
    // Built into the C library.
    if matches!(language, "C" | "POSIX") {
        return true;
    }
    let modifier = rest.find('@').map_or("", |at| &rest[at..]);
    let usual = match codeset(name) {
        Some(codeset) => format!("{language}.{codeset}{modifier}"),
        None => name.to_owned(),
    };
    let given = path.map(std::env::split_paths).into_iter().flatten();
    let mut folders = given.chain([PathBuf::from(SYSTEM)]);
    folders.any(|folder| folder.join(&usual).is_dir() || folder.join(name).is_dir())
        || path.is_none() && is_in_archive(&Path::new(SYSTEM).join("locale-archive"), &usual)
}

/// Maximum number of bytes of names read from an archive.
const NAMES_BYTES_MAX: u32 = 4 << 20;

/// Returns whether an archive of locales has one of this name. The archive's
/// header consists of 32-bit numbers; the sixth and seventh are the offset and
/// the length of the names, each of which ends in a NUL (glibc,
/// `locale/locarchive.h`).
fn is_in_archive(archive: &Path, name: &str) -> bool {
    let names = || -> std::io::Result<Vec<u8>> {
        let file = File::open(archive)?;
        let mut header = [0; 28];
        file.read_exact_at(&mut header, 0)?;
        let [.., begin, length] = header.as_chunks::<4>().0 else {
            return Ok(Vec::new());
        };
        let length = u32::from_ne_bytes(*length).min(NAMES_BYTES_MAX);
        let mut names = vec![0; length as usize];
        file.read_exact_at(&mut names, u32::from_ne_bytes(*begin).into())?;
        Ok(names)
    };
    let names = names().unwrap_or_default();
    names
        .split(|byte| *byte == 0)
        .any(|found| found == name.as_bytes())
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
        assert!(is_installed_in("C.UTF-8", None));
    }

    #[test]
    fn a_locale_is_installed_where_the_library_looks() {
        let folder = std::env::temp_dir().join(format!("trawl-locale-{}", std::process::id()));
        for name in ["xx_XX.utf8", "xx_XX.iso88591", "xx_XX.iso885915@euro"] {
            std::fs::create_dir_all(folder.join(name)).expect("a folder of our own");
        }
        let path = Some(folder.as_os_str());
        for name in ["xx_XX.ISO-8859-1", "xx_XX.8859_1", "xx_XX.ISO8859-15@euro"] {
            assert!(is_installed_in(name, path), "{name}");
        }
        assert!(!is_installed_in("xx_XX.ISO-8859-2", path));
        assert!(!is_installed_in("xx_XX", path));
        assert!(is_installed_in("xx_XX.UTF-8", path));
        assert!(!is_installed_in("xx_YY.UTF-8", path));
        assert!(!is_installed_in("xx_XX.UTF-8", None));
        let archive = folder.join("locale-archive");
        let names = b"de_DE.utf8\0fr_FR.utf8@euro\0";
        let numbers = [0xde02_0109, 1, 56, 0, 0, 40, names.len() as u32].map(u32::to_ne_bytes);
        let text = [&numbers.concat()[..], &[0; 12], names].concat();
        std::fs::write(&archive, text).expect("a folder of our own");
        for (name, expected) in [
            ("de_DE.utf8", true),
            ("fr_FR.utf8@euro", true),
            ("fr_FR.utf8", false),
            ("DE.utf8", false),
        ] {
            assert_eq!(is_in_archive(&archive, name), expected, "{name}");
        }
        std::fs::remove_dir_all(&folder).expect("a folder of our own");
    }
}
