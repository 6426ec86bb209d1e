//! `trawl related`: the files that are related to a file ([`trawl_relations`]).

use std::path::PathBuf;

use trawl_hooks::Hooks;
use trawl_relations::candidates::{self, Candidates};
use trawl_relations::content::SameContent;
use trawl_relations::learnt::Learnt;
use trawl_relations::references::{Live, Referring};
use trawl_relations::related::{Related, Source, Wanted, related};
use trawl_relations::{AccessGraph, Direction, Kind, Place, RelationError};
use trawl_report::{Field, Schema, schema};

use crate::commands::{Class, IndexOption, Setting, Spec};
use crate::exit::Exit;
use crate::failure::{Failure, shown};
use crate::forms::{FormArgs, Rows};
use crate::hooks::Directories;
use crate::output::say;
use crate::rows;

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
const PATH: Field = Field::bytes("path", "absolute path of the related file");
const VIA: Field = Field::bytes("via", "absolute path of the file whose relation it is");
const DEPTH: Field = Field::integer("depth", "number of relations from the file asked about");
const STRENGTH: Field = Field::integer("strength", "strength of the relation, at most 1000");
const REPLACED: Field = Field::flag(
    "replaced",
    "whether another file has taken the path since the relation was recorded",
);

/// Rows for programs.
static SCHEMA: Schema = Schema {
    row: "a related file",
    fields: &[PATH, KIND, DIRECTION, DEPTH, VIA, STRENGTH, REPLACED],
    forms: schema::ROWS,
    samples: &[],
};

/// Maximum depth.
const DEPTH_MAX: i64 = 100;

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
        value_parser = clap::value_parser!(u32).range(1..=DEPTH_MAX)
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

    fn wants(&self, is_kind: impl Fn(&Kind) -> bool) -> bool {
        self.kinds.is_empty() || self.kinds.iter().any(is_kind)
    }

    /// Returns the files among which copies and references are looked for.
    fn candidates(&self) -> Result<Candidates, Failure> {
        let is_searched = self.wants(|kind| *kind == Kind::SameContent)
            || (self.direction != Directions::Forward && self.wants(Kind::is_reference));
        if !is_searched {
            return Ok(Candidates::default());
        }
        let plain = |path: &PathBuf| {
            path.canonicalize().map_err(|source| Failure::File {
                action: "find",
                path: path.clone(),
                source,
            })
        };
        if !self.places.is_empty() {
            let places = self.places.iter().map(plain);
            return Ok(candidates::below(&places.collect::<Result<Vec<_>, _>>()?));
        }
        let directory = plain(&self.file)?.parent().map(PathBuf::from);
        Ok(candidates::below(&Vec::from_iter(directory)))
    }
}

fn run(args: &RelatedArgs) -> Result<Exit, Failure> {
    let graph = match Place::of_process() {
        _ if !args.wants(|kind| matches!(kind, Kind::OpenedWith | Kind::BuiltFrom)) => {
            AccessGraph::default()
        }
        // Who has no home has learnt nothing.
        Err(RelationError::NoHome) => AccessGraph::default(),
        place => place?.read()?,
    };
    let hooks: Hooks = args.hooks.load()?;
    let candidates = args.candidates()?;
    let wanted = args.wanted();
    let mut learnt = Learnt::new(&graph);
    let mut content = SameContent::new(&candidates);
    let mut referring = Referring::new(Live::new(&hooks, &candidates), wanted.direction);
    let sources: &mut [&mut dyn Source] = &mut [&mut learnt, &mut content, &mut referring];
    let answer = related(&args.file, &wanted, sources)?;
    let mut report = rows::report(&SCHEMA, args.form.form());
    report.begin()?;
    for one in &answer.related {
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
    rows::finish(report)?;
    let issues = candidates.issues.iter().chain(&answer.issues);
    issues.clone().for_each(say);
    Ok(Exit::from_issues(issues.count() as u64))
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
