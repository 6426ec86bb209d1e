//! The sections of the page.

use std::fmt::Write as _;

use trawl_analysis::compare::complete::compare;
use trawl_analysis::compare::{Method, Settings};
use trawl_analysis::layers::Calls;
use trawl_analysis::peaks::{Detection, Peak, peaks};
use trawl_analysis::select::{Selection, of_comparison};
use trawl_analysis::{View, layers as analysis, mix as mixes};
use trawl_histogram::{Histogram, Profile, Sliced, Unit};

use super::markup::{name, section, table, text};
use crate::draw::chart::{Scale, called, calls, filled, layer, total};
use crate::picture::Picture;
use crate::story::Story;
use crate::svg::{self, Home};
use crate::{Measure, words};
use trawl_text::figures;

/// The most operations that get a section of their own.
const SECTIONS_MOST: usize = 16;

/// Subject of the page.
pub(super) struct Subject<'a> {
    story: &'a Story,
    /// The operations that get sections.
    sections: Vec<&'a str>,
}

impl<'a> Subject<'a> {
    pub(super) fn new(story: &'a Story) -> Subject<'a> {
        let mut subject = Subject {
            story,
            sections: Vec::new(),
        };
        if let Some(profile) = subject.profile() {
            let operations = called(profile).into_iter().map(|(name, _)| name);
            subject.sections = operations.take(SECTIONS_MOST).collect();
        }
        subject
    }

    pub(super) fn sections(&self) -> &[&'a str] {
        &self.sections
    }

    fn profile(&self) -> Option<&'a Profile> {
        Some(self.story.captures.first()?.profile.whole())
    }

