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

use super::{Moment, only_text, texts};

/// `path(dir, name)`.
pub(super) fn path(arrays: &[ArrayRef], _: &Moment) -> Result<ArrayRef> {
    let paths = texts(arrays, |dir, name| {
        format!("{}/{name}", dir.trim_end_matches('/'))
    })?;
    Ok(Arc::new(StringViewArray::from_iter(paths)))
}

/// `ext(name)`.
pub(super) fn ext(arrays: &[ArrayRef], _: &Moment) -> Result<ArrayRef> {
    let of = |name: &str| {
        let name = &name[name.rfind('/').map_or(0, |slash| slash + 1)..];
        String::from_utf8_lossy(trawl_query::extension(name.as_bytes())).into_owned()
    };
    let names = only_text(arrays)?.iter();
    let found = names.map(|name| name.map(of));
    Ok(Arc::new(StringViewArray::from_iter(found)))
}

/// `depth(path)`.
pub(super) fn depth(arrays: &[ArrayRef], _: &Moment) -> Result<ArrayRef> {
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
pub(super) fn under(arrays: &[ArrayRef], _: &Moment) -> Result<ArrayRef> {
    let is_below = |path: &str, top: &str| {
        let (path, top) = (path.trim_end_matches('/'), top.trim_end_matches('/'));
        is_within(path.as_bytes(), top.as_bytes())
    };
    Ok(Arc::new(BooleanArray::from(texts(arrays, is_below)?)))
}

/// `glob(pattern, text)`.
pub(super) fn glob(arrays: &[ArrayRef], _: &Moment) -> Result<ArrayRef> {
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
