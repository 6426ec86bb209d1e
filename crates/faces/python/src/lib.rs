//! `trawl._trawl`: the search call and dynamic sets for Python. The package around it is `python/trawl`, whose
//! documentation is for its users.
//!
//! - `attributes`: attributes pushed to files.
//! - `question`: reads and checks the arguments from Python.
//! - `stream`: a search in progress, and waiting for it.
//! - `wishes`: reads and checks the arguments of a set.
//! - `members`: a set, and waiting for its members.
//! - `record`: records and descriptions of members as Python objects.
//! - `failure`: errors as exceptions.
//!
//! Invariants: nothing waits while it holds the interpreter's lock; a signal ends any wait, and the
//! search or iteration can be continued; no member is lost to a signal; searches and sets belong to
//! the process that opened them; the only unsafe code is what PyO3's macros generate.

#![deny(unsafe_code)]

mod attributes;
mod failure;
mod members;
mod question;
mod record;
mod stream;
mod wishes;

use pyo3::prelude::*;

#[pymodule]
fn _trawl(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("VERSION", env!("CARGO_PKG_VERSION"))?;
    module.add(
        "SearchError",
        module.py().get_type::<failure::SearchError>(),
    )?;
    module.add("Cancelled", module.py().get_type::<failure::Cancelled>())?;
    module.add_function(wrap_pyfunction!(attributes::attr_set, module)?)?;
    module.add_function(wrap_pyfunction!(attributes::attr_get, module)?)?;
    module.add_function(wrap_pyfunction!(attributes::attr_list, module)?)?;
    module.add_function(wrap_pyfunction!(attributes::attr_remove, module)?)?;
    module.add_class::<record::Record>()?;
    module.add_class::<record::Digest>()?;
    module.add_class::<members::Members>()?;
    module.add_class::<stream::Stream>()
}
