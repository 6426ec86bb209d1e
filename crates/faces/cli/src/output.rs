//! Standard output and its properties.
//!
//! Results go to standard output through one buffer. It is flushed and its errors are checked
//! before the process ends. Everything else goes to standard error. A closed pipe ends questions
//! quietly, through SIGPIPE ([`end_quietly_on_closed_pipe`]).

use std::io::{self, BufWriter, IsTerminal, StdoutLock, Write};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use trawl_model::SortKey;
use trawl_model::operation::Operation;
use trawl_model::sync::lock;
use trawl_remote::rows::{Beginning, Piece, Row};
use trawl_report::controls::Controls;
use trawl_report::csv::Cells;

use crate::again;
use crate::failure::Failure;

const BUFFER_BYTES: usize = 64 << 10;

/// Kind of standard output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Device {
    /// A terminal with a reader: gets columns, quotes, colours and escapes.
    Terminal,
    /// A file or a pipe: gets the bytes as they are.
    Other,
}

impl Device {
    /// Returns the kind of standard output.
    pub(crate) fn of_stdout() -> Device {
        if io::stdout().is_terminal() {
            Device::Terminal
        } else {
            Device::Other
        }
    }
}

/// Whether texts of comma-separated values are protected from being read as formulas.
static IS_FOR_SPREADSHEETS: AtomicBool = AtomicBool::new(false);

/// Protects all texts of comma-separated values from now on.
pub(crate) fn protect() {
    IS_FOR_SPREADSHEETS.store(true, Ordering::Relaxed);
}

/// Whether standard output consists of rows for a client that merges them.
static GIVES_ROWS: AtomicBool = AtomicBool::new(false);

/// Makes standard output consist of rows from now on ([`trawl_remote::rows`]).
pub(crate) fn give_rows() {
    GIVES_ROWS.store(true, Ordering::Relaxed);
}

/// Returns whether standard output consists of rows.
pub(crate) fn gives_rows() -> bool {
    GIVES_ROWS.load(Ordering::Relaxed)
}

/// Returns how texts of comma-separated values are written.
pub(crate) fn cells() -> Cells {
    Cells::of(IS_FOR_SPREADSHEETS.load(Ordering::Relaxed))
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
    /// Decides whether this output has colours. `no_color` is the value of `NO_COLOR`
    /// (<https://no-color.org>: any non-empty value counts).
    pub(crate) fn decide(self, device: Device, no_color: Option<&std::ffi::OsStr>) -> bool {
        match self {
            ColourWhen::Always => true,
            ColourWhen::Never => false,
            ColourWhen::Auto => {
                device == Device::Terminal && no_color.is_none_or(std::ffi::OsStr::is_empty)
            }
        }
    }

    /// Decides features other than colours, which `NO_COLOR` does not turn off.
    pub(crate) fn for_device(self) -> bool {
        self.decide(Device::of_stdout(), None)
    }
}

/// Buffered standard output.
pub(crate) struct Output {
    /// `None` once it is dropped.
    writer: Option<BufWriter<Target>>,
    /// Treatment of control characters.
    controls: Controls,
    /// What becomes the next row, if the output consists of rows.
    row: Option<Unfinished>,
}

/// The text of a row that is being written.
#[derive(Default)]
struct Unfinished {
    text: Vec<u8>,
    /// Whether the command says where rows end. Otherwise a row is what the buffer has room for, and
    /// has an empty key: rows stay in their order.
    has_keys: bool,
}

/// Destination of the output.
enum Target {
    Open(StdoutLock<'static>),
    /// No destination: the process was started without standard output.
    Closed,
}

impl Write for Target {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Target::Open(stdout) => {
                again::note_begun();
                write_gathered();
                let _span = Operation::WriteOutput.span();
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

/// Turns a closed pipe into an ordinary error if the process was started with SIGPIPE ignored: the
/// program that ignored it wants a message.
fn as_inherited(error: io::Error) -> io::Error {
    let is_told = trawl_sys::signal::inherits_ignored_broken_pipe();
    match error.kind() {
        io::ErrorKind::BrokenPipe if is_told => io::Error::other("Broken pipe"),
        _ => error,
    }
}

/// `EBADF`, errno(3).
pub(crate) const BAD_DESCRIPTOR: i32 = 9;

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
            row: gives_rows().then(Unfinished::default),
        }
    }

    /// Returns whether the output consists of rows.
    pub(crate) fn gives_rows(&self) -> bool {
        self.row.is_some()
    }

    /// Begins the rows, if the output consists of rows: what was written so far precedes all rows of
    /// the merged answer, which has `limit` rows at most. `fields` are what the command says about
    /// its rows together.
    pub(crate) fn begin_rows(
        &mut self,
        limit: Option<u64>,
        fields: &[Vec<u8>],
    ) -> Result<(), Failure> {
        let Some(row) = &mut self.row else {
            return Ok(());
        };
        row.has_keys = true;
        let head = std::mem::take(&mut row.text);
        self.put_piece(&Piece::Beginning(Beginning {
            limit: limit.unwrap_or(u64::MAX),
            fields: [&[head], fields].concat(),
        }))
    }

    /// Ends a row, if the output consists of rows: the row is what was written since the last one.
    pub(crate) fn end_row(&mut self, key: impl FnOnce() -> SortKey) -> Result<(), Failure> {
        let Some(row) = &mut self.row else {
            return Ok(());
        };
        let fields = vec![std::mem::take(&mut row.text)];
        let key = key().into_bytes();
        self.put_piece(&Piece::Row(Row { key, fields }))
    }

