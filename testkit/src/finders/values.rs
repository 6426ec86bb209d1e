//! Draws arguments of tests from the tree: names, sizes, times, owners and modes that match some
//! entry, or just miss it.

use std::ffi::OsStr;
use std::fs::Metadata;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::case::Word;
use super::plan::Plan;
use crate::prng::Prng;

/// Attributes of the entries of a tree, as the file system reports them.
#[derive(Debug)]
pub struct Values {
    /// The tree's absolute path.
    pub root: PathBuf,
    /// The time from which ages are counted.
    pub present_seconds: i64,
    facts: Vec<Facts>,
}

/// One entry.
#[derive(Debug)]
struct Facts {
    /// Relative to the tree's root.
    path: Word,
    name: Word,
    target: Option<Word>,
    meta: Metadata,
}

/// The longest path that is used as a word; a start point may make it longer.
const LONGEST_BYTES: usize = 3_500;
const REGEX_SPECIAL: &[u8] = b".*+?[]^$\\(){}|";

impl Values {
    /// Reads the attributes of a tree that was built in `root`.
    pub fn read(root: &Path, plan: &Plan) -> Values {
        let facts = plan.nodes.iter().filter_map(|node| {
            let path = plan.path(node);
            let full = root.join(OsStr::from_bytes(&path));
            let short = path.len() <= LONGEST_BYTES;
            let meta = full.symlink_metadata().ok().filter(|_| short)?;
            let target = std::fs::read_link(&full).ok();
            Some(Facts {
                name: node.name.clone(),
                target: target.map(|t| t.into_os_string().into_encoded_bytes()),
                path,
                meta,
            })
        });
        Values {
            root: root.to_path_buf(),
            present_seconds: plan.present_seconds,
            facts: facts.collect(),
        }
    }

    fn any(&self, prng: &mut Prng) -> Option<&Facts> {
        (!self.facts.is_empty()).then(|| prng.pick(&self.facts))
    }

    fn meta(&self, prng: &mut Prng) -> Option<&Metadata> {
        self.any(prng).map(|facts| &facts.meta)
    }

    /// Draws the path of an entry relative to the root, or a path that does not exist.
    pub fn path(&self, prng: &mut Prng) -> Word {
        match self.any(prng) {
            Some(facts) if !prng.once_in(40) => facts.path.clone(),
            _ => b"no/such/path".to_vec(),
        }
    }

    /// Draws the path of a file or directory, which can be opened without blocking.
    pub fn openable(&self, prng: &mut Prng) -> Word {
        let opens = |facts: &&Facts| facts.meta.is_file() || facts.meta.is_dir();
        let list: Vec<&Facts> = self.facts.iter().filter(opens).collect();
        if list.is_empty() {
            return b".".to_vec();
        }
        dotted(&prng.pick(&list).path)
    }

    /// Draws the path of an entry as the argument of `-newer`.
    pub fn reference(&self, prng: &mut Prng) -> Word {
        dotted(&self.path(prng))
    }

    /// Draws a pattern for a name.
    pub fn glob(&self, prng: &mut Prng) -> Word {
        match self.any(prng) {
            Some(facts) if !prng.once_in(3) => glob_of(prng, &facts.name),
            _ => prng.word(GLOBS).as_bytes().to_vec(),
        }
    }

    /// Draws a pattern for a link's target.
    pub fn target_glob(&self, prng: &mut Prng) -> Word {
        let targets: Vec<&Word> = self
            .facts
            .iter()
            .filter_map(|f| f.target.as_ref())
            .collect();
        if targets.is_empty() || prng.once_in(3) {
            return prng.word(GLOBS).as_bytes().to_vec();
        }
        let target = (*prng.pick(&targets)).clone();
        glob_of(prng, &target)
    }

