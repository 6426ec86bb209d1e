//! Colours of names by type, from `LS_COLORS` or dircolors(1)'s defaults.
//!
//! The basics: types, executables, setuid, setgid, sticky and writable
//! directories, and `*.suffix` rules. Not: broken links (the index may not
//! hold the target), capabilities, hard links.

use std::collections::HashMap;

use trawl_model::FileType;

use crate::ls::item::Item;

/// The colours in use.
#[derive(Clone, Debug)]
pub(crate) struct Palette {
    kinds: HashMap<String, String>,
    /// Suffix rules, later ones before earlier ones.
    suffixes: Vec<(Vec<u8>, String)>,
}

/// What GNU ls uses when the variable is not set.
const DEFAULTS: &str = "di=01;34:ln=01;36:pi=33:so=01;35:bd=01;33:cd=01;33:ex=01;32:su=37;41:\
                        sg=30;43:st=37;44:ow=34;42:tw=30;42";

impl Palette {
    /// The defaults changed by `LS_COLORS`; parts that make no sense are
    /// passed over.
    pub(crate) fn new(ls_colors: Option<&str>) -> Palette {
        let mut palette = Palette {
            kinds: HashMap::new(),
            suffixes: Vec::new(),
        };
        let rules = DEFAULTS
            .split(':')
            .chain(ls_colors.unwrap_or_default().split(':'));
        for (key, code) in rules.filter_map(|rule| rule.split_once('=')) {
            let plain = code.bytes().all(|b| b.is_ascii_digit() || b == b';');
            if !plain {
                continue;
            }
            match key.strip_prefix('*') {
                Some(suffix) => palette.suffixes.insert(0, (suffix.into(), code.to_owned())),
                None => {
                    palette.kinds.insert(key.to_owned(), code.to_owned());
                }
            }
        }
        palette
    }

    /// `text` in the colour of `item`.
    pub(crate) fn paint(&self, item: &Item, text: &[u8]) -> Vec<u8> {
        let code = self
            .code(item)
            .filter(|code| !matches!(*code, "" | "0" | "00"));
        match code {
            None => text.to_vec(),
            Some(code) => {
                let start = format!("\x1b[{code}m");
                [start.as_bytes(), text, b"\x1b[0m"].concat()
            }
        }
    }

    fn code(&self, item: &Item) -> Option<&str> {
        let mode = item.meta.map_or(0, |meta| meta.mode);
        let special = match item.file_type() {
            FileType::Directory => directory_keys(mode),
            FileType::Regular => regular_keys(mode),
            FileType::Symlink => &["ln"],
            FileType::Fifo => &["pi"],
            FileType::Socket => &["so"],
            FileType::Block => &["bd"],
            FileType::Char => &["cd"],
            FileType::Unknown => &["no"],
        };
        let by_kind = special.iter().find_map(|key| self.kinds.get(*key));
        let found = by_kind.or_else(|| {
            let regular = item.file_type() == FileType::Regular;
            let by_suffix = || {
                let hit = self
                    .suffixes
                    .iter()
                    .find(|(suffix, _)| item.name.ends_with(suffix));
                hit.map(|(_, code)| code)
            };
            regular
                .then(by_suffix)
                .flatten()
                .or_else(|| self.kinds.get("fi"))
        });
        found.map(String::as_str)
    }
}

/// The rules for a directory, the most special first.
fn directory_keys(mode: u32) -> &'static [&'static str] {
    match (mode & 0o1000 != 0, mode & 0o002 != 0) {
        (true, true) => &["tw", "di"],
        (false, true) => &["ow", "di"],
        (true, false) => &["st", "di"],
        (false, false) => &["di"],
    }
}

fn regular_keys(mode: u32) -> &'static [&'static str] {
    if mode & 0o4000 != 0 {
        &["su"]
    } else if mode & 0o2000 != 0 {
        &["sg"]
    } else if mode & 0o111 != 0 {
        &["ex"]
    } else {
        &[]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trawl_model::Meta;

    fn paint(ls_colors: Option<&str>, name: &str, mode: u32) -> String {
        let item = Item {
            meta: Some(Meta {
                mode,
                ..Meta::default()
            }),
            ..Item::unknown(name.as_bytes())
        };
        String::from_utf8(Palette::new(ls_colors).paint(&item, name.as_bytes())).unwrap()
    }

    #[test]
    fn the_defaults_are_those_of_ls() {
        assert_eq!(paint(None, "d", 0o040_755), "\x1b[01;34md\x1b[0m");
        assert_eq!(paint(None, "x", 0o100_755), "\x1b[01;32mx\x1b[0m");
        assert_eq!(paint(None, "t", 0o041_777), "\x1b[30;42mt\x1b[0m");
        assert_eq!(paint(None, "f", 0o100_644), "f");
    }

    #[test]
    fn the_variable_changes_them() {
        let rules = Some("*.c=31:di=0:*.tar.c=32:bad=\x1b[0m:ln");
        assert_eq!(paint(rules, "a.c", 0o100_644), "\x1b[31ma.c\x1b[0m");
        assert_eq!(paint(rules, "a.tar.c", 0o100_644), "\x1b[32ma.tar.c\x1b[0m");
        assert_eq!(paint(rules, "d", 0o040_755), "d");
        assert_eq!(paint(rules, "l", 0o120_777), "\x1b[01;36ml\x1b[0m");
    }
}
