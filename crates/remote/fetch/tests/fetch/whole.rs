//! Members arrive with the bytes that the files have, many at once on one connection.

use std::num::NonZeroU32;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::time::Duration;

use trawl_call::options::{Flags, Options, RootForm};
use trawl_call::{Outcome as Record, Pattern, Request, Search};
use trawl_remote::transport::Transport;
use trawl_remote::{Limits, Serving, serve};
use trawl_sets::opener::{Opener, PlaceId};
use trawl_sets::{Found, Names, Set};
use trawl_sys::become_user::{User, as_user};
use trawl_testkit::Scratch;

use crate::support::{
    LONG, content, error, fetch_all, holding, listen, name, proxy, server, servers, serving, sizes,
};

/// Writes files of these sizes, each with bytes of its own.
fn files(scratch: &Scratch, sizes: &[usize]) -> Vec<(PathBuf, Vec<u8>)> {
    let sizes = sizes.iter().enumerate();
    let files = sizes.map(|(number, size)| {
        let bytes: Vec<u8> = (0..*size).map(|at| (at * 31 / 7 + number) as u8).collect();
        let path = scratch.join(format!("f{number}"));
        std::fs::write(&path, &bytes).unwrap();
        (path, bytes)
    });
    files.collect()
}

#[test]
fn members_have_the_bytes_of_their_files() {
    let scratch = Scratch::new("fetch");
    let socket = scratch.join("s");
    server(&socket, serving());
    let mib = 1 << 20;
    let sizes = [
        0,
        1,
        4096,
        65_535,
        65_536,
        mib - 1,
        mib,
        mib + 1,
        3 * mib + 7,
    ];
    let files = files(&scratch, &sizes);
    // Larger files are read in pieces only once later changes would be noticed.
    std::thread::sleep(Duration::from_millis(100));
    let names: Vec<_> = files.iter().map(|(path, _)| name(&socket, path)).collect();
    for ahead in [0, 100_000, 2 * mib as u64, 1 << 30] {
        let servers = servers(LONG);
        for (outcome, (path, bytes)) in fetch_all(&servers, &names, ahead).into_iter().zip(&files) {
            let fetched = outcome.unwrap();
            let is_large = bytes.len() as u64 > ahead.max(64 << 10);
            assert_eq!(
                fetched.is_stream,
                is_large && bytes.len() > 65_536,
                "{path:?}"
            );
            assert!(content(fetched).unwrap() == *bytes, "{path:?} {ahead}");
        }
    }
}

#[test]
fn requests_share_a_connection_and_are_answered_at_once() {
    let scratch = Scratch::new("fetch");
    let (socket, front) = (scratch.join("s"), scratch.join("p"));
    server(&socket, serving());
    let files = files(&scratch, &[100; 40]);
    // The server accepts 16 requests at once. Each names a file: a client that waited for an answer
    // first would never have one.
    let most = 16 * files[0].0.as_os_str().len() as u64;
    let connections = holding(&front, socket, move |sent| sent >= most);
    let names: Vec<_> = files.iter().map(|(path, _)| name(&front, path)).collect();
    let servers = servers(LONG);
    for (outcome, (_, bytes)) in fetch_all(&servers, &names, 0).into_iter().zip(&files) {
        assert_eq!(content(outcome.unwrap()).unwrap(), *bytes);
    }
    assert_eq!(*connections.lock().unwrap(), 1);
}

#[test]
fn a_server_that_accepts_one_request_at_once_gets_one() {
    let scratch = Scratch::new("fetch");
    let socket = scratch.join("s");
    let limits = Limits {
        requests: NonZeroU32::MIN,
        ..Limits::default()
    };
    server(
        &socket,
        Serving {
            limits,
            ..serving()
        },
    );
    let files = files(&scratch, &[100; 40]);
    let names: Vec<_> = files.iter().map(|(path, _)| name(&socket, path)).collect();
    let servers = servers(LONG);
    for (outcome, (_, bytes)) in fetch_all(&servers, &names, 0).into_iter().zip(&files) {
        assert_eq!(content(outcome.unwrap()).unwrap(), *bytes);
    }
}

#[test]
fn what_cannot_be_read_is_a_problem_with_its_errno() {
    let scratch = Scratch::new("fetch");
    let socket = scratch.join("s");
    server(&socket, serving());
    let names = [
        name(&socket, &scratch.join("none")),
        name(&socket, scratch.path()),
        b"trawl:///x".to_vec(),
    ];
    let mut outcomes = fetch_all(&servers(LONG), &names, 0).into_iter();
    let no_such = error(outcomes.next().unwrap());
    assert_eq!(no_such.kind(), std::io::ErrorKind::NotFound);
    assert!(error(outcomes.next().unwrap()).raw_os_error().is_some());
    assert!(
        error(outcomes.next().unwrap())
            .to_string()
            .contains("trawl:///x")
    );
}

