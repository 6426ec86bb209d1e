//! Maintenance of an index: checks its bytes, removes data that no snapshot needs, removes old
//! snapshots.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use trawl_format::retention::{Rule, Verdict, parse_age};
use trawl_format::{IndexDir, Source};
use trawl_indexer::upkeep::{self, collect, plan};
use trawl_indexer::{Notice, Retention};
use trawl_text::time_style::full_iso;
use trawl_text::units::{Scale, format};
use trawl_text::zone::Zone;

use crate::commands::{Class, Setting, Spec};
use crate::exit::Exit;
use crate::failure::{Failure, shown};
use crate::forms::{FormArgs, Objects};
use crate::index::progress::{counted, event};
use crate::output::{Output, say};
use crate::settings;
use trawl_session::now;
use trawl_text::json::Object;

// Options of `trawl verify`.
#[derive(Debug, clap::Args)]
pub(crate) struct VerifyArgs {
    #[command(flatten)]
    pub(crate) form: FormArgs<Objects>,
}

impl Spec for VerifyArgs {
    const ABOUT: &'static str = "Check every byte of the index (index --verify)";
    const CLASS: Class = Class::Other;
    const EXAMPLES: &'static [(&'static str, &'static str)] = &[
        ("trawl verify", "check every byte of the index"),
        ("trawl verify --json", "print the result for programs"),
    ];
    const SEE_ALSO: &'static [&'static str] = &["trawl-index(1)", "trawl-gc(1)"];

    fn run(&self, setting: Setting<'_>) -> Result<Exit, Failure> {
        verify(&settings::index_dir(setting.index)?, self.form.is_json())
    }
}

// Options of `trawl gc`.
#[derive(Debug, clap::Args)]
pub(crate) struct GcArgs {
    #[command(flatten)]
    pub(crate) retention: RetentionArgs,
    /// Only show which snapshots would stay or go, and why
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) form: FormArgs<Objects>,
}

impl Spec for GcArgs {
    const ABOUT: &'static str = "Remove snapshots and files that are no longer kept (index --gc)";
    const CLASS: Class = Class::Other;
    const EXAMPLES: &'static [(&'static str, &'static str)] = &[
        ("trawl gc --dry-run", "show what would be removed, and why"),
        ("trawl gc --keep 1", "keep only the current snapshot"),
        (
            "trawl gc --keep daily=7",
            "keep one snapshot for each of seven days, too",
        ),
    ];
    const SEE_ALSO: &'static [&'static str] = &["trawl-index(1)", "trawl-history(1)"];

    fn run(&self, setting: Setting<'_>) -> Result<Exit, Failure> {
        let dir = settings::index_dir(setting.index)?;
        let act = match self.dry_run {
            true => tell_all,
            false => collect_all,
        };
        act(&dir, &self.retention.retention(), self.form.is_json())
    }
}

// Options about snapshots to keep.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct RetentionArgs {
    /// Keep these snapshots of each source [default: 2]
    ///
    /// N keeps the N newest, counting the current one. RULE is a list such as
    /// last=3,daily=7,weekly=5, which may also have hourly, monthly, yearly and within=30d. trawl
    /// index stores the rule with the source for its next scans.
    #[arg(long, value_name = "N|RULE")]
    keep: Option<Rule>,
    /// Keep snapshots younger than AGE, too, such as 12h, 30d or 8w
    ///
    /// This is the same as within=AGE in a rule.
    #[arg(long, value_name = "AGE", value_parser = read_age)]
    keep_for: Option<u64>,
}

impl RetentionArgs {
    /// Returns the rule that was given, or each source's own.
    pub(crate) fn retention(&self) -> Retention {
        Retention::new(match (self.keep.clone(), self.keep_for) {
            (rule, None) => rule,
            (rule, Some(secs)) => Some(rule.unwrap_or_default().or_within(secs)),
        })
    }
}

