//! The numbers in a picture are the profile's, and stand where they belong.

use std::collections::BTreeMap;

use roxmltree::{Document, Node};
use trawl_histogram::{Histogram, Profile, Resolution, Unit};
use trawl_pictures::{Ink, Measure, Picture, Theme};

use super::story::story;

type Buckets = BTreeMap<usize, u64>;

fn buckets(histogram: &Histogram) -> Buckets {
    let all = histogram.buckets().iter().copied().enumerate();
    all.filter(|(_, count)| *count > 0).collect()
}

fn number(node: Node<'_, '_>, name: &str) -> f64 {
    node.attribute(name).unwrap().parse().unwrap()
}

fn marks<'a>(node: Node<'a, 'a>) -> impl Iterator<Item = Node<'a, 'a>> {
    node.descendants()
        .filter(|one| one.attribute("class") == Some("mark"))
}

/// Returns the visible bar of a mark: its last rectangle.
fn bar<'a>(mark: Node<'a, 'a>) -> Option<Node<'a, 'a>> {
    mark.last_element_child()
        .filter(|one| one.has_tag_name("rect"))
}

/// Returns the buckets that bars of a class stand for.
fn read(node: Node<'_, '_>, class: &str) -> Buckets {
    let bars =
        marks(node).filter(|one| bar(*one).and_then(|bar| bar.attribute("class")) == Some(class));
    bars.map(|one| {
        (
            number(one, "data-bucket") as usize,
            one.attribute("data-count").unwrap().parse().unwrap(),
        )
    })
    .collect()
}

/// Returns a profile of one operation with these counts from bucket 10 on, in nanoseconds.
fn steps(counts: &[u64]) -> Profile {
    let mut histogram = Histogram::new(Resolution::ONE);
    for (count, bucket) in counts.iter().zip(10..) {
        for _ in 0..*count {
            histogram.record(3 << (bucket - 1));
        }
    }
    let mut profile = Profile::new(Unit::Nanoseconds, Resolution::ONE);
    profile.insert("read", histogram).unwrap();
    profile
}

#[test]
fn a_complete_profile_shows_every_count_and_sorts_by_total_latency() {
    let story = story();
    let profile = story.captures[0].profile.whole();
    let svg = trawl_pictures::complete(profile).svg();
    let document = Document::parse(&svg).unwrap();
    let groups = document
        .descendants()
        .filter(|one| one.attribute("data-operation").is_some());
    let shown: Vec<(&str, Buckets)> = groups
        .map(|one| (one.attribute("data-operation").unwrap(), read(one, "first")))
        .collect();
    let mut expected: Vec<(&str, Buckets, u128)> = profile
        .operations()
        .map(|(name, one)| (name, buckets(one), one.counts().total))
        .collect();
    expected.sort_by_key(|one| std::cmp::Reverse(one.2));
    let expected: Vec<(&str, Buckets)> = expected.into_iter().map(|(a, b, _)| (a, b)).collect();
    assert_eq!(shown, expected);
}

#[test]
fn both_axes_are_logarithmic() {
    // "Note that both axes are logarithmic (x-axis is base 2, y-axis is base 10)." (Figure 3.1)
    let profile = steps(&[1000, 100, 10, 1]);
    let svg = trawl_pictures::operation(&profile, "read", &[])
        .unwrap()
        .svg();
    let document = Document::parse(&svg).unwrap();
    let bars: Vec<Node<'_, '_>> = marks(document.root()).filter_map(bar).collect();
    let tops: Vec<f64> = bars.iter().map(|one| number(*one, "y")).collect();
    let lefts: Vec<f64> = bars.iter().map(|one| number(*one, "x")).collect();
    assert_eq!(tops.len(), 4);
    for places in [tops, lefts] {
        let steps: Vec<f64> = places.windows(2).map(|two| two[1] - two[0]).collect();
        assert!(steps[0] > 10.0, "{steps:?}");
        assert!(
            steps.iter().all(|one| (one - steps[0]).abs() < 0.05),
            "{steps:?}"
        );
    }
    let bottoms = bars
        .iter()
        .map(|one| number(*one, "y") + number(*one, "height"));
    let bottoms: Vec<f64> = bottoms.collect();
    assert!(
        bottoms.iter().all(|one| (one - bottoms[0]).abs() < 0.05),
        "{bottoms:?}"
    );
}

