//! Tests of the search call as a whole: the promises of the paper, the defects of its surviving
//! implementation, GNU find and naive matching as oracles, and the executors against each other.

#![forbid(unsafe_code)]

mod decomposition;
mod defects;
mod index;
mod naive;
mod oracle;
mod paper;
mod places;
mod semantics;
mod spread;
mod support;
