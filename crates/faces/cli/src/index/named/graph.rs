//! `trawl index show` of a graph index: the files related to a file, as `trawl related` shows them.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use trawl_indexer::sources::in_all;
use trawl_indices::{Definition, read_all};
use trawl_model::path;

use super::asked;
use super::show::{ShowArgs, say_cut};
use crate::arguments::Manner;
use crate::commands::Setting;
use crate::exit::Exit;
use crate::failure::{Failure, shown};
use crate::output::say;
use crate::related;
use crate::rows;
use crate::sources::opened;

/// A graph index, and the file that is asked about.
pub(super) struct Graph {
    definition: Definition,
    /// Root of the source.
    root: Vec<u8>,
    file: OsString,
}

/// Returns the graph index of this name: of the source that `--in` is in, otherwise of the one that the
/// file is in. `None` if there is no such graph.
pub(super) fn asked_for(args: &ShowArgs, setting: &Setting<'_>) -> Result<Option<Graph>, Failure> {
    let Some(file) = &args.values else {
        return Ok(None);
    };
    // A value of another index is no path, or one of another source.
    let Ok(place) = asked(args.dir.as_ref().unwrap_or(file)) else {
        return Ok(None);
    };
    let indexes = opened(args.place.or(setting))?;
    let sources = in_all(&indexes)?.into_iter().map(|(source, _)| source);
    let around = sources.filter(|source| path::is_within(&place, source.root()));
    let Some(source) = around.max_by_key(|source| source.root().len()) else {
        return Ok(None);
    };
    // The answer about entries reports what cannot be read.
    let text = source.now().ok().flatten();
    let text = text.and_then(|snapshot| snapshot.index_definitions());
    let all = text.and_then(|text| read_all(&text).ok());
    let is_it = |one: &Definition| one.name() == args.name && one.relations().is_some();
    let found = all.unwrap_or_default().into_iter().find(is_it);
    Ok(found.map(|definition| Graph {
        definition,
        root: source.root().to_vec(),
        file: file.clone(),
    }))
}

impl Graph {
    /// Shows the neighbours of the file.
    pub(super) fn show(
        &self,
        args: &ShowArgs,
        (setting, manner): (&Setting<'_>, Manner),
    ) -> Result<Exit, Failure> {
        if manner.at.is_some() {
            let why = "a graph has the relations of now: leave out --at";
            return Err(Failure::Usage(why.to_owned()));
        }
        let file = asked(&self.file)?;
        if !path::is_within(&file, &self.root) {
            let (file, root, name) = (shown(&file), shown(&self.root), self.definition.name());
            return Err(Failure::Usage(format!(
                "{file} is not below {root}, of which the index {name} is: see trawl related"
            )));
        }
        let places: Vec<PathBuf> = args.dir.iter().map(PathBuf::from).collect();
        let kinds = self.definition.relations().unwrap_or_default();
        let asked = (args.place.or(setting), &places[..]);
        let mut answer = related::neighbours(Path::new(&self.file), asked, kinds)?;
        let (members, issues) = args.members((setting, manner))?;
        answer.issues.extend(issues);
        if let Some(members) = members {
            answer.related.retain(|one| {
                let found = path::split(one.edge.path.as_os_str().as_bytes());
                found.is_some_and(|(dir, name)| members.has(dir, name))
            });
        }
        let is_cut = answer.related.len() > args.limit;
        answer.related.truncate(args.limit);
        let mut report = rows::report(&related::SCHEMA, args.form());
        report.begin()?;
        related::put_all(&mut report, &answer.related)?;
        rows::finish(report)?;
        answer.issues.iter().for_each(say);
        if is_cut {
            say_cut(args.limit);
        }
        Ok(Exit::from_issues(answer.issues.len() as u64))
    }
}