    /// Returns the first capture if it has a timeline.
    pub(super) fn sliced(&self) -> Option<&'a Sliced> {
        let sliced = &self.story.captures.first()?.profile;
        (sliced.slices().len() > 1).then_some(sliced)
    }

    pub(super) fn scale(&self) -> Option<Scale> {
        self.profile().map(Scale::of)
    }

    /// Returns the last bucket that any operation of the first capture uses.
    pub(super) fn last_bucket(&self) -> usize {
        let operations = self.profile().into_iter().flat_map(Profile::operations);
        operations
            .map(|(_, one)| one.buckets().len())
            .max()
            .unwrap_or(0)
    }

    fn picture(&self, out: &mut String, picture: &Picture) {
        let home = Home::Page {
            sections: &self.sections,
        };
        out.push_str("<figure>");
        out.push_str(&svg::render(picture, home));
        out.push_str("</figure>");
    }

    pub(super) fn introduction(&self, out: &mut String) {
        out.push_str("<section id=\"about\">");
        if let Some(profile) = self.profile() {
            let _ = write!(out, "<p class=\"facts\">{}</p>", facts(profile));
        }
        if !self.story.findings.is_empty() {
            out.push_str("<h2>Findings</h2><ul>");
            for one in &self.story.findings {
                let _ = write!(out, "<li>{}</li>", text(one));
            }
            out.push_str("</ul>");
        }
        out.push_str(
            "<h2>How to read the pictures</h2><p>Every call of an operation was timed, and calls \
             that took about as long were counted together. Each bar is a count: <b>further right, \
             calls took longer</b>; <b>a higher bar means more calls</b>. Both axes are logarithmic: \
             a bucket to the right is twice the time, a line up is ten times the calls. So a low bar \
             far right can cost more time than a high bar at the left.</p><p>Calls that did the same \
             thing take about the same time, and form a <b>peak</b>. Several peaks mean that the \
             operation does several things: one peak may be calls that memory answers, another calls \
             that wait for a disk.</p></section>",
        );
    }

    pub(super) fn complete(&self, out: &mut String) {
        for capture in &self.story.captures {
            let profile = capture.profile.whole();
            let heading = format!("All operations: {}", name(layer(profile)));
            out.push_str(&section("complete", &heading).replace(" id=\"complete\"", ""));
            out.push_str("<p>The operation that takes most time in total stands first.</p>");
            self.picture(out, &crate::complete(profile));
            out.push_str("</section>");
        }
    }

    pub(super) fn operations(&self, out: &mut String) {
        let Some(profile) = self.profile() else {
            return;
        };
        out.push_str(&section("operations", "Each operation"));
        out.push_str(
            "<p>What a peak means is a guess from its time alone. Compare with a run under other \
             conditions, or with the layer below, to test it.</p>",
        );
        let all = called(profile);
        let latency: f64 = all.iter().map(|(_, one)| one.counts().total as f64).sum();
        let rows: Vec<Vec<String>> = all
            .iter()
            .enumerate()
            .map(|(at, (name, one))| self.row(profile, at, name, (one, latency)))
            .collect();
        let headings = [
            "operation",
            "calls",
            "total time",
            "share",
            "average",
            "in words",
        ];
        out.push_str(&table(&headings, &rows));
        for (at, (name, one)) in all.iter().take(self.sections.len()).enumerate() {
            self.operation(out, profile, at, (name, one));
        }
        out.push_str("</section>");
    }

    /// Returns an operation in words, as markup.
    fn summary(&self, profile: &Profile, (name, one): (&str, &Histogram)) -> String {
        let (view, unit, times) = (View::from(one), profile.unit(), &self.story.times);
        text(&words::summary(
            view,
            &found(one),
            unit,
            (layer(profile), name),
            times,
        ))
    }

    /// Returns the row of an operation in the table.
    fn row(
        &self,
        profile: &Profile,
        at: usize,
        operation: &str,
        (one, latency): (&Histogram, f64),
    ) -> Vec<String> {
        let scale = Scale::of(profile);
        let link = match at < self.sections.len() {
            true => format!("<a href=\"#op-{at}\">{}</a>", name(operation)),
            false => name(operation),
        };
        let mean = one
            .mean()
            .map(|mean| figures::time(scale.unit.seconds(mean)));
        vec![
            link,
            figures::count(u64::try_from(one.recorded()).unwrap_or(u64::MAX)),
            total(one, scale),
            figures::share(one.counts().total as f64 / latency.max(1.0)),
            mean.unwrap_or_default(),
            self.summary(profile, (operation, one)),
        ]
    }

    fn operation(
        &self,
        out: &mut String,
        profile: &Profile,
        at: usize,
        (operation, one): (&str, &Histogram),
    ) {
        let scale = Scale::of(profile);
        let _ = write!(
            out,
            "<article class=\"operation\" id=\"op-{at}\"><h3>{}</h3><p>{}, {} in all. {}</p>",
            name(operation),
            calls(one),
            total(one, scale),
            self.summary(profile, (operation, one))
        );
        if let Ok(picture) = crate::operation(profile, operation, &self.story.times) {
            self.picture(out, &picture);
        }
        self.peaks(out, profile, (operation, one));
        if let Some(sliced) = self.sliced()
            && let Ok(picture) = crate::timeline(sliced, operation, Measure::Calls)
        {
            out.push_str(
                "<h4>Over time</h4><p>Time passes downwards. A stripe is a peak that is \
                          always there; a spot is one that comes and goes.</p>",
            );
            self.picture(out, &picture);
        }
        values(out, one, scale);
        out.push_str("</article>");
    }

    /// Writes the peaks of an operation, in words.
    fn peaks(&self, out: &mut String, profile: &Profile, (name, one): (&str, &Histogram)) {
        let (unit, layer) = (profile.unit(), layer(profile));
        out.push_str("<ol class=\"peaks\">");
        for peak in found(one) {
            let words = words::peak(&peak, unit, (layer, name), &self.story.times);
            let _ = write!(
                out,
                "<li><b>{}</b>: {}. <span class=\"guess\">{}.</span></li>",
                text(&words.range),
                text(&words.shares),
                text(&capital(&words.guess))
            );
        }
        out.push_str("</ol>");
    }

    /// Writes the section for the picture in three dimensions.
    pub(super) fn space(&self, out: &mut String) {
        let (Some(sliced), Some(first)) = (self.sliced(), self.sections.first()) else {
            return;
        };
        out.push_str(&section("space", "Over time, in three dimensions"));
        out.push_str(
            "<p>Latency grows along one edge of the floor, time along the other. The higher a \
             column, the more calls there were, or the more time they took together.</p>\
             <p class=\"moving controls\"><label>Operation <select id=\"space-operation\"></select>\
             </label> <label>Height <select id=\"space-measure\"><option value=\"calls\">calls \
             (logarithmic)</option><option value=\"latency\">total time</option></select></label> \
             Drag to turn, or use the arrow keys.</p><figure class=\"moving\">\
             <canvas id=\"space-canvas\" width=\"860\" height=\"520\" tabindex=\"0\" role=\"img\" \
             aria-label=\"Columns over latency and elapsed time; the heat maps show the same \
             values\"></canvas></figure>",
        );
        if let Ok(picture) = crate::surface(sliced, first, Measure::Calls) {
            let _ = write!(out, "<div class=\"still\"><p>{}</p>", name(first));
            self.picture(out, &picture);
            out.push_str("</div>");
        }
        out.push_str("</section>");
    }

    /// Writes the mixes of operations: of the whole, and of its phases if there are several.
    pub(super) fn mixes(&self, out: &mut String) {
        let Some(profile) = self.profile() else {
            return;
        };
        let mut all = vec![("Whole run".to_owned(), mixes::of_profile(profile))];
        if let Some(sliced) = self.sliced() {
            let phases = mixes::by_phase(sliced, &mixes::Detection::default());
            let several = (2..=6).contains(&phases.len());
            let seconds = sliced.interval_ns().map(|ns| ns as f64 / 1e9);
            all.extend(phases.into_iter().filter(|_| several).map(|phase| {
                let (from, to) = (phase.slices.start, phase.slices.end);
                let when = match seconds {
                    Some(one) => format!(
                        "Phase from {} to {}",
                        figures::time(from as f64 * one),
                        figures::time(to as f64 * one)
                    ),
                    None => format!("Phase of slices {} to {to}", from + 1),
                };
                (when, phase.mix)
            }));
        }
        out.push_str(&section("mix", "What the workload consists of"));
        out.push_str(
            "<p>Left, how often each operation was called; right, how long all its calls \
                      took. A phase is a stretch of time with its own mix of operations.</p>",
        );
        self.picture(out, &crate::mix(&all, profile.unit()));
        out.push_str("</section>");
    }

    /// Writes the comparison with the second profile.
    pub(super) fn pair(&self, out: &mut String) {
        let (Some(profile), Some(second)) = (self.profile(), &self.story.second) else {
            return;
        };
        let labels = (second.first_label.as_str(), second.label.as_str());
        let heading = format!("Side by side: {} and {}", name(labels.0), name(labels.1));
        out.push_str(&section("pair", &heading));
        out.push_str("<p>The thin lines are the tops of the other profile's bars.</p>");
        differences(out, profile, &second.profile);
        self.picture(out, &crate::pair(profile, &second.profile, labels));
        out.push_str("</section>");
    }

    /// Writes what each layer adds to the one below.
    pub(super) fn layers(&self, out: &mut String) {
        let all: Vec<&Profile> = self
            .story
            .captures
            .iter()
            .map(|one| one.profile.whole())
            .collect();
        if all.len() < 2 {
            return;
        }
        out.push_str(&section("layers", "Layers under each other"));
        out.push_str(
            "<p>Each layer's calls wait for those of the layer below. A peak that both \
                      have comes from below; one that only the upper layer has arises there.</p>",
        );
        for two in all.windows(2) {
            added(out, two[0], two[1], &self.story.calls);
        }
        self.picture(out, &crate::layers(&all, &self.story.calls));
        out.push_str("</section>");
    }
}

