//! Where directories are placed (being written).
