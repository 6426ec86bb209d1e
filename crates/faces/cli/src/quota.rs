//! `trawl quota`: what users, groups and projects use of file systems, and what they may use. The
//! kernel is asked; the index only says which trees there are.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

use trawl_answers::quota::{Amount, Entry, Kernel, Kind, State, kind_name, quotas};
use trawl_indexer::sources::in_all;
use trawl_model::mapped::{self, theirs};
use trawl_model::{Gid, Timestamp, Uid};
use trawl_report::table::{Align, table};
use trawl_report::{Field, Form, Row, Schema, schema};
use trawl_session::now;
use trawl_text::owners::{OwnerName, Owners};
use trawl_text::time_style::long_iso;
use trawl_text::units::{Scale, format};
use trawl_text::words::grouped;
use trawl_text::zone::Zone;

use crate::arguments::Manner;
use crate::commands::{Setting, Spec};
use crate::exit::Exit;
use crate::failure::{Failure, shown};
use crate::forms::{FormArgs, Rows};
use crate::output::say;
use crate::rows;
use crate::sources::opened;

const EXAMPLES: &str = "\
The kernel shows you your own quota and those of your groups, and the superuser
all of them. Quotas hold for whole file systems, wherever in them the files are.
The kernel is asked each time, so --status and options about the age of an
answer change nothing. The exit code is 0 where a file system keeps no quotas,
and 1 if quotas may be missing; standard error says why. Servers of NFS are not
asked.";

const MOUNT: Field = Field::bytes("mount", "mount point of the file system").always();
const KIND: Field = Field::text("kind", "whose quota it is: `user`, `group`, `project`").always();
const ID: Field = Field::integer("id", "id of the user, group or project").always();
const NAME: Field = Field::bytes("name", "name of the user or group; `null` if it has none");
const USED: Field = Field::integer("used_bytes", "space used")
    .in_units("bytes")
    .always();
const SOFT: Field = Field::integer(
    "soft_bytes",
    "space that may be exceeded for the grace period; `null` if there is no such limit",
)
.in_units("bytes");
const HARD: Field = Field::integer(
    "hard_bytes",
    "space that cannot be exceeded; `null` if there is no such limit",
)
.in_units("bytes");
const SPACE_STATE: Field = Field::text(
    "space_state",
    "state of the space: `unlimited`, `within`, `over` (grace period), `expired` (grace period over), `full` (at the hard limit)",
)
.always();
const GRACE_ENDS: Field = Field::time(
    "space_grace_ends",
    "when the grace period of the space ends; `null` if none has begun",
);
const INODES: Field = Field::integer("used_inodes", "number of inodes used").always();
const SOFT_INODES: Field = Field::integer(
    "soft_inodes",
    "number of inodes that may be exceeded for the grace period; `null` if there is no such limit",
);
const HARD_INODES: Field = Field::integer(
    "hard_inodes",
    "number of inodes that cannot be exceeded; `null` if there is no such limit",
);
const INODES_STATE: Field =
    Field::text("inodes_state", "state of the inodes, as `space_state`").always();
const INODES_GRACE_ENDS: Field = Field::time(
    "inodes_grace_ends",
    "when the grace period of the inodes ends; `null` if none has begun",
);

/// Rows for programs. Where tests run, there may be no quotas, so there is no sample.
static SCHEMA: Schema = Schema {
    row: "the quota of a user, group or project",
    fields: &[
        MOUNT,
        KIND,
        ID,
        NAME,
        USED,
        SOFT,
        HARD,
        SPACE_STATE,
        GRACE_ENDS,
        INODES,
        SOFT_INODES,
        HARD_INODES,
        INODES_STATE,
        INODES_GRACE_ENDS,
    ],
    forms: schema::ROWS,
    samples: &[],
};

// Options of `trawl quota`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct QuotaArgs {
    /// Show the quotas of the file systems that hold these paths [default: all indexed trees]
    #[arg(value_name = "PATH")]
    paths: Vec<OsString>,
    /// Print sizes in bytes, without units
    #[arg(short = 'b', long)]
    bytes: bool,
    #[command(flatten)]
    form: FormArgs<Rows>,
    #[command(flatten)]
    pub(crate) manner: Manner,
}

impl Spec for QuotaArgs {
    const ABOUT: &'static str = "Show what users and groups use of their quotas";
    const EXAMPLES: &'static [(&'static str, &'static str)] = &[
        ("trawl quota", "show quotas where the indexed trees are"),
        (
            "trawl quota --json /home",
            "print those of /home, for programs",
        ),
    ];
    const SEE_ALSO: &'static [&'static str] =
        &["trawl-top(1)", "trawl-du(1)", "quota(1)", "repquota(8)"];
    const REPORTS: &'static [&'static Schema] = &[&SCHEMA];

    fn run(&self, setting: Setting<'_>) -> Result<Exit, Failure> {
        run(setting.index, self, setting.manner)
    }
}

