//! Servers made of the protocol. One of an older version knows no request that came later, and must
//! never answer a question about mapped paths, or one whose rows are merged, with something else.
//! Others give rows that are none, or not all of them.

use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use trawl_model::SortKey;
use trawl_model::sort_key::Direction;
use trawl_remote::client::OutputStream;
use trawl_remote::rows::{Beginning, Piece, Row};
use trawl_remote::wire::{
    Code, End, Ending, Exited, Frame, Hello, Message, Printed, Refusal, VERSION, feature,
};
use trawl_testkit::oracle::{self, Ran};

use crate::site::Site;

/// The newest request of that version: `command`, and what belongs to it.
const LAST_KIND: u8 = 23;
/// The kind of a `ranked command`.
const RANKED: u8 = 25;
/// What the server answers to every command line that it knows how to read.
const ANSWER: &[u8] = b"/export/vol/of/the/server\n";

/// A server made of the protocol, and the kinds of frames that it has received.
struct Old {
    socket: PathBuf,
    kinds: Arc<Mutex<Vec<u8>>>,
}

/// What such a server does.
#[derive(Clone)]
struct Acts {
    /// The newest kind of frame that it knows.
    last_kind: u8,
    /// What commands print on their standard output.
    prints: Vec<u8>,
    /// Whether it closes the connection instead of ending its answer.
    breaks_off: bool,
}

impl Old {
    fn listen(socket: PathBuf) -> Old {
        Old::that(
            Acts {
                last_kind: LAST_KIND,
                prints: ANSWER.to_vec(),
                breaks_off: false,
            },
            socket,
        )
    }

    fn that(acts: Acts, socket: PathBuf) -> Old {
        let listener = UnixListener::bind(&socket).expect("room");
        let kinds = Arc::<Mutex<Vec<u8>>>::default();
        let noted = Arc::clone(&kinds);
        std::thread::spawn(move || {
            while let Ok((client, _)) = listener.accept() {
                let (noted, acts) = (Arc::clone(&noted), acts.clone());
                std::thread::spawn(move || answer(client, &acts, &noted));
            }
        });
        Old { socket, kinds }
    }

    fn kinds(&self) -> Vec<u8> {
        self.kinds.lock().expect("no panic").clone()
    }
}

/// Answers until the client leaves.
fn answer(mut client: UnixStream, acts: &Acts, kinds: &Mutex<Vec<u8>>) {
    let features = match acts.last_kind {
        LAST_KIND => feature::ALL & (feature::MAPPED - 1),
        _ => feature::ALL,
    };
    let hello = Hello {
        lowest: VERSION,
        highest: VERSION,
        requests: 16,
        features,
    };
    let _ = client.write_all(&Message::Hello(hello).encode(0));
    while let Some(frame) = frame(&mut client) {
        kinds.lock().expect("no panic").push(frame.kind);
        let id = frame.id;
        let said = match frame.kind {
            kind if kind > acts.last_kind => {
                vec![Message::Error(Refusal {
                    code: Code::Unsupported,
                    errno: 0,
                    text: format!("there are no frames of kind {kind}"),
                })]
            }
            _ => match Message::decode(frame).expect("our client's") {
                Message::Command(_) | Message::RankedCommand(_) => {
                    let (stream, bytes) = (OutputStream::Output, acts.prints.clone());
                    let (records, ending) = (bytes.len() as u64, Ending::Whole);
                    let mut said = vec![Message::Printed(Printed { stream, bytes })];
                    if !acts.breaks_off {
                        said.push(Message::Exited(Exited(0)));
                        said.push(Message::End(End { records, ending }));
                    }
                    said
                }
                _ => Vec::new(),
            },
        };
        for message in said {
            let _ = client.write_all(&message.encode(id));
        }
        if acts.breaks_off && kinds.lock().expect("no panic").contains(&RANKED) {
            return;
        }
    }
}

/// Reads a frame: a length, a kind, zeros, a number, and a body.
fn frame(client: &mut UnixStream) -> Option<Frame> {
    let mut length = [0; 4];
    client.read_exact(&mut length).ok()?;
    let mut bytes = vec![0; u32::from_le_bytes(length) as usize];
    client.read_exact(&mut bytes).ok()?;
    Some(Frame {
        kind: bytes[0],
        id: u32::from_le_bytes(bytes[4..8].try_into().ok()?),
        body: bytes[8..].to_vec(),
    })
}

fn ask(site: &Site, settings: &Path, words: &[&str]) -> Ran {
    let mut command = oracle::command(&site.program);
    command.env("XDG_CONFIG_HOME", settings).args(words);
    oracle::run(command.current_dir(site.scratch.path()))
}

#[test]
fn an_old_server_is_not_asked_about_its_own_paths_instead_of_mapped_ones() {
    let site = Site::new("old-mapped");
    let old = Old::listen(site.scratch.join("old"));
    let settings = site.scratch.join("settings");
    std::fs::create_dir_all(settings.join("trawl")).expect("room");
    let socket = old.socket.display().to_string();
    let rule = format!("/gpfs = unix://{socket}:/export/vol\n");
    std::fs::write(settings.join("trawl/remote"), rule).expect("room");
    let address = format!("unix:{socket}");
    // A question about the server's own paths is one that it knows.
    let own = ask(&site, &settings, &["--remote", &address, "find", "/export"]).expect_code(0);
    assert_eq!(own.stdout, ANSWER, "{own}");
    assert!(!old.kinds().iter().any(|kind| *kind > LAST_KIND));
    for words in [
        &["find", "/gpfs"][..],
        &["--remote", &address, "find", "/gpfs"],
        &["du", "-s", "/gpfs/proj"],
        &["--remote", &address, "locate", "x.c"],
    ] {
        let ran = ask(&site, &settings, words).expect_code(2);
        assert_eq!(ran.text(), "", "{words:?}: {ran}");
        let said = ran.errors();
        assert!(said.contains(&address), "{words:?}: {ran}");
        assert!(said.contains("mapped paths"), "{words:?}: {ran}");
        assert!(said.contains("a newer trawl is needed there"), "{ran}");
    }
    // Only the first question was sent as a plain command line.
    let plain = old.kinds().iter().filter(|kind| **kind == 21).count();
    assert_eq!(plain, 1, "{:?}", old.kinds());
}

