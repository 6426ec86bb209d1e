//! What a view's directory contains.

use std::fs;
use std::io::ErrorKind;
use std::time::Duration;

use trawl_testkit::daemon::Daemon;
use trawl_testkit::oracle::{self, Identity};

use crate::site::{Site, cannot, sorted};

const FILES: &[&str] = &[
    "a.c",
    "b.h",
    "lib/a.c",
    "lib/deep/a.c",
    "lib/x y.c",
    "100%.c",
    "lib/ü.c",
    "dir.c/none",
];

#[test]
fn a_view_is_the_answer_of_find() {
    if cannot("views beside find") {
        return;
    }
    let site = Site::new("views-find", FILES);
    std::os::unix::fs::symlink("nowhere", site.tree().join("link.c")).unwrap();
    let questions: &[(&str, &[&str])] = &[
        ("c", &["-name", "*.c"]),
        ("files", &["-type", "f"]),
        ("everything", &[]),
        ("pruned", &["-name", "deep", "-prune", "-o", "-type", "f"]),
        ("shallow", &["-maxdepth", "1", "-mindepth", "1"]),
        ("empty", &["-name", "none-such"]),
        ("either", &["-name", "a.c", "-o", "-name", "b.h"]),
    ];
    for (name, words) in questions {
        site.define(name, words);
    }
    let mounted = site.mount();
    let mut names: Vec<&str> = questions.iter().map(|(name, _)| *name).collect();
    names.push("by-group");
    names.sort_unstable();
    assert_eq!(mounted.names("").unwrap(), names);
    for (name, words) in questions {
        let words = match words.is_empty() {
            true => words.to_vec(),
            false => [&["("], *words, &[")"]].concat(),
        };
        let theirs = site.found(&Identity::Ourselves, &words);
        mounted.expect(name, &Identity::Ourselves, &theirs);
    }
    for (terms, words) in [
        ("ext:c", &["-name", "*.c"][..]),
        (
            "ext:c,h&type:f",
            &["(", "-name", "*.c", "-o", "-name", "*.h", ")", "-type", "f"],
        ),
        ("!ext:c", &["!", "-name", "*.c"]),
        ("size>3&type:f", &["-size", "+3c", "-type", "f"]),
        ("path:*%2Flib%2F*", &["-path", "*/lib/*"]),
        ("age<1d&name:a.*", &["-mtime", "-1", "-name", "a.*"]),
        ("", &[]),
    ] {
        let theirs = site.found(&Identity::Ourselves, words);
        mounted.expect(&site.short(terms), &Identity::Ourselves, &theirs);
    }
}

#[test]
fn names_are_unique_and_each_leads_to_its_member() {
    if cannot("names in views") {
        return;
    }
    let site = Site::new("views-names", FILES);
    site.define("c", &["-name", "*.c", "-type", "f"]);
    let mounted = site.mount();
    let members = mounted.members("c", &Identity::Ourselves);
    let names: Vec<String> = members
        .keys()
        .map(|name| String::from_utf8_lossy(name).into_owned())
        .collect();
    for name in ["100%25.c", "a.c", "x y.c", "ü.c"] {
        assert!(names.iter().any(|one| one == name), "{name}: {names:?}");
    }
    assert_eq!(
        members,
        mounted.members("c", &Identity::Ourselves),
        "they stay"
    );
    // Every member has names by its path, listed or not.
    let tree = site.tree();
    for file in ["a.c", "lib/a.c", "lib/deep/a.c", "100%.c"] {
        let path = tree.join(file);
        let absolute = path
            .to_str()
            .unwrap()
            .replace('%', "%25")
            .replace('/', "%2F");
        assert_eq!(
            fs::read_link(mounted.join("c").join(&absolute)).unwrap(),
            path
        );
        assert_eq!(
            fs::read_to_string(mounted.join("c").join(&absolute)).unwrap(),
            file
        );
        if file.contains('/') {
            let below = file.replace('/', "%2F");
            assert_eq!(fs::read_link(mounted.join("c").join(below)).unwrap(), path);
        }
    }
    for name in [
        "b.h",
        "none",
        "lib%2Fnone.c",
        "lib%2fa.c",
        "%2Fetc%2Fpasswd",
        "%incomplete",
        "lib",
    ] {
        let error = fs::symlink_metadata(mounted.join("c").join(name)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound, "{name}");
    }
    // The number of a member stays, too.
    let number = || {
        use std::os::unix::fs::MetadataExt;
        fs::symlink_metadata(mounted.join("c/x y.c")).unwrap().ino()
    };
    assert_eq!(number(), number());
}

#[test]
fn failures_are_errors_and_never_empty_directories() {
    if cannot("failing views") {
        return;
    }
    let site = Site::new("views-fail", &["a"]);
    site.define("gone", &[]);
    let mounted = site.mount();
    assert_eq!(mounted.names("gone").unwrap().len(), 2);
    fs::rename(site.tree(), site.scratch.join("moved")).unwrap();
    let error = mounted.names("gone").unwrap_err();
    assert_eq!(error.raw_os_error(), Some(5), "EIO: {error}");
    let error = fs::symlink_metadata(mounted.join("gone/b")).unwrap_err();
    assert_eq!(error.raw_os_error(), Some(5), "EIO: {error}");
    let why = fs::read_to_string(mounted.join("gone/%incomplete")).unwrap();
    assert!(why.contains("no such file"), "{why}");
    fs::rename(site.scratch.join("moved"), site.tree()).unwrap();
    assert_eq!(mounted.names("gone").unwrap().len(), 2);
    assert!(fs::symlink_metadata(mounted.join("gone/%incomplete")).is_err());
}

