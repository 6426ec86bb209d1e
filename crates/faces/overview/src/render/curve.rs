//! A value over time as inline SVG. The labels are outside the part that is stretched.

use std::fmt::Write as _;

use super::html::escape;
use crate::document::Curve;
use crate::names::visible;
use crate::numbers;

/// Writes the picture.
pub(super) fn push(out: &mut String, curve: &Curve) {
    let caption = escape(&visible(&curve.caption));
    let (Some(first), Some(last)) = (curve.points.first(), curve.points.last()) else {
        return;
    };
    let most = curve.points.iter().map(|(_, bytes)| *bytes).max();
    let most = most.unwrap_or(0);
    let span = last.0.as_nanos() - first.0.as_nanos();
    let places: Vec<(f64, f64)> = curve
        .points
        .iter()
        .map(|(time, bytes)| {
            let since = time.as_nanos() - first.0.as_nanos();
            let across = if span > 0 {
                since as f64 / span as f64
            } else {
                0.0
            };
            // Room for the marks at the borders.
            (
                1.0 + 98.0 * across,
                96.0 - 84.0 * numbers::part_of(*bytes, most),
            )
        })
        .collect();
    let (least, most) = (numbers::size(first.1), numbers::size(most));
    let now = numbers::size(last.1);
    let _ = write!(
        out,
        "<figure><figcaption>{caption}</figcaption>\
         <svg class=\"curve\" role=\"img\" width=\"100%\" height=\"180\" aria-label=\"{caption}: \
         {least} at first, {now} at last, at most {most}\">\
         <svg viewBox=\"0 0 100 100\" preserveAspectRatio=\"none\" width=\"100%\" height=\"100%\">\
         <polyline class=\"under\" points=\"1,96 {points} 99,96\"/>\
         <polyline class=\"line\" vector-effect=\"non-scaling-stroke\" points=\"{points}\"/></svg>",
        points = points(&places)
    );
    for (x, y) in &places {
        let _ = write!(out, "<circle cx=\"{x:.2}%\" cy=\"{y:.2}%\" r=\"3\"/>");
    }
    let _ = writeln!(
        out,
        "<text x=\"4\" y=\"14\">{most}</text></svg>\
         <div class=\"ends\"><span>{}</span><span>{}</span></div></figure>",
        numbers::time(first.0),
        numbers::time(last.0)
    );
}

fn points(places: &[(f64, f64)]) -> String {
    let point = |(x, y): &(f64, f64)| format!("{x:.2},{y:.2}");
    let points: Vec<String> = places.iter().map(point).collect();
    points.join(" ")
}
