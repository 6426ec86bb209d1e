//! Errors: which operation or which line is wrong, and why.

/// Why a profile cannot be made, combined, read or recorded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A resolution outside 1 to 8.
    #[error("a resolution is a number from 1 to 8, not {0}")]
    Resolution(u64),
    /// One operation's histogram is wrong.
    #[error("operation {operation}: {source}")]
    Operation {
        /// The operation's name.
        operation: String,
        /// The defect.
        source: Fault,
    },
    /// A name that the formats cannot carry.
    #[error(
        "{0:?} is no name: a name has 1 to 255 bytes, without white space or control characters"
    )]
    Name(String),
    /// Two operations have one name.
    #[error("operation {0} appears twice")]
    Twice(String),
    /// Two profiles cannot be combined.
    #[error("the profiles differ in {what}: {ours} and {theirs}")]
    Differ {
        /// The property in which they differ.
        what: &'static str,
        /// The first profile's.
        ours: String,
        /// The second profile's.
        theirs: String,
    },
    /// There is more than a limit allows.
    #[error("{amount} {what} are more than the limit of {limit}")]
    TooMany {
        /// The items that exceed the limit.
        what: &'static str,
        /// How much there is.
        amount: usize,
        /// How much is allowed.
        limit: usize,
    },
    /// A text file is malformed.
    #[error("line {line}, field {field}: {cause}")]
    Text {
        /// Number of the line, from 1.
        line: usize,
        /// Number of the field in its line, from 1.
        field: usize,
        /// The defect at this place.
        cause: String,
    },
    /// A JSON file is malformed; the cause names line and column.
    #[error("malformed JSON: {0}")]
    Json(#[source] serde_json::Error),
    /// A JSON file is written in a version that this program does not know.
    #[error("the file has version {found}, but this program reads version {known}")]
    Version {
        /// The file's version.
        found: u64,
        /// The version that is read.
        known: u64,
    },
    /// A file's unit and frequency do not fit.
    #[error("{0}")]
    Unit(&'static str),
    /// A thread was stopped in the middle of recording an operation, for too long to wait for it.
    #[error("a thread does not finish recording operation {0}: read again")]
    Busy(String),
}

/// A defect of one operation's histogram, or of two that should be combined.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// `entered = Σ buckets + in flight + dropped` does not hold.
    #[error(
        "{entered} operations entered, but {recorded} are in buckets, {in_flight} in flight and \
         {dropped} dropped"
    )]
    Unbalanced {
        /// Operations that entered, with those that were in flight when the interval began.
        entered: u128,
        /// Sum of the buckets.
        recorded: u128,
        /// Operations that entered and did not leave; negative if more left than entered.
        in_flight: i128,
        /// Operations that left without a latency.
        dropped: u64,
    },
    /// The least, greatest and total latencies do not fit the buckets.
    #[error("the {what} latency {latency} does not fit the buckets")]
    Latency {
        /// Which latency.
        what: &'static str,
        /// Its value.
        latency: u128,
    },
    /// A bucket that the resolution does not have.
    #[error("resolution {resolution} has {limit} buckets, not {buckets}")]
    Buckets {
        /// The resolution.
        resolution: u8,
        /// Number of buckets that there are.
        buckets: usize,
        /// Number of buckets that the resolution has.
        limit: usize,
    },
    /// Two histograms have different resolutions.
    #[error("one histogram has resolution {ours}, the other {theirs}")]
    Resolutions {
        /// The first histogram's.
        ours: u8,
        /// The second histogram's.
        theirs: u8,
    },
    /// A sum exceeds 64 bits.
    #[error("the sum of {0} exceeds 64 bits")]
    Overflow(&'static str),
    /// A reading is not later than the one that is subtracted from it.
    #[error("{0} decreased: the readings are not from one recorder, or in the wrong order")]
    Decreased(&'static str),
    /// The slices of a timeline do not add up to the whole.
    #[error("bucket {bucket}: the slices have {slices} operations, the whole has {whole}")]
    Slices {
        /// Number of the bucket.
        bucket: usize,
        /// Sum over the slices.
        slices: u128,
        /// Count of the whole.
        whole: u64,
    },
    /// An operation has slices or peaks, but is not in the profile.
    #[error("is not in the profile")]
    Unknown,
    /// Latency peaks overlap or are out of order.
    #[error("latency peaks must be ordered and must not overlap: {first}-{last}")]
    Peaks {
        /// First bucket of the peak that does not fit.
        first: u16,
        /// Last bucket of that peak.
        last: u16,
    },
}

impl Fault {
    /// Returns the error that names the operation.
    pub(crate) fn of(self, operation: &str) -> Error {
        Error::Operation {
            operation: operation.to_owned(),
            source: self,
        }
    }
}
