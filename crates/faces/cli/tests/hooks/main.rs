//! Hooks from outside: the program `trawl-hook` on real and hostile files, users' hooks in their
//! sandbox, and `trawl hooks`. Files come from other tools, or from the specification of their format.

#![forbid(unsafe_code)]

mod face;
mod formats;
mod hostile;
mod modules;
mod site;
mod users;
