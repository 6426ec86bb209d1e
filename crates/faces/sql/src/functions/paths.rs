//! Functions on paths and names.
//!
//! They work on text as it is shown. Names that are not UTF-8 are escaped there, so no name makes
//! them fail.

use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray, Int64Array, StringViewArray};
use datafusion::error::Result;
use trawl_model::path::is_within;
use trawl_text::glob::{Case, Glob};
use trawl_text::locale::Locale;

use super::{FunctionInfo, Moment, Type, only_text, texts};

/// The rows of this group.
pub(super) static FUNCTIONS: &[FunctionInfo] = &[
    FunctionInfo {
        name: "path",
        usage: "path(dir, name)",
        doc: "The whole path of a name in a directory, as column `path`",
        arguments: &[&[Type::Text, Type::Text]],
        result: Type::Text,
        call: path,
    },
    FunctionInfo {
        name: "ext",
        usage: "ext(name)",
        doc: "The part of the name after the last dot; empty if there is no dot, or if the name begins with it",
        arguments: &[&[Type::Text]],
        result: Type::Text,
        call: ext,
    },
    FunctionInfo {
        name: "depth",
        usage: "depth(path)",
        doc: "The number of components: 0 for `/`, 1 for `/usr`",
        arguments: &[&[Type::Text]],
        result: Type::Number,
        call: depth,
    },
    FunctionInfo {
        name: "under",
        usage: "under(path, '/some/dir')",
        doc: "True if the path is the directory or lies below it; reads only that part of the index",
        arguments: &[&[Type::Text, Type::Text]],
        result: Type::Truth,
        call: under,
    },
    FunctionInfo {
        name: "glob",
        usage: "glob('*.c', name)",
        doc: "True if the text matches the shell pattern, as in find -name",
        arguments: &[&[Type::Text, Type::Text]],
        result: Type::Truth,
        call: glob,
    },
];

/// `path(dir, name)`.
fn path(arrays: &[ArrayRef], _: &Moment) -> Result<ArrayRef> {
    let paths = texts(arrays, |dir, name| {
        format!("{}/{name}", dir.trim_end_matches('/'))
    })?;
    Ok(Arc::new(StringViewArray::from_iter(paths)))
}

/// `ext(name)`.
fn ext(arrays: &[ArrayRef], _: &Moment) -> Result<ArrayRef> {
    let of = |name: &str| {
        let name = &name[name.rfind('/').map_or(0, |slash| slash + 1)..];
        String::from_utf8_lossy(trawl_query::extension(name.as_bytes())).into_owned()
    };
    let names = only_text(arrays)?.iter();
    let found = names.map(|name| name.map(of));
    Ok(Arc::new(StringViewArray::from_iter(found)))
}

/// `depth(path)`.
fn depth(arrays: &[ArrayRef], _: &Moment) -> Result<ArrayRef> {
    let of = |path: &str| {
        let path = path.trim_end_matches('/').bytes();
        path.filter(|byte| *byte == b'/').count() as i64
    };
    let paths = only_text(arrays)?.iter();
    Ok(Arc::new(Int64Array::from_iter(
        paths.map(|path| path.map(of)),
    )))
}

/// `under(path, top)`.
fn under(arrays: &[ArrayRef], _: &Moment) -> Result<ArrayRef> {
    let is_below = |path: &str, top: &str| {
        let (path, top) = (path.trim_end_matches('/'), top.trim_end_matches('/'));
        is_within(path.as_bytes(), top.as_bytes())
    };
    Ok(Arc::new(BooleanArray::from(texts(arrays, is_below)?)))
}

/// `glob(pattern, text)`.
fn glob(arrays: &[ArrayRef], _: &Moment) -> Result<ArrayRef> {
    // The pattern is nearly always the same for all rows, so the compiled one is reused.
    let mut known: Option<(&str, Glob)> = None;
    let matched = texts(arrays, |pattern, text| {
        let is_new = known.as_ref().is_none_or(|(same, _)| *same != pattern);
        if is_new {
            let glob = Glob::new(pattern.as_bytes(), Case::Sensitive, Locale::Utf8);
            known = Some((pattern, glob));
        }
        known
            .as_ref()
            .is_some_and(|(_, glob)| glob.matches(text.as_bytes()))
    })?;
    Ok(Arc::new(BooleanArray::from(matched)))
}
