//! Programs that know nothing of other machines, in trees of other machines: the same bytes as
//! on the tree itself, and nothing left behind.

#![forbid(unsafe_code)]

mod at_once;
mod attributes;
mod contents;
mod covered;
mod descriptors;
mod ends;
mod faults;
mod indexed;
mod same;
mod sandbox;
mod search_path;
mod searches;
mod site;
mod soak;
mod tables;
mod watched;
