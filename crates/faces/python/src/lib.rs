//! `trawl._trawl`: the search call for Python. The package around it is `python/trawl`, whose
//! documentation is for its users.
//!
//! - `question`: reads and checks the arguments from Python.
//! - `stream`: a search in progress, and waiting for it.
//! - `record`: a record as a Python object.
//! - `failure`: errors as exceptions.
//!
//! Invariants: nothing waits while it holds the interpreter's lock; a signal ends any wait, and the
//! search can be continued; a search belongs to the process that opened it; the only unsafe code is
//! what PyO3's macros generate.

#![deny(unsafe_code)]

mod failure;
mod question;
mod record;
mod stream;

use pyo3::prelude::*;

#[pymodule]
fn _trawl(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("VERSION", env!("CARGO_PKG_VERSION"))?;
    module.add(
        "SearchError",
        module.py().get_type::<failure::SearchError>(),
    )?;
    module.add("Cancelled", module.py().get_type::<failure::Cancelled>())?;
    module.add_class::<record::Record>()?;
    module.add_class::<stream::Stream>()
}
