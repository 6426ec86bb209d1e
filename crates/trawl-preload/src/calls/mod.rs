//! The C library's functions that ours stand in front of, by what they are about.

mod attributes;
mod change;
mod exec;
mod fts;
mod ftw;
mod glob;
mod identity;
mod open;
mod pass;
mod scandir;
mod stat;
mod wander;