/// Writes what a layer adds to the one below.
fn added(out: &mut String, upper: &Profile, lower: &Profile, calls: &[Calls]) {
    let names = (layer(upper), layer(lower));
    let found = match analysis::differences(upper, lower, calls, &Detection::default()) {
        Ok(found) => found,
        Err(error) => return note(out, &error.to_string()),
    };
    let (passed, alone): (Vec<_>, Vec<_>) = found.iter().partition(|one| one.lower_operations > 0);
    out.push_str("<ul>");
    for one in passed.iter().take(SECTIONS_MOST) {
        let words = words::layer(one, upper.unit(), names);
        let operation = name(one.operation);
        let _ = write!(out, "<li><b>{operation}</b>: {}</li>", text(&words));
    }
    out.push_str("</ul>");
    if !alone.is_empty() {
        let operations: Vec<String> = alone.iter().map(|one| name(one.operation)).collect();
        let _ = write!(
            out,
            "<p>All time of these is spent in {}: {}.</p>",
            name(names.0),
            operations.join(", ")
        );
    }
}

fn found(one: &Histogram) -> Vec<Peak> {
    peaks(View::from(one), &Detection::default())
}

fn note(out: &mut String, words: &str) {
    let _ = write!(out, "<p class=\"note\">{}.</p>", text(&capital(words)));
}