    /// Draws a pattern for a path.
    pub fn path_glob(&self, prng: &mut Prng) -> Word {
        let path = self.path(prng);
        let pattern = glob_of(prng, &path);
        let front: &[u8] = prng.word(&["./", "*", "*", "*/", ""]).as_bytes();
        [front, &pattern].concat()
    }

    /// Draws a regular expression for a path, in a dialect with or without bare operators.
    pub fn regex(&self, prng: &mut Prng, extended: bool) -> Word {
        let list = if extended { EXTENDED } else { BASIC };
        match self.any(prng) {
            Some(facts) if prng.once_in(3) => {
                let literal = facts.name.iter().flat_map(|&byte| match byte {
                    // Dialects differ in their special characters; a class is the same in all of
                    // them.
                    b'^' | b'\\' | b'[' | b']' | b'\n' | 0x80.. => b".".to_vec(),
                    _ if REGEX_SPECIAL.contains(&byte) => vec![b'[', byte, b']'],
                    _ => vec![byte],
                });
                b".*/".iter().copied().chain(literal).collect()
            }
            _ => prng.word(list).as_bytes().to_vec(),
        }
    }

    /// Draws a size in some unit, near a limit.
    pub fn size(&self, prng: &mut Prng) -> Word {
        let size = self.meta(prng).map_or(0, MetadataExt::size);
        let (unit, bytes) = *prng.pick(&[
            ("c", 1),
            ("w", 2),
            ("b", 512),
            ("", 512),
            ("k", 1 << 10),
            ("M", 1 << 20),
            ("G", 1 << 30),
        ]);
        let count = near(prng, size.div_ceil(bytes));
        format!("{}{count}{unit}", sign(prng)).into_bytes()
    }

    /// Draws a number that some entry has, or one near it.
    pub fn number(&self, prng: &mut Prng, of: impl Fn(&Metadata) -> u64) -> Word {
        let value = self.meta(prng).map_or(0, of);
        format!("{}{}", sign(prng), near(prng, value)).into_bytes()
    }

    /// Draws an inode number.
    pub fn inode(&self, prng: &mut Prng) -> Word {
        let value = self.meta(prng).map_or(1, MetadataExt::ino);
        format!("{}{value}", sign(prng)).into_bytes()
    }

    /// Draws an age in units of `unit_seconds`, sometimes with a fraction.
    pub fn age(&self, prng: &mut Prng, unit_seconds: i64) -> Word {
        let Some(meta) = self.meta(prng) else {
            return b"0".to_vec();
        };
        let time = *prng.pick(&[meta.mtime(), meta.atime()]);
        let seconds = self.present_seconds.saturating_sub(time);
        let count = seconds.div_euclid(unit_seconds) + prng.below(3) as i64 - 1;
        // Negative ages cannot be written.
        let count = count.max(0);
        let fraction: &str = prng.word(&["", "", "", "", ".5", ".25"]);
        format!("{}{count}{fraction}", sign(prng)).into_bytes()
    }

    /// Draws a date in a form that GNU date reads.
    pub fn date(&self, prng: &mut Prng) -> Word {
        if prng.once_in(3) {
            return prng.word(DATES).as_bytes().to_vec();
        }
        let time = self.meta(prng).map_or(0, MetadataExt::mtime);
        let (year, month, day) = civil(time.div_euclid(86_400));
        let second = time.rem_euclid(86_400);
        let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
        let date = format!("{year:04}-{month:02}-{day:02}");
        let text = match prng.below(5) {
            0 => format!("@{time}"),
            1 => date,
            2 => format!("{date} {hour:02}:{minute:02}"),
            3 => format!("{date}T{hour:02}:{minute:02}:{second:02}Z"),
            _ => format!("{date} {hour:02}:{minute:02}:{second:02}"),
        };
        text.into_bytes()
    }