/// Removes expired snapshots and data that no snapshot needs, in every source.
pub(crate) fn collect_all(dir: &Path, retention: &Retention, json: bool) -> Result<Exit, Failure> {
    let index = IndexDir::open(dir)?;
    let mut output = Output::stdout();
    let mut exit = Exit::Complete;
    for source in index.sources()? {
        let done = collect(&source, retention, now())?;
        Notice::damaged(&done).for_each(say);
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

/// Reports what [`collect_all`] would do, and changes nothing.
pub(crate) fn tell_all(dir: &Path, retention: &Retention, json: bool) -> Result<Exit, Failure> {
    let index = IndexDir::open(dir)?;
    let mut output = Output::stdout();
    for source in index.sources()? {
        let plan = plan(&source, retention, now())?;
        for verdict in &plan.verdicts {
            output.put(match json {
                true => verdict_object(&source, verdict).close() + "\n",
                false => verdict_line(&source, verdict),
            })?;
        }
        output.put(if json {
            let object = event("gc", source.root()).flag("dry_run", true);
            let object = object.text("rule", &plan.rule.to_string());
            let object = object.number("snapshots", plan.removed);
            object.number("freed_bytes", plan.freed_bytes).close() + "\n"
        } else {
            let count = u64::try_from(plan.removed).unwrap_or(u64::MAX);
            format!(
                "{}: {} would remove {} and free {}\n",
                shown(source.root()),
                plan.rule,
                counted(count, "snapshot"),
                format(u128::from(plan.freed_bytes), Scale::Binary),
            )
        })?;
    }
    output.finish()?;
    Ok(Exit::Complete)
}

fn reasons(verdict: &Verdict) -> String {
    let reasons: Vec<String> = verdict.reasons.iter().map(ToString::to_string).collect();
    reasons.join(", ")
}

fn verdict_line(source: &Source, verdict: &Verdict) -> String {
    let mut time = String::new();
    full_iso(&mut time, verdict.id.time(), &Zone::local());
    let root = shown(source.root());
    match verdict.reasons.is_empty() {
        true => format!(
            "{root}: remove {} of {time}: no part of the rule keeps it\n",
            verdict.id
        ),
        false => format!(
            "{root}: keep {} of {time}: {}\n",
            verdict.id,
            reasons(verdict)
        ),
    }
}

fn verdict_object(source: &Source, verdict: &Verdict) -> Object {
    event("snapshot", source.root())
        .text("id", &verdict.id.to_string())
        .time("started", Some(verdict.id.time()))
        .flag("keep", !verdict.reasons.is_empty())
        .text("reasons", &reasons(verdict))
}

/// Rebuilds name sidecars in every source.
pub(crate) fn rebuild_names(dir: &Path, json: bool) -> Result<Exit, Failure> {
    let index = IndexDir::open(dir)?;
    let mut output = Output::stdout();
    for source in index.sources()? {
        let done = upkeep::rebuild_names(&source)?;
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

/// Checks every byte. The exit code is 2 if something is damaged, and 1 if there are only files
/// that do not belong there.
pub(crate) fn verify(dir: &Path, json: bool) -> Result<Exit, Failure> {
    let index = IndexDir::open(dir)?;
    let done = upkeep::verify(&index)?;
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
        let object = object.number("size", done.size_bytes);
        object.number("findings", done.findings.len()).close() + "\n"
    } else {
        let verdict = match (done.has_damage(), done.findings.is_empty()) {
            (true, _) => "damaged: index the sources again, or restore the files named above",
            (false, false) => {
                "sound, except for files that no snapshot needs or that can be rebuilt"
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

/// Parses `90`, `90s`, `15m`, `12h`, `30d`, `8w` or `1y` as seconds.
fn read_age(text: &str) -> Result<u64, String> {
    let problem = "use a number and one of s, m, h, d, w, y, such as 30d";
    parse_age(text).ok_or_else(|| problem.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_have_units() {
        for (text, secs) in [("90", 90), ("15m", 900), ("2h", 7200), ("30d", 2_592_000)] {
            assert_eq!(read_age(text), Ok(secs), "{text}");
        }
        for text in [
            "",
            "d",
            "1x",
            "-1d",
            "99999999999999999999",
            "99999999999999999y",
        ] {
            assert!(read_age(text).is_err(), "{text}");
        }
    }
}