/// Writes which operations differ, and why.
fn differences(out: &mut String, first: &Profile, second: &Profile) {
    let found = compare(first, second, Method::GroupShift, &Settings::default());
    let found = match &found {
        Ok(found) => of_comparison(found, &Selection::default()),
        Err(error) => return note(out, &error.to_string()),
    };
    if found.is_empty() {
        return note(out, "no operation differs by more than chance explains");
    }
    out.push_str("<p>These operations differ by more than chance explains:</p><ul>");
    for one in &found {
        let reasons = words::reasons(one, first.unit()).join(" ");
        let _ = write!(
            out,
            "<li><b>{}</b>: {}</li>",
            name(one.operation),
            text(&reasons)
        );
    }
    out.push_str("</ul>");
}

/// Writes an operation's buckets as a table, for those who cannot see the picture.
fn values(out: &mut String, one: &Histogram, scale: Scale) {
    let rows: Vec<Vec<String>> = filled(one.buckets())
        .map(|(bucket, count)| {
            let sum = count as f64 * scale.mean(bucket);
            vec![
                bucket.to_string(),
                scale.range(bucket),
                figures::count(count),
                figures::time(sum),
            ]
        })
        .collect();
    out.push_str("<details><summary>Values</summary>");
    out.push_str(&table(
        &["bucket", "latency", "calls", "estimated total"],
        &rows,
    ));
    out.push_str("</details>");
}

/// Returns what is known of a profile, as markup.
fn facts(profile: &Profile) -> String {
    let all = called(profile);
    let calls = all.iter().map(|(_, one)| one.recorded()).sum::<u128>();
    let latency: f64 = all.iter().map(|(_, one)| one.counts().total as f64).sum();
    let mut parts = Vec::new();
    if !profile.title.is_empty() {
        parts.push(text(&profile.title));
    }
    parts.push(format!("layer {}", name(layer(profile))));
    parts.push(format!("{} operations", all.len()));
    parts.push(figures::calls(u64::try_from(calls).unwrap_or(u64::MAX)));
    parts.push(format!(
        "{} in all",
        figures::time(profile.unit().seconds(latency))
    ));
    if let Some(ns) = profile.duration_ns {
        parts.push(format!("recorded for {}", figures::time(ns as f64 / 1e9)));
    }
    if let Unit::Cycles { frequency_hz } = profile.unit() {
        parts.push(format!(
            "{:.2} billion cycles a second",
            frequency_hz.get() as f64 / 1e9
        ));
    }
    parts.join(" · ")
}

/// Returns a text that begins with a capital letter.
fn capital(text: &str) -> String {
    let mut chars = text.chars();
    match chars.next() {
        Some(first) => first.to_uppercase().chain(chars).collect(),
        None => String::new(),
    }
}
