//! The exact bytes of one frame of every kind, as published.
//!
//! `tests/golden/messages.txt` has one line for each kind: its number, its name, and the frame of
//! its example. `BLESS=1` adds lines for new kinds; it never changes a line.

use super::*;

const ID: u32 = 0x0403_0201;

fn examples() -> Vec<Message> {
    let root = QuestionRoot {
        pattern: 1,
        number: 7,
        path: b"/srv/a".to_vec(),
        shown: b"a".to_vec(),
        prefix: b"b/c".to_vec(),
        skip: vec![b"d".to_vec(), b"e/f".to_vec()],
    };
    let path = || b"/srv/x".to_vec();
    let (offset, length) = (0x0102_0304_0506_0708, 0x1122_3344);
    let names = vec![
        NewsName {
            happened: Happened::Changed,
            name: b"n".to_vec(),
        },
        NewsName {
            happened: Happened::Replaced,
            name: b".".to_vec(),
        },
    ];
    vec![
        Message::Hello(Hello {
            lowest: 1,
            highest: 2,
            requests: 16,
            features: 0xff,
        }),
        Message::Search(Question {
            flags: 5,
            max_depth: 8192,
            credit: 1 << 20,
            cookie: b"cookie".to_vec(),
            patterns: vec![b"*".to_vec(), b"a|b".to_vec()],
            roots: vec![root],
        }),
        Message::Block(b"records".to_vec()),
        Message::End {
            records: 3,
            ending: Ending::Paused(b"cookie".to_vec()),
        },
        Message::Error {
            code: Code::System,
            errno: 13,
            text: "cannot open x".to_owned(),
        },
        Message::Interrupt,
        Message::Credit(0x0102_0304),
        Message::Stat {
            of_link: true,
            path: path(),
        },
        Message::List {
            credit: 1 << 20,
            path: path(),
        },
        Message::Read {
            offset,
            length,
            path: path(),
        },
        Message::Data(b"data".to_vec()),
        Message::Alive,
        Message::ServedBy(Answerer::Index),
        Message::Links(vec![path(), b"y".to_vec()]),
        Message::Attributes {
            entries: 9,
            top: path(),
            from: b"a/b".to_vec(),
        },
        Message::Watch {
            top: path(),
            dirs: vec![Vec::new(), b"d".to_vec()],
        },
        Message::News(vec![
            News::Watched(b"w".to_vec()),
            News::Unwatched(b"u".to_vec()),
            News::Changed {
                dir: b"d".to_vec(),
                names,
            },
            News::Lost(b"l".to_vec()),
        ]),
        Message::Fetch {
            offset,
            length,
            path: path(),
        },
    ]
}

fn line(message: &Message) -> String {
    let bytes = message.encode(ID);
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{} {}: {hex}", bytes[4], message.name())
}

#[test]
fn frames_are_as_published() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/messages.txt");
    let published = std::fs::read_to_string(path).unwrap_or_default();
    let mut lines: Vec<String> = published.lines().map(str::to_owned).collect();
    let known = lines.len();
    for (at, message) in examples().iter().enumerate() {
        let now = line(message);
        match lines.get(at) {
            Some(line) => assert_eq!(*line, now, "the bytes of a published message changed"),
            None => lines.push(now),
        }
    }
    assert_eq!(lines.len(), examples().len(), "a published message is gone");
    if lines.len() > known {
        assert!(
            std::env::var_os("BLESS").is_some(),
            "{path} lacks a message: add it with BLESS=1"
        );
        std::fs::write(path, lines.join("\n") + "\n").unwrap();
    }
}
