//! The errors of this crate.

use trawl_sys::{Errno, SysError};

/// Why an attribute cannot be set, read or removed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AttributeError {
    /// A name that attributes cannot have.
    #[error(
        "invalid name of an attribute `{}': begin with a letter a-z, go on with a-z, 0-9, _, - and ., \
         and use at most 64 bytes", name.escape_debug()
    )]
    Name {
        /// The name.
        name: String,
    },
    /// A value that cannot be stored.
    #[error("invalid value of attribute {name}: {why}")]
    Value {
        /// The attribute.
        name: String,
        /// What is wrong with the value.
        why: String,
    },
    /// A stored value that this program did not write.
    #[error("attribute {name} is not readable: its value has no known form")]
    Form {
        /// The attribute.
        name: String,
    },
    /// The descriptor is not open for writing.
    #[error("cannot {operation} attribute {name}: the file is not open for writing")]
    NotOpenForWriting {
        /// The operation, as an infinitive.
        operation: &'static str,
        /// The attribute.
        name: String,
    },
    /// The kernel refused.
    #[error("cannot {operation} attribute {name}: {source}{hint}")]
    Refused {
        /// The operation, as an infinitive.
        operation: &'static str,
        /// The attribute.
        name: String,
        /// The kernel's error.
        source: SysError,
        /// What the file system's limits are, if they are the reason.
        hint: String,
    },
    /// The file's attributes cannot be listed.
    #[error("cannot list attributes: {0}")]
    List(SysError),
}

impl AttributeError {
    /// Returns the number that C and Python report.
    #[must_use]
    pub fn errno(&self) -> Errno {
        match self {
            AttributeError::Name { .. } | AttributeError::Value { .. } => Errno::INVAL,
            AttributeError::Form { .. } => Errno::IO,
            AttributeError::NotOpenForWriting { .. } => Errno::BADF,
            AttributeError::Refused { source, .. } | AttributeError::List(source) => source.errno,
        }
    }

    /// Returns whether the file has no such attribute.
    #[must_use]
    pub fn is_absent(&self) -> bool {
        matches!(self, AttributeError::Refused { source, .. } if source.errno == Errno::NODATA)
    }
}
