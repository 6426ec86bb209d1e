//! Programs that know nothing about other machines, in trees of other machines: they print the same
//! bytes as on the tree itself, and nothing stays behind.

#![forbid(unsafe_code)]

mod at_once;
mod attributes;
mod contents;
mod covered;
mod descriptors;
mod ends;
mod faults;
mod fetch_ahead;
mod indexed;
mod same;
mod sandbox;
mod search_path;
mod searches;
mod site;
mod soak;
mod tables;
mod watched;