/// A user who may not read a file at the server, as the server's user, gets EACCES.
#[test]
fn the_user_of_the_server_decides() {
    if !trawl_testkit::skip::is_root() {
        println!("the_user_of_the_server_decides: skipped, because only root can serve as another");
        return;
    }
    let scratch = Scratch::new("fetch");
    let socket = scratch.join("s");
    let modes = [("open", 0o644), ("own", 0o600), ("none", 0o000)];
    let names = modes.map(|(file, mode)| {
        let path = scratch.join(file);
        std::fs::write(&path, file).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        name(&socket, &path)
    });
    for directory in scratch.path().ancestors().take(1) {
        std::fs::set_permissions(directory, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    listen(&socket, |_, client| {
        let nobody = User {
            uid: 65_534,
            gid: 65_534,
            groups: Vec::new(),
        };
        let transport = Transport::over_socket(client.into()).unwrap();
        std::thread::spawn(move || as_user(&nobody, || serve(transport, &serving()).is_ok()));
    });
    let mut outcomes = fetch_all(&servers(LONG), &names, 0).into_iter();
    assert_eq!(content(outcomes.next().unwrap().unwrap()).unwrap(), b"open");
    for outcome in outcomes {
        assert_eq!(error(outcome).kind(), std::io::ErrorKind::PermissionDenied);
    }
}

#[test]
fn a_wildcard_at_a_server_is_one_call_and_its_records_are_names() {
    let scratch = Scratch::new("fetch");
    let (socket, front) = (scratch.join("s"), scratch.join("p"));
    server(&socket, serving());
    let connections = proxy(&front, socket, |_| None);
    for (directory, file) in [("a/src", "x.c"), ("b/src", "y.c"), ("b/doc", "z.c")] {
        let directory = scratch.join("tree").join(directory);
        std::fs::create_dir_all(&directory).unwrap();
        std::fs::write(directory.join(file), file).unwrap();
    }
    let top = name(&front, &scratch.join("tree"));
    let servers = servers(LONG);
    let (language, options) = Flags(0).read().unwrap();
    let pattern = Pattern::new(b"/*/src/*.c", language).unwrap();
    let options = Options {
        root_form: RootForm::Included,
        ..options
    };
    let request = Request::new(&pattern, &[&top[..]], options).unwrap();
    let mut search = Search::open(&*servers.executor(), request).unwrap();
    let mut names = Vec::new();
    while let Some(record) = search.next_record().unwrap() {
        assert!(matches!(record.outcome, Record::Match(_)));
        names.push(record.path.to_vec());
    }
    let wanted = ["a/src/x.c", "b/src/y.c"];
    let wanted = wanted.map(|below| [&top[..], b"/", below.as_bytes()].concat());
    assert_eq!(names, wanted);
    assert_eq!(*connections.lock().unwrap(), 1);
    for (outcome, content_there) in fetch_all(&servers, &names, 0)
        .into_iter()
        .zip(["x.c", "y.c"])
    {
        assert_eq!(content(outcome.unwrap()).unwrap(), content_there.as_bytes());
    }
}

#[test]
fn a_set_of_names_at_two_servers_is_iterated() {
    let scratch = Scratch::new("fetch");
    let sockets = [scratch.join("s1"), scratch.join("s2")];
    let files = files(&scratch, &[10, 20, 30]);
    let mut names = vec![scratch.join("f1").display().to_string().into_bytes()];
    for socket in &sockets {
        server(socket, serving());
        names.extend(files.iter().map(|(path, _)| name(socket, path)));
    }
    let servers = servers(LONG);
    let place = |name: &Vec<u8>| servers.place(&Found::named(name.clone()));
    assert_eq!(place(&names[0]), None);
    let address = format!("unix:{}", sockets[0].display());
    assert_eq!(place(&names[1]), Some(PlaceId::Server(address)));
    let count = names.len();
    let names: Box<dyn Names> = Box::new(names.into_iter());
    let openers: Vec<std::sync::Arc<dyn Opener>> =
        vec![servers, std::sync::Arc::new(trawl_sets::Local::default())];
    let set = Set::open(names, openers, trawl_sets::Options::default()).unwrap();
    let sizes = sizes(&set);
    assert_eq!(sizes.len(), count);
    assert_eq!(sizes, [10, 10, 20, 20, 20, 30, 30]);
}
