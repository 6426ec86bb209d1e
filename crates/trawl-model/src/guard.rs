//! Who may read what (being written).