/// Runs the command.
fn run(index: Option<PathBuf>, args: &QuotaArgs, manner: Manner) -> Result<Exit, Failure> {
    let manner = manner.then(args.manner);
    if manner.at.is_some() {
        let text = "quotas are those of now: --at has no meaning here";
        return Err(Failure::Usage(text.into()));
    }
    manner.prepare();
    let paths = match &args.paths[..] {
        [] => roots(index)?,
        given => ours(given),
    };
    let found = quotas(&Kernel::new(), &paths);
    let writer = Writer {
        owners: Owners::default(),
        now: now(),
        is_exact: args.bytes,
    };
    let mut report = rows::report(&SCHEMA, args.form.form());
    report.begin()?;
    match report.form() {
        Form::Text => report.put(writer.text(&found.entries))?,
        _ => {
            for entry in &found.entries {
                report.row(|row| writer.fill(row, entry))?;
            }
        }
    }
    rows::finish(report)?;
    found.remarks.iter().for_each(say);
    Ok(match found.is_incomplete() {
        true => Exit::Issues,
        false => Exit::Complete,
    })
}

/// Returns the paths on this machine for paths as the asker writes them.
fn ours(given: &[OsString]) -> Vec<OsString> {
    let ours = given
        .iter()
        .filter_map(|path| mapped::ours(path.as_bytes()));
    ours.map(|path| OsString::from_vec(path.into_owned()))
        .collect()
}

/// Returns the roots of the indexed trees.
fn roots(index: Option<PathBuf>) -> Result<Vec<OsString>, Failure> {
    let indexes = opened(index)?;
    let sources = in_all(&indexes)?;
    if sources.is_empty() {
        say("nothing is indexed that you may see: name a path, as in trawl quota /home");
    }
    let root = |root: &[u8]| OsStr::from_bytes(trawl_model::path::display(root)).to_owned();
    Ok(sources
        .iter()
        .map(|(source, _)| root(source.root()))
        .collect())
}

/// Writes quotas.
struct Writer {
    owners: Owners,
    now: Timestamp,
    is_exact: bool,
}

impl Writer {
    fn name(&self, entry: &Entry) -> OwnerName {
        match entry.kind {
            Kind::User => self.owners.user(Uid(entry.quota.id)),
            Kind::Group => self.owners.group(Gid(entry.quota.id)),
            Kind::Project => None,
        }
    }

    fn fill(&self, row: &mut Row<'_>, entry: &Entry) {
        let (space, inodes) = (&entry.quota.space, &entry.quota.inodes);
        row.put(&MOUNT, &*theirs(&entry.mount))
            .put(&KIND, kind_name(entry.kind))
            .put(&ID, entry.quota.id)
            .put(&NAME, self.name(entry).as_deref())
            .put(&USED, space.used)
            .put(&SOFT, space.soft)
            .put(&HARD, space.hard)
            .put(&SPACE_STATE, State::of(space, self.now).name())
            .put(&GRACE_ENDS, space.grace_ends)
            .put(&INODES, inodes.used)
            .put(&SOFT_INODES, inodes.soft)
            .put(&HARD_INODES, inodes.hard)
            .put(&INODES_STATE, State::of(inodes, self.now).name())
            .put(&INODES_GRACE_ENDS, inodes.grace_ends);
    }

    /// Formats a table for each kind of each file system.
    fn text(&self, entries: &[Entry]) -> Vec<u8> {
        let mut out = Vec::new();
        let is_of_one_table = |a: &Entry, b: &Entry| (&a.mount, a.kind) == (&b.mount, b.kind);
        for part in entries.chunk_by(is_of_one_table) {
            let Some(first) = part.first() else { continue };
            if !out.is_empty() {
                out.push(b'\n');
            }
            let heading = format!(
                "{}s of {}\n",
                kind_name(first.kind),
                shown(&theirs(&first.mount))
            );
            out.extend_from_slice(heading.as_bytes());
            let head = ["name", "used", "soft", "hard", "inodes", "soft", "hard", ""];
            let mut cells = vec![head.map(|cell| cell.as_bytes().to_vec()).to_vec()];
            cells.extend(part.iter().map(|entry| self.cells(entry)));
            out.extend(table(&cells, Align::EndsLeft));
        }
        out
    }

