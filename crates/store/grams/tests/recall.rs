//! No match is lost: whatever the texts and the patterns, a document in a line of which a pattern
//! matches is a candidate. The oracle is `regex-automata` over the texts.

use proptest::prelude::*;
use regex_automata::meta::Regex;
use regex_automata::util::syntax;
use trawl_grams::{Builder, CaseRule, Content, DocId, Keys, Pack, Parts, Plan, SyntaxRule};

fn id(number: usize) -> DocId {
    DocId {
        object: number as u64,
        version: number as u64,
    }
}

const CONTENTS: [Content; 2] = [Content::Text, Content::Binary];

fn pack(content: Content, texts: &[Vec<u8>]) -> Vec<u8> {
    let (mut builder, mut keys) = (Builder::new(content), Keys::default());
    for (at, text) in texts.iter().enumerate() {
        builder.add(id(at), keys.of(content, text));
    }
    builder.finish()
}

fn content() -> impl Strategy<Value = Content> {
    proptest::sample::select(CONTENTS.to_vec())
}

fn text() -> impl Strategy<Value = Vec<u8>> {
    let letter = prop_oneof![
        4 => proptest::sample::select(b"abcABC01_ (\n\0".to_vec()).prop_map(|byte| vec![byte]),
        1 => proptest::sample::select(vec!["k", "K", "\u{212a}", "s", "\u{17f}", "ä", "Ä"])
            .prop_map(|text| text.as_bytes().to_vec()),
        1 => any::<u8>().prop_map(|byte| vec![byte]),
    ];
    proptest::collection::vec(letter, 0..60).prop_map(|parts| parts.concat())
}

fn pattern() -> impl Strategy<Value = String> {
    let atom = prop_oneof![
        proptest::sample::select(vec![
            "a",
            "b",
            "c",
            "A",
            "ab",
            "abc",
            "bca",
            "cab0",
            "k",
            "s",
            "ä",
            "01",
            "_",
            " ",
            ".",
            "[ab]",
            "[a-c]",
            "[^a]",
            "\\w",
            "\\d",
            "\\b",
            "^",
            "$",
            "(?-u:\\xff)",
            "(?i:abc)",
            "(?i:k)",
            "",
            "abcabc",
            "\\(",
        ])
        .prop_map(String::from)
    ];
    atom.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            4 => proptest::collection::vec(inner.clone(), 2..4).prop_map(|parts| parts.concat()),
            2 => proptest::collection::vec(inner.clone(), 2..4)
                .prop_map(|parts| format!("(?:{})", parts.join("|"))),
            2 => (inner, proptest::sample::select(vec!["*", "+", "?", "{2}", "{2,}", "{0}", "{1,3}"]))
                .prop_map(|(part, times)| format!("(?:{part}){times}")),
        ]
    })
}

