//! Random command lines of the find language.

use trawl_testkit::Prng;

use crate::site::Site;

/// A command line.
pub(crate) struct Words {
    pub(crate) words: Vec<Vec<u8>>,
    /// True if the last action is `-ls`, whose records end with a newline.
    by_line: bool,
}

const GLOBS: &[&str] = &[
    "*",
    "a*",
    "*a",
    "*a*",
    "?",
    "??",
    "*.c",
    "[ab]*",
    "[!a]*",
    "*[[:alpha:]]",
    "*\\**",
    "é*",
    "*é*",
    "*.*",
    ".*",
    "\\*",
    "*[0-9]*",
    "a?",
    "A*",
    "*b?*",
    "*\n*",
    "[a-c]",
    "*lib*",
    "*_",
    "*-*",
    "x",
];
const REGEXES: &[&str] = &[
    ".*",
    ".*a.*",
    "tree/[^/]*",
    ".*/a+",
    ".*\\(a\\|b\\)[^/]*",
    ".*/.",
    ".*[[:alpha:]]",
    ".*\\.c",
    "[^a]*",
    ".*é.*",
    ".*/\\w*",
    ".*[0-9]$",
    "^tree.*b",
    ".*/\\(.\\)\\(.\\)",
];
const EXTENDED: &[&str] = &[
    ".*(a|b)",
    ".*/(lib|a)+[^/]*",
    ".*/.{2,3}",
    ".*[[:digit:]]+",
    "tree(/[^/]+){2}",
    ".*/[[:punct:]].*",
    ".*\\.(c|so|txt)",
];
const NUMBERS: &[&str] = &[
    "0", "1", "2", "3", "+0", "+1", "+2", "-1", "-2", "-3", "5", "+10", "-10",
];
const SIZES: &[&str] = &[
    "0", "1", "2", "-1", "+1", "-2", "+8", "1k", "-1k", "2k", "+1k", "-2k", "1M", "+1M", "-1M",
    "2M", "3G", "+2G", "-4G", "0c", "1c", "-512c", "+511c", "513c", "512c", "1w", "-2w", "256w",
    "1b", "2b", "+0b",
];
const MODES: &[&str] = &[
    "644",
    "755",
    "000",
    "-644",
    "-111",
    "/111",
    "/222",
    "-u+x",
    "/u=w,g=w",
    "u=rw,go=r",
    "-g+s",
    "/a+s",
    "+t",
    "1777",
    "-u=rwx,go=rx",
    "a=r",
    "/4000",
    "-4000",
    "-000",
    "/o+w",
    "-o=x",
    "u=g",
    "-+X",
    "=rwx",
];
const AGES: &[&str] = &[
    "0", "1", "2", "3", "-1", "-2", "+0", "+1", "+2", "0.5", "-1.5", "+2.25", "1440", "-60", "+60",
    "60",
];
const TYPES: &[&str] = &["f", "d", "l", "p", "s", "f,d", "l,f", "d,p,s", "b", "c,f"];
const FORMATS: &[&str] = &[
    "%p\\0",
    "%P\\0",
    "%f %h %H\\0",
    "%d %y %m %M %s\\0",
    "%i %n %b %k %D %S\\0",
    "%u %U %g %G\\0",
    "%l|%y|%Y\\0",
    "%t|%T@|%TY-%Tm-%Td %TH:%TM:%TS\\0",
    "%c|%C+|%Cc\\0",
    "%T+ %TA %Tj %TU %TW %TV %TG %Tp %Tr\\0",
    "%10f|%-10f|%.3f|%05m|%#o\\0",
    "%5s|%-5s|%05s|%+d|%3d\\0",
    "a\\tb\\101%%\\0",
    "%F\\0",
    "x\\0\\cy",
    "%8.2S|%TX|%Tx\\0",
];

fn pick<'a>(prng: &mut Prng, list: &[&'a str]) -> &'a str {
    list[prng.below(list.len() as u64) as usize]
}

impl Words {
    /// Returns start points, options, an expression and a final action.
    pub(crate) fn random(prng: &mut Prng, site: &Site) -> Words {
        let mut words = Vec::new();
        for _ in 0..1 + prng.below(5) / 4 {
            words.push(start(prng, site));
        }
        if prng.once_in(4) {
            words.push(b"-depth".to_vec());
        }
        if prng.once_in(4) {
            words.extend([
                b"-maxdepth".to_vec(),
                prng.below(5).to_string().into_bytes(),
            ]);
        }
        if prng.once_in(4) {
            words.extend([
                b"-mindepth".to_vec(),
                prng.below(4).to_string().into_bytes(),
            ]);
        }
        if prng.once_in(8) {
            words.push(b"-daystart".to_vec());
        }
        if prng.once_in(12) {
            words.push(b"-xdev".to_vec());
        }
        let last = prng.below(8);
        let mut made = Words {
            words,
            by_line: last == 0,
        };
        made.push("(");
        made.expression(prng, site, 3);
        made.push(")");
        match last {
            0 => made.push("-ls"),
            1..4 => {
                made.push("-printf");
                made.push(pick(prng, FORMATS));
            }
            _ => made.push("-print0"),
        }
        made
    }

    /// Returns true if GNU find may forget an action: it notes the effect of a list at the list's
    /// last part, and moves later tests ahead of the action once that part has been moved itself.
    pub(crate) fn may_be_forgotten(&self) -> bool {
        let is = |names: &[&str], word: &[u8]| names.iter().any(|name| name.as_bytes() == word);
        let actions = |word: &&Vec<u8>| is(&["-print0", "-printf", "-prune"], word);
        let last = usize::from(!self.by_line);
        let inner = self.words.iter().filter(actions).count() > last;
        inner && self.words.iter().any(|word| is(&["-o"], word))
    }

