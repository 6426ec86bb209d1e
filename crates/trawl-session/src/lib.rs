//! Sessions of questions: the open indexes, how fresh they are, and what is read from the live file system instead.

#![forbid(unsafe_code)]
