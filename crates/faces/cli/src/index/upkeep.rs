//! Maintenance of an index: checks its bytes, removes data that no snapshot needs, removes old
//! snapshots.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use trawl_format::retention::{Rule, Verdict, parse_age};
use trawl_format::{IndexDir, Source};
use trawl_indexer::upkeep::{self, collect, plan};
use trawl_indexer::{Notice, Retention};
use trawl_report::{Field, Row, Schema, fields, schema};
use trawl_text::time_style::full_iso;
use trawl_text::units::{Scale, format};
use trawl_text::zone::Zone;

use crate::commands::{Class, Setting, Spec};
use crate::exit::Exit;
use crate::failure::{Failure, shown};
use crate::forms::{FormArgs, Objects};
use crate::index::events::fill_event;
use crate::index::progress::counted;
use crate::output::say;
use crate::rows::{self, Form};
use crate::settings;
use trawl_session::now;

const SOURCES: Field = Field::integer("sources", "number of sources that were checked");
const SNAPSHOTS: Field = Field::integer("snapshots", "number of snapshots checked or removed");
const FILES: Field = Field::integer("files", "number of files that were checked or removed");
const DAMAGE: Field = Field::flag(
    "damage",
    "whether answers may be wrong because of a problem",
);
const DAMAGED: Field = Field::integer(
    "damaged",
    "number of snapshots that were forgotten because they are damaged",
);
const DRY_RUN: Field = Field::flag("dry_run", "whether nothing was removed");
const RULE: Field = Field::text("rule", "the rule in effect");
const FREED_BYTES: Field =
    Field::integer("freed_bytes", "space that removing would free").in_units("bytes");
const ID: Field = Field::text("id", "id of a snapshot");
const KEEP: Field = Field::flag("keep", "whether a snapshot stays");
const REASONS: Field = Field::text("reasons", "why a snapshot stays");
const SOUND: Field = Field::integer("sound", "number of files that needed nothing");
const WRITTEN: Field = Field::integer("written", "number of files that were made again");

/// Rows of `verify`: a problem.
pub(super) static FINDING: Schema = Schema {
    row: "a problem in a file of the index",
    fields: &[fields::EVENT, fields::PATH, fields::PROBLEM, DAMAGE],
    forms: schema::OBJECTS,
    samples: &[],
};

/// Rows of `verify`: what was checked.
pub(super) static VERIFIED: Schema = Schema {
    row: "the result of a check of the index",
    fields: &[
        fields::EVENT,
        SOURCES,
        SNAPSHOTS,
        FILES,
        fields::SIZE,
        fields::FINDINGS,
    ],
    forms: schema::OBJECTS,
    samples: &["index --verify", "verify"],
};

/// Rows of `index --rebuild-names`.
pub(super) static REBUILT: Schema = Schema {
    row: "the name sidecars of a source",
    fields: &[fields::EVENT, fields::ROOT, SOUND, WRITTEN],
    forms: schema::OBJECTS,
    samples: &["index --rebuild-names"],
};

/// Rows of `gc --dry-run`: a snapshot.
pub(super) static VERDICT: Schema = Schema {
    row: "a snapshot that a rule keeps or removes",
    fields: &[
        fields::EVENT,
        fields::ROOT,
        ID,
        fields::STARTED,
        KEEP,
        REASONS,
    ],
    forms: schema::OBJECTS,
    samples: &[],
};

/// Rows of `gc --dry-run`: a source.
pub(super) static PLANNED: Schema = Schema {
    row: "what a rule would remove from a source",
    fields: &[
        fields::EVENT,
        fields::ROOT,
        DRY_RUN,
        RULE,
        SNAPSHOTS,
        FREED_BYTES,
    ],
    forms: schema::OBJECTS,
    samples: &["index --gc --dry-run --keep 1", "gc --dry-run --keep 1"],
};

