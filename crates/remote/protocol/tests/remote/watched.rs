//! Compares the news that a server sends about watched directories with the changes made to them.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

use trawl_remote::client::Watch;
use trawl_remote::wire::{
    Code, Happened, Interrupt, Message, News, Refusal, WatchRequest, feature,
};
use trawl_remote::{Exports, Limits, Serving};
use trawl_sys::fanotify::{Group, QueueSize};
use trawl_testkit::Scratch;
use trawl_testkit::skip::Skip;

use crate::support::{LONG, Raw, bytes, hello, remote, serving};

fn cannot(tree: &Path) -> Option<Skip> {
    let what = "directories that a server watches";
    if let Err(error) = Group::new(QueueSize::Limited) {
        return Some(Skip::new(what, error));
    }
    let magic = trawl_sys::filesystem::of_path(tree).map(|found| found.system.magic);
    let kind = magic.ok().and_then(trawl_sys::filesystem::name);
    let is_known = matches!(kind, Some("ext4" | "xfs" | "btrfs" | "tmpfs" | "overlay"));
    (!is_known).then(|| Skip::new(what, "temporary files lie on an unwatched file system"))
}

/// Makes a tree with directories of these names.
fn tree(names: &[&str]) -> Scratch {
    let scratch = Scratch::new("watched");
    for name in names {
        fs::create_dir_all(scratch.join("tree").join(name)).unwrap();
        fs::write(scratch.join("tree").join(name).join("file"), "x").unwrap();
    }
    scratch
}

/// Formats news as text: `+` watched, `-` not watched, `!` lost; for names `=` replaced, `~`
/// changed.
fn text(news: &[News]) -> Vec<String> {
    let shown = |path: &[u8]| String::from_utf8(path.to_vec()).unwrap();
    let mut lines = Vec::new();
    for one in news {
        match one {
            News::Watched(path) => lines.push(format!("+{}", shown(path))),
            News::Unwatched(path) => lines.push(format!("-{}", shown(path))),
            News::Lost(path) => lines.push(format!("!{}", shown(path))),
            News::Changed { dir, names } => lines.extend(names.iter().map(|name| {
                let mark = match name.happened {
                    Happened::Changed => '~',
                    Happened::Replaced => '=',
                };
                format!("{}{mark}{}", shown(dir), shown(&name.name))
            })),
        }
    }
    lines
}

/// Returns the news until all of these have arrived.
#[track_caller]
fn until(watch: &mut Watch, wanted: &[&str]) -> Vec<String> {
    let (deadline, mut said) = (Instant::now() + LONG, Vec::new());
    while !wanted.iter().all(|line| said.iter().any(|it| it == line)) {
        assert!(Instant::now() < deadline, "{said:?}, not {wanted:?}");
        said.extend(text(&watch.next(Duration::from_millis(50)).unwrap()));
    }
    said
}

fn dirs(names: &[&str]) -> Vec<Vec<u8>> {
    names.iter().map(|name| name.as_bytes().to_vec()).collect()
}

#[test]
fn what_was_asked_for_is_told_and_nothing_else() {
    let scratch = tree(&["a", "a/sub", "b", "unasked"]);
    let top = scratch.join("tree");
    if let Some(skip) = cannot(&top) {
        return skip.say();
    }
    let remote = remote(&scratch, serving(Exports::Everything));
    let mut watch = remote.watch(bytes(&top), LONG).unwrap().unwrap();
    watch.add(dirs(&["", "a", "b", "none", "a/file"])).unwrap();
    assert!(!watch.is_ready());
    until(&mut watch, &["+", "+a", "+b", "-none", "-a/file"]);
    watch.add(dirs(&["a/sub"])).unwrap();
    until(&mut watch, &["+a/sub"]);
    assert!(watch.is_ready());

    fs::write(top.join("unasked/x"), "").unwrap();
    fs::write(top.join("a/new"), "").unwrap();
    until(&mut watch, &["a=new", "a~."]);
    fs::write(top.join("a/file"), "xyz").unwrap();
    let said = until(&mut watch, &["a~file"]);
    assert!(!said.contains(&"a~.".to_owned()), "{said:?}");
    let mode = |name: &str, mode| {
        fs::set_permissions(top.join(name), fs::Permissions::from_mode(mode)).unwrap();
    };
    mode("b/file", 0o600);
    mode("b", 0o711);
    // The kernel reports a directory's own attributes only to that directory's mark.
    mode("unasked", 0o711);
    until(&mut watch, &["b~file", "b~."]);
    fs::rename(top.join("a/file"), top.join("b/moved")).unwrap();
    until(&mut watch, &["a=file", "a~.", "b=moved", "b~."]);
    fs::rename(top.join("a"), top.join("c")).unwrap();
    let said = until(&mut watch, &["=a", "=c", "~.", "!a", "!c"]);
    assert!(
        !said.iter().any(|line| line.contains("unasked")),
        "{said:?}"
    );
    // The new name of the directory was not requested.
    fs::write(top.join("c/sub/hidden"), "").unwrap();
    fs::write(top.join("b/last"), "").unwrap();
    let said = until(&mut watch, &["b=last"]);
    assert!(!said.iter().any(|line| line.contains("hidden")), "{said:?}");
    watch.add(dirs(&["c", "c/sub"])).unwrap();
    until(&mut watch, &["+c", "+c/sub"]);
    fs::remove_file(top.join("c/sub/hidden")).unwrap();
    until(&mut watch, &["c/sub=hidden"]);
    // The top is replaced by another directory.
    fs::rename(&top, scratch.join("old")).unwrap();
    fs::create_dir(&top).unwrap();
    until(&mut watch, &["!"]);
}

