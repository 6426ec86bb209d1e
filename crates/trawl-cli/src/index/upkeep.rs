//! Looking after an index: checking its bytes, removing what no snapshot
//! needs, forgetting old snapshots.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::Duration;

use trawl_index::IndexDir;
use trawl_index::gc::{Collected, Retention, collect};
use trawl_index::verify::Scope;
use trawl_model::Timestamp;
use trawl_text::units::{Scale, format};

use crate::exit::Exit;
use crate::failure::{Failure, shown};
use crate::index::progress::{counted, event};
use crate::index::scan::now;
use crate::output::{Output, say};
use trawl_text::json::Object;

/// Snapshots of a source that are kept unless said otherwise: the previous
/// one may still be read by a question that began before the scan ended.
const NEWEST_KEPT: usize = 2;

/// Options of `trawl verify`.
#[derive(Debug, clap::Args)]
pub(crate) struct VerifyArgs {
    /// One JSON object a line
    #[arg(long)]
    pub(crate) json: bool,
}

/// Options of `trawl gc`.
#[derive(Debug, clap::Args)]
pub(crate) struct GcArgs {
    #[command(flatten)]
    pub(crate) retention: RetentionArgs,
    /// One JSON object a line
    #[arg(long)]
    pub(crate) json: bool,
}

/// Which snapshots stay.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub(crate) struct RetentionArgs {
    /// Keep so many snapshots of each source, the current one among them
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    keep: Option<u32>,
    /// Keep snapshots younger than this, such as 12h, 30d or 8w
    #[arg(long, value_name = "AGE", value_parser = parse_age)]
    keep_for: Option<Duration>,
}

impl RetentionArgs {
    /// What stays if nothing is said: the current snapshot and the one
    /// before.
    pub(crate) fn retention(self, now: Timestamp) -> Retention {
        let secs = |age: Duration| i64::try_from(age.as_secs()).unwrap_or(i64::MAX);
        let newest = match (self.keep, self.keep_for) {
            (Some(keep), _) => usize::try_from(keep).unwrap_or(usize::MAX),
            (None, Some(_)) => 1,
            (None, None) => NEWEST_KEPT,
        };
        Retention {
            newest,
            since: self.keep_for.map(|age| now.minus_secs(secs(age))),
        }
    }
}

/// Forgets a source's snapshots that are not to stay, after a scan. That
/// this fails does not undo the scan.
pub(crate) fn retain(index: &IndexDir, root: &[u8], args: RetentionArgs) -> Result<(), Failure> {
    if let Some(source) = index.source(root)? {
        let done = collect(&source, args.retention(now()))?;
        say_damaged(&done);
    }
    Ok(())
}

/// Removes what no snapshot needs, in every source.
pub(crate) fn collect_all(
    dir: &Path,
    retention: RetentionArgs,
    json: bool,
) -> Result<Exit, Failure> {
    let index = IndexDir::open(dir)?;
    let mut output = Output::stdout();
    let mut exit = Exit::Complete;
    for source in index.sources()? {
        let done = collect(&source, retention.retention(now()))?;
        say_damaged(&done);
        exit = exit.and(if done.damaged.is_empty() {
            Exit::Complete
        } else {
            Exit::Issues
        });
        let snapshots = u64::try_from(done.snapshots.len()).unwrap_or(u64::MAX);
        if json {
            let object = event("gc", source.root());
            let object = object
                .number("snapshots", snapshots)
                .number("files", done.files);
            output.put(object.number("damaged", done.damaged.len()).close() + "\n")?;
        } else {
            let root = shown(source.root());
            let (snapshots, files) = (counted(snapshots, "snapshot"), counted(done.files, "file"));
            output.put(format!("{root}: removed {snapshots}, {files}\n"))?;
        }
    }
    output.finish()?;
    Ok(exit)
}

fn say_damaged(done: &Collected) {
    for path in &done.damaged {
        say(format_args!(
            "{} is damaged, so nothing beside it was removed: see trawl index --verify",
            path.display()
        ));
    }
}

/// Makes name sidecars again, in every source.
pub(crate) fn rebuild_names(dir: &Path, json: bool) -> Result<Exit, Failure> {
    let index = IndexDir::open(dir)?;
    let mut output = Output::stdout();
    for source in index.sources()? {
        let done = trawl_query::rebuild_names(&source)?;
        output.put(if json {
            let object = event("rebuilt-names", source.root());
            let object = object.number("sound", done.sound);
            object.number("written", done.written).close() + "\n"
        } else {
            format!(
                "{}: {} written, {} sound\n",
                shown(trawl_model::path::display(source.root())),
                counted(done.written, "name sidecar"),
                done.sound,
            )
        })?;
    }
    output.finish()?;
    Ok(Exit::Complete)
}

/// Checks every byte; exit code 2 if something is damaged, 1 if there is
/// only what does not belong there.
pub(crate) fn verify(dir: &Path, json: bool) -> Result<Exit, Failure> {
    let index = IndexDir::open(dir)?;
    let done = trawl_index::verify::verify(&index, Scope::All)?;
    let mut output = Output::stdout();
    for finding in &done.findings {
        if json {
            let object = Object::new()
                .text("event", "finding")
                .bytes("path", finding.path.as_os_str().as_bytes())
                .text("problem", &finding.problem.to_string())
                .flag("damage", finding.problem.is_damage());
            output.put(object.close() + "\n")?;
        } else {
            output.put(format!("{}\n", shown(finding.to_string().as_bytes())))?;
        }
    }
    output.put(if json {
        let object = Object::new()
            .text("event", "verified")
            .number("sources", done.sources);
        let object = object
            .number("snapshots", done.snapshots)
            .number("files", done.files);
        let object = object.number("size_bytes", done.size_bytes);
        object.number("findings", done.findings.len()).close() + "\n"
    } else {
        let verdict = match (done.has_damage(), done.findings.is_empty()) {
            (true, _) => "damaged: index the sources again, or restore the files named above",
            (false, false) => {
                "sound, but for files that no snapshot needs or that can be made again"
            }
            (false, true) => "sound",
        };
        format!(
            "{} in {} checked: {verdict}\n",
            format(u128::from(done.size_bytes), Scale::Binary),
            counted(done.files, "file"),
        )
    })?;
    output.finish()?;
    Ok(match (done.has_damage(), done.findings.is_empty()) {
        (true, _) => Exit::Fatal,
        (false, false) => Exit::Issues,
        (false, true) => Exit::Complete,
    })
}

/// Reads `90`, `90s`, `15m`, `12h`, `30d`, `8w`, `1y`.
fn parse_age(text: &str) -> Result<Duration, String> {
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, unit) = text.split_at(digits);
    let secs = match unit {
        "" | "s" => 1u64,
        "m" => 60,
        "h" => 3600,
        "d" => 86_400,
        "w" => 7 * 86_400,
        "y" => 365 * 86_400,
        _ => return Err("use a number and one of s, m, h, d, w, y, such as 30d".into()),
    };
    let number: u64 = number
        .parse()
        .map_err(|_| "it has no number, or too large a one")?;
    let secs = number.checked_mul(secs).ok_or("it is too long")?;
    Ok(Duration::from_secs(secs))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_have_units() {
        for (text, secs) in [("90", 90), ("15m", 900), ("2h", 7200), ("30d", 2_592_000)] {
            assert_eq!(parse_age(text), Ok(Duration::from_secs(secs)), "{text}");
        }
        for text in [
            "",
            "d",
            "1x",
            "-1d",
            "99999999999999999999",
            "99999999999999999y",
        ] {
            assert!(parse_age(text).is_err(), "{text}");
        }
    }
}
