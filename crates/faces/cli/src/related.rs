//! `trawl related`: the files that are related to a file ([`trawl_relations`]).

use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use trawl_find::grouping::{self, DEPTH_MAX, Relations};
use trawl_hooks::{Hooks, Limits};
use trawl_keywords::Contents;
use trawl_relations::candidates::{self, Candidates};
use trawl_relations::content::SameContent;
use trawl_relations::learnt::Learnt;
use trawl_relations::references::{Known, Live, Referring};
use trawl_relations::related::{Answer, Related, Source, Wanted, related, start};
use trawl_relations::{AccessGraph, Direction, Kind, Place, RelationError};
use trawl_report::{Field, Schema, schema};

use crate::commands::{Class, IndexOption, Setting, Spec};
use crate::documents;
use crate::exit::Exit;
use crate::failure::{Failure, cause, shown};
use crate::forms::{FormArgs, Rows};
use crate::hooks::{Directories, installed};
use crate::output::say;
use crate::rows::{self, Report};

const EXAMPLES: &str = "\
Examples:
  trawl run --learn -- make                   record what is built from what
  trawl related prog                          show everything related to prog
  trawl related main.c --kind includes --direction forward --depth 20
                                              show all headers of main.c
  trawl related paper.pdf --kind same-content --in ~
                                              show its copies

Kinds are opened-with, built-from, includes, links-to, same-content, derived, and
those that your own hooks report. Only files that you can reach now are shown.

Exit codes: 0 complete, 1 a file could not be read, 2 wrong usage or a fatal
error.";

const KIND: Field = Field::text("kind", "kind of the relation, such as `built-from`");
const DIRECTION: Field = Field::text(
    "direction",
    "`forward` if the relation is that of `via` to `path`, else `backward`",
);
const PATH: Field = Field::bytes("path", "absolute path of the related file").with_null();
const VIA: Field = Field::bytes("via", "absolute path of the file whose relation it is");
const DEPTH: Field = Field::integer("depth", "number of relations from the file asked about");
const STRENGTH: Field = Field::integer("strength", "strength of the relation, at most 1000");
const REPLACED: Field = Field::flag(
    "replaced",
    "whether another file has taken the path since the relation was recorded",
);

/// Rows for programs.
pub(crate) static SCHEMA: Schema = Schema {
    row: "a related file",
    fields: &[PATH, KIND, DIRECTION, DEPTH, VIA, STRENGTH, REPLACED],
    forms: schema::ROWS,
    samples: &[],
};

// Options of `trawl related`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct RelatedArgs {
    /// Show the files related to FILE
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Show relations of this kind; may be repeated [default: all]
    #[arg(long = "kind", value_name = "KIND", value_parser = kind)]
    kinds: Vec<Kind>,
    /// Follow relations of related files, too, up to N from FILE
    #[arg(
        long,
        value_name = "N",
        default_value = "1",
        value_parser = clap::value_parser!(u32).range(1..=i64::from(DEPTH_MAX))
    )]
    depth: u32,
    /// Show only relations that files have, or only those that others have to them
    #[arg(long, value_name = "DIRECTION", value_enum, default_value = "both")]
    direction: Directions,
    /// Look for copies and references below DIR; may be repeated [default: FILE's directory]
    #[arg(long = "in", value_name = "DIR")]
    places: Vec<PathBuf>,
    #[command(flatten)]
    hooks: Directories,
    #[command(flatten)]
    form: FormArgs<Rows>,
}

/// Which relations are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Directions {
    Forward,
    Backward,
    Both,
}

fn kind(name: &str) -> Result<Kind, String> {
    Kind::from_name(name).map_err(|error| error.to_string())
}

