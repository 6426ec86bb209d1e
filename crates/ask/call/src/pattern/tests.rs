//! Tests of the pattern language: tables of cases, and a naive matcher over whole paths.

use super::*;
use proptest::prelude::*;

pub(crate) fn compiled(text: &str, mode: Mode) -> Pattern {
    let period = Period::Ordinary;
    Pattern::new(text.as_bytes(), Language { mode, period }).unwrap()
}

fn paper(text: &str) -> Pattern {
    compiled(text, Mode::Paper)
}

#[test]
fn what_matches() {
    for (pattern, paths, others) in [
        ("x", "x a/x a/b/x", "a x/a ax xa"),
        ("/x", "x", "a/x x/x"),
        ("b/x", "b/x a/b/x", "x ab/x b/a/x"),
        ("/b/x", "b/x", "a/b/x"),
        ("*", "a a/b .x", ""),
        ("/*", "a .x", "a/b"),
        ("/*/x", "a/x", "x a/b/x"),
        ("*.c", "x.c a/x.c .c", "x.h x.c/a"),
        ("a*b*c", "abc aXbYc a/abbc", "ab acb"),
        ("a?c", "abc ac", "abbc a/c"),
        ("a?", "a ab", "abc b"),
        ("??", "a ab x/a", "abc"),
        ("*?", "a abc", ""),
        ("?*a", "a ba bca", "b"),
        ("[ab]", "[ab]", "a b"),
        ("*.c|*.h", "x.c a/x.h", "x.o"),
        ("/x|b/y", "x b/y a/b/y", "a/x y"),
        ("a\\*", "a*", "ab"),
        ("a\\|b", "a|b", "a b"),
        ("a\\?", "a?", "a ab"),
        ("a b", "x/a", ""),
        ("a//b", "a/b x/a/b", "b"),
        ("a\\/b", "a/b", "b"),
        (":", ":", "a"),
    ] {
        let pattern = paper(pattern);
        for path in paths.split(' ').filter(|_| pattern.to_text() != b"a b") {
            assert!(pattern.matches(path.as_bytes()), "{pattern:?} {path}");
        }
        for path in others.split(' ') {
            assert!(!pattern.matches(path.as_bytes()), "{pattern:?} {path}");
        }
        assert!(!pattern.matches(b""));
    }
    assert!(paper("a b").matches(b"x/a b") && !paper("a b").matches(b"a"));
}

#[test]
fn what_matches_as_fnmatch_has_it() {
    for (pattern, paths, others) in [
        ("a?c", "abc", "ac abbc"),
        ("[ab]", "a x/b", "c ab"),
        ("[!ab]", "c", "a"),
        ("[a|b]", "a b |", "c"),
        ("[]|]x|y", "]x |x y", "x"),
        ("[[:digit:]|]", "1 |", "a"),
        ("[a", "[a", "a"),
        ("[a/b]", "[a/b]", "a b"),
        ("a\\[b", "a[b", "ab"),
    ] {
        let pattern = compiled(pattern, Mode::Fnmatch);
        for path in paths.split(' ') {
            assert!(pattern.matches(path.as_bytes()), "{pattern:?} {path}");
        }
        for path in others.split(' ') {
            assert!(!pattern.matches(path.as_bytes()), "{pattern:?} {path}");
        }
    }
}

#[test]
fn the_searched_directory_itself() {
    assert!(paper("/.").matches(b"") && !paper("/.").matches(b"a"));
    assert!(paper("//.").matches(b"") && paper("/\\.").matches(b""));
    let both = paper("/.|/a");
    assert!(both.matches(b"") && both.matches(b"a") && !both.matches(b"b"));
    assert_eq!(paper("/.").levels(paper("/.").start()), Some(0));
}

/// "`ls -l` is simply `opensearch(".", "/", METADATA)`": a slash alone matches the directory's
/// entries.
#[test]
fn a_slash_alone_is_what_the_searched_directory_holds() {
    for text in ["/", "//", "/|/x", "\\/"] {
        let pattern = paper(text);
        for (path, is_match) in [("", false), ("a", true), (".a", true), ("a/b", false)] {
            assert_eq!(pattern.matches(path.as_bytes()), is_match, "{text} {path}");
        }
        assert_eq!(pattern.levels(pattern.start()), Some(1), "{text}");
    }
    let period = Period::Explicit;
    for mode in [Mode::Paper, Mode::Fnmatch] {
        let pattern = Pattern::new(b"/", Language { mode, period }).unwrap();
        assert!(pattern.matches(b"a") && !pattern.matches(b".a"));
    }
}

