//! `trawl._trawl`: the search call for Python. The package around it is `python/trawl`; what its
//! users see is said there.
//!
//! - `question`: what Python gives, read and checked.
//! - `stream`: a search under way, and who waits for it.
//! - `record`: a record as Python reads it.
//! - `failure`: errors as exceptions.
//!
//! Invariants: nothing waits with the interpreter's lock; a signal ends any wait, and the search can be
//! gone on with; a search belongs to the process that opened it; the only unsafe code is what the
//! macros of PyO3 write.

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