impl Spec for RelatedArgs {
    const ABOUT: &'static str = "Show files related to a file: built from, opened with, includes";
    const CLASS: Class = Class::Other;
    const INDEX: IndexOption = IndexOption::None;
    const SEE_ALSO: &'static [&'static str] =
        &["trawl-run(1)", "trawl-hooks(1)", "trawl-duplicates(1)"];
    const REPORTS: &'static [&'static Schema] = &[&SCHEMA];

    fn run(&self, _: Setting<'_>) -> Result<Exit, Failure> {
        run(self)
    }
}

impl RelatedArgs {
    fn wanted(&self) -> Wanted {
        Wanted {
            kinds: self.kinds.clone(),
            direction: match self.direction {
                Directions::Forward => Some(Direction::Forward),
                Directions::Backward => Some(Direction::Backward),
                Directions::Both => None,
            },
            depth: self.depth,
        }
    }

    /// Returns the directories below which copies and references are looked for.
    fn places(&self) -> Result<Vec<PathBuf>, Failure> {
        places_of(&self.file, &self.places)
    }

    /// Returns the files among which copies and references are looked for.
    fn candidates(&self) -> Result<Candidates, Failure> {
        match is_searched(&self.wanted()) {
            true => Ok(candidates::below(&self.places()?)),
            false => Ok(Candidates::default()),
        }
    }

    /// Returns the references that indexes know. Their hooks are those installed.
    fn known(&self) -> Result<Option<Indexed>, Failure> {
        let is_used = self.hooks.are_installed_only() && wants(&self.wanted(), Kind::is_reference);
        match is_used {
            true => Ok(Some(Indexed::near(&self.places()?, None))),
            false => Ok(None),
        }
    }
}

/// Returns what this process's user has learnt, if it is asked for.
fn graph(wanted: &Wanted) -> Result<AccessGraph, RelationError> {
    if !wants(wanted, is_learnt) {
        return Ok(AccessGraph::default());
    }
    match Place::of_process() {
        // A user without a home directory has learnt nothing.
        Err(RelationError::NoHome) => Ok(AccessGraph::default()),
        place => place?.read(),
    }
}

/// Returns whether copies and files that refer to the file are asked for.
fn is_searched(wanted: &Wanted) -> bool {
    wants(wanted, |kind| *kind == Kind::SameContent)
        || (wanted.direction != Some(Direction::Forward) && wants(wanted, Kind::is_reference))
}

fn is_learnt(kind: &Kind) -> bool {
    matches!(kind, Kind::OpenedWith | Kind::BuiltFrom)
}

fn wants(wanted: &Wanted, is_kind: impl Fn(&Kind) -> bool) -> bool {
    wanted.kinds.is_empty() || wanted.kinds.iter().any(is_kind)
}

/// Returns the files related to a file.
fn answer(
    file: &Path,
    wanted: &Wanted,
    candidates: &Candidates,
    hooks: &Hooks,
    known: Option<&dyn Known>,
) -> Result<Answer, RelationError> {
    let (graph, left_out) = match graph(wanted) {
        // Where nothing else is asked for, there is no answer.
        Err(error) if error.is_anothers() && wants(wanted, |kind| !is_learnt(kind)) => {
            let why = format!("what programs opened is left out: {error}");
            (AccessGraph::default(), Some(why))
        }
        graph => (graph?, None),
    };
    let mut learnt = Learnt::new(&graph);
    let mut content = SameContent::new(candidates);
    let live = Live::new(hooks, candidates).knowing(known);
    let mut referring = Referring::new(live, wanted.direction);
    let sources: &mut [&mut dyn Source] = &mut [&mut learnt, &mut content, &mut referring];
    let mut answer = related(file, wanted, sources)?;
    answer.issues.extend(left_out);
    Ok(answer)
}

/// References in the keyword packs that this process may open.
#[derive(Debug)]
struct Indexed(Arc<Contents>);

impl Indexed {
    /// Uses the indexes with files at or below these directories.
    fn near(places: &[PathBuf], index: Option<PathBuf>) -> Indexed {
        let contents = documents::contents(index);
        let places = places.iter().filter_map(|path| path.canonicalize().ok());
        contents.limit_to(
            places
                .map(|path| path.into_os_string().into_vec())
                .collect(),
        );
        Indexed(contents)
    }
}