#[test]
fn a_period_may_have_to_be_written() {
    let language = |mode| Language {
        mode,
        period: Period::Explicit,
    };
    for (pattern, mode, name, is_match) in [
        ("*", Mode::Paper, ".a", false),
        (".*", Mode::Paper, ".a", true),
        ("\\.*", Mode::Paper, ".a", true),
        ("?a", Mode::Paper, ".a", false),
        ("?a", Mode::Fnmatch, ".a", false),
        ("[.]a", Mode::Fnmatch, ".a", false),
        ("*", Mode::Fnmatch, "a.b", true),
        // Only the matching components matter, not the ones before them.
        ("a", Mode::Paper, ".d/a", true),
        ("*/a", Mode::Paper, ".d/a", false),
    ] {
        let pattern = Pattern::new(pattern.as_bytes(), language(mode)).unwrap();
        assert_eq!(pattern.matches(name.as_bytes()), is_match, "{pattern:?}");
    }
}

#[test]
fn what_is_no_pattern_is_told() {
    use PatternError as Bad;
    for (text, error) in [
        (&b""[..], Bad::Empty { at: 0 }),
        (b"a|", Bad::Empty { at: 2 }),
        (b"|a", Bad::Empty { at: 0 }),
        (b"a/", Bad::TrailingSlash { at: 1 }),
        (b"a\0", Bad::Nul { at: 1 }),
        (b"ab\\", Bad::Backslash { at: 2 }),
        (b"a/./b", Bad::Dots { at: 2, name: "." }),
        (b".", Bad::Dots { at: 0, name: "." }),
        (b"a/.", Bad::Dots { at: 2, name: "." }),
        (b"/..", Bad::Dots { at: 1, name: ".." }),
        (b"/./", Bad::TrailingSlash { at: 2 }),
        (b"\\..", Bad::Dots { at: 0, name: ".." }),
        (
            &[b'a'; PATTERN_MAX_BYTES + 1],
            Bad::TooLong {
                length: PATTERN_MAX_BYTES + 1,
            },
        ),
        (&b"a?".repeat(300), Bad::ComponentTooLong { at: 0 }),
        (
            &[&b"a/".repeat(STEPS_MAX)[..], b"a"].concat(),
            Bad::TooManyComponents,
        ),
    ] {
        assert_eq!(Pattern::new(text, Language::default()).unwrap_err(), error);
    }
    let mode = Mode::Fnmatch;
    let period = Period::Ordinary;
    let bad = Pattern::new(b"a/[[:no:]]", Language { mode, period });
    assert_eq!(bad.unwrap_err(), Bad::Hopeless { at: 2 });
}

#[test]
fn hostile_patterns_take_no_long_time() {
    // Trying runs one after the other would take longer than the age of the universe for any of
    // these.
    let name = [b'a'; 255];
    for (text, mode) in [
        ("*a".repeat(200) + "b", Mode::Paper),
        ("*a".repeat(200) + "b", Mode::Fnmatch),
        ("*?a".repeat(150) + "b", Mode::Paper),
        ("?".repeat(500) + "b", Mode::Paper),
        ("a?".repeat(250) + "b", Mode::Paper),
    ] {
        assert!(!compiled(&text, mode).matches(&name));
    }
}

#[test]
fn names_are_told_where_there_is_no_choice() {
    let names = |pattern: &str, path: &[u8]| {
        let pattern = paper(pattern);
        let names = pattern.names(&pattern.state_at(path));
        names.map(|names| names.into_iter().map(<[u8]>::to_vec).collect::<Vec<_>>())
    };
    assert_eq!(
        names("/a|/b/c", b""),
        Some(vec![b"a".to_vec(), b"b".to_vec()])
    );
    assert_eq!(
        names("/*/c|/a/b", b"a"),
        Some(vec![b"b".to_vec(), b"c".to_vec()])
    );
    assert_eq!(names("/a\\*", b""), Some(vec![b"a*".to_vec()]));
    assert_eq!(names("a", b""), None);
    assert_eq!(names("/a*", b""), None);
}

