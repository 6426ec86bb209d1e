//! A tree with its index, and programs that answer questions about it: `trawl`, built beside another
//! program under test, or a stand-in.

use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::oracle::{self, Identity};
use crate::{Scratch, Skip};

/// Returns `trawl`, as it was built beside this program; says that the test is skipped if it was not.
fn trawl(test: &str, beside: &str) -> Option<PathBuf> {
    let program = Path::new(beside).with_file_name("trawl");
    match program.exists() {
        true => Some(program),
        false => {
            Skip::new(test, "trawl is not built: cargo build -p trawl-cli").say();
            None
        }
    }
}

/// A question of the faces that other programs use, and the command line that it stands for. `@` is the
/// path of the tree.
#[derive(Clone, Copy, Debug)]
pub struct Asked {
    /// Its name in the HTTP API.
    pub name: &'static str,
    /// Its name as a tool of assistants.
    pub tool: &'static str,
    /// Its arguments, as JSON.
    pub arguments: &'static str,
    /// The words after `trawl`.
    pub words: &'static [&'static str],
}

/// Questions to the tree that [`Site::changed`] makes, all of which have rows.
pub const ASKED: &[Asked] = &[
    Asked {
        name: "find",
        tool: "search",
        arguments: r#"{"paths": ["@"]}"#,
        words: &["find", "--json", "@"],
    },
    Asked {
        name: "find",
        tool: "search",
        arguments: r#"{"paths": ["@/src", "@/docs"], "name": "*.C", "ignore_case": true, "types": "f"}"#,
        words: &[
            "find", "--json", "@/src", "@/docs", "-type", "f", "-iname", "*.C",
        ],
    },
    Asked {
        name: "find",
        tool: "search",
        arguments: r#"{"paths": ["@"], "min_size": 20, "max_size": 60, "max_depth": 2}"#,
        words: &[
            "find",
            "--json",
            "@",
            "-maxdepth",
            "2",
            "-size",
            "+19c",
            "-size",
            "-61c",
        ],
    },
    Asked {
        name: "find",
        tool: "search",
        arguments: r#"{"paths": ["@"], "expression": ["-empty", "-o", "-type", "l"]}"#,
        words: &[
            "find", "--json", "@", "(", "-empty", "-o", "-type", "l", ")",
        ],
    },
    Asked {
        name: "find",
        tool: "search",
        arguments: r#"{"paths": ["@"], "expression": ["-sort", "-size", "-limit", "2"]}"#,
        words: &["find", "--json", "@", "-sort", "-size", "-limit", "2"],
    },
    Asked {
        name: "stat",
        tool: "details",
        arguments: r#"{"paths": ["@/link", "@/big.bin"]}"#,
        words: &["stat", "--json", "@/link", "@/big.bin"],
    },
    Asked {
        name: "ls",
        tool: "list",
        arguments: r#"{"paths": ["@"]}"#,
        words: &["ls", "--json", "-A", "@"],
    },
    Asked {
        name: "du",
        tool: "size",
        arguments: r#"{"paths": ["@"], "max_depth": 1, "files": true}"#,
        words: &["du", "--json", "-a", "-d", "1", "@"],
    },
    Asked {
        name: "top",
        tool: "top",
        arguments: r#"{"paths": ["@"], "limit": 3}"#,
        words: &["top", "--json", "-n", "3", "@"],
    },
    Asked {
        name: "top",
        tool: "top",
        arguments: r#"{"paths": ["@"], "subject": "directories", "by_entries": true}"#,
        words: &["top", "--json", "--dirs", "--by", "entries", "@"],
    },
    Asked {
        name: "top",
        tool: "top",
        arguments: r#"{"paths": ["@"], "name": "*.c"}"#,
        words: &["top", "--json", "@", "--", "-name", "*.c"],
    },
    Asked {
        name: "stats",
        tool: "stats",
        arguments: r#"{"paths": ["@"], "by": "extension"}"#,
        words: &["stats", "--json", "--by", "extension", "@"],
    },
    Asked {
        name: "growth",
        tool: "growth",
        arguments: r#"{"paths": ["@"], "by": "directory"}"#,
        words: &["growth", "--json", "--by", "dir", "@"],
    },
    Asked {
        name: "duplicates",
        tool: "duplicates",
        arguments: r#"{"paths": ["@"], "verify": true}"#,
        words: &["duplicates", "--json", "--verify", "@"],
    },
    Asked {
        name: "sources",
        tool: "sources",
        arguments: r#"{}"#,
        words: &["sources", "--json"],
    },
    Asked {
        name: "locate",
        tool: "locate",
        arguments: r#"{"patterns": ["@", "main"]}"#,
        words: &["locate", "--json", "@", "main"],
    },
    Asked {
        name: "locate",
        tool: "locate",
        arguments: r#"{"patterns": ["mainc"], "fuzzy": true, "limit": 2}"#,
        words: &["locate", "--json", "--fuzzy", "--limit=2", "mainc"],
    },
    Asked {
        name: "diff",
        tool: "changes",
        arguments: r#"{"paths": ["@"]}"#,
        words: &["diff", "--json", "-1", "latest", "@"],
    },
    Asked {
        name: "diff",
        tool: "changes",
        arguments: r#"{"paths": ["@"], "summary": "extension"}"#,
        words: &["diff", "--json", "--summary=ext", "-1", "latest", "@"],
    },
    Asked {
        name: "history",
        tool: "history",
        arguments: r#"{"paths": ["@/src/main.c"]}"#,
        words: &["history", "--json", "@/src/main.c"],
    },
];

