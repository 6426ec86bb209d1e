//! Typed answers to questions about sums, ranks and changes.

#![forbid(unsafe_code)]