    fn push(&mut self, word: &str) {
        self.words.push(word.as_bytes().to_vec());
    }

    fn expression(&mut self, prng: &mut Prng, site: &Site, depth: u64) {
        if depth == 0 || prng.once_in(3) {
            return self.test(prng, site);
        }
        match prng.below(9) {
            0 | 1 => {
                self.push("!");
                self.group(prng, site, depth);
            }
            2..5 => {
                self.group(prng, site, depth);
                if prng.once_in(2) {
                    self.push("-a");
                }
                self.group(prng, site, depth);
            }
            5..8 => {
                self.expression(prng, site, depth - 1);
                self.push("-o");
                self.expression(prng, site, depth - 1);
            }
            // GNU find also moves cheap tests to the front of a list of `,`,
            // and takes the value of the part that is then last. Only use lists
            // whose last part is no cheaper than the others.
            _ => {
                self.push("(");
                self.pair("-name", pick(prng, GLOBS));
                self.print();
                self.push(",");
                self.pair("-size", pick(prng, SIZES));
                self.push(")");
            }
        }
    }

    fn group(&mut self, prng: &mut Prng, site: &Site, depth: u64) {
        self.push("(");
        self.expression(prng, site, depth - 1);
        self.push(")");
    }

    fn pair(&mut self, name: &str, value: &str) {
        self.push(name);
        self.push(value);
    }

    fn test(&mut self, prng: &mut Prng, site: &Site) {
        match prng.below(30) {
            0..4 => {
                let name = pick(prng, &["-name", "-iname", "-lname", "-ilname"]);
                self.pair(name, pick(prng, GLOBS));
            }
            4 | 5 => {
                let name = pick(prng, &["-path", "-ipath", "-wholename", "-iwholename"]);
                self.pair(name, &format!("*{}", pick(prng, GLOBS)));
            }
            6 => self.pair(pick(prng, &["-regex", "-iregex"]), pick(prng, REGEXES)),
            7 => {
                self.pair(
                    "-regextype",
                    pick(prng, &["posix-extended", "egrep", "posix-egrep"]),
                );
                self.pair(pick(prng, &["-regex", "-iregex"]), pick(prng, EXTENDED));
                self.pair("-regextype", "emacs");
            }
            8..11 => self.pair("-type", pick(prng, TYPES)),
            11..13 => self.pair("-size", pick(prng, SIZES)),
            13..15 => self.pair("-perm", pick(prng, MODES)),
            15 => self.pair(pick(prng, &["-links", "-uid", "-gid"]), pick(prng, NUMBERS)),
            16 => self.pair(
                pick(prng, &["-user", "-group"]),
                pick(prng, &["root", "4711", "0", "1000", "65534"]),
            ),
            17..20 => self.pair(
                pick(prng, &["-mtime", "-mmin", "-ctime", "-cmin"]),
                pick(prng, AGES),
            ),
            20 => self.access_time(prng, site),
            21 => {
                let file = prng.pick(&site.paths).clone();
                let name = pick(
                    prng,
                    &[
                        "-newer",
                        "-cnewer",
                        "-samefile",
                        "-newermm",
                        "-newercm",
                        "-newermc",
                    ],
                );
                // GNU find opens the file of -samefile, and would wait on a
                // pipe.
                let meta = std::fs::symlink_metadata(site.path().join(file_name(&file)));
                let opens = meta.is_ok_and(|meta| meta.is_file() || meta.is_dir());
                self.push(if opens { name } else { "-newer" });
                self.words.push(file);
            }
            22 => self.push("-empty"),
            23 => self.push(pick(prng, &["-nouser", "-nogroup"])),
            24 | 25 => self.push("-prune"),
            26 => self.push(pick(prng, &["-true", "-false"])),
            27 => self.pair("-fstype", pick(prng, &["ext4", "tmpfs", "unknown"])),
            28 => {
                let path = prng.pick(&site.paths).clone();
                let ino = std::fs::symlink_metadata(site.path().join(file_name(&path)));
                let ino = ino.map_or(1, |meta| std::os::unix::fs::MetadataExt::ino(&meta));
                self.pair("-inum", &ino.to_string());
            }
            _ => self.print(),
        }
    }

    /// Adds an action whose records end like those of the last action.
    fn print(&mut self) {
        if self.by_line {
            self.pair("-printf", "%i\\n");
        } else {
            self.push("-print0");
        }
    }

    /// Adds a test of access times, for entries other than directories and
    /// links: both programs read those, which may change their access times.
    fn access_time(&mut self, prng: &mut Prng, _: &Site) {
        self.push("(");
        self.push("!");
        self.pair("-type", "d,l");
        self.pair(pick(prng, &["-atime", "-amin", "-used"]), pick(prng, AGES));
        self.push(")");
    }
}

fn file_name(path: &[u8]) -> &std::ffi::OsStr {
    std::os::unix::ffi::OsStrExt::from_bytes(path)
}

fn start(prng: &mut Prng, site: &Site) -> Vec<u8> {
    match prng.below(8) {
        0 => b"./tree".to_vec(),
        1 => b"tree/".to_vec(),
        2 => [site.path().as_os_str().as_encoded_bytes(), b"/tree"].concat(),
        3 | 4 => prng.pick(&site.paths).clone(),
        5 => b"tree//".to_vec(),
        _ => b"tree".to_vec(),
    }
}
