//! The operations of which a workload consists, by phase: numbers of calls and total latencies.
//!
//! "Figure 8.1 shows the distribution of the total number of invocations and the total delay of all
//! the Ext2 VFS operations used during the build process […] Note that each plot uses a different
//! non-logarithmic scale."

use trawl_analysis::mix::{Mix, Part};
use trawl_histogram::Unit;

use crate::ink::Ink;
use crate::picture::{Anchor, HEADING, Item, Mark, Picture, Rect, Shape, Style, fit};
use trawl_text::figures;

/// The most operations for each phase.
const SHOWN_MOST: usize = 16;

const NAMES: f64 = 170.0;
const PLOT: f64 = 230.0;
const VALUES: f64 = 100.0;
/// Left end of the second column.
const SECOND: f64 = NAMES + PLOT + VALUES;
const ROW: f64 = 20.0;
const HEAD: f64 = 46.0;

/// Draws the mixes of phases under each other, each with its name.
pub fn mix(phases: &[(String, Mix)], unit: Unit) -> Picture {
    let width = NAMES + (PLOT + VALUES) * 2.0;
    let mut picture = Picture::new("Operations: calls and total latency", width);
    picture.description =
        "Bars from the left: calls of each operation, and their total time.".to_owned();
    let mut top = HEADING;
    for (name, mix) in phases {
        let style = Style::NAME;
        let name = fit(name, style.size, width - 32.0);
        picture.text((16.0, top + 18.0), &name, style);
        for (left, what) in [(NAMES, "calls"), (SECOND, "total latency")] {
            let style = Style::AXIS.at(Anchor::Start);
            picture.text((left, top + 38.0), what, style);
        }
        top += HEAD;
        let shown = &mix.rows[..mix.rows.len().min(SHOWN_MOST)];
        let most_calls = shown.iter().map(|part| part.operations).max();
        let most = Most {
            calls: most_calls.unwrap_or(1).max(1) as f64,
            latency: shown
                .iter()
                .map(|part| part.latency)
                .fold(f64::MIN_POSITIVE, f64::max),
        };
        for part in shown {
            row(&mut picture, part, &most, unit, top);
            top += ROW;
        }
        top += 14.0;
    }
    picture.height = top + 6.0;
    picture
}

/// The greatest values of a phase, which the longest bars show.
struct Most {
    calls: f64,
    latency: f64,
}

/// Draws one operation.
fn row(picture: &mut Picture, part: &Part, most: &Most, unit: Unit, top: f64) {
    picture.open(&part.operation);
    let name = fit(&part.operation, 12.0, NAMES - 26.0);
    let style = Style::AXIS.at(Anchor::End).in_ink(Ink::Text);
    picture.text((NAMES - 8.0, top + 14.0), &name, style);
    let calls = figures::count(part.operations);
    let share = part.operations as f64 / most.calls;
    bar(
        picture,
        (NAMES, top),
        share,
        (&calls, part.operations),
        Ink::First,
    );
    let latency = figures::time(unit.seconds(part.latency));
    let share = part.latency / most.latency;
    bar(
        picture,
        (SECOND, top),
        share,
        (&latency, part.operations),
        Ink::Second,
    );
    picture.close();
}

/// Draws one bar, with its value at its end.
fn bar(
    picture: &mut Picture,
    (left, top): (f64, f64),
    share: f64,
    (text, count): (&str, u64),
    ink: Ink,
) {
    let bar = Rect {
        left,
        top: top + 3.0,
        width: (share * PLOT).max(1.0),
        height: ROW - 6.0,
    };
    picture.items.push(Item::Mark {
        shape: Shape::Bar(bar),
        area: bar,
        ink,
        mark: Mark {
            bucket: 0,
            count,
            row: None,
            tip: text.to_owned(),
        },
    });
    let style = Style::AXIS.at(Anchor::Start);
    picture.text((bar.right() + 6.0, top + 14.0), text, style);
}