#[test]
fn how_deep_matches_can_be() {
    for (pattern, path, levels) in [
        ("/a", "", Some(1)),
        ("/a|/*/b/c", "", Some(3)),
        ("/a|/*/b/c", "x", Some(2)),
        ("/a|/*/b/c", "x/y", Some(0)),
        ("a", "", None),
        ("/a|b", "x/y", None),
    ] {
        let pattern = paper(pattern);
        assert_eq!(
            pattern.levels(&pattern.state_at(path.as_bytes())),
            levels,
            "{pattern:?}"
        );
    }
}

#[test]
fn what_is_left_below_a_path() {
    for (pattern, path, left) in [
        ("/a/b", "a", Some("/b")),
        ("/a/b", "x", None),
        ("/a/b", "a/b", Some("/.")),
        ("/", "a", Some("/.")),
        ("/", "", Some("/*")),
        ("/a/b", "a/b/c", None),
        ("a/b", "a", Some("a/b|/b")),
        ("*.c", "x.c/y", Some("*.c")),
        ("*.c", "y/x.c", Some("/.|*.c")),
        ("/*/x|/a/*", "a", Some("/x|/*")),
    ] {
        let below = paper(pattern).below(path.as_bytes());
        let text = below.map(|below| String::from_utf8(below.to_text()).unwrap());
        assert_eq!(text.as_deref(), left, "{pattern} {path}");
    }
}

/// Returns whether a path matches, by trying every possibility over the whole path.
fn naive(text: &[u8], path: &[u8]) -> bool {
    let mut alternatives: Vec<Vec<(u8, bool)>> = vec![Vec::new()];
    let mut bytes = text.iter();
    while let Some(byte) = bytes.next() {
        match byte {
            b'|' => alternatives.push(Vec::new()),
            b'\\' => {
                let quoted = *bytes.next().unwrap();
                alternatives.last_mut().unwrap().push((quoted, true));
            }
            byte => alternatives.last_mut().unwrap().push((*byte, false)),
        }
    }
    if path.is_empty() {
        return alternatives.contains(&vec![(b'/', false), (b'.', false)]);
    }
    alternatives.iter().any(|tokens| {
        if let [(b'/', _), rest @ ..] = &tokens[..] {
            let all = [(b'*', false)];
            return naive_whole(if rest.is_empty() { &all } else { rest }, path);
        }
        let begins = (0..path.len()).filter(|at| *at == 0 || path[at - 1] == b'/');
        begins
            .into_iter()
            .any(|at| naive_whole(tokens, &path[at..]))
    })
}

fn naive_whole(tokens: &[(u8, bool)], text: &[u8]) -> bool {
    let Some(((token, is_quoted), rest)) = tokens.split_first() else {
        return text.is_empty();
    };
    let in_name = text.first().is_some_and(|byte| *byte != b'/');
    match (token, is_quoted) {
        (b'*', false) => naive_whole(rest, text) || in_name && naive_whole(tokens, &text[1..]),
        (b'?', false) => naive_whole(rest, text) || in_name && naive_whole(rest, &text[1..]),
        (byte, _) => text.first() == Some(byte) && naive_whole(rest, &text[1..]),
    }
}

pub(crate) fn a_pattern() -> impl Strategy<Value = String> {
    const PARTS: &[&str] = &["a", "b", "ab", "*", "?", "\\*", "\\a", ".x"];
    let component = proptest::collection::vec(proptest::sample::select(PARTS), 1..4);
    let component = component.prop_map(|parts| parts.concat());
    let alternative = (any::<bool>(), proptest::collection::vec(component, 1..4));
    let alternative = alternative.prop_map(|(is_anchored, components)| {
        let slash = if is_anchored { "/" } else { "" };
        format!("{slash}{}", components.join("/"))
    });
    let alternative =
        prop_oneof![8 => alternative, 1 => Just("/".to_owned()), 1 => Just("/.".to_owned())];
    proptest::collection::vec(alternative, 1..4).prop_map(|parts| parts.join("|"))
}

