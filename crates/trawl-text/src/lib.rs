//! Text that several commands share: how modes, numbers, times, owners and
//! odd names look, and how patterns and modes are read.
//!
//! - [`locale`]: whether text is UTF-8 here.
//! - [`mode`]: `drwxr-xr-x`, and modes as chmod(1) and `find -perm` take them.
//! - [`units`]: sizes with units, rounded as the GNU tools round them.
//! - [`quote`]: names for terminals, shells and messages.
//! - [`zone`], [`strftime`], [`time_style`]: times in the local zone.
//! - [`date`]: dates as people write them.
//! - [`date_format`]: the formats of date(1), with flags and widths.
//! - [`owners`]: user and group names, remembered.
//! - [`glob`]: shell patterns with the meaning of fnmatch(3).
//! - [`float`]: C's `%g`.
//! - [`json`]: objects, one a line.
//!
//! Nothing here prints, reads the clock or knows what a row is.

#![forbid(unsafe_code)]

pub mod date;
pub mod date_format;
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
pub mod zone;
