//! Standard output without a lock, for output that several threads write.

use std::io::{self, Stdout, Write};

use trawl_sys::process::stdout_is_closed;

use crate::output::BAD_DESCRIPTOR;

/// Standard output, locked for each write alone. Writes fail if the process was started without it:
/// the runtime has opened `/dev/null` instead, where output would be lost without an error.
pub(crate) struct Unlocked(Option<Stdout>);

impl Unlocked {
    /// Returns standard output.
    pub(crate) fn stdout() -> Unlocked {
        Unlocked((!stdout_is_closed()).then(io::stdout))
    }

    fn open(&mut self) -> io::Result<&mut Stdout> {
        let closed = || io::Error::from_raw_os_error(BAD_DESCRIPTOR);
        self.0.as_mut().ok_or_else(closed)
    }
}

impl Write for Unlocked {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.open()?.write(bytes)
    }

    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.open()?.write_all(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.as_mut().map_or(Ok(()), Write::flush)
    }
}
