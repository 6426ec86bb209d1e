//! Views through real mounts. The oracle is GNU find, run as the user who looks.

#![forbid(unsafe_code)]

mod by_group;
mod changes;
mod contents;
mod definitions;
mod ends;
mod large;
mod listings;
mod names;
mod own;
mod programs;
mod references;
mod site;
mod users;
mod writers;
