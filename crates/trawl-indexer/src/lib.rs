//! Makes indexes: runs scans, keeps snapshots, and checks who may see what.

#![forbid(unsafe_code)]