#[test]
fn malformed_questions_are_no_directories_and_say_why() {
    if cannot("malformed questions") {
        return;
    }
    let site = Site::new("views-malformed", &["a.o"]);
    let mounted = site.mount();
    let attribute = |path: &std::path::Path, name: &str| {
        let mut buffer = vec![0; 4096];
        let length = rustix::fs::getxattr(path, name, &mut buffer)?;
        buffer.truncate(length);
        Ok::<_, rustix::io::Errno>(String::from_utf8(buffer).unwrap())
    };
    for (terms, says) in [
        ("size>big", "a size is"),
        ("ext", "no term"),
        ("keyword:x AND", "a word is missing"),
    ] {
        let error = fs::read_dir(mounted.join(&site.short(terms))).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound, "{terms}");
        let why = attribute(&mounted.point, "user.trawl.refused").unwrap();
        assert!(why.contains(says), "{why}");
    }
    let question = attribute(&mounted.join(&site.short("ext:o")), "user.trawl.question").unwrap();
    assert_eq!(question, format!("{} ( -name *.o )", site.tree().display()));
    assert!(attribute(&mounted.point, "user.other").is_err());
}

#[test]
fn a_mount_never_asks_itself() {
    if cannot("a view of the directory of views") {
        return;
    }
    let site = Site::new("views-loop", &["a"]);
    let place = |path: &std::path::Path| path.to_str().unwrap().replace('/', "%2F");
    let mounted = site.mount();
    let all = format!("?in:{}&name:a", place(site.scratch.path()));
    let members = mounted.members(&all, &Identity::Ourselves);
    assert_eq!(members.len(), 1, "{members:?}");
    let inside = format!("?in:{}", place(&mounted.join(&all)));
    assert!(mounted.names(&inside).is_err());
}

/// The mount lies above `-mindepth`, another mount lies beside it, and a start point is a link to
/// both: the listing is complete.
#[test]
fn mounts_of_views_are_left_out_of_views() {
    if cannot("views of directories with mounts of views") {
        return;
    }
    let site = Site::new("views-beside", &["a.c", "lib/b.c", "c.h"]);
    let top = site.scratch.path().to_owned();
    let (other, link) = (site.scratch.join("other"), site.tree().join("link"));
    fs::create_dir(&other).unwrap();
    std::os::unix::fs::symlink(&top, &link).unwrap();
    let to_mount = site.tree().join("to-mount");
    std::os::unix::fs::symlink(&other, &to_mount).unwrap();
    let (top, link) = (top.to_str().unwrap(), link.to_str().unwrap());
    let questions = [
        ("min", format!("{top} -mindepth 2 -name *.c")),
        ("all", format!("{top} -name *.c")),
        ("linked", format!("{link}/ -name *.c")),
        ("unfollowed", format!("{} -name to*", to_mount.display())),
    ];
    let lines = questions
        .iter()
        .map(|(name, words)| format!("{name} = {words}\n"));
    let lines: String = lines.collect();
    fs::write(site.scratch.join("definitions/some"), lines).unwrap();
    let theirs = questions.map(|(name, words)| {
        let mut find = oracle::command("find");
        let ran = oracle::run(find.args(words.split(' ')).arg("-print0"));
        (name, sorted(&ran.expect_code(0).stdout))
    });
    let mounted = site.mount();
    let second = site.mount_on(&other);
    for one in [&mounted, &second] {
        for (name, theirs) in &theirs {
            one.names(name).expect("it is complete");
            one.expect(name, &Identity::Ourselves, theirs);
        }
        let member = fs::read_link(one.join("linked/tree%2Flib%2Fb.c")).unwrap();
        assert_eq!(member.to_str(), Some(&*format!("{link}/tree/lib/b.c")));
    }
}

/// With a daemon the index answers, and without one it is not believed.
#[test]
fn a_listing_is_current_with_a_daemon_and_without() {
    if cannot("current views") {
        return;
    }
    let site = Site::new("views-current", FILES);
    let run = |words: &[&str]| {
        let mut command = site.trawl(&Identity::Ourselves, words);
        oracle::run(command.arg(site.tree())).expect_code(0)
    };
    run(&["index", "--quiet"]);
    site.define("files", &["-type", "f"]);
    let mounted = site.mount_as(&Identity::Ourselves, &["--all-users"]);
    let check = |label: &str| {
        for number in 0..20 {
            site.write(&format!("new/{label}-{number}"));
            let theirs = site.found(&Identity::Ourselves, &["-type", "f"]);
            mounted.expect("files", &Identity::Ourselves, &theirs);
            fs::remove_file(
                site.tree()
                    .join("new")
                    .join(format!("{label}-{}", number / 2)),
            )
            .ok();
        }
        // By default, questions in the short form are about what is indexed.
        let theirs = site.found(&Identity::Ourselves, &["-name", "*.c"]);
        mounted.expect("?ext:c", &Identity::Ourselves, &theirs);
    };
    check("unwatched");
    let mut watch = site.trawl(&Identity::Ourselves, &["watch"]);
    let daemon = Daemon::start(watch.arg(site.tree()));
    std::thread::sleep(Duration::from_secs(1));
    check("watched");
    drop(daemon);
    check("afterwards");
}
