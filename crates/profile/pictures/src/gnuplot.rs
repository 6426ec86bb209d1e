//! gnuplot files: data, and scripts that make figures like the paper's.
//!
//! "We wrote several scripts to generate formatted text views and Gnuplot scripts to produce 2D and
//! 3D plots." (§5.8) Running `gnuplot *.gp` beside the files writes an SVG for each script.
//!
//! | script | figure of the paper |
//! |---|---|
//! | `complete.gp` | 3.2: all operations under each other |
//! | `operation-N.gp` | 3.3: one operation, times of buckets above |
//! | `calls-N.gp` | 3.5: calls over time, in three dimensions |
//! | `latency-N.gp` | 3.6: estimated delay over time |
//! | `map-N.gp` | 7.12: the same from above |
//!
//! Invariant: names of operations stand in single quotes, in which gnuplot substitutes nothing, and
//! never in file names.

use std::fmt::Write as _;

use trawl_histogram::{Capture, Histogram, Sliced};

use crate::draw::chart::{Scale, called, filled, layer};
use crate::draw::timeline::Rows;
use crate::picture::clean;
use trawl_text::figures;

/// A file to be written: its name and its content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// The file's name: letters, digits, `-` and `.`.
    pub name: String,
    /// The file's content.
    pub content: String,
}

/// The most operations that get files.
const OPERATIONS_MOST: usize = 64;

/// The most slices in a plot: more are joined in equal groups.
const ROWS_MOST: usize = 200;

/// Returns the files for a capture.
pub fn gnuplot(capture: &Capture) -> Vec<File> {
    let sliced = &capture.profile;
    let profile = sliced.whole();
    let mut all = called(profile);
    all.truncate(OPERATIONS_MOST);
    let scale = Scale::of(profile);
    let mut files = Vec::new();
    for (at, (name, one)) in all.iter().enumerate() {
        let number = at + 1;
        let data = format!("operation-{number}.dat");
        let script = operation(name, one, scale, number);
        push(&mut files, &data, buckets(name, one, scale));
        push(&mut files, &format!("operation-{number}.gp"), script);
        if sliced.slices().len() > 1 {
            over_time(&mut files, name, sliced, scale, number);
        }
    }
    if !all.is_empty() {
        let title = format!("{} ({})", profile.title, layer(profile));
        let title = title.trim();
        push(&mut files, "complete.gp", complete(title, &all, scale));
    }
    files
}

fn push(files: &mut Vec<File>, name: &str, content: String) {
    let name = name.to_owned();
    files.push(File { name, content });
}

/// Returns a string for gnuplot, which substitutes nothing between single quotes. A quote becomes a
/// typographic one: gnuplot reads a doubled quote at the beginning as an empty string, and would
/// evaluate what follows. `]]>` is broken up, because gnuplot's SVG would not be XML with it.
fn quoted(text: &str) -> String {
    let text = clean(text).replace('\'', "’").replace("]]>", "]] >");
    format!("'{text}'")
}

/// Returns the first lines of a script.
fn head(output: &str, size: (usize, usize)) -> String {
    format!(
        "set terminal svg size {},{} noenhanced font 'sans,11' background '#ffffff'\n\
         set output '{output}.svg'\nset encoding utf8\nunset key\n",
        size.0, size.1
    )
}

/// Returns an operation's data: a line for each bucket that holds something.
fn buckets(name: &str, one: &Histogram, scale: Scale) -> String {
    let mut out = format!(
        "# {}\n# bucket, calls, average latency in seconds, estimated total latency in seconds\n",
        clean(name)
    );
    for (bucket, count) in filled(one.buckets()) {
        let mean = scale.mean(bucket);
        let _ = writeln!(out, "{bucket} {count} {mean:e} {:e}", mean * count as f64);
    }
    out
}

/// Returns the first and last bucket of an axis for these histograms.
fn span<'a>(all: impl Iterator<Item = &'a Histogram>) -> (usize, usize) {
    let (mut first, mut last) = (usize::MAX, 0);
    for one in all {
        let mut filled = filled(one.buckets()).map(|(bucket, _)| bucket);
        first = first.min(filled.next().unwrap_or(usize::MAX));
        last = last.max(one.buckets().len());
    }
    (first.min(last).saturating_sub(2), last + 2)
}

/// Returns the lines for the axes. "The bottom X axis shows the average buckets' latency […] The top
/// X axis shows the bucket number" in Figure 3.1; in later figures numbers stand below.
fn axes(scale: Scale, (first, last): (usize, usize)) -> String {
    let step = (last - first).div_ceil(8).max(1);
    let tick = |bucket: usize| {
        let label = figures::time(scale.mean(bucket));
        format!("'{label}' {bucket}")
    };
    let ticks: Vec<String> = (first..=last).step_by(step).map(tick).collect();
    format!(
        "set style fill solid 1.0 noborder\nset boxwidth 0.9\nset logscale y 10\n\
         set xrange [{first}:{last}]\nset x2range [{first}:{last}]\nset yrange [0.7:*]\n\
         set xtics nomirror {step}\nset x2tics ({})\nset format y '%.0s %c'\nset ytics nomirror\n",
        ticks.join(", ")
    )
}