/// Returns whether a pattern matches in a line as `grep` takes lines: those of a binary file end with
/// NUL bytes, too.
fn has_match(pattern: &str, case: CaseRule, (content, text): (Content, &[u8])) -> Option<bool> {
    let config = syntax::Config::new()
        .utf8(false)
        .multi_line(true)
        .case_insensitive(case == CaseRule::Insensitive);
    let regex = Regex::builder().syntax(config).build(pattern).ok()?;
    let is_end = |byte: &u8| *byte == b'\n' || content == Content::Binary && *byte == 0;
    Some(text.split(is_end).any(|line| regex.is_match(line)))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn candidates_contain_all_matches(
        texts in proptest::collection::vec(text(), 1..8),
        content in content(),
        pattern in pattern(),
        ignores_case in any::<bool>(),
    ) {
        let case = [CaseRule::Sensitive, CaseRule::Insensitive][usize::from(ignores_case)];
        let pack = Pack::open(pack(content, &texts)).unwrap();
        prop_assert_eq!(pack.content(), content);
        let plan = Plan::of(std::slice::from_ref(&pattern), SyntaxRule::Regex, case);
        let candidates = pack.candidates(&plan).unwrap();
        for (at, text) in texts.iter().enumerate() {
            if has_match(&pattern, case, (content, text)) == Some(true) {
                prop_assert!(candidates.contains(at as u32), "{pattern} in {}", text.escape_ascii());
            }
        }
    }

    #[test]
    fn fixed_strings_are_found(
        texts in proptest::collection::vec(text(), 1..8),
        content in content(),
        cut in any::<(u8, u8)>(),
    ) {
        let pack = Pack::open(pack(content, &texts)).unwrap();
        for (at, text) in texts.iter().enumerate() {
            for line in text.split(|byte| *byte == b'\n' || *byte == 0) {
                let start = usize::from(cut.0) % (line.len() + 1);
                let end = start + usize::from(cut.1) % (line.len() - start + 1);
                let Ok(part) = std::str::from_utf8(&line[start..end]) else { continue };
                let plan = Plan::of(&[part.into()], SyntaxRule::Fixed, CaseRule::Sensitive);
                prop_assert!(pack.candidates(&plan).unwrap().contains(at as u32), "{part:?}");
            }
        }
    }

    #[test]
    fn damaged_bytes_give_errors(
        texts in proptest::collection::vec(text(), 1..8),
        content in content(),
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        cut in proptest::option::of(any::<prop::sample::Index>()),
    ) {
        let mut bytes = pack(content, &texts);
        let whole = bytes.clone();
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        let plan = Plan::of(&["abc|b.a".into()], SyntaxRule::Regex, CaseRule::Sensitive);
        let whole = Pack::open(whole).unwrap().candidates(&plan).unwrap();
        if let Ok(pack) = Pack::open(bytes)
            && let Ok(candidates) = pack.candidates(&plan)
        {
            // Checksums cover everything that is used.
            prop_assert_eq!(candidates, whole);
        }
    }

    #[test]
    fn crafted_bytes_never_panic(
        texts in proptest::collection::vec(text(), 1..8),
        content in content(),
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..12),
    ) {
        let mut bytes = pack(content, &texts);
        for (at, byte) in changes {
            // The version and the magic stay, so that the rest is looked at.
            let at = 12 + at.index(bytes.len() - 12);
            bytes[at] = byte;
        }
        if let Some(bytes) = trawl_grams::sealed(&bytes)
            && let Ok(pack) = Pack::open(bytes)
        {
            for pattern in ["abc|b.a", "ab", "01", "a.*c|cab"] {
                let plan = Plan::of(&[pattern.into()], SyntaxRule::Regex, CaseRule::Sensitive);
                let _ = pack.candidates(&plan);
            }
            let _ = Builder::new(content).absorb(&pack, |_| true);
        }
    }

    #[test]
    fn absorbed_documents_keep_their_keys(
        texts in proptest::collection::vec(text(), 2..12),
        content in content(),
        mask in any::<u16>(),
    ) {
        let kept = |at: usize| mask >> at & 1 == 1;
        let old = Pack::open(pack(content, &texts)).unwrap();
        let mut builder = Builder::new(content);
        builder.absorb(&old, kept).unwrap();
        let merged = Pack::open(builder.finish()).unwrap();
        let kept: Vec<(usize, Vec<u8>)> = texts.into_iter().enumerate().filter(|(at, _)| kept(*at)).collect();
        let ids: Vec<DocId> = kept.iter().map(|(at, _)| id(*at)).collect();
        prop_assert_eq!(merged.docs(), &ids[..]);
        let texts: Vec<Vec<u8>> = kept.into_iter().map(|(_, text)| text).collect();
        let anew = Pack::open(pack(content, &texts)).unwrap();
        for pattern in ["abc", "01", "cab", "a b", "_01"] {
            let plan = Plan::of(&[pattern.into()], SyntaxRule::Fixed, CaseRule::Sensitive);
            prop_assert_eq!(merged.candidates(&plan).unwrap(), anew.candidates(&plan).unwrap());
        }
    }
}

