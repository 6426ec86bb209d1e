//! Expands names for tests.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::{Arc, Mutex};

use trawl_call::request::Cancel;
use trawl_call::{CallError, Executor, LiveWalk, Request, executor::Stream};
use trawl_sets::expand::{Expander, Order};
use trawl_sets::{Names, Problem, SetName};

/// Walks, and keeps the requests.
#[derive(Default)]
pub(crate) struct Recorder(pub(crate) Mutex<Vec<Request>>);

impl Executor for Recorder {
    fn begin(&self, request: Request) -> Result<Box<dyn Stream>, CallError> {
        self.0.lock().unwrap().push(request.clone());
        LiveWalk::default().begin(request)
    }
}

/// Returns an expander that walks and has the order of csh.
pub(crate) fn walking() -> Expander {
    let mut expander = Expander::new(Arc::new(LiveWalk::default()));
    expander.order = Order::Csh;
    expander
}

pub(crate) fn bytes(path: &Path) -> Vec<u8> {
    path.as_os_str().as_bytes().to_vec()
}

/// Returns the names of a set below a folder, relative to it, and its problems.
pub(crate) fn expand(
    expander: &Expander,
    folder: &Path,
    name: &str,
) -> (Vec<String>, Vec<Problem>) {
    let folder = [&bytes(folder), &b"/"[..]].concat();
    let text = [&SetName::literal(&folder), name.as_bytes()].concat();
    let (names, problems) = expand_whole(expander, &[&text]);
    let below = |name: &Vec<u8>| {
        let below = name.strip_prefix(&folder[..]).unwrap_or(name);
        String::from_utf8_lossy(below).into_owned()
    };
    (names.iter().map(below).collect(), problems)
}

/// Returns the names of several sets, and the problems.
pub(crate) fn expand_whole(expander: &Expander, names: &[&[u8]]) -> (Vec<Vec<u8>>, Vec<Problem>) {
    let names = names.iter().map(|text| SetName::parse(text).unwrap());
    let mut stream = expander.expand(names.collect());
    let (mut found, mut problems) = (Vec::new(), Vec::new());
    while let Some(next) = stream.next(&Cancel::default()) {
        match next {
            Ok(member) => found.push(member.name),
            Err(problem) => problems.push(problem),
        }
    }
    (found, problems)
}
