//! Reads and checks the arguments from Python, before anything is asked.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::time::Duration;

use trawl_call::options::{DEPTH_PAPER, Flags};
use trawl_call::{CallError, Cancel, Cookie, Executor, Options, Pattern, Request, Search};
use trawl_open::search::{AskedSource, Choice, is_quick};
use trawl_remote::mounts::with_servers;
use trawl_remote::{Address, Remote};

use crate::failure::Failure;

/// The arguments as given.
pub(crate) struct Given {
    pub(crate) pattern: Vec<u8>,
    pub(crate) roots: Vec<Vec<u8>>,
    pub(crate) flags: u32,
    pub(crate) max_depth: Option<usize>,
    /// Whether a directory that is too deep ends the search, as in the paper.
    pub(crate) depth16: bool,
    pub(crate) served_by: String,
    pub(crate) index: Option<Vec<u8>>,
    pub(crate) remote: Option<Vec<u8>>,
    pub(crate) cookie: Option<Vec<u8>>,
    /// Seconds to wait for daemons; `None` means that they are not asked.
    pub(crate) wait: Option<f64>,
}

/// A valid question, and the executor to put it to.
pub(crate) struct Question {
    request: Request,
    pattern: Pattern,
    asked: Answerer,
    ends_where_deep: bool,
}

enum Answerer {
    Here(Choice),
    There(Address),
}

impl Given {
    /// Checks everything that can be checked without asking.
    pub(crate) fn read(self) -> Result<Question, Failure> {
        let (language, options) = Flags(self.flags).read()?;
        let pattern = Pattern::new(&self.pattern, language).map_err(CallError::Pattern)?;
        let options = Options {
            max_depth: match self.depth16 {
                true => self.max_depth.unwrap_or(DEPTH_PAPER),
                false => self.max_depth.unwrap_or(options.max_depth),
            },
            ..options
        };
        let mut request = Request::new(&pattern, &self.roots, options)?;
        if let Some(cookie) = &self.cookie {
            request = request.resume_at(Cookie::from_bytes(cookie)?)?;
        }
        let asked = match &self.remote {
            Some(address) => Answerer::There(Address::parse(OsStr::from_bytes(address))?),
            None => Answerer::Here(Choice {
                who: who(&self.served_by)?,
                index: self.index.map(|index| OsStr::from_bytes(&index).into()),
                wait: self.wait.map(seconds).transpose()?,
            }),
        };
        Ok(Question {
            request,
            pattern,
            asked,
            ends_where_deep: self.depth16,
        })
    }
}

impl Question {
    /// Returns whether the answer is available without a noticeable wait.
    pub(crate) fn is_quick(&self) -> bool {
        let is_looked_for =
            |choice: &Choice| choice.who != AskedSource::Index && is_quick(&self.pattern);
        // A server has to be waited for.
        let is_here = matches!(&self.asked, Answerer::Here(choice) if is_looked_for(choice));
        is_here && !trawl_remote::mounts::are_there()
    }

    pub(crate) fn cancel(&self) -> Cancel {
        self.request.cancel().clone()
    }

    /// Returns the search's place before it has begun.
    pub(crate) fn place(&self) -> Cookie {
        let begin = || Cookie::begin(&self.request);
        self.request.resume().cloned().unwrap_or_else(begin)
    }

    /// Begins the search.
    pub(crate) fn ask(self) -> Result<Search, Failure> {
        let executor: Box<dyn Executor> = match self.asked {
            Answerer::Here(choice) => choice.executor(&self.pattern, with_servers)?,
            Answerer::There(address) => Box::new(Remote::new(address)),
        };
        let search = Search::open(&*executor, self.request)?;
        Ok(match self.ends_where_deep {
            true => search.ending_where_too_deep(),
            false => search,
        })
    }
}

/// Reads the name of an executor.
pub(crate) fn who(name: &str) -> Result<AskedSource, Failure> {
    match name {
        "auto" => Ok(AskedSource::Auto),
        "live" => Ok(AskedSource::Live),
        "index" => Ok(AskedSource::Index),
        _ => Err(Failure::value(format!(
            "unknown executor {name:?}: served_by is auto, live or index"
        ))),
    }
}

/// Reads how long to wait for daemons.
pub(crate) fn seconds(given: f64) -> Result<Duration, Failure> {
    Duration::try_from_secs_f64(given)
        .map_err(|_| Failure::value(format!("wait is not a valid number of seconds: {given}")))
}