#[test]
fn what_cannot_match_is_excluded() {
    let texts: Vec<Vec<u8>> = ["static int needle(void)", "nothing", "NEEDLE", "needl\ne"]
        .iter()
        .map(|text| text.as_bytes().to_vec())
        .collect();
    let pack = Pack::open(pack(Content::Text, &texts)).unwrap();
    let found = |pattern: &str| {
        let plan = Plan::of(&[pattern.into()], SyntaxRule::Regex, CaseRule::Sensitive);
        let bits = pack.candidates(&plan).unwrap();
        (0..4)
            .filter(|doc| bits.contains(*doc))
            .collect::<Vec<u32>>()
    };
    // Letters of either case have the same class.
    assert_eq!(found("needle"), [0, 2]);
    assert_eq!(found("(?i)nEEdle"), [0, 2]);
    assert_eq!(found("noth.*|needle\\("), [0, 1]);
    assert_eq!(found("need(le|ed)"), [0, 2]);
    assert_eq!(found("(nothing)+"), [1]);
    assert_eq!(found("x.*"), [0, 1, 2, 3]);
}

#[test]
fn binary_files_without_a_string_are_excluded() {
    let noise = |mut random: u64| {
        let bytes = std::iter::repeat_with(move || {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (random >> 40) as u8
        });
        bytes.take(100_000).collect::<Vec<u8>>()
    };
    let with_string = [&noise(1)[..], b"\0needle_in_a_stack\0", &noise(2)].concat();
    let torn = [&noise(3)[..], b"needle_in\0_a_stack", &noise(4)].concat();
    let texts = [noise(5), with_string, torn];
    let (mut builder, mut parts) = (Builder::new(Content::Binary), Parts::default());
    for (at, text) in texts.iter().enumerate() {
        builder.add_parts(id(at), parts.of(Content::Binary, text));
    }
    let bytes = builder.finish();
    let total: usize = texts.iter().map(Vec::len).sum();
    assert!(bytes.len() * 5 < total, "{} of {total}", bytes.len());
    let pack = Pack::open(bytes).unwrap();
    let excluded = |pattern: &str| {
        let plan = Plan::of(&[pattern.into()], SyntaxRule::Regex, CaseRule::Insensitive);
        let excluded = pack.excluded(&plan).unwrap();
        excluded.iter().map(|id| id.object).collect::<Vec<u64>>()
    };
    assert_eq!(excluded("needle_in_a"), [0, 2]);
    assert_eq!(excluded("needle_in"), [0]);
    // Without case, s and k equal two letters that are not plain.
    assert_eq!(excluded("stack"), [0]);
    // The index says nothing of these bytes.
    assert_eq!(excluded("n\u{e4}d\u{e4}l"), [0; 0]);
    let mut text = Builder::new(Content::Text);
    assert!(text.absorb(&pack, |_| true).is_err() && text.is_empty());
}

#[test]
fn a_large_document_is_excluded_if_no_part_can_match() {
    let line = |number: usize| match number {
        10 => "the first alpha_beta\n".to_owned(),
        2990 => "the last gamma_delta\n".to_owned(),
        _ => format!("line number {number}\n"),
    };
    let large: String = (0..3000).map(line).collect();
    let (mut builder, mut parts) = (Builder::new(Content::Text), Parts::default());
    for (at, text) in ["alpha_beta", &large, "gamma_delta"].iter().enumerate() {
        parts.of(Content::Text, text.as_bytes());
        assert!(builder.has_room_for(&parts));
        builder.add_parts(id(at), &parts);
    }
    let pack = Pack::open(builder.finish()).unwrap();
    assert!(pack.docs().len() > 5);
    let excluded = |pattern: &str| {
        let plan = Plan::of(&[pattern.into()], SyntaxRule::Regex, CaseRule::Sensitive);
        let excluded = pack.excluded(&plan).unwrap();
        excluded.iter().map(|id| id.object).collect::<Vec<u64>>()
    };
    assert_eq!(excluded("alpha_beta"), [2]);
    assert_eq!(excluded("gamma_delta"), [0]);
    assert_eq!(excluded("gamma_delta|alpha_beta"), [0; 0]);
    // No line has both.
    assert_eq!(excluded("alpha_beta.*gamma_delta"), [0, 1, 2]);
    assert_eq!(excluded("line number 2500"), [0, 2]);
}
