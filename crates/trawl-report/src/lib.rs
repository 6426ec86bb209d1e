//! Reports: a schema and rows, rendered as text, JSON, CSV or NUL-separated lines.

#![forbid(unsafe_code)]