    /// Draws a mode in one of its forms.
    pub fn mode(&self, prng: &mut Prng) -> Word {
        let mode = self.meta(prng).map_or(0o644, |meta| meta.mode() & 0o7777);
        let front: &str = prng.word(&["", "", "-", "-", "/", "/"]);
        let text = match prng.below(8) {
            0..2 => format!("{front}{mode:o}"),
            2 => format!("{front}{mode:04o}"),
            3 => format!("{front}{:o}", 1u32 << prng.below(12)),
            4 => {
                let part = |shift: u32| {
                    let bits = [(4, "r"), (2, "w"), (1, "x")];
                    let has = |bit: &(u32, &str)| mode >> shift & bit.0 != 0;
                    bits.iter()
                        .filter(|bit| has(bit))
                        .map(|bit| bit.1)
                        .collect::<String>()
                };
                format!("{front}u={},g={},o={}", part(6), part(3), part(0))
            }
            _ => format!("{front}{}", prng.word(SYMBOLIC)),
        };
        text.into_bytes()
    }

    /// Draws a user or a group, by name or number.
    pub fn owner(&self, prng: &mut Prng) -> Word {
        match prng.below(12) {
            0..2 => b"root".to_vec(),
            2 => b"daemon".to_vec(),
            3 if prng.once_in(4) => b"nobody-of-that-name".to_vec(),
            4 => b"+0".to_vec(),
            _ => {
                let meta = self.meta(prng);
                meta.map_or(0, Metadata::uid).to_string().into_bytes()
            }
        }
    }

    /// Draws a start point, spelled in one of many ways; the tree is the working directory.
    pub fn start(&self, prng: &mut Prng) -> Word {
        let root = self.root.as_os_str().as_encoded_bytes();
        match prng.below(24) {
            0..7 => b".".to_vec(),
            7 => b"./".to_vec(),
            8 => b"..".to_vec(),
            9 => b"../tree".to_vec(),
            10 => b"../beside//".to_vec(),
            11 => root.to_vec(),
            12 => [root, b"/", &self.path(prng)].concat(),
            13 => b"no such start".to_vec(),
            14 if prng.once_in(3) => Vec::new(),
            15 => [&dotted(&self.path(prng))[..], b"/"].concat(),
            16 => [&dotted(&self.path(prng))[..], b"//"].concat(),
            17 => [&dotted(&self.path(prng))[..], b"/."].concat(),
            18 => [&dotted(&self.path(prng))[..], b"/.."].concat(),
            19 => self.link(prng),
            20 => self.path(prng),
            _ => dotted(&self.path(prng)),
        }
    }

    fn link(&self, prng: &mut Prng) -> Word {
        let is_link = |facts: &&Facts| facts.meta.file_type().is_symlink();
        let links: Vec<&Facts> = self.facts.iter().filter(is_link).collect();
        if links.is_empty() {
            return b".".to_vec();
        }
        let end: &[u8] = prng.word(&["", "", "/", "/."]).as_bytes();
        [&dotted(&prng.pick(&links).path)[..], end].concat()
    }

    /// Draws a start point that lies in the tree whatever the tree's name is.
    pub fn inner_start(&self, prng: &mut Prng) -> Word {
        match prng.below(4) {
            0 => dotted(&self.path(prng)),
            1 => b"./".to_vec(),
            _ => b".".to_vec(),
        }
    }
}

fn dotted(path: &[u8]) -> Word {
    [b"./", path].concat()
}

fn sign(prng: &mut Prng) -> &'static str {
    prng.word(&["", "", "+", "-"])
}

fn near(prng: &mut Prng, value: u64) -> u64 {
    (value + prng.below(3)).saturating_sub(1)
}

