//! Tests dynamic sets from outside: with openers that count and fail, and with writers on a real
//! tree.

mod faults;
mod local;
mod places;
mod site;
