//! The daemon that watches sources: what it watches, when it publishes, and what it reports.

#![forbid(unsafe_code)]
