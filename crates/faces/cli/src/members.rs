//! What `trawl set` and `trawl grep` open sets with: executors and engines that expand names, and
//! openers of local files, files at servers, and links.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use trawl_model::mapped::mapping;
use trawl_open::search::{AskedSource, Choice, Deferred};
use trawl_sets::expand::Expander;
use trawl_sets::{Opener, SetName};
use trawl_web::{Client, Limits, Pages, Web};

use crate::arguments::Manner;
use crate::beside::{self, Queries};
use crate::commands::Setting;
use crate::failure::Failure;

/// Returns what expands names, and what opens members, in the order in which openers are asked;
/// `local` opens local files. Nothing is asked before a name needs it.
pub(crate) fn sources(
    setting: &Setting<'_>,
    manner: Manner,
    local: Arc<dyn Opener>,
) -> (Expander, Vec<Arc<dyn Opener>>) {
    let choice = Choice {
        who: AskedSource::Auto,
        index: setting.index.clone(),
        wait: manner.when().wait.deadline(),
    };
    if setting.answers {
        // However a name is spelled, nothing is run, and no other machine is asked, for a client.
        let executor = Deferred::new(choice, |executor| executor);
        return (Expander::new(Arc::new(executor)), vec![local]);
    }
    let (mut expander, mut openers) = trawl_fetch::sources::sources(choice, local);
    if let Some(more) = beside::more() {
        let queries = (more.queries)(setting.index.clone());
        expander.engines = queries.engines;
        openers.insert(0, queries.links);
    }
    (expander, openers)
}

/// Returns what answers queries; only `trawl-more` contains it.
pub(crate) fn queries(index: Option<PathBuf>) -> Queries {
    let client = Client::new(Limits::default());
    let mut engines = trawl_engines::engines(&settings(index));
    engines.push(Arc::new(Pages::new(client.clone())));
    Queries {
        engines,
        links: Arc::new(Web::new(client)),
    }
}

/// Returns the set pathname on this machine for one as the asker writes it.
pub(crate) fn set_name(given: &[u8]) -> Vec<u8> {
    match mapping().and_then(|mapping| mapping.split(given)) {
        Some((tree, rest)) => [&SetName::literal(&tree.ours)[..], rest].concat(),
        None => given.to_vec(),
    }
}

/// Returns the path on this machine for a name as the asker writes it, if there is something that
/// the name as a path leads to, else the set pathname.
pub(crate) fn path_or_set_name(given: Vec<u8>) -> Vec<u8> {
    let Some(path) = mapping().and_then(|mapping| mapping.ours(&given)) else {
        return given;
    };
    match Path::new(OsStr::from_bytes(&path)).symlink_metadata() {
        Err(why) if why.kind() != io::ErrorKind::PermissionDenied => set_name(&given),
        _ => path.into_owned(),
    }
}

/// Refuses to answer as of an earlier time.
pub(crate) fn refuse_past(manner: Manner) -> Result<(), Failure> {
    match manner.at {
        Some(_) => {
            let text = "members are the files of now: leave out --at";
            Err(Failure::Usage(text.into()))
        }
        None => Ok(()),
    }
}

/// Returns what the query engines need to know.
pub(crate) fn settings(index: Option<PathBuf>) -> trawl_engines::Settings {
    trawl_engines::Settings {
        contents: crate::documents::contents(index.clone()),
        index,
        sql_programs: beside::places(crate::sql::PROGRAM),
    }
}
