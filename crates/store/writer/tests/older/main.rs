//! Tests of what a new snapshot has to do with older ones: it makes them as strict as it is, shares
//! their segments, and bundles small ones.

#![forbid(unsafe_code)]

mod bundles;
mod crashes;
mod rescans;
mod sharing;
mod stricter;
mod support;
