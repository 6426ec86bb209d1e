//! Tables of the grammar, with the examples of the paper's Figure 2.

use super::*;
use proptest::prelude::*;

fn words(text: &str) -> Vec<String> {
    let name = SetName::parse(text.as_bytes()).unwrap();
    (0..name.word_count())
        .map(|number| shown(&name.word(number)))
        .collect()
}

/// Shows a word: runs in `<>`, queries in `Q()`, commands in `C()`.
fn shown(word: &Word) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let mut line = String::new();
    if let Some(user) = &word.home {
        line += &format!("H({})", text(user));
    }
    for piece in &word.pieces {
        line += &match piece {
            Piece::Text(bytes) => text(bytes),
            Piece::Run(steps) => {
                let steps: Vec<Vec<u8>> = steps.iter().map(Step::text).collect();
                format!("<{}>", text(&steps.join(&b'/')))
            }
            Piece::Query(bytes) => format!("Q({})", text(bytes)),
            Piece::Command(bytes) => format!("C({})", text(bytes)),
            Piece::Misplaced => "MISPLACED".to_owned(),
        };
    }
    line
}

fn why(text: &str) -> String {
    SetName::parse(text.as_bytes()).unwrap_err().to_string()
}

#[test]
fn examples_of_the_paper() {
    assert_eq!(
        words("/coda/usr/dcs/*src*/*.c"),
        ["/coda/usr/dcs/<*src*/*.c>"]
    );
    assert_eq!(
        words(r#"/coda/{cmu,mit}/staff/\select home where name like "%david%"\"#),
        ["cmu", "mit"].map(|place| format!(
            r#"/coda/{place}/staff/Q(select home where name like "%david%")"#
        ))
    );
    assert_eq!(
        words("/coda/sources/%myMakeDepend foo.c%"),
        ["/coda/sources/C(myMakeDepend foo.c)"]
    );
    // Section 3.2 has the last two characters exchanged.
    assert_eq!(
        words(r#"/afs/{mit,cmu}/tr-db/\select name from reports where author like "david\""#),
        ["mit", "cmu"].map(|place| format!(
            r#"/afs/{place}/tr-db/Q(select name from reports where author like "david")"#
        ))
    );
    assert_eq!(
        words("/coda/{cmu,mit}/staff"),
        ["/coda/cmu/staff", "/coda/mit/staff"]
    );
}

#[test]
fn queries_and_commands() {
    for (text, word) in [
        (
            r"db/\select dir from t\/*.c",
            "db/Q(select dir from t)/<*.c>",
        ),
        (r"\q\", "Q(q)"),
        (r"db\q\.c", "dbQ(q).c"),
        (r"db/\a\\b\", r"db/Q(a\b)"),
        (r"db/\*{a,b}/?\x", "db/Q(*{a,b}/?)x"),
        (r"*/db/\q\/x", "<*/db>/Q(q)/x"),
        (r"a/\q\/\r\", "a/Q(q)/Q(r)"),
        (r"page.html/\\", "page.html/Q()"),
        (r"page.html/\\/x", "page.html/Q()/x"),
        (r"a/\\x", r"a/\x"),
        (r"a\\b", r"a\b"),
        (r"a\\", r"a\"),
        (r"a/[\]", r"a/\"),
        (r"\q\*", "Q(q)MISPLACED"),
        ("a/%ls%/x", "a/C(ls)/x"),
        ("%echo 5%%%", "C(echo 5%)"),
        ("%%a%%", "%a%"),
        ("50%off", "50%off"),
        ("a%%b", "a%b"),
        ("[%]a", "%a"),
        (r"https://h/a%20b?x=*&y=~[1]", "https://h/a%20b?x=*&y=~[1]"),
        (r"https://h//p.html/\*.pdf\", "https://h//p.html/Q(*.pdf)"),
        (r"https://h/p.html/\\", "https://h/p.html/Q()"),
    ] {
        assert_eq!(words(text), [word], "{text}");
    }
}

#[test]
fn braces_as_in_csh() {
    for (text, expected) in [
        ("{a,b}", &["a", "b"][..]),
        ("{a,b}{1,2}", &["a1", "a2", "b1", "b2"]),
        ("x{a,{b,c}d,}y", &["xay", "xbdy", "xcdy", "xy"]),
        ("{a}", &["a"]),
        ("{}", &["{}"]),
        ("a{}b", &["a{}b"]),
        ("a,b}", &["a,b}"]),
        ("[{]a,b}", &["{a,b}"]),
        ("{[,],b}", &[",", "b"]),
        (r"{a/\x,y\,b}", &["a/Q(x,y)", "b"]),
        (r"{a/\\,b}", &["a/Q()", "b"]),
        ("{%a,b%,c}", &["C(a,b)", "c"]),
        ("{~,~u}/x", &["H()/x", "H(u)/x"]),
        ("https://h/{a,b}", &["https://h/a", "https://h/b"]),
    ] {
        assert_eq!(words(text), expected, "{text}");
    }
}

#[test]
fn wildcards_and_homes() {
    for (text, word) in [
        ("*", "<*>"),
        ("a/*/b", "a/<*/b>"),
        ("*/../b*", "<*>/../<b*>"),
        ("*/", "<*>/"),
        ("*//b", "<*>//b"),
        ("[^a]", "<[^a]>"),
        ("[!a]", "<[^a]>"),
        ("[a-c]x", "<[a-c]x>"),
        ("[]a]", "<[]a]>"),
        (r"[a\]", r"<[a\\]>"),
        ("[[:digit:]]", "<[[:digit:]]>"),
        ("[*]", "*"),
        ("[[]*", r"<\[*>"),
        ("a|b*", r"<a\|b*>"),
        ("~", "H()"),
        ("~/x", "H()/x"),
        ("~me/*", "H(me)/<*>"),
        ("[~]me", "~me"),
        ("a~", "a~"),
        ("a/~", "a/~"),
        ("~*", "<~*>"),
    ] {
        assert_eq!(words(text), [word], "{text}");
    }
}

#[test]
fn errors_say_where_and_what_to_write() {
    for (text, part) in [
        ("", "write ."),
        ("a{b", "byte 1 is not closed: append }, or write [{]"),
        (
            "a[b",
            "byte 1 is not closed in its component: append ], or write [[]",
        ),
        ("a[b/c]", "byte 1"),
        (
            r"a/\q",
            r"byte 2 does not end: append a backslash, or write \\",
        ),
        ("a/%q", "byte 2 does not end: append a %, or write %%"),
        ("a\0", "NUL byte at byte 1"),
        (&"{".repeat(40), "the maximum"),
        (&"a".repeat(NAME_MAX_BYTES + 1), "at most 65536"),
    ] {
        assert!(why(text).contains(part), "{text}: {}", why(text));
    }
}

#[test]
fn many_braces_cost_no_memory() {
    let name = SetName::parse("{a,b}".repeat(1000).as_bytes()).unwrap();
    assert_eq!(name.word_count(), u128::MAX);
    let word = |number| shown(&name.word(number));
    assert_eq!(word(0), "a".repeat(1000));
    assert_eq!(word(5), "a".repeat(997) + "bab");
    assert_eq!(
        shown(&SetName::parse(b"{a,b{c,d}}{e,f}").unwrap().word(3)),
        "bcf"
    );
}

/// A path's bytes, often special.
fn path() -> impl Strategy<Value = Vec<u8>> {
    let special = prop::sample::select(&b"*?[]{},~\\%!^-:/.ab\n"[..]);
    let byte = prop_oneof![4 => special, 1 => 1u8..];
    let path = prop::collection::vec(byte, 1..20);
    let url = path
        .clone()
        .prop_map(|path| [b"http://", &path[..]].concat());
    prop_oneof![4 => path, 1 => url]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn a_literal_names_exactly_this_path(path in path()) {
        let name = SetName::parse(&SetName::literal(&path)).unwrap();
        let only = Word { home: None, pieces: vec![Piece::Text(path)], is_checked: false };
        prop_assert_eq!((name.word_count(), name.word(0)), (1, only));
    }

    #[test]
    fn any_bytes_are_a_name_or_an_error(text in prop::collection::vec(any::<u8>(), 0..40), path in path()) {
        for text in [text, path] {
            if let Ok(name) = SetName::parse(&text) {
                for number in 0..name.word_count().min(8) {
                    let _ = name.word(number);
                }
            }
        }
    }
}
