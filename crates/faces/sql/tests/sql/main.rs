//! Tests the program `trawl-sql` on real trees, compared with GNU find, du and DuckDB.
//!
//! | module | claim tested |
//! |---|---|
//! | `answers` | tables and functions agree with find |
//! | `plans` | predicates are pushed into the index, and EXPLAIN shows it |
//! | `reading_only` | no statement writes, reads another file or uses the network |
//! | `sets` | sets whose names hold SQL about directories and Parquet files |
//! | `users` | other users are told what the kernel would show them |
//! | `permissions` | tables show every user what the kernel shows them, on random trees |
//! | `contents` | functions on contents agree with find, grep and a naive evaluation |
//! | `cookbook` | every block of the cookbook runs; some are compared with oracles |
//! | `exports` | other engines read exports and give the same answers |
//! | `groups` | groups and their members are those of `trawl groups` and of sums |
//! | `relations` | relations are those written into files, guarded at both ends |
//! | `behaviour` | formats, files, limits, time-outs, interrupts |
//! | `shell` | the same on a terminal, typed |
//! | `documents` | generated parts of the documentation are fresh |
#![forbid(unsafe_code)]

mod absent;
mod answers;
mod behaviour;
mod contents;
mod cookbook;
mod documents;
mod exports;
mod groups;
mod limits;
mod permissions;
mod plans;
mod reading_only;
mod relations;
mod sets;
mod shell;
mod site;
mod users;
