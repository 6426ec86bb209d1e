//! Functions on users, groups and permissions.

use std::sync::{Arc, LazyLock};

use arrow::array::{ArrayRef, StringViewArray};
use datafusion::error::Result;
use trawl_model::{Gid, Uid};
use trawl_text::owners::{OwnerName, Owners};

use super::{FunctionInfo, Moment, Type, numbers};

/// The rows of this group.
pub(super) static FUNCTIONS: &[FunctionInfo] = &[
    FunctionInfo {
        name: "user_name",
        usage: "user_name(uid)",
        doc: "The user's name; null if the system does not know the user",
        arguments: &[&[Type::Number]],
        result: Type::Text,
        call: user_name,
    },
    FunctionInfo {
        name: "group_name",
        usage: "group_name(gid)",
        doc: "The group's name; null if the system does not know the group",
        arguments: &[&[Type::Number]],
        result: Type::Text,
        call: group_name,
    },
    FunctionInfo {
        name: "mode_text",
        usage: "mode_text(mode)",
        doc: "Type and permissions as ls -l writes them: `drwxr-xr-x`",
        arguments: &[&[Type::Number]],
        result: Type::Text,
        call: mode_text,
    },
];

/// Cache of names: each id is looked up once.
static OWNERS: LazyLock<Owners> = LazyLock::new(Owners::default);

/// `user_name(uid)`.
fn user_name(arrays: &[ArrayRef], _: &Moment) -> Result<ArrayRef> {
    names(arrays, |id| OWNERS.user(Uid(id)))
}

/// `group_name(gid)`.
fn group_name(arrays: &[ArrayRef], _: &Moment) -> Result<ArrayRef> {
    names(arrays, |id| OWNERS.group(Gid(id)))
}

fn names(arrays: &[ArrayRef], name: impl Fn(u32) -> OwnerName) -> Result<ArrayRef> {
    let shown = |id: i64| {
        let name = name(u32::try_from(id).ok()?)?;
        Some(trawl_model::escape::escape(&name).into_owned())
    };
    let ids = numbers(arrays)?.iter();
    let names = ids.map(|id| id.and_then(shown));
    Ok(Arc::new(StringViewArray::from_iter(names)))
}

/// `mode_text(mode)`.
fn mode_text(arrays: &[ArrayRef], _: &Moment) -> Result<ArrayRef> {
    let shown = |mode: i64| {
        let letters = trawl_text::mode::render(mode as u32);
        String::from_utf8_lossy(&letters).into_owned()
    };
    let modes = numbers(arrays)?.iter();
    let texts = modes.map(|mode| mode.map(shown));
    Ok(Arc::new(StringViewArray::from_iter(texts)))
}