#[test]
fn exports_are_watched_and_nothing_outside() {
    let scratch = tree(&["in/a", "out"]);
    let top = scratch.join("tree");
    if let Some(skip) = cannot(&top) {
        return skip.say();
    }
    std::os::unix::fs::symlink("../out", top.join("in/link")).unwrap();
    let export = format!("x={}", top.join("in").display());
    let export = trawl_remote::Export::parse(export.as_bytes()).unwrap();
    let exports = Exports::named(vec![export]).unwrap();
    let remote = remote(&scratch, serving(exports));
    let mut watch = remote.watch(b"/x", LONG).unwrap().unwrap();
    watch
        .add(dirs(&["", "a", "link", "../out", "a/../../out"]))
        .unwrap();
    until(&mut watch, &["+", "+a", "-link", "-../out", "-a/../../out"]);
    fs::write(top.join("out/x"), "").unwrap();
    fs::write(top.join("in/a/y"), "").unwrap();
    let said = until(&mut watch, &["a=y"]);
    assert!(!said.iter().any(|line| line.contains("out")), "{said:?}");
}

#[test]
fn there_are_no_more_marks_than_agreed_on() {
    let scratch = tree(&["a", "b", "c"]);
    let top = scratch.join("tree");
    if let Some(skip) = cannot(&top) {
        return skip.say();
    }
    let limits = |directories| Limits {
        directories,
        ..Limits::default()
    };
    let few = Serving {
        limits: limits(2),
        ..serving(Exports::Everything)
    };
    let remote = remote(&scratch, few);
    let mut watch = remote.watch(bytes(&top), LONG).unwrap().unwrap();
    watch.add(dirs(&["", "a", "b", "c", "a"])).unwrap();
    until(&mut watch, &["+", "+a", "-b", "-c", "+a"]);
    fs::write(top.join("c/x"), "").unwrap();
    fs::write(top.join("a/x"), "").unwrap();
    let said = until(&mut watch, &["a=x"]);
    assert!(!said.contains(&"c=x".to_owned()), "{said:?}");

    let none = Serving {
        limits: limits(0),
        ..serving(Exports::Everything)
    };
    let mut raw = Raw::new(none);
    raw.say(0, &hello());
    let top = bytes(&top).to_vec();
    let message = Message::Watch(WatchRequest {
        top,
        dirs: dirs(&[""]),
    });
    raw.say(1, &message);
    let said = [raw.hear(), raw.hear()];
    let is_refused = matches!(
        &said[1],
        Some((
            1,
            Message::Error(Refusal {
                code: Code::System,
                ..
            })
        ))
    );
    assert!(is_refused, "{said:?}");
}

#[test]
fn a_client_waits_for_the_answer_before_it_asks_for_more() {
    let scratch = tree(&["a"]);
    let top = scratch.join("tree");
    if let Some(skip) = cannot(&top) {
        return skip.say();
    }
    let message = || {
        Message::Watch(WatchRequest {
            top: bytes(&top).to_vec(),
            dirs: vec![b"a".to_vec(); 4000],
        })
    };
    let mut raw = Raw::new(serving(Exports::Everything));
    raw.say(0, &hello());
    let Some((0, Message::Hello(said))) = raw.hear() else {
        panic!("it does not say hello");
    };
    assert!(said.features & feature::WATCH != 0);
    for _ in 0..3 {
        raw.say(1, &message());
    }
    // The client is told, or disconnected; memory is bounded.
    let refused = std::iter::from_fn(|| raw.hear()).find_map(|(_, message)| match message {
        Message::Error(Refusal { code, .. }) => Some(code),
        _ => None,
    });
    assert!(
        matches!(refused, Some(Code::Malformed | Code::Busy)),
        "{refused:?}"
    );
    // An interrupt ends the watch.
    let mut raw = Raw::new(serving(Exports::Everything));
    raw.say(0, &hello());
    raw.say(1, &message());
    raw.hear();
    raw.hear();
    raw.say(1, &Message::Interrupt(Interrupt));
    let ended = std::iter::from_fn(|| raw.hear()).find_map(|(_, message)| match message {
        Message::Error(Refusal { code, .. }) => Some(code),
        _ => None,
    });
    assert_eq!(ended, Some(Code::Interrupted));
    assert!(raw.end().is_ok());
}
