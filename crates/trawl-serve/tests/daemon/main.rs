//! The engine and its socket over real sources, with an applier that notes what it was given.

#![forbid(unsafe_code)]

mod engine;
mod faults;
mod site;
mod sockets;
