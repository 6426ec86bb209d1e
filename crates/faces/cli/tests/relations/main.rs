//! Learnt accesses and relations of files. The oracles are gcc's lists of dependencies, strace, and
//! the kernel for another user.

#![forbid(unsafe_code)]

mod find;
mod graph_indices;
mod groups;
mod isolation;
mod learning;
mod related;
mod site;
mod users;
