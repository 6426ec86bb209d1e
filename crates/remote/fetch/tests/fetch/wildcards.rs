//! Wildcards in names at servers.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use trawl_call::LiveWalk;
use trawl_call::request::Cancel;
use trawl_sets::expand::{Attribute, Expander, Order};
use trawl_sets::{Names, Opener, Options, Problem, Set, SetName};
use trawl_testkit::Scratch;

use crate::support::{LONG, NEVER, listen, name, proxy, server, servers, serving, sizes, within};

fn expander() -> Expander {
    let mut expander = Expander::new(Arc::new(LiveWalk::default()));
    expander.servers = Some(servers(LONG).executor());
    expander
}

fn expand(expander: &Expander, text: &[u8]) -> (Vec<Vec<u8>>, Vec<Problem>) {
    let mut names = expander.expand(vec![SetName::parse(text).unwrap()]);
    let (mut found, mut problems) = (Vec::new(), Vec::new());
    while let Some(next) = names.next(&Cancel::default()) {
        match next {
            Ok(member) => found.push(member.name),
            Err(problem) => problems.push(problem),
        }
    }
    (found, problems)
}

fn tree(scratch: &Scratch) -> std::path::PathBuf {
    let top = scratch.join("tree");
    for file in [
        "a/src/x.c",
        "a/src/y.h",
        "b/src/y.c",
        "b/doc/z.c",
        "q[1]/src/w.c",
        "b/.hid/k.c",
    ] {
        let path = top.join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, file).unwrap();
    }
    std::os::unix::fs::symlink("../a", top.join("b/link")).unwrap();
    std::os::unix::fs::symlink("b", top.join("linked")).unwrap();
    std::os::unix::fs::symlink("x.c", top.join("a/src/v.c")).unwrap();
    std::os::unix::fs::symlink("gone", top.join("a/src/broken.c")).unwrap();
    top
}

fn joined(prefix: &[u8], rest: &str) -> Vec<u8> {
    [prefix, b"/", rest.as_bytes()].concat()
}

#[test]
fn a_name_at_a_server_has_the_members_that_it_has_there() {
    let scratch = Scratch::new("wildcards");
    let (socket, top) = (scratch.join("s"), tree(&scratch));
    server(&socket, serving());
    let there = name(&socket, &top);
    let here = std::os::unix::ffi::OsStrExt::as_bytes(top.as_os_str());
    let mut expander = expander();
    for order in [Order::Free, Order::Csh] {
        for attributes in [Attribute::Omitted, Attribute::Wanted] {
            (expander.order, expander.attributes) = (order, attributes);
            for rest in [
                "*",
                "*/*",
                "*/src/*.c",
                "*/*/*.c",
                "{a,b}/src/*.[ch]",
                "{a,b,none}/src/?.c",
                "linked/link/src/*",
                "*/link/*/x.c",
                "q[[]1[]]/*/*",
                "none/*",
                "*/.*/*",
                "a/src/x.c/*",
                "[!q]*/src/./*.c",
                "*/../a/*/y.?",
            ] {
                let (mut names, problems) = expand(&expander, &joined(&there, rest));
                let (mut expected, _) = expand(&expander, &joined(here, rest));
                for name in &mut expected {
                    name.splice(..here.len(), there.clone());
                }
                if order == Order::Free {
                    names.sort();
                    expected.sort();
                }
                assert!(problems.is_empty(), "{rest}: {problems:?}");
                let text = |names: &[Vec<u8>]| {
                    let names: Vec<_> = names
                        .iter()
                        .map(|name| name.escape_ascii().to_string())
                        .collect();
                    names.join("\n")
                };
                assert_eq!(text(&names), text(&expected), "{rest}");
            }
        }
    }
}

#[test]
fn braces_name_several_servers_and_a_dead_or_stalled_one_delays_no_other() {
    let scratch = Scratch::new("wildcards");
    let top = tree(&scratch);
    server(&scratch.join("one"), serving());
    server(&scratch.join("two"), serving());
    // Accepts, and never answers.
    let (keep, kept) = std::sync::mpsc::channel();
    listen(&scratch.join("stalled"), move |_, client| {
        let _ = keep.send(client);
    });
    let sockets = scratch.path().display();
    let text = format!(
        "unix://{sockets}/{{stalled,one,dead,two}}:{}/*/src/?.c",
        top.display()
    );
    let mut expander = expander();
    expander.servers = Some(servers(NEVER).executor());
    let mut names = expander.expand(vec![SetName::parse(text.as_bytes()).unwrap()]);
    let cancel = Cancel::default();
    let (mut found, mut dead) = (BTreeSet::new(), Vec::new());
    // x.c, y.c, w.c, the link v.c, and y.c below the link of its directory, at each living server.
    while found.len() < 10 || dead.is_empty() {
        match names
            .next(&cancel)
            .expect("the stalled server has not ended")
        {
            Ok(member) => assert!(found.insert(member.name)),
            Err(problem) => dead.push(problem),
        }
    }
    for server in ["one", "two"] {
        let prefix = name(&scratch.join(server), Path::new(""));
        let count = found
            .iter()
            .filter(|name| name.starts_with(&prefix))
            .count();
        assert_eq!(count, 5);
    }
    assert_eq!(dead.len(), 1);
    assert!(dead[0].to_string().contains("dead"), "{}", dead[0]);
    cancel.cancel();
    let last = within(LONG, move || names.next(&cancel).is_none());
    assert!(last, "nothing is waited for");
    drop(kept);
}

#[test]
fn small_members_come_with_the_answer() {
    let scratch = Scratch::new("wildcards");
    let (socket, front, top) = (scratch.join("s"), scratch.join("p"), tree(&scratch));
    server(&socket, serving());
    let connections = proxy(&front, socket, |_| None);
    let text = [&name(&front, &top)[..], b"/*/src/?.c"].concat();
    let servers = servers(LONG);
    let mut expander = Expander::new(Arc::new(LiveWalk::default()));
    expander.servers = Some(servers.executor());
    let names = expander.expand(vec![SetName::parse(&text).unwrap()]);
    let openers: Vec<Arc<dyn Opener>> = vec![servers];
    let set = Set::open(Box::new(names), openers, Options::default()).unwrap();
    let sizes = sizes(&set);
    // v.c is a link to x.c, and y.c is also below a link.
    assert_eq!(sizes, [9, 9, 9, 9, 12]);
    // The links are fetched, on another connection than that of the search.
    assert!(*connections.lock().unwrap() <= 2);
}

#[test]
fn what_is_not_done_at_a_server_is_said() {
    let expander = expander();
    let why = |expander: &Expander, text: &str| {
        let (names, problems) = expand(expander, text.as_bytes());
        assert!(names.is_empty());
        assert_eq!(problems.len(), 1, "{text}");
        problems[0].to_string()
    };
    assert!(why(&expander, r"trawl://h/srv/\-name x\").contains("mount its tree"));
    assert!(why(&expander, "trawl://h/srv/%ls%").contains("mount its tree"));
    let without = Expander::new(Arc::new(LiveWalk::default()));
    assert!(why(&without, "trawl://h/srv/*").contains("no servers are asked here"));
    assert!(why(&expander, "trawl://h:x/srv/*").contains("trawl://h:x"));
    assert_eq!(expand(&expander, b"trawl://[::1]/{a,b}/c").0.len(), 2);
}