impl Known for Indexed {
    fn references(&self, file: &Path) -> Option<Vec<(String, String)>> {
        let found = file
            .symlink_metadata()
            .ok()
            .filter(|found| found.is_file())?;
        let name = file.file_name()?.as_bytes();
        let id = self.0.id_of(&found, name);
        // Of a damaged pack nothing is known.
        let known = self.0.references(id).ok()??;
        let is_all = known.len() < Limits::default().relations;
        let pairs = known.into_iter().map(|one| (one.kind, one.target));
        is_all.then(|| pairs.collect())
    }
}

/// The relations that files have, for a statement: the installed hooks, what this process's user has
/// learnt, and what indexes know. Copies, and relations that others have to a file, are not looked for.
#[derive(Debug)]
pub struct Relater {
    hooks: Hooks,
    graph: AccessGraph,
    known: Indexed,
    wanted: Wanted,
}

impl Relater {
    /// Looks at relations of these kinds; at all if there are none.
    ///
    /// # Errors
    /// With the reason, if hooks or what was learnt cannot be read.
    pub fn new(contents: Arc<Contents>, kinds: Vec<Kind>) -> Result<Relater, String> {
        let wanted = Wanted {
            kinds,
            direction: Some(Direction::Forward),
            depth: 1,
        };
        Ok(Relater {
            hooks: installed().map_err(|error| error.to_string())?,
            graph: graph(&wanted).map_err(|error| error.to_string())?,
            known: Indexed(contents),
            wanted,
        })
    }

    /// Returns the relations of the file that is at a path without links now. Both files are looked
    /// at as this process's user.
    ///
    /// # Errors
    /// With the reason, if the file is not there or cannot be reached.
    pub fn of(&self, file: &Path) -> Result<Answer, String> {
        let nowhere = Candidates::default();
        let mut learnt = Learnt::new(&self.graph);
        let live = Live::new(&self.hooks, &nowhere).knowing(Some(&self.known));
        let mut referring = Referring::new(live, self.wanted.direction);
        let real = file.canonicalize().map_err(|error| cause(&error))?;
        if real != file {
            return Err("a directory on its path is a link now".into());
        }
        let sources: &mut [&mut dyn Source] = &mut [&mut learnt, &mut referring];
        related(file, &self.wanted, sources).map_err(|error| error.to_string())
    }
}

/// Returns what `-relations` asks for.
fn wanted(relations: &Relations) -> Result<Wanted, RelationError> {
    let kinds = relations.kinds.iter().map(|name| Kind::from_name(name));
    Ok(Wanted {
        kinds: kinds.collect::<Result<_, _>>()?,
        direction: match relations.direction {
            grouping::Direction::Forward => Some(Direction::Forward),
            grouping::Direction::Backward => Some(Direction::Backward),
            grouping::Direction::Both => None,
        },
        depth: relations.depth,
    })
}

/// Returns the paths of the wanted files related to a file, as `trawl related` shows them, and messages
/// about what could not be looked at.
pub(crate) fn all_of(
    file: &Path,
    index: Option<PathBuf>,
    relations: &Relations,
) -> Result<(Vec<PathBuf>, Vec<String>), Failure> {
    let wanted = wanted(relations)?;
    let answer = asked(file, (index, &[]), &wanted)?;
    let paths = answer.related.into_iter().map(|one| one.edge.path);
    Ok((paths.collect(), answer.issues))
}

/// Returns the files related to a file at one end of a relation of these kinds, of all kinds if there
/// are none: as `trawl related` shows them.
pub(crate) fn neighbours(
    file: &Path,
    (index, places): (Option<PathBuf>, &[PathBuf]),
    kinds: &[String],
) -> Result<Answer, Failure> {
    let kinds = kinds.iter().map(|name| Kind::from_name(name));
    let wanted = Wanted {
        kinds: kinds.collect::<Result<_, _>>()?,
        direction: None,
        depth: 1,
    };
    asked(file, (index, places), &wanted)
}

