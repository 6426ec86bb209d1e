//! The stackable layer against the plain directory, the kernel, strace(1) and known delays.

mod counts;
mod delays;
mod limits;
mod same;
mod stress;
mod support;
mod users;
