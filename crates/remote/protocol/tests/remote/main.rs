//! Tests a server and its client: against the live walk, against faults, and against hostile peers.

mod attributes;
mod confined;
mod faults;
mod hostile;
mod same;
mod shell;
mod support;
mod watched;