    /// Writes a row that has several fields.
    pub(crate) fn put_row(&mut self, key: SortKey, fields: Vec<Vec<u8>>) -> Result<(), Failure> {
        let key = key.into_bytes();
        self.put_piece(&Piece::Row(Row { key, fields }))
    }

    /// Returns the output for bytes that are rows already.
    #[must_use]
    pub(crate) fn of_pieces(mut self) -> Output {
        self.row = None;
        self
    }

    fn put_piece(&mut self, piece: &Piece) -> Result<(), Failure> {
        let writer = self.writer.as_mut();
        let written = writer.map_or(Ok(()), |writer| writer.write_all(&piece.encode()));
        written.map_err(Failure::Write)
    }

    /// Writes what no row was made of as one.
    fn end_text(&mut self) -> io::Result<()> {
        let text = self.row.as_mut().map(|row| std::mem::take(&mut row.text));
        match (text, &mut self.writer) {
            (Some(text), Some(writer)) if !text.is_empty() => {
                let (key, fields) = (Vec::new(), vec![text]);
                writer.write_all(&Piece::Row(Row { key, fields }).encode())
            }
            _ => Ok(()),
        }
    }

    /// Keeps control characters. For commands that colour their output or write the user's own
    /// format, and so escape names and values themselves.
    #[must_use]
    pub(crate) fn with_own_controls(mut self) -> Output {
        self.controls = Controls::Kept;
        self
    }

    /// Writes bytes.
    pub(crate) fn put(&mut self, bytes: impl AsRef<[u8]>) -> Result<(), Failure> {
        self.write_all(bytes.as_ref()).map_err(Failure::Write)
    }

    /// Writes the rest of the buffer; must be called at the end.
    pub(crate) fn finish(mut self) -> Result<(), Failure> {
        self.flush().map_err(Failure::Write)
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if let Some(row) = &mut self.row {
            row.text.extend_from_slice(&self.controls.show(bytes));
            if !row.has_keys && row.text.len() >= BUFFER_BYTES {
                self.end_text()?;
            }
            return Ok(bytes.len());
        }
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
        self.end_text()?;
        self.writer.as_mut().map_or(Ok(()), Write::flush)
    }
}

/// Writes the rest of the buffer, unless the question may be asked again.
impl Drop for Output {
    fn drop(&mut self) {
        // Callers that need to know about errors call `finish`.
        let _ = self.end_text();
        let Some(writer) = self.writer.take() else {
            return;
        };
        let (mut target, left) = writer.into_parts();
        if let Ok(left) = left
            && !left.is_empty()
            && !again::holds_back(&left)
        {
            // Callers that need to know about errors call `finish`.
            let _ = target.write_all(&left).and_then(|()| target.flush());
        }
    }
}

/// Returns the width of the terminal on standard output, in columns; `None` if it is not a
/// terminal.
pub(crate) fn terminal_width() -> Option<usize> {
    trawl_sys::process::terminal_columns(io::stdout()).map(usize::from)
}

/// Lets SIGPIPE end the process, as it ends other tools. Commands that write an index must not call
/// this, because they have something to clean up.
pub(crate) fn end_quietly_on_closed_pipe() {
    // If the signal cannot be set, a failed write reports the closed pipe later.
    let _ = match crate::own::is_recording() {
        true => trawl_sys::signal::catch_broken_pipe(),
        false => trawl_sys::signal::restore_broken_pipe(),
    };
}

/// Prints a message on standard error. A failure to print it does not stop the command.
pub(crate) fn say(message: impl std::fmt::Display) {
    tell(format_args!("trawl: {message}"));
}

/// Prints a line on standard error: all messages go through here. On a terminal, control characters
/// in the line are hidden.
pub(crate) fn tell(line: impl std::fmt::Display) {
    tell_bytes(line.to_string().as_bytes());
}

/// Prints a line like [`tell`], but one that need not be valid UTF-8.
pub(crate) fn tell_bytes(line: &[u8]) {
    write_gathered();
    let controls = Controls::of(io::stderr().is_terminal());
    let line = [&controls.show(line), &b"\n"[..]].concat();
    let _ = io::stderr().lock().write_all(&line);
}

/// Messages of [`say_with_others`] that have not been written yet.
static GATHERED: Mutex<Vec<u8>> = Mutex::new(Vec::new());

/// Bytes of messages that are written together: usually no more than the 4,096 that a pipe takes at once
/// (PIPE_BUF), so that messages of other programs do not tear them apart.
const GATHERED_BYTES: usize = 3 << 10;

/// Prints a message like [`say`], of which thousands may follow each other. Unless somebody watches, it is
/// written together with others: at the latest before other messages or output, and at the end.
pub(crate) fn say_with_others(message: impl std::fmt::Display) {
    if io::stderr().is_terminal() {
        return say(message);
    }
    let mut gathered = lock(&GATHERED);
    gathered.extend(format!("trawl: {message}\n").bytes());
    if gathered.len() >= GATHERED_BYTES {
        let _ = io::stderr()
            .lock()
            .write_all(&std::mem::take(&mut *gathered));
    }
}

/// Writes messages of [`say_with_others`] that have not been written yet.
pub(crate) fn write_gathered() {
    let gathered = std::mem::take(&mut *lock(&GATHERED));
    if !gathered.is_empty() {
        let _ = io::stderr().lock().write_all(&gathered);
    }
}

/// Prints the help, the version, or an error in the command line together with the words that cause
/// it.
///
/// # Errors
/// Fails if standard output cannot be written.
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
