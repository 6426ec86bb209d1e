//! The search call as a whole: what the paper says it does, what its surviving implementation
//! does wrong, GNU find and naive matching as oracles, and both executors against each other.

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