    fn cells(&self, entry: &Entry) -> Vec<Vec<u8>> {
        let (space, inodes) = (&entry.quota.space, &entry.quota.inodes);
        let size = |bytes: u64| match self.is_exact {
            true => bytes.to_string(),
            false => format(u128::from(bytes), Scale::Binary),
        };
        let limit = |limit: Option<u64>, written: &dyn Fn(u64) -> String| {
            limit.map_or_else(|| "-".to_owned(), written)
        };
        let name = match self.name(entry) {
            Some(name) => shown(&name),
            None => entry.quota.id.to_string(),
        };
        let notes = [("space", space), ("inodes", inodes)];
        let notes: Vec<String> = notes
            .iter()
            .filter_map(|(what, amount)| Some(format!("{what}: {}", self.note(amount)?)))
            .collect();
        let cells = [
            name,
            size(space.used),
            limit(space.soft, &size),
            limit(space.hard, &size),
            grouped(inodes.used),
            limit(inodes.soft, &grouped),
            limit(inodes.hard, &grouped),
            notes.join("; "),
        ];
        cells.map(String::into_bytes).to_vec()
    }

    /// Says what is wrong; `None` if nothing is.
    fn note(&self, amount: &Amount) -> Option<String> {
        match State::of(amount, self.now) {
            State::Unlimited | State::Within => None,
            State::Full => Some("at the hard limit".into()),
            State::Expired => Some("over the soft limit, grace period over".into()),
            State::Over => Some(match amount.grace_ends {
                Some(end) => {
                    let mut text = String::from("over the soft limit until ");
                    long_iso(&mut text, end, &Zone::local());
                    text
                }
                None => "over the soft limit".into(),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trawl_answers::quota::Quota;
    use trawl_report::{csv_header, json_object};

    const NOW: Timestamp = Timestamp {
        secs: 1_000,
        nanos: 0,
    };

    fn entry(mount: &str, kind: Kind, id: u32, space: Amount, inodes: Amount) -> Entry {
        Entry {
            mount: mount.as_bytes().to_vec(),
            kind,
            quota: Quota { id, space, inodes },
        }
    }

    fn used(used: u64) -> Amount {
        Amount {
            used,
            ..Amount::default()
        }
    }

    fn entries() -> Vec<Entry> {
        let over = Amount {
            used: 3 << 20,
            soft: Some(1 << 20),
            hard: Some(4 << 20),
            grace_ends: Some(Timestamp {
                secs: 900,
                nanos: 0,
            }),
        };
        let full = Amount {
            used: 1_500,
            hard: Some(1_500),
            ..Amount::default()
        };
        vec![
            entry("/srv", Kind::User, 0, used(0), used(2)),
            entry("/srv", Kind::User, 3_999_999_999, over, full),
            entry("/a\n", Kind::Project, 9, used(1536), used(1)),
        ]
    }

    fn writer(is_exact: bool) -> Writer {
        Writer {
            owners: Owners::default(),
            now: NOW,
            is_exact,
        }
    }

    #[test]
    fn people_get_a_table_for_each_kind() {
        let text = String::from_utf8(writer(false).text(&entries())).unwrap();
        assert_eq!(
            text,
            "users of /srv\n\
             name        used  soft  hard  inodes  soft   hard\n\
             root           0     -     -       2     -      -\n\
             3999999999  3.0M  1.0M  4.0M   1,500     -  1,500  \
             space: over the soft limit, grace period over; inodes: at the hard limit\n\
             \n\
             projects of /a\\n\n\
             name  used  soft  hard  inodes  soft  hard\n\
             9     1.5K     -     -       1     -     -\n"
        );
        let exact = String::from_utf8(writer(true).text(&entries())).unwrap();
        assert!(exact.contains("3145728  1048576  4194304"), "{exact}");
    }

    #[test]
    fn programs_get_every_field() {
        let rows = entries();
        let json = json_object(SCHEMA.fields, |row| writer(false).fill(row, &rows[1]));
        let row: serde_json::Value = serde_json::from_str(&json).unwrap();
        let expected = serde_json::json!({
            "mount": "/srv", "kind": "user", "id": 3_999_999_999_u32, "name": null,
            "used_bytes": 3 << 20, "soft_bytes": 1 << 20, "hard_bytes": 4 << 20,
            "space_state": "expired", "space_grace_ends": "1970-01-01T00:15:00.000000000Z",
            "used_inodes": 1_500, "soft_inodes": null, "hard_inodes": 1_500,
            "inodes_state": "full", "inodes_grace_ends": null,
        });
        assert_eq!(row, expected);
        assert!(csv_header(SCHEMA.fields).starts_with("mount,mount_raw,kind,id,name,"));
    }
}