/// Returns the files related to a file, with the installed hooks. Copies and references are looked
/// for below these directories; below the file's own if there are none.
fn asked(
    file: &Path,
    (index, places): (Option<PathBuf>, &[PathBuf]),
    wanted: &Wanted,
) -> Result<Answer, Failure> {
    let places = places_of(file, places)?;
    let candidates = match is_searched(wanted) {
        true => candidates::below(&places),
        false => Candidates::default(),
    };
    let known = wants(wanted, Kind::is_reference).then(|| Indexed::near(&places, index));
    let known = known.as_ref().map(|known| known as &dyn Known);
    let mut found = answer(file, wanted, &candidates, &installed()?, known)?;
    found.issues.splice(..0, candidates.issues);
    Ok(found)
}

/// Returns the directories below which copies and references of a file are looked for.
fn places_of(file: &Path, given: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    // What is not a file is refused before anything is searched.
    let own = start(file)?;
    match given {
        [] => Ok(Vec::from_iter(own.parent().map(PathBuf::from))),
        given => given.iter().map(|path| plain(path)).collect(),
    }
}

/// Returns a path without links.
fn plain(path: &Path) -> Result<PathBuf, Failure> {
    path.canonicalize().map_err(|source| Failure::File {
        action: "find",
        path: path.to_owned(),
        source,
    })
}

fn run(args: &RelatedArgs) -> Result<Exit, Failure> {
    let hooks: Hooks = args.hooks.load()?;
    let candidates = args.candidates()?;
    let known = args.known()?;
    let known = known.as_ref().map(|known| known as &dyn Known);
    let answer = answer(&args.file, &args.wanted(), &candidates, &hooks, known)?;
    let mut report = rows::report(&SCHEMA, args.form.form());
    report.begin()?;
    put_all(&mut report, &answer.related)?;
    rows::finish(report)?;
    let issues = candidates.issues.iter().chain(&answer.issues);
    issues.clone().for_each(say);
    Ok(Exit::from_issues(issues.count() as u64))
}

/// Reports related files.
pub(crate) fn put_all(report: &mut Report, all: &[Related]) -> Result<(), Failure> {
    for one in all {
        report.line(
            || text(one),
            |row| {
                row.put(&PATH, one.edge.path.as_os_str().as_encoded_bytes())
                    .put(&KIND, one.edge.kind.name())
                    .put(&DIRECTION, direction(one.edge.direction))
                    .put(&DEPTH, u64::from(one.depth))
                    .put(&VIA, one.via.as_os_str().as_encoded_bytes())
                    .put(&STRENGTH, (one.edge.weight * 1000.0).round() as u64)
                    .put(&REPLACED, one.is_replaced);
            },
        )?;
    }
    Ok(())
}

/// Returns whether packs of keywords have relations of some of these kinds, of all kinds if there are
/// none. Each user's record has the others.
pub(crate) fn are_in_packs(kinds: &[String]) -> bool {
    let is_there = |name: &String| Kind::from_name(name).is_ok_and(|kind| kind.is_reference());
    kinds.is_empty() || kinds.iter().any(is_there)
}

fn direction(of: Direction) -> &'static str {
    match of {
        Direction::Forward => "forward",
        Direction::Backward => "backward",
    }
}

fn text(one: &Related) -> String {
    let name = |path: &PathBuf| shown(path.as_os_str().as_encoded_bytes());
    let words = one.edge.kind.words(one.edge.direction);
    let mut text = format!("{words} {}", name(&one.edge.path));
    if one.depth > 1 {
        text.push_str(&format!(" (depth {}, from {})", one.depth, name(&one.via)));
    }
    if one.is_replaced {
        text.push_str(" (replaced since)");
    }
    text.push('\n');
    text
}
