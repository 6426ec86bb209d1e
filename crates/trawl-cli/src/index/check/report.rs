//! Report of the comparison and its findings, for auditors and for programs.

use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt;

use trawl_model::Subtrees;
use trawl_model::path::display;
use trawl_query::SnapshotInfo;
use trawl_text::time_style::full_iso;
use trawl_text::zone::Zone;
use trawl_writer::verify::Finding;

use super::compare::{Kind, Tally};
use super::people::Person;
use crate::exit::Exit;
use crate::failure::shown;
use crate::index::progress::{counted, event, grouped};
use trawl_text::json::Object;

/// Maximum number of differences of a kind that are listed for a user; leaks are all listed.
const LISTED: usize = 20;

/// Origin of what users may see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Derivation {
    /// The kernel, which was asked about the live source as each user.
    Kernel,
    /// The rows and the permission algebra, because the tree does not exist on this host.
    Recorded,
    /// The rows and the permission algebra, because the file system's ids are not this host's.
    Mapped,
}

impl Derivation {
    fn text(self) -> &'static str {
        match self {
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
}

/// Report about one source.
pub(super) struct Report {
    pub(super) root: Vec<u8>,
    pub(super) top: Vec<u8>,
    pub(super) info: SnapshotInfo,
    pub(super) derivation: Derivation,
    /// Number of directories that were looked at, and of all directories.
    pub(super) looked_at: u64,
    pub(super) of: u64,
    pub(super) seed: u64,
    /// Number of directories of the index whose permissions were checked.
    pub(super) guards: u64,
    pub(super) findings: Vec<Finding>,
    pub(super) users: Vec<(Person, Tally)>,
}

impl Report {
    fn count(&self, kind: Kind) -> u64 {
        self.users.iter().map(|(_, tally)| tally.count(kind)).sum()
    }

    /// Returns the number of directories that were closed since the scan, without those within
    /// another.
    fn closed(&self) -> u64 {
        let differences = self.users.iter().flat_map(|(_, tally)| &tally.differences);
        let closed = differences.filter(|found| found.kind == Kind::Closed);
        let closed: Subtrees = closed.map(|found| found.path.clone()).collect();
        closed.len() as u64
    }

    /// Returns how the command ends: 1 if anything is not as it must be.
    pub(super) fn exit(&self) -> Exit {
        let kinds = [
            Kind::Leak,
            Kind::Missing,
            Kind::Differs,
            Kind::Closed,
            Kind::Withdrawn,
        ];
        let found: u64 = kinds.iter().map(|kind| self.count(*kind)).sum();
        Exit::from_issues(found + self.findings.len() as u64)
    }

    /// Formats the report for people.
    pub(super) fn text(&self) -> String {
        let mut out = self.head();
        for finding in &self.findings {
            let _ = writeln!(
                out,
                "  PERMISSIONS {}",
                shown(finding.to_string().as_bytes())
            );
        }
        for (person, tally) in &self.users {
            person_text(person, tally, &mut out);
        }
        out.push_str(&self.verdict());
        out
    }

    fn head(&self) -> String {
        let mut time = String::new();
        full_iso(&mut time, self.info.started, &Zone::local());
        let mut out = format!(
            "{}: snapshot {} as of {time}\n",
            shown(&self.root),
            self.info.id
        );
        let sample = match self.looked_at == self.of {
            true => "all of them".to_owned(),
            false => format!("a sample of each kind of permissions, seed {}", self.seed),
        };
        let _ = writeln!(
            out,
            "  compared with {}\n  {} of {} at and below {}: {sample}\n  {} of the index: {}",
            self.derivation.text(),
            grouped(self.looked_at),
            counted(self.of, "directory"),
            shown(&self.top),
            counted(self.guards, "directory"),
            match self.findings.is_empty() {
                true => "owners, modes and lists as they must be",
                false => "NOT as they must be",
            }
        );
        out
    }

    fn verdict(&self) -> String {
        let root = shown(&self.root);
        let leaks = self.count(Kind::Leak);
        let others = self.count(Kind::Missing) + self.count(Kind::Differs);
        let closed = (self.closed(), self.count(Kind::Withdrawn));
        match (self.exit(), leaks, others) {
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
    pub(super) fn json(&self) -> Vec<Object> {
        let mut objects = Vec::new();
        for finding in &self.findings {
            let object = event("finding", &self.root);
            let object = object.bytes("path", finding.path.as_os_str().as_bytes());
            objects.push(object.text("problem", &finding.problem.to_string()));
        }
        for (person, tally) in &self.users {
            for found in &tally.differences {
                let object = event("difference", &self.root)
                    .text("kind", found.kind.word())
                    .number("uid", person.user.uid)
                    .bytes("path", display(&found.path));
                objects.push(object.text("what", &found.what));
            }
            objects.push(person_json(person, tally, &self.root));
        }
        let exit = self.exit();
        let object = event("checked", &self.root)
            .bytes("top", display(&self.top))
            .text("snapshot", &self.info.id.to_string())
            .time("as_of", Some(self.info.started))
            .flag("from_kernel", self.derivation == Derivation::Kernel)
            .number("directories", self.looked_at)
            .number("of", self.of)
            .number("seed", self.seed)
            .number("index_directories", self.guards)
            .number("findings", self.findings.len())
            .number("leaks", self.count(Kind::Leak))
            .number("missing", self.count(Kind::Missing))
            .number("differs", self.count(Kind::Differs))
            .number("closed", self.closed())
            .number("withdrawn", self.count(Kind::Withdrawn))
            .number("changed", self.count(Kind::Changed));
        objects.push(object.flag("sound", exit == Exit::Complete));
        objects
    }
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