#[test]
fn an_old_server_is_named_where_rows_are_merged_and_the_others_answer() {
    let site = Site::new("old-merged");
    let old = Old::listen(site.scratch.join("old"));
    let (_new, socket) = site.at_socket(&[]);
    let settings = site.scratch.join("none");
    let address = format!("unix:{}", old.socket.display());
    let new = format!("unix:{}", socket.display());
    let both = ["--remote", &address, "--remote", &new];
    let words = ["find", "--live", "tree", "-sort", "-name"];
    let ran = ask(&site, &settings, &[&both[..], &words].concat());
    let alone = ask(
        &site,
        &settings,
        &[&["--remote", "here"][..], &words].concat(),
    );
    assert_eq!(ran.stdout, alone.stdout, "{ran}");
    assert_eq!(ran.code, Some(1), "{ran}");
    let said = ran.errors();
    assert!(said.contains(&address), "{ran}");
    assert!(said.contains("a newer trawl is needed there"), "{ran}");
    // Without an order, each answers as it always did.
    let ran = ask(
        &site,
        &settings,
        &[&both[..], &["find", "--live", "tree"]].concat(),
    );
    let ran = ran.expect_code(0);
    assert!(ran.stdout.starts_with(ANSWER), "{ran}");
}

/// Returns the rows that a server gives of `trawl find -sort name -limit 3`.
fn rows(names: &[&str]) -> Vec<u8> {
    let beginning = Piece::Beginning(Beginning {
        limit: 3,
        fields: vec![Vec::new()],
    });
    let row = |name: &&str| {
        let key = SortKey::default().text(name.as_bytes(), Direction::Up);
        // No padding, then the text.
        let text = [&[0; 8][..], format!("server/{name}\n").as_bytes()].concat();
        Piece::Row(Row {
            key: key.into_bytes(),
            fields: vec![text],
        })
    };
    let rows = names.iter().map(row);
    let pieces = [beginning].into_iter().chain(rows);
    pieces.flat_map(|piece| piece.encode()).collect()
}

#[test]
fn a_server_whose_rows_are_no_rows_or_break_off_is_named_and_the_rest_stays_in_order() {
    let site = Site::new("bad-rows");
    let (_new, socket) = site.at_socket(&[]);
    let new = format!("unix:{}", socket.display());
    let settings = site.scratch.join("none");
    let names = ["a", "m", "y"].map(|name| site.tree().join(name));
    for name in &names {
        std::fs::write(name, "").expect("room");
    }
    let good = rows(&["b", "n", "z"]);
    let first = rows(&["b"]);
    let garbage = [&first[..], b"\xff\xff\xff\xff"].concat();
    let unfinished = [&first[..], &[9, 0, 0, 0, 2]].concat();
    // A row of find without the number of its pads.
    let bad_row = Piece::Row(Row {
        key: vec![0],
        fields: vec![b"x".to_vec()],
    });
    let bad_row = [&first[..], &bad_row.encode()].concat();
    let no_beginning = rows(&["b"])[21..].to_vec();
    let cases = [
        (
            no_beginning,
            false,
            Some("cannot read the answer"),
            "tree/a\ntree/m\ntree/y\n",
        ),
        (good, false, None, "tree/a\nserver/b\ntree/m\n"),
        (
            first.clone(),
            true,
            Some("ended before"),
            "tree/a\nserver/b\ntree/m\n",
        ),
        (
            garbage,
            false,
            Some("cannot read the answer"),
            "tree/a\nserver/b\ntree/m\n",
        ),
        (
            unfinished,
            false,
            Some("cannot read the answer"),
            "tree/a\nserver/b\ntree/m\n",
        ),
        (
            bad_row,
            false,
            Some("cannot read the answer"),
            "tree/a\nserver/b\ntree/m\n",
        ),
        (
            ANSWER.to_vec(),
            false,
            Some("cannot read the answer"),
            "tree/a\ntree/m\ntree/y\n",
        ),
    ];
    for (number, (prints, breaks_off, why, wanted)) in cases.into_iter().enumerate() {
        let acts = Acts {
            last_kind: RANKED,
            prints,
            breaks_off,
        };
        let bad = Old::that(acts, site.scratch.join(format!("bad{number}")));
        let address = format!("unix:{}", bad.socket.display());
        let words = [
            "--remote", &address, "--remote", &new, "find", "--live", "tree",
        ];
        let words = [&words[..], &["-name", "?", "-sort", "name", "-limit", "3"]].concat();
        let ran = ask(&site, &settings, &words);
        assert_eq!(ran.text(), wanted, "{number}: {ran}");
        assert_eq!(ran.code, Some(why.is_some().into()), "{number}: {ran}");
        let said = ran.errors();
        match why {
            Some(why) => assert!(
                said.contains(&address) && said.contains(why),
                "{number}: {ran}"
            ),
            None => assert_eq!(said, "", "{number}"),
        }
    }
}