/// Makes a pattern of a name: itself, shortened, or with wildcards.
fn glob_of(prng: &mut Prng, name: &[u8]) -> Word {
    let escaped = |bytes: &[u8]| -> Word {
        let each = bytes.iter().flat_map(|&byte| match byte {
            b'*' | b'?' | b'[' | b'\\' => vec![b'\\', byte],
            _ => vec![byte],
        });
        each.collect()
    };
    let at = prng.below(name.len() as u64 + 1) as usize;
    match prng.below(6) {
        0 => name.to_vec(),
        1 => escaped(name),
        2 => [&escaped(&name[..at])[..], b"*"].concat(),
        3 => [b"*", &escaped(&name[at..])[..]].concat(),
        4 if at > 0 => [&escaped(&name[..at - 1])[..], b"?", &escaped(&name[at..])].concat(),
        _ => [
            b"*",
            &escaped(&name[at..at + name.len().min(at + 1) - at])[..],
            b"*",
        ]
        .concat(),
    }
}

/// Returns the year, month and day of a day since 1970: the Gregorian calendar counted in eras of
/// 400 years from the first of March of year 0.
fn civil(day: i64) -> (i64, i64, i64) {
    let day = day + 719_468;
    let (era, of_era) = (day.div_euclid(146_097), day.rem_euclid(146_097));
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (era * 400 + year + i64::from(month <= 2), month, day)
}

const GLOBS: &[&str] = &[
    "*",
    "a*",
    "*a",
    "*a*",
    "?",
    "??",
    "[ab]*",
    "[!a]*",
    "[^a]*",
    "*[[:alpha:]]",
    "*\\**",
    "é*",
    "*é*",
    "*.*",
    ".*",
    "\\*",
    "*[0-9]*",
    "A*",
    "*\n*",
    "[a-c]",
    "[]-]*",
    "[",
    "*\\",
    "[[:foo:]]",
    "*[!-~]*",
    "",
    "*/*",
    "[a",
];
const BASIC: &[&str] = &[
    ".*",
    ".*a.*",
    "\\./[^/]*",
    ".*/a+",
    ".*/a\\+",
    ".*\\(a\\|b\\)[^/]*",
    ".*/.",
    ".*[[:alpha:]]",
    ".*\\.c",
    "[^a]*",
    ".*/\\w*",
    ".*[0-9]$",
    "^\\..*b",
    ".*/\\(.\\)\\1.*",
    ".*a\\{1,2\\}.*",
    ".*/x?",
    "*a",
    ".*é.*",
];
const EXTENDED: &[&str] = &[
    ".*(a|b)",
    ".*/(lib|a)+[^/]*",
    ".*/.{2,3}",
    ".*[[:digit:]]+",
    "\\.(/[^/]+){2}",
    ".*/[[:punct:]].*",
    ".*\\.(c|so|txt)",
    ".*/(.)\\1.*",
    ".*/x?",
    ".*\\<a.*",
    "(",
    "a{",
    ".*é.*",
];
const DATES: &[&str] = &[
    "yesterday",
    "2 weeks ago",
    "now",
    "today",
    "tomorrow",
    "1 month ago",
    "last year",
    "@0",
    "@-1",
    "@1700000000.5",
    "1970-01-01",
    "2023-11-14 22:13:20.5",
    "1969-12-31 23:59:59",
    "3 days ago",
    "2400-01-01",
    "2023-11-14T22:13:20+02:00",
    "14 Nov 2023",
    "noon",
    "not a date",
    "1 hour ago",
];
const SYMBOLIC: &[&str] = &[
    "u+w",
    "u=w,g=w",
    "u=rw,go=r",
    "g+s",
    "a+s",
    "+t",
    "u=rwx,go=rx",
    "a=r",
    "o+w",
    "o=x",
    "u=g",
    "+X",
    "=rwx",
    "a+x",
    "ug+rw",
    "u-w",
    "+r",
    "o=",
    "=",
    "0",
    "000",
    "4000",
    "111",
    "u=rwxs",
    "u+",
    "go-rwx",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_dates() {
        for (day, date) in [
            (0, (1970, 1, 1)),
            (-1, (1969, 12, 31)),
            (11_016, (2000, 2, 29)),
            (47_541, (2100, 3, 1)),
            (-24_856, (1901, 12, 13)),
        ] {
            assert_eq!(civil(day), date, "{day}");
        }
    }
}
