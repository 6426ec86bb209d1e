//! The program under adverse conditions, end to end: killed, out of space, with damaged indexes and
//! traces, asked while it writes. The expectation is always the same: the previous answer or an
//! error that names the file, never a wrong answer, a panic or a hang.
//!
//! `TRAWL_ROBUSTNESS=10` runs ten times as many kills, flips and commits.

#![forbid(unsafe_code)]

mod damage;
mod disks;
mod kills;
mod readers;
mod site;
mod small_files;
mod sources;
mod traces;
mod trees;
