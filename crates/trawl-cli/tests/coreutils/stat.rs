//! `trawl stat` against GNU stat.
