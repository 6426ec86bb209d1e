//! Groups of files. The oracles are dpkg(1), git(1), GNU find and a naive computation, file by file.

#![forbid(unsafe_code)]

mod commands;
mod fetching;
mod few_rows;
mod indices;
mod naive;
mod packages;
mod projects;
mod site;
mod users;
