//! Report of the comparison and its findings, for auditors and for programs.

use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt;

use trawl_indexer::check::{Derivation, Kind, Person, Report, Tally};
use trawl_model::path::display;
use trawl_text::time_style::full_iso;
use trawl_text::zone::Zone;

use crate::exit::Exit;
use crate::failure::shown;
use crate::index::progress::{counted, event, grouped};
use trawl_text::json::Object;

/// Maximum number of differences of a kind that are listed for a user; leaks are all listed.
const LISTED: usize = 20;

/// Says where what users may see comes from.
fn origin(derivation: Derivation) -> &'static str {
    match derivation {
        Derivation::Kernel => "the kernel's answers on the source to each user",
        Derivation::Recorded => {
            "its own rows and the permission rules, for it is a recording and the kernel \
             cannot be asked"
        }
        Derivation::Mapped => {
            "its own rows and the permission rules, for its ids are mapped and the kernel \
             knows them by other numbers"
        }
    }
}

/// Formats the report for people.
pub(super) fn text(report: &Report) -> String {
    let mut out = head(report);
    for finding in &report.findings {
        let _ = writeln!(
            out,
            "  PERMISSIONS {}",
            shown(finding.to_string().as_bytes())
        );
    }
    for (person, tally) in &report.users {
        person_text(person, tally, &mut out);
    }
    out.push_str(&verdict(report));
    out
}

fn head(report: &Report) -> String {
    let mut time = String::new();
    full_iso(&mut time, report.info.started, &Zone::local());
    let mut out = format!(
        "{}: snapshot {} as of {time}\n",
        shown(&report.root),
        report.info.id
    );
    let sample = match report.looked_at == report.of {
        true => "all of them".to_owned(),
        false => format!("a sample of each kind of permissions, seed {}", report.seed),
    };
    let _ = writeln!(
        out,
        "  compared with {}\n  {} of {} at and below {}: {sample}\n  {} of the index: {}",
        origin(report.derivation),
        grouped(report.looked_at),
        counted(report.of, "directory"),
        shown(&report.top),
        counted(report.guards, "directory"),
        match report.findings.is_empty() {
            true => "owners, modes and lists as they must be",
            false => "NOT as they must be",
        }
    );
    out
}

fn verdict(report: &Report) -> String {
    let root = shown(&report.root);
    let leaks = report.count(Kind::Leak);
    let others = report.count(Kind::Missing) + report.count(Kind::Differs);
    let closed = (report.closed(), report.count(Kind::Withdrawn));
    match (Exit::from_issues(report.problems()), leaks, others) {
        (Exit::Complete, ..) => {
            format!("{root}: every user is shown what they may see and no more\n")
        }
        (_, 0, _) if closed != (0, 0) => {
            let values = match closed.1 {
                0 => String::new(),
                values => format!(", {} withdrawn", counted(values, "attribute value")),
            };
            format!(
                "{root}: {} closed since the scan{values}: the index still shows what was \
                 there to users who may no longer see it: index the source again, or keep it \
                 up to date with trawl watch\n",
                counted(closed.0, "directory")
            )
        }
        (_, 0, 0) => {
            format!("{root}: REPAIR the index's permissions: index the source again\n")
        }
        (_, 0, _) => format!(
            "{root}: nobody is shown too much, but not everything is shown as it is: index the source again\n"
        ),
        _ => format!(
            "{root}: LEAK: {} shown to users who may not see it: close the index (chmod 700) and find out why\n",
            counted(leaks, "thing")
        ),
    }
}