#[test]
fn times_stand_at_their_places_above_the_buckets() {
    let profile = steps(&[10, 10, 10]);
    let svg = trawl_pictures::operation(&profile, "read", &[])
        .unwrap()
        .svg();
    let document = Document::parse(&svg).unwrap();
    let text = |label: &str| {
        let found = document
            .descendants()
            .find(|one| one.has_tag_name("text") && one.text() == Some(label));
        number(found.unwrap(), "x")
    };
    // A decade is log₂ 10 buckets wide, and bucket 12 begins at 2^12 ns = 4.096 µs.
    let bucket = text("13") - text("12");
    assert!(((text("10 µs") - text("1 µs")) / bucket - 10_f64.log2()).abs() < 0.01);
    let begin = text("12") - bucket / 2.0;
    assert!(((begin - text("1 µs")) / bucket - 4.096_f64.log2()).abs() < 0.01);
}

#[test]
fn the_picture_of_an_operation_tells_the_times_of_a_bucket() {
    let profile = steps(&[7]);
    let svg = trawl_pictures::operation(&profile, "read", &[])
        .unwrap()
        .svg();
    let document = Document::parse(&svg).unwrap();
    let title = document
        .descendants()
        .filter(|one| one.has_tag_name("title"))
        .find_map(|one| one.text());
    // Bucket 10 has the latencies 1,024 to 2,047 ns, 1,536 ns on average; 7 of them are 10.75 µs.
    assert_eq!(
        title,
        Some("1.02 µs to 2.05 µs: 7 calls (100 %), together about 10.8 µs; bucket 10")
    );
}

#[test]
fn a_heat_map_shows_every_count_of_every_slice() {
    let story = story();
    let sliced = &story.captures[0].profile;
    let svg = trawl_pictures::timeline(sliced, "read", Measure::Calls)
        .unwrap()
        .svg();
    let document = Document::parse(&svg).unwrap();
    let shown: BTreeMap<(usize, usize), u64> = marks(document.root())
        .map(|one| {
            let place = (
                number(one, "data-row") as usize,
                number(one, "data-bucket") as usize,
            );
            (place, one.attribute("data-count").unwrap().parse().unwrap())
        })
        .collect();
    let mut expected = BTreeMap::new();
    for (row, slice) in sliced.slices().iter().enumerate() {
        for (bucket, count) in slice.buckets("read").iter().enumerate() {
            if *count > 0 {
                expected.insert((row, bucket), *count);
            }
        }
    }
    assert_eq!(shown, expected);
}

#[test]
fn two_profiles_stand_side_by_side_with_their_own_counts() {
    let story = story();
    let first = story.captures[0].profile.whole();
    let second = &story.second.as_ref().unwrap().profile;
    let svg = trawl_pictures::pair(first, second, ("before", "after")).svg();
    let document = Document::parse(&svg).unwrap();
    let groups = document
        .descendants()
        .filter(|one| one.attribute("data-operation").is_some());
    let mut seen = 0;
    for group in groups {
        let name = group.attribute("data-operation").unwrap();
        let expected = |profile: &Profile| profile.get(name).map(buckets).unwrap_or_default();
        assert_eq!(read(group, "first"), expected(first), "{name}");
        assert_eq!(read(group, "second"), expected(second), "{name}");
        seen += 1;
    }
    // The operations of both: 11 of the first, and llseek.
    assert_eq!(seen, 12);
}

#[test]
fn layers_stand_under_the_operation_that_calls_them() {
    let story = story();
    let all: Vec<&Profile> = story
        .captures
        .iter()
        .map(|one| one.profile.whole())
        .collect();
    let svg = trawl_pictures::layers(&all, &story.calls).svg();
    let document = Document::parse(&svg).unwrap();
    let read_group = document
        .descendants()
        .find(|one| one.attribute("data-operation") == Some("read"))
        .unwrap();
    assert_eq!(
        read(read_group, "first"),
        buckets(all[0].get("read").unwrap())
    );
    assert_eq!(
        read(read_group, "h6"),
        buckets(all[1].get("submit_read").unwrap())
    );
}

