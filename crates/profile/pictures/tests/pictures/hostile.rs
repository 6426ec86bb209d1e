//! Names, titles and findings that try to become markup or commands stay text.

use roxmltree::Document;
use trawl_histogram::{Histogram, Profile, Resolution, Slice, Sliced, Unit};
use trawl_pictures::{Measure, Second, Story};

use super::markup;

/// Names that `check_name` accepts.
pub(crate) const NAMES: &[&str] = &[
    "</script><script>document.documentElement.dataset.error='x'</script>",
    "\"><img/src=x/onerror=\"document.documentElement.dataset.error='x'\">",
    "'><svg/onload=alert(1)>",
    "]]><x>",
    "<!--",
    "-->",
    "&lt;b&gt;&amp;&#x3c;",
    "`touch${IFS}pwned`",
    "$(touch${IFS}pwned)",
    "';system('touch${IFS}pwned');'",
    "'.system(\"touch${IFS}pwned\").'",
    "@pwned",
    "\\",
    "../../pwned",
    "javascript:alert(1)",
    "</style></title></textarea></desc></svg>",
    "a\u{202e}b\u{2066}c",
    "\u{fffe}\u{ffff}",
    "ünïcode/日本語/🦀",
];

pub(crate) fn profile() -> Sliced {
    let mut profile = Profile::new(Unit::Nanoseconds, Resolution::ONE);
    profile.title = "</title><script>alert(1)</script>\0\n\u{1b}".to_owned();
    profile.layer = "<img src=x onerror=alert(1)>'\n`touch pwned`".to_owned();
    let (mut early, mut late) = (Slice::new(), Slice::new());
    for (name, at) in NAMES.iter().zip(0..) {
        let mut histogram = Histogram::new(Resolution::ONE);
        for latency in [1000 + at, 5_000_000] {
            histogram.record(latency);
        }
        let mut first = Histogram::new(Resolution::ONE);
        first.record(1000 + at);
        early.set(name, first.buckets().to_vec());
        let mut second = Histogram::new(Resolution::ONE);
        second.record(5_000_000);
        late.set(name, second.buckets().to_vec());
        profile.insert(name, histogram).unwrap();
    }
    Sliced::new(profile, None, vec![early, late]).unwrap()
}

pub(crate) fn story() -> Story {
    let sliced = profile();
    let evil = "</li><script>alert(1)</script><img src=x onerror=alert(1)>\0";
    Story {
        title: evil.to_owned(),
        second: Some(Second {
            first_label: evil.to_owned(),
            label: evil.to_owned(),
            profile: sliced.whole().clone(),
        }),
        captures: vec![sliced.clone().into(), sliced.into()],
        calls: Vec::new(),
        times: vec![trawl_analysis::peaks::CharacteristicTime {
            name: evil.to_owned(),
            time: 5e6,
        }],
        findings: vec![evil.to_owned()],
    }
}

#[test]
fn svg_has_only_elements_that_we_draw() {
    let story = story();
    let sliced = &story.captures[0].profile;
    let profile = sliced.whole();
    let mut pictures = vec![
        trawl_pictures::complete(profile),
        trawl_pictures::pair(profile, profile, (&story.title, &story.title)),
        trawl_pictures::layers(&[profile, profile], &[]),
    ];
    for name in NAMES {
        pictures.push(trawl_pictures::operation(profile, name, &story.times).unwrap());
        pictures.push(trawl_pictures::timeline(sliced, name, Measure::Calls).unwrap());
        pictures.push(trawl_pictures::surface(sliced, name, Measure::Latency).unwrap());
    }
    const DRAWN: &[&str] = &[
        "svg", "desc", "style", "rect", "path", "polygon", "text", "g", "a", "title", "circle",
    ];
    for picture in pictures {
        let svg = picture.svg();
        let document = Document::parse(&svg).unwrap();
        for element in document.descendants().filter(roxmltree::Node::is_element) {
            let name = element.tag_name().name();
            assert!(DRAWN.contains(&name), "{name}");
            let is_harmless = |name: &str| !name.starts_with("on") && name != "href";
            assert!(element.attributes().all(|one| is_harmless(one.name())));
        }
    }
}

#[test]
fn names_survive_as_text() {
    let svg = trawl_pictures::complete(profile().whole()).svg();
    let document = Document::parse(&svg).unwrap();
    let mut shown: Vec<&str> = document
        .descendants()
        .filter_map(|one| one.attribute("data-operation"))
        .collect();
    let mut expected: Vec<String> = NAMES
        .iter()
        .map(|name| name.replace(['\u{202e}', '\u{2066}', '\u{fffe}', '\u{ffff}'], "\u{fffd}"))
        .collect();
    shown.sort_unstable();
    expected.sort_unstable();
    assert_eq!(shown, expected);
}

#[test]
fn a_page_has_only_its_own_scripts() {
    let html = trawl_pictures::html(&story());
    let page = markup::read(&html);
    let own = markup::read(&trawl_pictures::html(&Story::default()));
    assert_eq!(page.scripts.len(), 2);
    assert_eq!(page.scripts[1], own.scripts[1]);
    assert!(!page.elements.iter().any(|(name, _)| name == "img"));
    for (_, attributes) in &page.elements {
        assert!(attributes.iter().all(|(name, _)| !name.starts_with("on")));
    }
    assert!(page.text.contains(NAMES[0]) && page.text.contains(NAMES[6]));
    let data: serde_json::Value = serde_json::from_str(&page.scripts[0]).unwrap();
    let operations = data["operations"].as_array().unwrap();
    assert!(operations.iter().all(|one| NAMES.iter().any(|name| {
        one["name"]
            .as_str()
            .unwrap()
            .chars()
            .eq(name.chars().map(|one| match one {
                '\u{202e}' | '\u{2066}' | '\u{fffe}' | '\u{ffff}' => '\u{fffd}',
                _ => one,
            }))
    })));
}
