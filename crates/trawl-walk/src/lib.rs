//! What the live walks share: opening directories, an ordered pool of workers, a budget for nodes.

#![forbid(unsafe_code)]
