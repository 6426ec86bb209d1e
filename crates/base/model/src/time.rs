//! Points in time as file systems keep them.

/// Seconds since 1970-01-01T00:00:00Z (negative before that) and nanoseconds
/// within that second, as in `struct statx_timestamp` (statx(2)).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Timestamp {
    /// Whole seconds, rounded towards minus infinity.
    pub secs: i64,
    /// Nanoseconds, 0 to 999,999,999.
    pub nanos: u32,
}

impl Timestamp {
    /// Returns the time in nanoseconds; `i128` is wide enough for any `secs`.
    pub const fn as_nanos(self) -> i128 {
        self.secs as i128 * 1_000_000_000 + self.nanos as i128
    }

    /// Returns the time `secs` seconds earlier, saturating.
    pub const fn minus_secs(self, secs: i64) -> Timestamp {
        Timestamp {
            secs: self.secs.saturating_sub(secs),
            nanos: self.nanos,
        }
    }
}
