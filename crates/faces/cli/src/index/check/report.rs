//! Report of the comparison and its findings, for auditors and for programs.

use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt;

use trawl_indexer::check::{Derivation, Kind, Person, Report, Tally};
use trawl_model::path::display;
use trawl_report::{Field, ReportError, Row, Schema, fields, schema};
use trawl_text::time_style::full_iso;
use trawl_text::zone::Zone;

use crate::exit::Exit;
use crate::failure::shown;
use crate::index::events::fill_event;
use crate::index::progress::{counted, grouped};
use crate::rows;

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

const WHAT: Field = Field::text("what", "what differs");
const KIND: Field = Field::text("kind", "kind of the difference");
const GROUPS: Field = Field::integers("groups", "group numbers of a user");
const NAME: Field = Field::bytes("name", "a user's name; `null` if the system has none");
const WHY: Field = Field::text("why", "why this user was chosen");
const LISTED_DIRECTORIES: Field =
    Field::integer("listed", "number of directories that the user may list");
const REFUSED: Field = Field::integer(
    "refused",
    "number of directories that the user may not list",
);
const LIVE: Field = Field::integer(
    "live",
    "number of directories that are read from the file system",
);
const UNSEARCHABLE: Field = Field::integer(
    "unsearchable",
    "number of directories that may be listed but not searched",
);
const AGREED: Field = Field::integer("agreed", "number of entries that agreed");
const VALUES: Field = Field::integer("values", "number of attribute values that agreed");
const LEAKS: Field = Field::integer("leaks", "number of differences: shown to too many");
const MISSING: Field = Field::integer("missing", "number of differences: not shown");
const DIFFERS: Field = Field::integer("differs", "number of differences: shown differently");
const CLOSED: Field = Field::integer("closed", "number of directories closed since the scan");
const WITHDRAWN: Field = Field::integer("withdrawn", "number of values withdrawn since the scan");
const CHANGED: Field = Field::integer("changed", "number of entries changed since the scan");
const TOP: Field = Field::bytes("top", "directory where the check began");
const AS_OF: Field = Field::time("as_of", "when the snapshot began");
const FROM_KERNEL: Field = Field::flag(
    "from_kernel",
    "whether the kernel was asked what users may see, instead of deriving it",
);
const OF: Field = Field::integer(
    "of",
    "number of directories, of which a sample was compared",
);
const SEED: Field = Field::integer("seed", "the sample's seed");
const INDEX_DIRECTORIES: Field = Field::integer("index_directories", "number of guards checked");
const SOUND: Field = Field::flag("sound", "whether every user is shown what they may see");

/// A guard that is not as it must be.
pub(crate) static FINDING: Schema = Schema {
    row: "a directory of the index whose permissions are wrong",
    fields: &[fields::EVENT, fields::ROOT, fields::PATH, fields::PROBLEM],
    forms: schema::OBJECTS,
    samples: &[],
};

/// A difference between what a user may see and what the index shows.
pub(crate) static DIFFERENCE: Schema = Schema {
    row: "a difference between what a user may see and is shown",
    fields: &[
        fields::EVENT,
        fields::ROOT,
        KIND,
        fields::UID,
        fields::PATH,
        WHAT,
    ],
    forms: schema::OBJECTS,
    samples: &[],
};

/// Rows about users whose views were compared.
pub(crate) static USER: Schema = Schema {
    row: "a user whose view was compared",
    fields: &[
        fields::EVENT,
        fields::ROOT,
        fields::UID,
        NAME,
        fields::GID,
        GROUPS,
        WHY,
        fields::DIRECTORIES,
        LISTED_DIRECTORIES,
        REFUSED,
        LIVE,
        UNSEARCHABLE,
        fields::ENTRIES,
        AGREED,
        VALUES,
        LEAKS,
        MISSING,
        DIFFERS,
        CLOSED,
        WITHDRAWN,
        CHANGED,
    ],
    forms: schema::OBJECTS,
    samples: &[],
};

