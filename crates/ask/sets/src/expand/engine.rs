//! Engines: what evaluates the query of a type-specific specification, `prefix/\query\suffix`.
//!
//! The paper, section 3.2: *type-specific specifications are special strings that can be evaluated
//! as queries by search engines […] which will return the names of objects that satisfy the query.
//! […] SETS is a framework which provides access to existing services, and is not responsible for
//! providing the search engines.*

use trawl_call::request::Cancel;

use crate::member::Problem;
use crate::source::Names;

/// Evaluates queries on objects of one kind: an indexed directory, a database, an HTML page.
pub trait Engine: Send + Sync {
    /// Returns whether this engine evaluates queries on the object with this name. It may look at
    /// the object, for example at its first bytes, but not evaluate anything.
    ///
    /// `prefix` is a path (absolute or relative to the working directory, `.` for the working
    /// directory itself, without trailing slash except for `/`) or a URL, as it was written. The
    /// object may be missing or of any kind, for which the answer is `false`.
    ///
    /// The first engine that accepts an object is asked. Where none does, the set is empty, as in
    /// the paper: *a type-specific specification applied to an object of the wrong type will also
    /// return the empty-set*.
    fn accepts(&self, prefix: &[u8]) -> bool;

    /// Evaluates a query on the object and returns the names that satisfy it, as a stream.
    ///
    /// - `query` is the text between the backslashes, with doubled backslashes made single. It may
    ///   be empty, and means what the engine says.
    /// - A returned name is a path or a URL. A relative path is relative to the directory that the
    ///   prefix names, or that contains the file that the prefix names; the caller joins it. A name
    ///   found on a URL must be an absolute URL. The caller also appends the suffix; attributes
    ///   of a name are kept only if there is no suffix.
    /// - An object that turns out to be of another kind gives no names and no problem.
    /// - A query that is invalid, or that cannot be evaluated to its end, is a problem
    ///   ([`crate::member::Op::Expand`]), returned here or in the place of the names that are
    ///   missing. Names before it stay.
    /// - Once `cancel` is set, this call and the stream end promptly.
    ///
    /// # Errors
    /// Fails with the problem that stands in the place of the names.
    fn run(&self, prefix: &[u8], query: &[u8], cancel: &Cancel) -> Result<Box<dyn Names>, Problem>;
}
