//! Text that several commands share: formatting of modes, numbers, times,
//! owners and unusual names, and parsing of patterns and modes.
//!
//! - [`locale`]: whether the locale's text is UTF-8.
//! - [`mode`]: `drwxr-xr-x`, and modes as chmod(1) and `find -perm` take them.
//! - [`units`]: sizes with units, rounded as the GNU tools round them.
//! - [`quote`]: quoting of names for terminals, shells and messages.
//! - [`zone`], [`strftime`], [`time_style`]: times in the local zone.
//! - [`date`]: dates as people write them.
//! - [`date_format`]: the formats of date(1), with flags and widths.
//! - [`owners`]: user and group names, cached.
//! - [`glob`]: shell patterns with the meaning of fnmatch(3).
//! - [`figures`]: times, counts and shares as people read them.
//! - [`float`]: C's `%g`.
//! - [`json`]: JSON objects, one per line.
//! - [`words`]: paths, causes and counts in messages.
//!
//! This crate prints nothing, does not read the clock, and knows nothing of
//! rows.

#![forbid(unsafe_code)]

pub mod date;
pub mod date_format;
pub mod figures;
pub mod float;
pub mod glob;
pub mod json;
pub mod locale;
pub mod mode;
pub mod owners;
pub mod quote;
pub mod strftime;
pub mod time_style;
pub mod units;
pub mod words;
pub mod zone;
