//! The sources of groups that come from rules and from what the user moved.

mod albums;
mod directories;
mod events;
mod moved;
mod owners;
mod packages;
mod projects;

pub(crate) use albums::Albums;
pub(crate) use directories::Directories;
pub(crate) use events::Events;
pub(crate) use moved::Moved;
pub(crate) use packages::Packages;
pub(crate) use projects::Projects;

use std::sync::Arc;

use trawl_model::path::split;

use crate::identity::{Extent, Identity};

/// Returns the last name of a path, as stored; `/` for the root.
fn last_name(path: &[u8]) -> Vec<u8> {
    match split(path) {
        Some((_, name)) => name.to_vec(),
        None => b"/".to_vec(),
    }
}

/// Returns the group of a rule that has all of its members in a directory.
fn in_directory(rule: &Arc<str>, path: &[u8], name: Vec<u8>) -> Arc<Identity> {
    Identity::new(rule, &[path], name, Extent::In(path.into()))
}

/// Returns the group of a rule that has all of its members below a directory.
fn below_directory(rule: &Arc<str>, path: &[u8], name: Vec<u8>) -> Arc<Identity> {
    Identity::new(rule, &[path], name, Extent::Below(path.into()))
}
