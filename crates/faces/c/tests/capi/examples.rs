//! The worked examples of the paper, word for word. Each is a C89 program that runs in its own root
//! directory and must print what GNU find prints there.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};

use trawl_testkit::lines::{Ending, Order, assert_same};
use trawl_testkit::oracle::{self, Ran};
use trawl_testkit::{Scratch, skip};

use super::site::Site;

/// The paper writes `while( e=readsearch(s) )`, about which compilers warn by default.
const FLAGS: [&str; 3] = ["-std=c89", "-pedantic", "-Wno-parentheses"];

/// Makes the files that the examples name, and files around them that must not match.
fn root() -> Scratch {
    let root = Scratch::new("capi-paper");
    for dir in [
        "foo/sub/deep",
        "foo/.hid",
        "bar",
        "work/a/deep",
        "work/b",
        "home/fred/bin",
    ] {
        fs::create_dir_all(root.join(dir)).unwrap();
    }
    for (name, mode) in [
        ("bin/chmod", 0o755),
        ("bin/chown", 0o755),
        ("bin/chdata", 0o644),
        ("bin/sh", 0o755),
        ("usr/bin/chfn", 0o755),
        ("usr/bin/chmod", 0o755),
        ("usr/bin/sub/chsub", 0o755),
        ("home/fred/bin/chess", 0o700),
        ("home/fred/bin/chmod", 0o755),
        ("foo/one.c", 0o644),
        ("foo/.hidden", 0o600),
        ("foo/sub/two.h", 0o644),
        ("foo/sub/deep/three.c", 0o640),
        ("bar/one.c", 0o604),
        ("bar/other", 0o444),
        ("work/main.c", 0o644),
        ("work/.hidden.c", 0o644),
        ("work/a/x.c", 0o644),
        ("work/a/x.h", 0o644),
        ("work/a/deep/y.c", 0o644),
        ("work/b/z.c", 0o644),
    ] {
        let path = root.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, name).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
    }
    symlink("x.c", root.join("work/a/link.c")).unwrap();
    root
}

fn find(root: &Scratch, from: &str, words: &[&str]) -> Vec<u8> {
    let mut find = oracle::command("find");
    find.current_dir(root.join(from)).args(words);
    oracle::run(&mut find).expect_code(0).stdout
}

struct Examples {
    site: &'static Site,
    root: Scratch,
}

impl Examples {
    fn new(test: &str) -> Option<Examples> {
        let site = Site::get(test)?;
        if let Some(skip) = skip::without_root(test) {
            skip.say();
            return None;
        }
        let root = root();
        Some(Examples { site, root })
    }

    fn run(&self, name: &str) -> Ran {
        let program = format!("example-{name}");
        let source = format!("paper/{name}");
        self.site.compile(&source, &program, &FLAGS).unwrap();
        self.site.run(&program, &[self.root.path()])
    }

    /// Checks that an example prints what find prints in the directory `from`, in any order.
    fn is_as_find(&self, name: &str, from: &str, words: &[&str]) {
        let ran = self.run(name).expect_code(0);
        let found = find(&self.root, from, words);
        assert_same(name, &found, &ran.stdout, Order::Any, Ending::Newline);
        assert!(!found.is_empty(), "{name}");
    }
}

#[test]
fn the_examples_of_the_paper_do_what_it_says() {
    let Some(examples) = Examples::new("the examples of the paper") else {
        return;
    };
    let one = ["-mindepth", "1", "-maxdepth", "1"];
    let dirs = ["bin", "usr/bin", "home/fred/bin"];
    let with = |dirs: &[&str], words: &[&str]| -> Vec<String> {
        dirs.iter()
            .chain(&one)
            .chain(words)
            .map(|word| (*word).to_owned())
            .collect()
    };
    for (name, from, dirs, words) in [
        (
            "complete",
            "",
            &dirs[..],
            &["-name", "ch*", "-executable", "-printf", "/%p\\n"][..],
        ),
        ("list", "work", &["."], &["-printf", "%i %s %m %P\\n"]),
        ("two", "", &["foo", "bar"], &["-printf", "/%p\\n"]),
        ("call", "", &["foo", "bar"], &["-printf", "%i %s %m /%p\\n"]),
    ] {
        let words = with(dirs, words);
        let words: Vec<&str> = words.iter().map(|word| &word[..]).collect();
        examples.is_as_find(name, from, &words);
    }
    let two = ["-mindepth", "2", "-maxdepth", "2", "-name", "*.c", "-print"];
    examples.is_as_find("glob", "work", &two);
    examples.is_as_find("flat", "", &["foo", "-mindepth", "1", "-printf", "/%p\\n"]);
    examples.is_as_find("find", "work", &["-name", "*.c", "-print"]);
}

#[test]
fn the_shell_finds_the_first_executable() {
    let Some(examples) = Examples::new("the shell's example of the paper") else {
        return;
    };
    let locate = || examples.run("locate").expect_code(0).text();
    let file = |name: &str| examples.root.join(name);
    assert_eq!(locate(), "/bin/chmod\n");
    // A file that is not executable does not match, as in execvp(3).
    fs::set_permissions(file("bin/chmod"), Permissions::from_mode(0o644)).unwrap();
    assert_eq!(locate(), "/usr/bin/chmod\n");
    fs::remove_file(file("usr/bin/chmod")).unwrap();
    assert_eq!(locate(), "/home/fred/bin/chmod\n");
    fs::remove_file(file("home/fred/bin/chmod")).unwrap();
    assert_eq!(locate(), "");
}

/// Statements of the paper in sections 3, 4 and 5.1 whose examples are not programs.
#[test]
fn the_sentences_of_the_paper_are_so() {
    let Some(examples) = Examples::new("the sentences of the paper") else {
        return;
    };
    let top = &examples.root;
    for name in [
        "foo/bar/f",
        "foo/xyz/bar/f",
        "linux/Makefile",
        "else/Makefile",
    ] {
        let path = top.join("tree").join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "").unwrap();
    }
    let tree = top.join("tree");
    let tree = tree.to_str().unwrap();
    let ask = |pattern: &str| examples.site.run("paper", &[tree, pattern, "0"]);
    for (pattern, found) in [
        // "`f*/b*` would match `foo/bar` but not `foo/xyz/bar`".
        ("/f*/b*", "foo/bar\0"),
        // "will only match file Makefile if contained in a parent directory linux".
        ("linux/Makefile", "linux/Makefile\0"),
        // "A pattern with a leading forward slash is considered non-recursive".
        ("/Makefile", ""),
        ("Makefile", "else/Makefile\0linux/Makefile\0"),
        // "zero or one characters".
        ("b?r?", "foo/bar\0foo/xyz/bar\0"),
        ("/linux|/else", "else\0linux\0"),
    ] {
        let ran = ask(pattern).expect_code(0);
        assert_eq!(ran.text(), found, "{pattern}");
    }
}