/// A tree and its index.
#[derive(Debug)]
pub struct Site {
    /// Where everything lies.
    pub scratch: Scratch,
    /// The program `trawl`.
    pub trawl: PathBuf,
}

impl Site {
    /// Makes an empty tree, asked by the `trawl` beside a program; `None` if there is none.
    pub fn empty(label: &str, beside: &str) -> Option<Site> {
        let trawl = trawl(label, beside)?;
        let scratch = Scratch::new(label);
        std::fs::create_dir(scratch.join("tree")).expect("our own");
        Some(Site { scratch, trawl })
    }

    /// Makes a small tree, and indexes it.
    pub fn small(label: &str, beside: &str) -> Option<Site> {
        let site = Site::empty(label, beside)?;
        for (name, content) in [
            (
                "src/main.c",
                "int main(void)\n{\n    return 0; /* TODO: more */\n}\n",
            ),
            ("src/util.c", "/* nothing to do */\n"),
            ("src/util.h", ""),
            ("docs/guide.txt", "How to\nTODO\nTODO again\n"),
            ("docs/copy.txt", "How to\nTODO\nTODO again\n"),
            (
                "big.bin",
                "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
            ),
        ] {
            site.write(name, content);
        }
        std::os::unix::fs::symlink("src/main.c", site.path("link")).expect("our own");
        site.index();
        Some(site)
    }

    /// As [`Site::small`], changed and indexed again.
    pub fn changed(label: &str, beside: &str) -> Option<Site> {
        let site = Site::small(label, beside)?;
        site.write("src/main.c", "int main(void)\n{\n    return 1;\n}\n");
        site.write("src/new.c", "/* new */\n");
        site.index();
        Some(site)
    }

    /// Makes a tree of which other users may read a part, and indexes it; installs `trawl` and the program
    /// beside it where others may run them. `open/file` contains a needle, as do `closed/secret` and
    /// `open/closed`, which only their owner may read.
    pub fn guarded(label: &str, beside: &str) -> Option<Site> {
        let mut site = Site::empty(label, beside)?;
        for name in ["open/file", "closed/secret", "open/closed"] {
            site.write(name, "needle\n");
        }
        for (name, mode) in [("closed", 0o700), ("open/closed", 0o600)] {
            let mode = std::fs::Permissions::from_mode(mode);
            std::fs::set_permissions(site.path(name), mode).expect("our own");
        }
        site.index();
        site.trawl = site.scratch.install(&site.trawl);
        site.scratch.install(Path::new(beside));
        Some(site)
    }

    /// Makes a tree with 1,000 files whose rows fill a pipe, and indexes it.
    pub fn wide(label: &str, beside: &str) -> Option<Site> {
        let site = Site::empty(label, beside)?;
        (0..1000).for_each(|number| site.write(format!("file-{number:04}"), ""));
        site.index();
        Some(site)
    }

    /// Returns the root of the tree.
    pub fn tree(&self) -> PathBuf {
        self.scratch.join("tree")
    }

    /// Returns the path of an entry in the tree.
    pub fn path(&self, name: impl AsRef<OsStr>) -> PathBuf {
        self.tree().join(name.as_ref())
    }

    /// Returns the path of the tree, or of an entry in it, as text.
    pub fn text(&self, name: &str) -> String {
        let path = if name.is_empty() {
            self.tree()
        } else {
            self.path(name)
        };
        path.to_str().expect("text").to_owned()
    }

    /// Makes a file, and the directories that it lies in.
    pub fn write(&self, name: impl AsRef<OsStr>, content: impl AsRef<[u8]>) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("our own");
        std::fs::write(path, content).expect("our own");
    }

    /// Indexes the tree.
    pub fn index(&self) {
        let mut command = self.command(&Identity::Ourselves);
        command.args(["index", "--quiet"]).arg(self.tree());
        oracle::run(&mut command).expect_code(0);
    }

    /// Returns a command that runs `trawl` with the index.
    pub fn command(&self, who: &Identity) -> Command {
        let mut command = who.command(&self.trawl);
        command.env("TRAWL_INDEX", self.scratch.join("index"));
        command
    }
}

/// A program in the place of `trawl`: a shell script.
#[derive(Debug)]
pub struct StandIn {
    /// Where it lies.
    pub scratch: Scratch,
}

impl StandIn {
    /// Makes one with this script.
    pub fn new(label: &str, script: &str) -> StandIn {
        let scratch = Scratch::new(label);
        let program = scratch.join("trawl");
        std::fs::write(&program, format!("#!/bin/sh\n{script}\n")).expect("our own");
        let mode = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(&program, mode).expect("our own");
        StandIn { scratch }
    }

    /// Returns a command that runs a server, in the stand-in's directory, which asks the stand-in.
    pub fn command(&self, server: &str, options: &[&str]) -> Command {
        let mut command = oracle::command(server);
        command.arg(format!(
            "--program={}",
            self.scratch.join("trawl").display()
        ));
        command.args(options).current_dir(self.scratch.path());
        command
    }
}