fn bucket_label(scale: Scale) -> String {
    let what = match scale.unit {
        trawl_histogram::Unit::Nanoseconds => "latency in ns",
        trawl_histogram::Unit::Cycles { .. } => "latency in CPU cycles",
    };
    let r = match scale.resolution.get() {
        1 => String::new(),
        r => format!("{r} × "),
    };
    quoted(&format!("Bucket number: {r}log2({what})"))
}

/// Returns the script of one operation.
fn operation(name: &str, one: &Histogram, scale: Scale, number: usize) -> String {
    let mut out = head(&format!("operation-{number}"), (800, 420));
    out.push_str(&axes(scale, span([one].into_iter())));
    let _ = write!(
        out,
        "set title {}\nset xlabel {}\nset ylabel 'Number of operations'\n\
         set y2label 'Estimated total latency, seconds'\nset y2tics\nset logscale y2 10\nset format y2 '%.0e'\n\
         plot 'operation-{number}.dat' using 1:2 with boxes linecolor rgb '#0072b2', \
         '' using 1:4 axes x1y2 with points pointtype 6 linecolor rgb '#d98200'\n",
        quoted(name),
        bucket_label(scale)
    );
    out
}

/// Returns the script of a complete profile.
fn complete(title: &str, all: &[(&str, &Histogram)], scale: Scale) -> String {
    let mut out = head("complete", (800, 120 + all.len() * 130));
    out.push_str(&axes(scale, span(all.iter().map(|(_, one)| *one))));
    let (rows, title) = (all.len(), quoted(title));
    out.push_str("set lmargin 9\nset rmargin 3\n");
    let _ = writeln!(out, "set multiplot layout {rows},1 title {title}");
    for (at, (name, _)) in all.iter().enumerate() {
        if at == 1 {
            out.push_str("unset x2tics\n");
        }
        if at + 1 == rows {
            let _ = writeln!(out, "set xlabel {}", bucket_label(scale));
        }
        let _ = write!(
            out,
            "set title {}\nplot 'operation-{}.dat' using 1:2 with boxes linecolor rgb '#0072b2'\n",
            quoted(name),
            at + 1
        );
    }
    out.push_str("unset multiplot\n");
    out
}

/// Adds the data and scripts of one operation over time.
fn over_time(files: &mut Vec<File>, name: &str, sliced: &Sliced, scale: Scale, number: usize) {
    let rows = Rows::new(sliced, name, ROWS_MOST);
    let last = rows.rows.iter().map(|(_, buckets)| buckets.len()).max();
    let first = rows
        .rows
        .iter()
        .filter_map(|(_, buckets)| filled(buckets).next());
    let first = first.map(|(bucket, _)| bucket).min().unwrap_or(0);
    let (first, last) = (first.saturating_sub(1), last.unwrap_or(0));
    let data = format!("slices-{number}.dat");
    push(files, &data, grid(name, &rows, scale, (first, last)));
    let plots = [
        ("calls", 3, "Number of operations"),
        ("latency", 4, "Estimated delay, seconds"),
    ];
    for (kind, column, label) in plots {
        let title = quoted(&format!("{name}: {label}"));
        let mut out = head(&format!("{kind}-{number}"), (800, 600));
        let _ = write!(
            out,
            "set title {title}\nset xlabel {}\nset ylabel {}\nset view 55,35\nset hidden3d\n\
             set xyplane 0\nset ticslevel 0\n\
             splot '{data}' using 1:2:{column} with lines linecolor rgb '#0072b2'\n",
            bucket_label(scale),
            elapsed_label(&rows)
        );
        push(files, &format!("{kind}-{number}.gp"), out);
    }
    let mut out = head(&format!("map-{number}"), (800, 600));
    let _ = write!(
        out,
        "set title {}\nset xlabel {}\nset ylabel {}\nset logscale cb\n\
         set palette defined (0 '#d9e8f5', 1 '#072e53')\n\
         plot '{data}' using 1:2:($3 > 0 ? $3 : NaN) with image\n",
        quoted(name),
        bucket_label(scale),
        elapsed_label(&rows)
    );
    push(files, &format!("map-{number}.gp"), out);
}

fn elapsed_label(rows: &Rows) -> &'static str {
    match rows.seconds {
        Some(_) => "'Elapsed time, seconds'",
        None => "'Elapsed time, slices'",
    }
}

/// Returns a grid of calls and latencies: a block of lines for each slice.
fn grid(name: &str, rows: &Rows, scale: Scale, (first, last): (usize, usize)) -> String {
    let mut out = format!(
        "# {}\n# bucket, elapsed time, calls, estimated total latency in seconds\n",
        clean(name)
    );
    for (row, (_, buckets)) in rows.rows.iter().enumerate() {
        let elapsed = match rows.seconds {
            Some(seconds) => row as f64 * seconds,
            None => (row * rows.together) as f64,
        };
        for bucket in first..=last {
            let count = buckets.get(bucket).copied().unwrap_or(0);
            let latency = count as f64 * scale.mean(bucket);
            let _ = writeln!(out, "{bucket} {elapsed} {count} {latency:e}");
        }
        out.push('\n');
    }
    out
}
