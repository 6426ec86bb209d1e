//! Maintenance of an index: checks its bytes, removes data that no snapshot needs, removes old
//! snapshots.

use std::collections::BTreeSet;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use trawl_format::retention::{Rule, RuleAt, Verdict, parse_age};
use trawl_format::usage::usage;
use trawl_format::{IndexDir, SnapshotId, Source};
use trawl_model::Timestamp;
use trawl_text::time_style::full_iso;
use trawl_text::units::{Scale, format};
use trawl_text::zone::Zone;
use trawl_writer::check_bundles;
use trawl_writer::gc::{Collected, collect};
use trawl_writer::verify::Scope;

use crate::commands::{Class, Setting, Spec};
use crate::exit::Exit;
use crate::failure::{Failure, shown};
use crate::forms::{FormArgs, Objects};
use crate::index::progress::{counted, event};
use crate::output::{Output, say};
use crate::settings;
use trawl_session::now;
use trawl_text::json::Object;

/// Default number of snapshots that are kept for each source. The previous one may still be read by
/// a question that began before the scan ended.
const NEWEST_KEPT: u32 = 2;

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
        act(&dir, &self.retention, self.form.is_json())
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
    /// Returns the rule, if one was given.
    pub(crate) fn rule(&self) -> Option<Rule> {
        match (self.keep.clone(), self.keep_for) {
            (rule, None) => rule,
            (rule, Some(secs)) => Some(rule.unwrap_or_default().or_within(secs)),
        }
    }

    /// Returns the rule for a source: the one given, else the source's own, else the current
    /// snapshot and the one before.
    pub(crate) fn rule_for(&self, source: &Source) -> Result<Rule, Failure> {
        Ok(match self.rule() {
            Some(rule) => rule,
            None => source.retention()?.unwrap_or(Rule::last(NEWEST_KEPT)),
        })
    }
}

/// Calls `act` with the rule, the current time and the local time zone.
pub(crate) fn with_rule<T>(rule: &Rule, act: impl FnOnce(RuleAt<'_>) -> T) -> T {
    let zone = Zone::local();
    let local = |time: Timestamp| {
        let offset = zone.civil(time.secs).offset_secs;
        time.secs.saturating_add(offset.into())
    };
    act(RuleAt {
        rule,
        now: now(),
        local: &local,
    })
}

/// Removes a source's expired snapshots after a scan. A failure does not undo the scan.
pub(crate) fn retain(index: &IndexDir, root: &[u8], args: &RetentionArgs) -> Result<(), Failure> {
    if let Some(source) = index.source(root)? {
        let rule = args.rule_for(&source)?;
        let done = with_rule(&rule, |rule| collect(&source, rule))?;
        say_damaged(&done);
    }
    Ok(())
}

/// Removes expired snapshots and data that no snapshot needs, in every source.
pub(crate) fn collect_all(
    dir: &Path,
    retention: &RetentionArgs,
    json: bool,
) -> Result<Exit, Failure> {
    let index = IndexDir::open(dir)?;
    let mut output = Output::stdout();
    let mut exit = Exit::Complete;
    for source in index.sources()? {
        let rule = retention.rule_for(&source)?;
        let done = with_rule(&rule, |rule| collect(&source, rule))?;
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

/// Reports what [`collect_all`] would do, and changes nothing.
pub(crate) fn tell_all(dir: &Path, retention: &RetentionArgs, json: bool) -> Result<Exit, Failure> {
    let index = IndexDir::open(dir)?;
    let mut output = Output::stdout();
    for source in index.sources()? {
        let rule = retention.rule_for(&source)?;
        let usage = usage(&source)?;
        let ids: Vec<SnapshotId> = usage.snapshots.iter().map(|s| s.id).collect();
        let verdicts = with_rule(&rule, |rule| rule.judge(&ids));
        let gone = verdicts.iter().filter(|verdict| verdict.reasons.is_empty());
        let gone: BTreeSet<SnapshotId> = gone.map(|verdict| verdict.id).collect();
        for verdict in &verdicts {
            output.put(match json {
                true => verdict_object(&source, verdict).close() + "\n",
                false => verdict_line(&source, verdict),
            })?;
        }
        let freed_bytes = usage.freed_bytes(&gone);
        output.put(if json {
            let object = event("gc", source.root()).flag("dry_run", true);
            let object = object.text("rule", &rule.to_string());
            let object = object.number("snapshots", gone.len());
            object.number("freed_bytes", freed_bytes).close() + "\n"
        } else {
            let count = u64::try_from(gone.len()).unwrap_or(u64::MAX);
            format!(
                "{}: {rule} would remove {} and free {}\n",
                shown(source.root()),
                counted(count, "snapshot"),
                format(u128::from(freed_bytes), Scale::Binary),
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

pub(crate) fn say_damaged(done: &Collected) {
    for path in &done.damaged {
        say(format_args!(
            "{} is damaged, so nothing next to it was removed: see trawl index --verify",
            path.display()
        ));
    }
}

/// Rebuilds name sidecars in every source.
pub(crate) fn rebuild_names(dir: &Path, json: bool) -> Result<Exit, Failure> {
    let index = IndexDir::open(dir)?;
    let mut output = Output::stdout();
    for source in index.sources()? {
        let done = trawl_writer::rebuild_names(&source)?;
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
    let mut done = trawl_writer::verify::verify(&index, Scope::All)?;
    // The rows of a damaged index cannot be checked further.
    if !done.has_damage() {
        for source in index.sources()? {
            done.findings.extend(check_bundles(&source)?);
        }
    }
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
