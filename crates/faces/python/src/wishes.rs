//! Reads and checks the arguments of a set, and opens it.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;

use trawl_fetch::sources::Wishes;
use trawl_open::search::Choice;
use trawl_sets::expand::{Attribute, Commands, Records};
use trawl_sets::{Options, Set, SetName};
use trawl_web::{Client, Pages, Web};

use crate::failure::Failure;
use crate::question::{seconds, who};

/// Order and limits as the package gives them: whether it is ordered, then the maximum numbers of
/// bytes and descriptors ahead, of requests in flight at a place, and of threads.
pub(crate) type Limits = (bool, u64, usize, usize, usize);

/// Returns the set's options.
pub(crate) fn options(limits: Limits) -> Options {
    let (ordered, ahead_bytes, descriptors, in_flight, threads) = limits;
    Options {
        ahead_bytes,
        descriptors,
        in_flight,
        threads,
        ordered,
    }
}

/// The arguments as given.
pub(crate) struct Given {
    pub(crate) names: Vec<Vec<u8>>,
    /// Whether no character in a name is special.
    pub(crate) is_literal: bool,
    pub(crate) limits: Limits,
    pub(crate) commands: bool,
    pub(crate) metadata: bool,
    pub(crate) served_by: String,
    pub(crate) index: Option<Vec<u8>>,
    pub(crate) wait: Option<f64>,
    pub(crate) share: Option<(u64, u64)>,
}

impl Given {
    /// Opens the set; nothing is looked for before it is used.
    pub(crate) fn open(self) -> Result<Set, Failure> {
        let names = self.names.iter().map(|name| match self.is_literal {
            true => SetName::parse(&SetName::literal(name)),
            false => SetName::parse(name),
        });
        let names: Vec<SetName> = names.collect::<Result<_, _>>()?;
        let mut wishes = Wishes::new(Choice {
            who: who(&self.served_by)?,
            index: self.index.map(|index| OsStr::from_bytes(&index).into()),
            wait: self.wait.map(seconds).transpose()?,
        });
        wishes.options = options(self.limits);
        wishes.share = self.share;
        if self.commands {
            wishes.commands = Commands::Run(Records::Lines);
        }
        if self.metadata {
            wishes.attributes = Attribute::Wanted;
        }
        let client = Client::new(trawl_web::Limits::default());
        wishes.engines.push(Arc::new(Pages::new(client.clone())));
        wishes.openers.push(Arc::new(Web::new(client)));
        Ok(wishes.open(names)?)
    }
}
