//! Standard output and what is known about it.
//!
//! Results go to standard output through one buffer that is flushed, with
//! its errors looked at, before the process ends; everything else goes to
//! standard error. A closed pipe ends questions quietly, by its signal
//! ([`end_quietly_on_closed_pipe`]).

use std::borrow::Cow;
use std::io::{self, BufWriter, IsTerminal, StdoutLock, Write};

use crate::again;
use crate::failure::Failure;

const BUFFER_BYTES: usize = 64 << 10;

/// Whether standard output is a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Device {
    /// Someone looks at it: columns, quotes, colours, escapes.
    Terminal,
    /// A file or a pipe: bytes as they are.
    Other,
}

impl Device {
    /// What standard output is.
    pub(crate) fn of_stdout() -> Device {
        if io::stdout().is_terminal() {
            Device::Terminal
        } else {
            Device::Other
        }
    }
}

/// When colours are used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum ColourWhen {
    /// On a terminal, unless NO_COLOR is set.
    #[default]
    #[value(alias = "tty", alias = "if-tty")]
    Auto,
    /// Always.
    #[value(alias = "yes", alias = "force")]
    Always,
    /// Never.
    #[value(alias = "no", alias = "none")]
    Never,
}

impl ColourWhen {
    /// The decision for this output; `no_color` is the variable's value
    /// (<https://no-color.org>: any but the empty one counts).
    pub(crate) fn decide(self, device: Device, no_color: Option<&std::ffi::OsStr>) -> bool {
        match self {
            ColourWhen::Always => true,
            ColourWhen::Never => false,
            ColourWhen::Auto => {
                device == Device::Terminal && no_color.is_none_or(std::ffi::OsStr::is_empty)
            }
        }
    }

    /// The decision for other things than colours.
    pub(crate) fn for_device(self) -> bool {
        self.decide(Device::of_stdout(), None)
    }
}

/// Standard output, buffered.
pub(crate) struct Output {
    /// Until it is dropped.
    writer: Option<BufWriter<Target>>,
    /// What a terminal is not given.
    controls: Controls,
}

/// What is done with control characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Controls {
    /// They go where everything goes: a file, a pipe, or a terminal that is
    /// given our own.
    Kept,
    /// Each becomes a question mark, so that no name or value speaks to the
    /// terminal.
    Hidden,
}

impl Controls {
    fn of(is_terminal: bool) -> Controls {
        match is_terminal {
            true => Controls::Hidden,
            false => Controls::Kept,
        }
    }

    fn show(self, bytes: &[u8]) -> Cow<'_, [u8]> {
        let is_plain = |byte: &u8| matches!(byte, b' '..=b'~' | b'\n' | b'\t' | 0);
        match self == Controls::Kept || bytes.iter().all(is_plain) {
            true => Cow::Borrowed(bytes),
            false => Cow::Owned(without_controls(bytes)),
        }
    }
}

/// The bytes with a question mark for each control character but line ends,
/// tabs and NULs, which end records: those of ASCII and those behind it
/// (ISO 6429, C1), as characters and as bytes.
fn without_controls(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        for character in chunk.valid().chars() {
            match character.is_control() && !matches!(character, '\n' | '\t' | '\0') {
                true => out.push(b'?'),
                false => out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes()),
            }
        }
        let of_c1 = |byte: &u8| matches!(byte, 0x80..=0x9f);
        out.extend(
            chunk
                .invalid()
                .iter()
                .map(|byte| if of_c1(byte) { b'?' } else { *byte }),
        );
    }
    out
}

/// What is written to.
enum Target {
    Open(StdoutLock<'static>),
    /// Nothing: the process was started without.
    Closed,
}

impl Write for Target {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Target::Open(stdout) => {
                again::note_begun();
                stdout.write(bytes).map_err(as_inherited)
            }
            Target::Closed => Err(io::Error::from_raw_os_error(BAD_DESCRIPTOR)),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Target::Open(stdout) => stdout.flush().map_err(as_inherited),
            Target::Closed => Ok(()),
        }
    }
}

/// A closed pipe is an error like any other for a process that was started with
/// its signal ignored: whoever did that wants to be told.
fn as_inherited(error: io::Error) -> io::Error {
    let is_told = trawl_sys::signal::inherits_ignored_broken_pipe();
    match error.kind() {
        io::ErrorKind::BrokenPipe if is_told => io::Error::other("Broken pipe"),
        _ => error,
    }
}

/// EBADF, errno(3).
const BAD_DESCRIPTOR: i32 = 9;