pub(crate) fn a_path() -> impl Strategy<Value = String> {
    let name = proptest::sample::select(
        &["a", "b", "ab", "ba", "aab", "*", "a*", ".x", ".xa", "abab"][..],
    );
    proptest::collection::vec(name, 0..5).prop_map(|names| names.join("/"))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn agrees_with_naive_matching(pattern in a_pattern(), path in a_path()) {
        let compiled = paper(&pattern);
        prop_assert_eq!(compiled.matches(path.as_bytes()), naive(pattern.as_bytes(), path.as_bytes()));
    }

    #[test]
    fn text_is_the_same_pattern(pattern in a_pattern(), path in a_path()) {
        let compiled = paper(&pattern);
        let again = Pattern::new(&compiled.to_text(), compiled.language()).unwrap();
        prop_assert_eq!(compiled.matches(path.as_bytes()), again.matches(path.as_bytes()));
        prop_assert_eq!(compiled.to_text(), again.to_text());
    }

    #[test]
    fn what_is_left_matches_the_rest(pattern in a_pattern(), path in a_path(), cut: usize) {
        let compiled = paper(&pattern);
        let names: Vec<&[u8]> = components(path.as_bytes()).collect();
        let cut = cut % (names.len() + 1);
        let (above, below) = (names[..cut].join(&b'/'), names[cut..].join(&b'/'));
        let left = compiled.below(&above).is_some_and(|left| left.matches(&below));
        prop_assert_eq!(left, compiled.matches(path.as_bytes()));
    }

    #[test]
    fn a_state_knows_what_can_match(pattern in a_pattern(), path in a_path(), cut: usize) {
        let compiled = paper(&pattern);
        let names: Vec<&[u8]> = components(path.as_bytes()).collect();
        let cut = cut % (names.len() + 1);
        let state = compiled.state_at(&names[..cut].join(&b'/'));
        if cut < names.len() && compiled.matches(path.as_bytes()) {
            prop_assert!(!state.is_none());
            let levels = compiled.levels(&state);
            prop_assert!(levels.is_none_or(|levels| names.len() - cut <= levels));
            let told = compiled.names(&state);
            prop_assert!(told.is_none_or(|told| told.contains(&names[cut])));
        }
    }

    #[test]
    fn no_text_panics(text in proptest::collection::vec(any::<u8>(), 0..40), path in a_path(), fnmatch: bool) {
        let mode = if fnmatch { Mode::Fnmatch } else { Mode::Paper };
        let language = Language { mode, period: Period::Ordinary };
        if let Ok(compiled) = Pattern::new(&text, language) {
            let _ = compiled.matches(path.as_bytes());
            let again = Pattern::new(&compiled.to_text(), language).unwrap();
            prop_assert_eq!(again.to_text(), compiled.to_text());
        }
    }

    /// Compares with fnmatch(3) with `FNM_PATHNAME`, applied to every suffix of the path.
    #[test]
    fn agrees_with_the_c_library(
        parts in proptest::collection::vec(proptest::sample::select(&["a", "b", "*", "?", "[ab]", "[!a]", "\\a", "/", "[a-b]"][..]), 1..7),
        path in a_path(),
    ) {
        let text = parts.concat();
        let language = Language { mode: Mode::Fnmatch, period: Period::Ordinary };
        let compiled = Pattern::new(text.as_bytes(), language);
        if text.contains("//") || path.is_empty() || text == "/" || compiled.is_err() {
            return Ok(());
        }
        let c = |text: &str| std::ffi::CString::new(text).unwrap();
        let flags = trawl_sys::pattern::Flags::PATHNAME;
        let put = |path: &str| trawl_sys::pattern::matches(&c(&text), &c(path), flags);
        let begins = (0..path.len()).filter(|at| *at == 0 || path.as_bytes()[at - 1] == b'/');
        let expected = match text.starts_with('/') {
            true => put(&format!("/{path}")),
            false => begins.into_iter().any(|at| put(&path[at..])),
        };
        prop_assert_eq!(compiled.unwrap().matches(path.as_bytes()), expected, "{} {}", text, path);
    }
}

/// A bracket that a slash separates from its end stays an ordinary character when alternatives are
/// written in another order.
#[test]
fn brackets_that_are_only_themselves_stay_so() {
    for text in ["#a|[|/|]", "[|/|x]", "a[/x|b]", "[!|/|]", r"\[|/|[]"] {
        let pattern = compiled(text, Mode::Fnmatch);
        let again = Pattern::new(&pattern.to_text(), pattern.language()).unwrap();
        for path in [
            "[", "]", "|", "#a", "x]", "x", "[!", "b]", "a[", "a", "a[/b]",
        ] {
            let path = path.as_bytes();
            assert_eq!(pattern.matches(path), again.matches(path), "{text}");
        }
        assert_eq!(again.to_text(), pattern.to_text());
    }
    assert!(compiled("#a|[|/|]", Mode::Fnmatch).matches(b"["));
}