/// Returns the report as objects for programs.
pub(super) fn json(report: &Report) -> Vec<Object> {
    let mut objects = Vec::new();
    for finding in &report.findings {
        let object = event("finding", &report.root);
        let object = object.bytes("path", finding.path.as_os_str().as_bytes());
        objects.push(object.text("problem", &finding.problem.to_string()));
    }
    for (person, tally) in &report.users {
        for found in &tally.differences {
            let object = event("difference", &report.root)
                .text("kind", found.kind.word())
                .number("uid", person.user.uid)
                .bytes("path", display(&found.path));
            objects.push(object.text("what", &found.what));
        }
        objects.push(person_json(person, tally, &report.root));
    }
    let exit = Exit::from_issues(report.problems());
    let object = event("checked", &report.root)
        .bytes("top", display(&report.top))
        .text("snapshot", &report.info.id.to_string())
        .time("as_of", Some(report.info.started))
        .flag("from_kernel", report.derivation == Derivation::Kernel)
        .number("directories", report.looked_at)
        .number("of", report.of)
        .number("seed", report.seed)
        .number("index_directories", report.guards)
        .number("findings", report.findings.len())
        .number("leaks", report.count(Kind::Leak))
        .number("missing", report.count(Kind::Missing))
        .number("differs", report.count(Kind::Differs))
        .number("closed", report.closed())
        .number("withdrawn", report.count(Kind::Withdrawn))
        .number("changed", report.count(Kind::Changed));
    objects.push(object.flag("sound", exit == Exit::Complete));
    objects
}

fn person_text(person: &Person, tally: &Tally, out: &mut String) {
    let _ = write!(
        out,
        "  {}, {}: {} compared: {} listed, {} refused",
        person.label(),
        person.why,
        counted(tally.directories, "directory"),
        grouped(tally.listed),
        grouped(tally.refused),
    );
    for (count, what) in [
        (tally.live, "left to the live file system"),
        (
            tally.unsearchable,
            "with r but without x, which show nothing",
        ),
    ] {
        if count > 0 {
            let _ = write!(out, ", {} {what}", grouped(count));
        }
    }
    let _ = write!(
        out,
        "; {} of {} agree",
        grouped(tally.agreed),
        counted(tally.entries, "entry"),
    );
    let kinds = [
        Kind::Leak,
        Kind::Missing,
        Kind::Differs,
        Kind::Closed,
        Kind::Withdrawn,
        Kind::Changed,
    ];
    for kind in kinds {
        let count = tally.count(kind);
        if count > 0 {
            let _ = write!(out, "; {} {}", grouped(count), kind.word());
        }
    }
    out.push('\n');
    for kind in kinds {
        list(tally, kind, out);
    }
}

/// Lists differences: all leaks, some of the others.
fn list(tally: &Tally, kind: Kind, out: &mut String) {
    let most = if kind == Kind::Leak {
        usize::MAX
    } else {
        LISTED
    };
    let found = tally.differences.iter().filter(|found| found.kind == kind);
    for difference in found.clone().take(most) {
        let word = match kind {
            Kind::Leak => "LEAK",
            other => other.word(),
        };
        let path = shown(&difference.path);
        let _ = writeln!(out, "    {word} {path}: {}", difference.what);
    }
    let more = found.count().saturating_sub(most);
    if more > 0 {
        let _ = writeln!(out, "    {more} more {}: --json lists all", kind.word());
    }
}

fn person_json(person: &Person, tally: &Tally, root: &[u8]) -> Object {
    let object = event("user", root).number("uid", person.user.uid);
    let object = match &person.name {
        Some(name) => object.bytes("name", name),
        None => object.null("name"),
    };
    let groups = person.user.groups.iter().map(u32::to_string);
    object
        .number("gid", person.user.gid)
        .array("groups", groups)
        .text("why", person.why)
        .number("directories", tally.directories)
        .number("listed", tally.listed)
        .number("refused", tally.refused)
        .number("live", tally.live)
        .number("unsearchable", tally.unsearchable)
        .number("entries", tally.entries)
        .number("agreed", tally.agreed)
        .number("values", tally.values)
        .number("leaks", tally.count(Kind::Leak))
        .number("missing", tally.count(Kind::Missing))
        .number("differs", tally.count(Kind::Differs))
        .number("closed", tally.count(Kind::Closed))
        .number("withdrawn", tally.count(Kind::Withdrawn))
        .number("changed", tally.count(Kind::Changed))
}
