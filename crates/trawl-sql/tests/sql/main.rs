//! The program `trawl-sql` on real trees, held against GNU find, du and DuckDB.
//!
//! | module | what it proves |
//! |---|---|
//! | `answers` | tables and functions say what find says |
//! | `plans` | predicates are pushed into the index, and EXPLAIN tells |
//! | `reading_only` | no statement writes, reads another file or reaches out |
//! | `users` | others are told what the kernel would show them |
//! | `cookbook` | every block of the cookbook runs; some against oracles |
//! | `exports` | other engines read exports, and answer the same queries the same |
//! | `behaviour` | formats, files, limits, time-outs, interrupts |
//! | `shell` | the same on a terminal, typed |
//! | `documents` | what is generated in the documentation is fresh |
#![forbid(unsafe_code)]

mod absent;
mod answers;
mod behaviour;
mod cookbook;
mod documents;
mod exports;
mod limits;
mod plans;
mod reading_only;
mod shell;
mod site;
mod users;