/// The result of a check.
pub(crate) static CHECKED: Schema = Schema {
    row: "the result of a check of permissions",
    fields: &[
        fields::EVENT,
        fields::ROOT,
        TOP,
        fields::SNAPSHOT,
        AS_OF,
        FROM_KERNEL,
        fields::DIRECTORIES,
        OF,
        SEED,
        INDEX_DIRECTORIES,
        fields::FINDINGS,
        LEAKS,
        MISSING,
        DIFFERS,
        CLOSED,
        WITHDRAWN,
        CHANGED,
        SOUND,
    ],
    forms: schema::OBJECTS,
    samples: &[],
};

/// Writes the report for programs.
pub(super) fn write(report: &Report, rows: &mut rows::Report) -> Result<(), ReportError> {
    for finding in &report.findings {
        rows.row_of(&FINDING, |row| {
            fill_event(row, "finding", &report.root);
            row.put(&fields::PATH, finding.path.as_os_str().as_bytes())
                .put(&fields::PROBLEM, &finding.problem.to_string());
        })?;
    }
    for (person, tally) in &report.users {
        for found in &tally.differences {
            rows.row_of(&DIFFERENCE, |row| {
                fill_event(row, "difference", &report.root);
                row.put(&KIND, found.kind.word())
                    .put(&fields::UID, person.user.uid)
                    .put(&fields::PATH, display(&found.path))
                    .put(&WHAT, &found.what);
            })?;
        }
        rows.row_of(&USER, |row| fill_person(row, person, tally, &report.root))?;
    }
    rows.row_of(&CHECKED, |row| fill_checked(row, report))
}

fn fill_checked(row: &mut Row<'_>, report: &Report) {
    let exit = Exit::from_issues(report.problems());
    fill_event(row, "checked", &report.root);
    row.put(&TOP, display(&report.top))
        .put(&fields::SNAPSHOT, &report.info.id.to_string())
        .put(&AS_OF, report.info.started)
        .put(&FROM_KERNEL, report.derivation == Derivation::Kernel)
        .put(&fields::DIRECTORIES, report.looked_at)
        .put(&OF, report.of)
        .put(&SEED, report.seed)
        .put(&INDEX_DIRECTORIES, report.guards)
        .put(&fields::FINDINGS, report.findings.len())
        .put(&LEAKS, report.count(Kind::Leak))
        .put(&MISSING, report.count(Kind::Missing))
        .put(&DIFFERS, report.count(Kind::Differs))
        .put(&CLOSED, report.closed())
        .put(&WITHDRAWN, report.count(Kind::Withdrawn))
        .put(&CHANGED, report.count(Kind::Changed))
        .put(&SOUND, exit == Exit::Complete);
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

fn fill_person(row: &mut Row<'_>, person: &Person, tally: &Tally, root: &[u8]) {
    fill_event(row, "user", root);
    row.put(&fields::UID, person.user.uid)
        .put(&NAME, person.name.as_ref().map(|name| &name[..]))
        .put(&fields::GID, person.user.gid)
        .integers(&GROUPS, person.user.groups.iter().copied())
        .put(&WHY, person.why)
        .put(&fields::DIRECTORIES, tally.directories)
        .put(&LISTED_DIRECTORIES, tally.listed)
        .put(&REFUSED, tally.refused)
        .put(&LIVE, tally.live)
        .put(&UNSEARCHABLE, tally.unsearchable)
        .put(&fields::ENTRIES, tally.entries)
        .put(&AGREED, tally.agreed)
        .put(&VALUES, tally.values)
        .put(&LEAKS, tally.count(Kind::Leak))
        .put(&MISSING, tally.count(Kind::Missing))
        .put(&DIFFERS, tally.count(Kind::Differs))
        .put(&CLOSED, tally.count(Kind::Closed))
        .put(&WITHDRAWN, tally.count(Kind::Withdrawn))
        .put(&CHANGED, tally.count(Kind::Changed));
}
