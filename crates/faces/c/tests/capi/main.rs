//! Tests the C library with C programs: compiled against its header, linked with its shared object,
//! run, and compared with GNU find and the kernel.

mod attributes;
mod behaviour;
mod examples;
mod interface;
mod paper;
mod sets;
mod site;