/// Rows of `gc`.
pub(super) static COLLECTED: Schema = Schema {
    row: "what was removed from a source",
    fields: &[fields::EVENT, fields::ROOT, SNAPSHOTS, FILES, DAMAGED],
    forms: schema::OBJECTS,
    samples: &["index --gc --keep 1", "gc --keep 1"],
};

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
    const REPORTS: &'static [&'static Schema] = &[&FINDING, &VERIFIED];

    fn run(&self, setting: Setting<'_>) -> Result<Exit, Failure> {
        verify(&settings::index_dir(setting.index)?, self.form.form())
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
    const REPORTS: &'static [&'static Schema] = &[&VERDICT, &PLANNED, &COLLECTED];

    fn run(&self, setting: Setting<'_>) -> Result<Exit, Failure> {
        let dir = settings::index_dir(setting.index)?;
        let act = match self.dry_run {
            true => tell_all,
            false => collect_all,
        };
        act(&dir, &self.retention.retention(), self.form.form())
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
pub(crate) fn collect_all(dir: &Path, retention: &Retention, form: Form) -> Result<Exit, Failure> {
    let index = IndexDir::open(dir)?;
    let mut report = rows::report(&COLLECTED, form);
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
        let text = || {
            let root = shown(source.root());
            let (snapshots, files) = (counted(snapshots, "snapshot"), counted(done.files, "file"));
            format!("{root}: removed {snapshots}, {files}\n")
        };
        report.line(text, |row| {
            fill_event(row, "gc", source.root());
            row.put(&SNAPSHOTS, snapshots)
                .put(&FILES, done.files)
                .put(&DAMAGED, done.damaged.len());
        })?;
    }
    rows::finish(report)?;
    Ok(exit)
}

/// Reports what [`collect_all`] would do, and changes nothing.
pub(crate) fn tell_all(dir: &Path, retention: &Retention, form: Form) -> Result<Exit, Failure> {
    let index = IndexDir::open(dir)?;
    let mut report = rows::report(&PLANNED, form);
    for source in index.sources()? {
        let plan = plan(&source, retention, now())?;
        for verdict in &plan.verdicts {
            match report.form() {
                Form::Text => report.put(verdict_line(&source, verdict))?,
                _ => report.row_of(&VERDICT, |row| fill_verdict(row, &source, verdict))?,
            }
        }
        let text = || {
            let count = u64::try_from(plan.removed).unwrap_or(u64::MAX);
            format!(
                "{}: {} would remove {} and free {}\n",
                shown(source.root()),
                plan.rule,
                counted(count, "snapshot"),
                format(u128::from(plan.freed_bytes), Scale::Binary),
            )
        };
        report.line(text, |row| {
            fill_event(row, "gc", source.root());
            row.put(&DRY_RUN, true)
                .put(&RULE, &plan.rule.to_string())
                .put(&SNAPSHOTS, plan.removed)
                .put(&FREED_BYTES, plan.freed_bytes);
        })?;
    }
    rows::finish(report)?;
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

fn fill_verdict(row: &mut Row<'_>, source: &Source, verdict: &Verdict) {
    fill_event(row, "snapshot", source.root());
    row.put(&ID, &verdict.id.to_string())
        .put(&fields::STARTED, verdict.id.time())
        .put(&KEEP, !verdict.reasons.is_empty())
        .put(&REASONS, &reasons(verdict));
}

/// Rebuilds name sidecars in every source.
pub(crate) fn rebuild_names(dir: &Path, form: Form) -> Result<Exit, Failure> {
    let index = IndexDir::open(dir)?;
    let mut report = rows::report(&REBUILT, form);
    for source in index.sources()? {
        let done = upkeep::rebuild_names(&source)?;
        let text = || {
            format!(
                "{}: {} written, {} sound\n",
                shown(trawl_model::path::display(source.root())),
                counted(done.written, "name sidecar"),
                done.sound,
            )
        };
        report.line(text, |row| {
            fill_event(row, "rebuilt-names", source.root());
            row.put(&SOUND, done.sound).put(&WRITTEN, done.written);
        })?;
    }
    rows::finish(report)?;
    Ok(Exit::Complete)
}

/// Checks every byte. The exit code is 2 if something is damaged, and 1 if there are only files
/// that do not belong there.
pub(crate) fn verify(dir: &Path, form: Form) -> Result<Exit, Failure> {
    let index = IndexDir::open(dir)?;
    let done = upkeep::verify(&index)?;
    let mut report = rows::report(&VERIFIED, form);
    for finding in &done.findings {
        match report.form() {
            Form::Text => report.put(format!("{}\n", shown(finding.to_string().as_bytes())))?,
            _ => report.row_of(&FINDING, |row| {
                row.put(&fields::EVENT, "finding")
                    .put(&fields::PATH, finding.path.as_os_str().as_bytes())
                    .put(&fields::PROBLEM, &finding.problem.to_string())
                    .put(&DAMAGE, finding.problem.is_damage());
            })?,
        }
    }
    let text = || {
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
    };
    report.line(text, |row| {
        row.put(&fields::EVENT, "verified")
            .put(&SOURCES, done.sources)
            .put(&SNAPSHOTS, done.snapshots)
            .put(&FILES, done.files)
            .put(&fields::SIZE, done.size_bytes)
            .put(&fields::FINDINGS, done.findings.len());
    })?;
    rows::finish(report)?;
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
