//! Tests the engine and its socket on real sources, with an applier that records its calls.

#![forbid(unsafe_code)]

mod engine;
mod faults;
mod site;
mod sockets;
