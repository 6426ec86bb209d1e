//! Small files arrive with the answer to a search, as the files are and no more than agreed on.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;

use trawl_call::options::{Flags, Options, RootForm};
use trawl_call::{Pattern, Request, Search};
use trawl_fetch::Servers;
use trawl_remote::{Export, Exports, Serving};
use trawl_sets::Found;
use trawl_sets::opener::Opener;
use trawl_testkit::Scratch;

use crate::support::{LONG, content, fetch_all, listen, name, server, servers, serving};

/// Searches for all files below a name of a server, and returns their names.
fn search(servers: &Arc<Servers>, top: &[u8], flags: u32) -> Vec<Vec<u8>> {
    let (language, options) = Flags(flags).read().unwrap();
    let options = Options {
        root_form: RootForm::Included,
        ..options
    };
    let pattern = Pattern::new(b"*.c", language).unwrap();
    let request = Request::new(&pattern, &[top], options).unwrap();
    let mut search = Search::open(&*servers.executor(), request).unwrap();
    let mut names = Vec::new();
    while let Some(record) = search.next_record().unwrap() {
        names.push(record.path.to_vec());
    }
    names
}

/// Returns the content of a member if it has arrived with the search.
fn arrived(servers: &Servers, name: &[u8]) -> Option<Vec<u8>> {
    let cached = servers.cached(&Found::named(name))?;
    Some(content(cached.unwrap()).unwrap())
}

fn tree(scratch: &Scratch) -> std::path::PathBuf {
    let top = scratch.join("tree");
    std::fs::create_dir_all(top.join("d")).unwrap();
    for (file, size) in [
        ("a.c", 10),
        ("d/b.c", 5_000),
        ("d/empty.c", 0),
        ("d/large.c", 50_000),
    ] {
        std::fs::write(top.join(file), vec![b'x'; size]).unwrap();
    }
    std::os::unix::fs::symlink("a.c", top.join("link.c")).unwrap();
    std::fs::create_dir(top.join("directory.c")).unwrap();
    top
}

#[test]
fn small_files_arrive_with_the_search() {
    let scratch = Scratch::new("contents");
    let socket = scratch.join("s");
    server(&socket, serving());
    let top = tree(&scratch);
    for flags in [0, Flags::METADATA | Flags::NOFOLLOW] {
        let servers = servers(LONG);
        let names = search(&servers, &name(&socket, &top), flags);
        assert_eq!(names.len(), 6);
        for (file, size) in [
            ("a.c", 10),
            ("d/b.c", 5_000),
            ("d/empty.c", 0),
            ("link.c", 10),
        ] {
            let name = name(&socket, &top.join(file));
            assert!(names.contains(&name));
            assert_eq!(
                arrived(&servers, &name).map(|bytes| bytes.len()),
                Some(size),
                "{file}"
            );
            // Once: an old content is not given to a later open.
            assert_eq!(arrived(&servers, &name), None);
        }
        for file in ["d/large.c", "directory.c"] {
            assert_eq!(
                arrived(&servers, &name(&socket, &top.join(file))),
                None,
                "{file}"
            );
        }
    }
}

#[test]
fn no_more_arrives_than_agreed_on() {
    let scratch = Scratch::new("contents");
    let socket = scratch.join("s");
    server(&socket, serving());
    let top = scratch.join("many");
    std::fs::create_dir(&top).unwrap();
    for number in 0..400 {
        std::fs::write(top.join(format!("{number}.c")), vec![7; 10_000]).unwrap();
    }
    let servers = servers(LONG);
    let names = search(&servers, &name(&socket, &top), 0);
    assert_eq!(names.len(), 400);
    let there = names
        .iter()
        .filter(|name| arrived(&servers, name).is_some());
    let there = there.count();
    assert!((1..=104).contains(&there), "{there}");
    let outcomes = fetch_all(&servers, &names, 0).into_iter();
    assert!(
        outcomes
            .map(|outcome| content(outcome.unwrap()).unwrap())
            .all(|bytes| bytes == [7; 10_000])
    );
}

#[test]
fn exports_are_not_left() {
    let scratch = Scratch::new("contents");
    let socket = scratch.join("s");
    let top = tree(&scratch);
    std::fs::write(scratch.join("secret"), "secret").unwrap();
    std::os::unix::fs::symlink("../secret", top.join("out.c")).unwrap();
    std::os::unix::fs::symlink(scratch.join("secret"), top.join("absolute.c")).unwrap();
    let export = format!("t={}", top.display());
    let exports = Exports::Named(vec![Export::parse(export.as_bytes()).unwrap()]);
    server(
        &socket,
        Serving {
            exports,
            ..serving()
        },
    );
    let servers = servers(LONG);
    let names = search(&servers, &name(&socket, Path::new("/t")), 0);
    assert!(names.contains(&name(&socket, Path::new("/t/out.c"))));
    assert_eq!(
        arrived(&servers, &name(&socket, Path::new("/t/a.c"))).unwrap(),
        [b'x'; 10]
    );
    for file in ["/t/out.c", "/t/absolute.c"] {
        assert_eq!(arrived(&servers, &name(&socket, Path::new(file))), None);
    }
}

/// A server of an earlier version refuses the kind of request that it does not know.
#[test]
fn older_servers_answer_without_contents() {
    let scratch = Scratch::new("contents");
    let (socket, front) = (scratch.join("s"), scratch.join("old"));
    server(&socket, serving());
    listen(&front, move |_, client| {
        let server = UnixStream::connect(&socket).unwrap();
        let (mut from, mut to) = (client.try_clone().unwrap(), server.try_clone().unwrap());
        std::thread::spawn(move || {
            let mut length = [0; 4];
            while from.read_exact(&mut length).is_ok() {
                let mut rest = vec![0; u32::from_le_bytes(length) as usize];
                from.read_exact(&mut rest).unwrap();
                if rest[0] == 19 {
                    rest[0] = 99;
                }
                to.write_all(&[&length[..], &rest].concat()).unwrap();
            }
        });
        std::thread::spawn(move || std::io::copy(&mut &server, &mut &client));
    });
    let top = tree(&scratch);
    let servers = servers(LONG);
    let names = search(&servers, &name(&front, &top), 0);
    assert_eq!(names.len(), 6);
    assert_eq!(arrived(&servers, &name(&front, &top.join("a.c"))), None);
}
