//! Compares searches that are cut at mount points with naive matching over whole paths.

use std::collections::BTreeSet;

use proptest::prelude::*;
use trawl_call::decompose::decompose;
use trawl_call::options::{Flags, Mounts, Options};
use trawl_call::{Language, LiveWalk, Pattern, Request};

use super::naive;
use super::support::{lines, records, tree};

fn a_pattern() -> impl Strategy<Value = String> {
    let component =
        proptest::sample::select(&["a", "b", "*", "a*", "?", "ab?", ".a", "[ab]", "[!a]*"][..]);
    let alternative = (any::<bool>(), proptest::collection::vec(component, 1..4));
    let alternative = alternative.prop_map(|(is_anchored, components)| {
        let slash = if is_anchored { "/" } else { "" };
        format!("{slash}{}", components.join("/"))
    });
    let alternative =
        prop_oneof![6 => alternative, 1 => Just("/".to_owned()), 1 => Just("/.".to_owned())];
    proptest::collection::vec(alternative, 1..3).prop_map(|parts| parts.join("|"))
}

fn a_path(least: usize) -> impl Strategy<Value = String> {
    let name = proptest::sample::select(&["a", "b", "ab", ".a"][..]);
    proptest::collection::vec(name, least..4).prop_map(|names| names.join("/"))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    /// The parts, each searched below its own mount, give exactly the matches of the whole search.
    #[test]
    fn parts_match_what_the_whole_does(
        pattern in a_pattern(),
        mounts in proptest::collection::vec(a_path(1), 0..4),
        paths in proptest::collection::vec(a_path(0), 1..20),
        flags in proptest::sample::select(&[0, Flags::FNMATCH, Flags::PERIOD, Flags::FNMATCH | Flags::PERIOD][..]),
    ) {
        let (mode, period) = naive::language(flags);
        let compiled = Pattern::new(pattern.as_bytes(), Language { mode, period }).unwrap();
        let request = Request::new(&compiled, &["/top"], Options::default()).unwrap();
        let points: Vec<Vec<u8>> = mounts.iter().map(|mount| format!("/top/{mount}").into_bytes()).collect();
        let parts = decompose(&request, &request.roots()[0], b"/top", &points);
        for path in &paths {
            let whole = format!("/top/{path}");
            let whole = whole.trim_end_matches('/').as_bytes();
            // The mount that the path lies on: the nearest one at or above it.
            let around = points.iter().filter(|point| trawl_model::path::is_within(whole, point));
            let home = around.max_by_key(|point| point.len());
            let mut found = Vec::new();
            for part in &parts {
                let place = part.root.path();
                let Some(below) = whole.strip_prefix(place) else { continue };
                let below = below.strip_prefix(b"/").unwrap_or(below);
                let is_inside = trawl_model::path::is_within(whole, place);
                let is_skipped = part.root.skip().iter().any(|skip| trawl_model::path::is_within(below, skip));
                if is_inside && !is_skipped && part.root.pattern().matches(below) {
                    found.push(part);
                }
            }
            let expected = naive::matches(&pattern, path, mode, period);
            prop_assert_eq!(found.len(), usize::from(expected), "{} {}", pattern, path);
            for part in found {
                let mount = part.mount.map(|mount| &points[mount]);
                prop_assert_eq!(mount, home);
                prop_assert_eq!(part.root.prefix(), &part.root.path()[part.root.path().len().min(5)..]);
            }
        }
    }
}

#[test]
fn parts_below_which_nothing_matches_are_left_out() {
    let pattern = Pattern::new(b"/usr/*/x", Language::default()).unwrap();
    let request = |mounts| {
        let options = Options {
            mounts,
            ..Options::default()
        };
        Request::new(&pattern, &["/"], options).unwrap()
    };
    let mounts = [&b""[..], b"/usr", b"/home", b"/usr/lib", b"/usr/lib/x/y"].map(<[u8]>::to_vec);
    let cut = |mounts_option| {
        let request = request(mounts_option);
        let parts = decompose(&request, &request.roots()[0], b"", &mounts);
        let part = |part: &trawl_call::decompose::Part| {
            let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
            (
                part.mount,
                text(part.root.path().to_vec()),
                text(part.root.pattern().to_text()),
            )
        };
        parts.iter().map(part).collect::<Vec<_>>()
    };
    let part =
        |mount, path: &str, pattern: &str| (Some(mount), path.to_owned(), pattern.to_owned());
    assert_eq!(
        cut(Mounts::Cross),
        [
            part(0, "/", "/usr/*/x"),
            part(1, "/usr", "/*/x"),
            part(3, "/usr/lib", "/x")
        ]
    );
    assert_eq!(cut(Mounts::Stay), [part(0, "/", "/usr/*/x")]);
}

/// The parts, each walked on its own, add up to the whole answer.
#[test]
fn parts_of_a_real_tree_make_the_whole() {
    let tree = tree(&["a/b/x", "a/m/x", "a/m/n/x", "a/m/n/y", "m/x", "x"]);
    let top = super::support::bytes(tree.path()).to_vec();
    let at = |name: &str| [&top[..], b"/", name.as_bytes()].concat();
    let mounts = [at("a/m"), at("a/m/n"), at("m")];
    for (pattern, flags) in [
        ("x", 0),
        ("/*/m/*", 0),
        ("n|/a/m|m", Flags::INCLUDEROOT),
        ("m/n/y|/x", 0),
    ] {
        let request = super::support::request(pattern, flags, &[tree.path()]);
        let parts = decompose(&request, &request.roots()[0], &top, &mounts);
        let mut together = BTreeSet::new();
        let mut count = 0;
        for part in parts {
            let part = request.for_part(&part).unwrap();
            let found = lines(&records(&LiveWalk::default(), part));
            count += found.len();
            together.extend(found);
        }
        let whole: BTreeSet<String> = super::support::ask(pattern, flags, &[tree.path()])
            .into_iter()
            .collect();
        assert_eq!(together, whole, "{pattern}");
        assert_eq!(count, whole.len());
    }
}