impl Output {
    /// Takes standard output.
    pub(crate) fn stdout() -> Output {
        let target = match trawl_sys::process::stdout_is_closed() {
            true => Target::Closed,
            false => Target::Open(io::stdout().lock()),
        };
        Output {
            writer: Some(BufWriter::with_capacity(BUFFER_BYTES, target)),
            controls: Controls::of(io::stdout().is_terminal()),
        }
    }

    /// For a command that colours its output, or writes what the user's own
    /// format says, and so escapes names and values itself.
    #[must_use]
    pub(crate) fn with_own_controls(mut self) -> Output {
        self.controls = Controls::Kept;
        self
    }

    /// Writes bytes.
    pub(crate) fn put(&mut self, bytes: impl AsRef<[u8]>) -> Result<(), Failure> {
        self.write_all(bytes.as_ref()).map_err(Failure::Write)
    }

    /// Writes what is still in the buffer; to be called at the end.
    pub(crate) fn finish(mut self) -> Result<(), Failure> {
        self.flush().map_err(Failure::Write)
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.writer {
            Some(writer) if self.controls == Controls::Kept => writer.write(bytes),
            Some(writer) => {
                writer.write_all(&self.controls.show(bytes))?;
                Ok(bytes.len())
            }
            None => Ok(0),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.as_mut().map_or(Ok(()), Write::flush)
    }
}

/// What was not written is, unless the question may be asked again.
impl Drop for Output {
    fn drop(&mut self) {
        let Some(writer) = self.writer.take() else {
            return;
        };
        let (mut target, left) = writer.into_parts();
        if let Ok(left) = left
            && !left.is_empty()
            && !again::holds_back(&left)
        {
            // Who wants to know calls `finish`.
            let _ = target.write_all(&left).and_then(|()| target.flush());
        }
    }
}

/// Columns of the terminal that standard output is.
pub(crate) fn terminal_width() -> Option<usize> {
    trawl_sys::process::terminal_columns(io::stdout()).map(usize::from)
}

/// Lets the closed-pipe signal end the process, as it ends other tools. Not
/// for commands that write an index: these have something to clean up.
pub(crate) fn end_quietly_on_closed_pipe() {
    // If the signal cannot be set, a failed write says so later.
    let _ = trawl_sys::signal::restore_broken_pipe();
}

/// Tells the user something, on standard error. That it cannot be told is no
/// reason to stop.
pub(crate) fn say(message: impl std::fmt::Display) {
    tell(format_args!("trawl: {message}"));
}

/// The one way to standard error for messages: a line that holds no control
/// characters if somebody watches.
pub(crate) fn tell(line: impl std::fmt::Display) {
    tell_bytes(line.to_string().as_bytes());
}

/// The same of a line that need not be text.
pub(crate) fn tell_bytes(line: &[u8]) {
    let controls = Controls::of(io::stderr().is_terminal());
    let line = [&controls.show(line), &b"\n"[..]].concat();
    let _ = io::stderr().lock().write_all(&line);
}

/// Prints help, the version, or a mistake in the words of the command line, which it repeats.
///
/// # Errors
/// If standard output takes no more.
pub(crate) fn print_about_words(about: &clap::Error) -> io::Result<()> {
    let text = about.render().to_string();
    match Controls::Hidden.show(text.as_bytes()) == text.as_bytes() {
        true => about.print().and_then(|()| io::stdout().flush()),
        false => {
            tell_bytes(text.trim_end().as_bytes());
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsStr;

    #[test]
    fn no_name_speaks_to_a_terminal() {
        for (bytes, shown) in [
            (&b"a\x1b[31mb\n\t\0"[..], &b"a?[31mb\n\t\0"[..]),
            ("é\u{9b}31m".as_bytes(), "é?31m".as_bytes()),
            (b"\x9b31m\x7f\xff\r", b"?31m?\xff?"),
        ] {
            assert_eq!(&*Controls::Hidden.show(bytes), shown);
            assert_eq!(&*Controls::Kept.show(bytes), bytes);
        }
    }

    #[test]
    fn colours_follow_the_option_then_the_variable_then_the_device() {
        use ColourWhen::{Always, Auto, Never};
        let set = Some(OsStr::new("1"));
        let empty = Some(OsStr::new(""));
        assert!(Auto.decide(Device::Terminal, None));
        assert!(Auto.decide(Device::Terminal, empty));
        assert!(!Auto.decide(Device::Terminal, set));
        assert!(!Auto.decide(Device::Other, None));
        assert!(Always.decide(Device::Other, set));
        assert!(!Never.decide(Device::Terminal, None));
    }
}