#[test]
fn an_unknown_operation_is_an_error_that_names_it() {
    let profile = steps(&[1]);
    let error = trawl_pictures::operation(&profile, "lookup", &[]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the profile has no call of operation lookup"
    );
}

#[test]
fn profiles_of_nothing_are_pictures_of_nothing() {
    let profile = Profile::new(Unit::Nanoseconds, Resolution::ONE);
    let pictures = [
        trawl_pictures::complete(&profile),
        trawl_pictures::pair(&profile, &profile, ("", "")),
        trawl_pictures::layers(&[], &[]),
        trawl_pictures::layers(&[&profile], &[]),
    ];
    for picture in pictures {
        Document::parse(&picture.svg()).unwrap();
        picture.png(Theme::Dark, 1.0).unwrap();
    }
}

#[test]
fn the_greatest_counts_and_latencies_fit() {
    let mut buckets = vec![0; 64];
    (buckets[0], buckets[63]) = (1, u64::MAX - 1);
    for r in 1..=8 {
        let resolution = Resolution::new(r).unwrap();
        let mut buckets = buckets.clone();
        buckets.resize(resolution.buckets(), 0);
        *buckets.last_mut().unwrap() = 1;
        let histogram = Histogram::from_parts(resolution, Default::default(), buckets).unwrap();
        let mut profile = Profile::new(Unit::Nanoseconds, resolution);
        profile.insert("read", histogram).unwrap();
        let picture = trawl_pictures::operation(&profile, "read", &[]).unwrap();
        let svg = picture.svg();
        let document = Document::parse(&svg).unwrap();
        let (width, height) = picture.size();
        for bar in marks(document.root()).filter_map(bar) {
            assert!(number(bar, "x") + number(bar, "width") <= width);
            assert!(number(bar, "y") >= 0.0 && number(bar, "y") + number(bar, "height") <= height);
        }
    }
}

/// Returns the colour of a pixel.
fn pixel(pixels: &tiny_skia::Pixmap, x: f64, y: f64) -> [u8; 3] {
    let one = pixels.pixel(x as u32, y as u32).unwrap();
    [one.red(), one.green(), one.blue()]
}

fn decode(picture: &Picture, theme: Theme, scale: f64) -> tiny_skia::Pixmap {
    tiny_skia::Pixmap::decode_png(&picture.png(theme, scale).unwrap()).unwrap()
}

#[test]
fn a_png_has_bars_where_the_svg_has_them() {
    let picture = trawl_pictures::complete(&steps(&[1000, 100, 10, 1]));
    let svg = picture.svg();
    let document = Document::parse(&svg).unwrap();
    for theme in [Theme::Light, Theme::Dark] {
        let pixels = decode(&picture, theme, 2.0);
        assert_eq!(f64::from(pixels.width()), picture.size().0 * 2.0);
        for bar in marks(document.root()).filter_map(bar) {
            let x = (number(bar, "x") + number(bar, "width") / 2.0) * 2.0;
            let top = number(bar, "y") * 2.0;
            assert_eq!(pixel(&pixels, x, top + 4.0), Ink::First.rgb(theme));
            assert_ne!(pixel(&pixels, x, top - 4.0), Ink::First.rgb(theme));
        }
    }
}

#[test]
fn text_is_drawn_without_system_fonts() {
    let picture = trawl_pictures::complete(&steps(&[1000, 100]));
    let pixels = decode(&picture, Theme::Light, 1.0);
    // The title is the only thing in the first 30 rows.
    let dark = |y: u32| {
        (0..pixels.width())
            .filter(|x| pixels.pixel(*x, y).unwrap().red() < 100)
            .count()
    };
    let letters: usize = (0..30).map(dark).sum();
    assert!(letters > 100, "{letters}");
}

#[test]
fn a_picture_that_is_too_large_is_an_error() {
    let picture = trawl_pictures::complete(&steps(&[1]));
    for scale in [1e3, f64::INFINITY, f64::NAN, 0.0, -1.0] {
        assert!(picture.png(Theme::Light, scale).is_err(), "{scale}");
    }
}
