//! Links that lead into directories which the asking user may not list, search or see: each command
//! that follows them tells what the GNU tool tells that user on the source.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use trawl_testkit::Scratch;
use trawl_testkit::oracle::{Identity, Ran, gnu, run};
use trawl_testkit::permissions::stage::cannot;

/// Directories by the permissions of others. Without `r-x`, the index keeps their contents apart.
const ROOMS: [(&str, u32); 3] = [("open", 0o755), ("pass", 0o711), ("shut", 0o700)];
/// What links lead to in each directory.
const TARGETS: [&str; 7] = [
    "",
    "file",
    "none",
    "sub",
    "sub/file",
    "sub/none/none",
    "file/none",
];

fn of(mode: u32) -> Permissions {
    Permissions::from_mode(mode)
}

/// Makes the tree: in `links`, links to each target in each directory, and links to these links.
fn make(root: &Path) {
    let links = root.join("links");
    fs::create_dir_all(&links).expect("a directory");
    for (room, mode) in ROOMS {
        let dir = root.join(room);
        fs::create_dir_all(dir.join("sub")).expect("a directory");
        for file in ["file", "sub/file"] {
            fs::write(dir.join(file), room).expect("a file");
        }
        for (nth, target) in TARGETS.iter().enumerate() {
            let name = format!("{room}{nth}");
            let leads_to = Path::new("..").join(room).join(target);
            symlink(leads_to, links.join(&name)).expect("a link");
            symlink(&name, links.join(format!("{name}-again"))).expect("a link");
        }
        fs::set_permissions(dir.join("sub"), of(0o755)).expect("our own");
        fs::set_permissions(&dir, of(mode)).expect("our own");
    }
    for dir in [root, &links] {
        fs::set_permissions(dir, of(0o755)).expect("our own");
    }
}

struct Site {
    trawl: PathBuf,
    root: PathBuf,
    scratch: Scratch,
}

impl Site {
    fn ours(&self, who: &Identity, words: &[&str]) -> Ran {
        let mut line = who.command(&self.trawl);
        line.arg("-i").arg(self.scratch.join("index")).args(words);
        run(line.current_dir(&self.root))
    }

    /// Compares output, exit code and messages with those of the GNU tool. `ls` has messages of its
    /// own, which are only counted. Remarks of the program itself are left out.
    #[track_caller]
    fn same(&self, who: &Identity, words: &[&str]) {
        let ours = self.ours(who, words);
        let theirs = gnu(words[0], &words[1..], &self.root, who);
        let sorted = |text: &str| {
            let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
            lines.sort_unstable();
            lines
        };
        assert_eq!(sorted(&ours.text()), sorted(&theirs.text()), "{words:?}");
        let (mut told, expected) = (sorted(&ours.errors()), sorted(&theirs.errors()));
        match words[0] {
            "ls" => assert_eq!(told.len(), expected.len(), "{words:?} {ours} {theirs}"),
            _ => {
                told.retain(|line| !line.starts_with("trawl: "));
                assert_eq!(told, expected, "{words:?}");
            }
        }
        assert_eq!(ours.code, theirs.code, "{words:?}");
    }
}

#[test]
fn links_into_closed_directories_lead_where_the_kernel_says() {
    if cannot("links into closed directories") {
        return;
    }
    let scratch = Scratch::new("permissions-links");
    let site = Site {
        trawl: scratch.install(Path::new(env!("CARGO_BIN_EXE_trawl"))),
        root: scratch.join("tree"),
        scratch,
    };
    make(&site.root);
    site.ours(&Identity::Ourselves, &["index", "-q", "."])
        .expect_code(0);
    for who in [Identity::Ourselves, Identity::user(60_041)] {
        site.same(&who, &["find", "links", "-printf", "%p %y %Y\\n"]);
        site.same(&who, &["find", "links", "-xtype", "l"]);
        site.same(&who, &["find", "links", "-name", "*1*", "-xtype", "f"]);
        site.same(
            &who,
            &["find", "links", "!", "-xtype", "d", "-printf", "%f %Y\\n"],
        );
        site.same(&who, &["find", "-L", "links", "-printf", "%p %y\\n"]);
        site.same(&who, &["ls", "-RL", "links"]);
        site.same(&who, &["getfattr", "-R", "-d", "links"]);
    }
}
