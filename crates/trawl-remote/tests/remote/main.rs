//! A server and its client, against the live walk, each other's faults and each other's malice.

mod attributes;
mod confined;
mod faults;
mod hostile;
mod same;
mod shell;
mod support;
mod watched;
