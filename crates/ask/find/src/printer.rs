//! The only place that writes: output in order, messages with the prefix
//! `find: `, the files of `-fprint`, and the exit code that results.

use std::cell::{Cell, RefCell};
use std::io::{self, Write};

use trawl_text::locale::Locale;
use trawl_text::quote;

use crate::context::{Buffers, Context, Hands};
use crate::files::OutputFile;
use crate::output::{Output, Widths};

/// The destinations of output and messages.
pub struct Streams<'a> {
    /// Standard output.
    pub out: &'a mut dyn Write,
    /// Standard error.
    pub err: &'a mut dyn Write,
}

/// The output of some rows, to be written in order.
#[derive(Default)]
pub(crate) struct Part {
    pub(crate) out: Output,
    pub(crate) others: Vec<Output>,
    pub(crate) complaints: Vec<u8>,
    pub(crate) failed: bool,
    pub(crate) quit: bool,
    pub(crate) buffers: Buffers,
}

impl Part {
    /// Moves everything collected so far into a context.
    pub(crate) fn lend(&mut self, cx: &mut Context<'_>) {
        cx.out = std::mem::take(&mut self.out);
        cx.others = std::mem::take(&mut self.others);
        cx.complaints = std::mem::take(&mut self.complaints);
        cx.failed |= self.failed;
        cx.quit |= self.quit;
    }

    /// Takes everything back from the context.
    pub(crate) fn take_back(&mut self, mut cx: Context<'_>) {
        self.buffers = cx.take_buffers();
        self.out = cx.out;
        self.others = cx.others;
        self.complaints = cx.complaints;
        self.failed |= cx.failed;
        self.quit |= cx.quit;
    }

    /// Returns true if there is nothing to write and no flag is set.
    pub(crate) fn is_empty(&self) -> bool {
        let silent = self.out.is_empty() && self.complaints.is_empty();
        silent && self.others.iter().all(Output::is_empty) && !self.failed && !self.quit
    }

    /// Number of bytes to write.
    pub(crate) fn len(&self) -> usize {
        let others: usize = self.others.iter().map(|out| out.bytes.len()).sum();
        self.out.bytes.len() + self.complaints.len() + others
    }
}

/// Writes parts.
pub(crate) struct Printer<'a> {
    streams: RefCell<Streams<'a>>,
    widths: RefCell<Widths>,
    files: &'a [OutputFile],
    locale: Locale,
    failed: Cell<bool>,
    ended: Cell<bool>,
    /// The error that made standard output unusable. The search goes on, since
    /// it may do more than print.
    lost: RefCell<Option<io::Error>>,
}

impl<'a> Printer<'a> {
    pub(crate) fn new(streams: Streams<'a>, files: &'a [OutputFile], locale: Locale) -> Self {
        Printer {
            streams: RefCell::new(streams),
            widths: RefCell::default(),
            files,
            locale,
            failed: Cell::new(false),
            ended: Cell::new(false),
            lost: RefCell::default(),
        }
    }

    /// Returns true if the exit code is 1.
    pub(crate) fn has_failed(&self) -> bool {
        self.failed.get()
    }

    /// Returns true once the search is to end: `-quit`, a closed pipe.
    pub(crate) fn has_ended(&self) -> bool {
        self.ended.get()
    }

    /// Sets the exit code to 1.
    pub(crate) fn fail(&self) {
        self.failed.set(true);
    }

    /// Writes a part. A closed pipe ends the search but is not an error.
    pub(crate) fn emit(&self, part: Part) -> io::Result<()> {
        self.emit_and_return(part).map(drop)
    }

    /// Like [`Printer::emit`], but returns the printed bytes, whose memory can
    /// be reused.
    pub(crate) fn emit_and_return(&self, part: Part) -> io::Result<Vec<u8>> {
        if part.failed {
            self.fail();
        }
        if part.quit {
            self.ended.set(true);
        }
        let memory = self.put(part.out, part.others)?;
        self.tell(&part.complaints)?;
        Ok(memory)
    }

    /// Flushes everything, and reports the files that could not be written.
    ///
    /// # Errors
    /// The first error of writing to standard output.
    pub(crate) fn finish(&self) -> io::Result<()> {
        self.flush_all()?;
        self.tell_of_files()?;
        match self.lost.take() {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }

    /// Writes messages, one per line, after flushing everything that was
    /// printed before, as error(3) does.
    pub(crate) fn tell(&self, complaints: &[u8]) -> io::Result<()> {
        if complaints.is_empty() {
            return Ok(());
        }
        self.flush_all()?;
        let mut lines = Vec::with_capacity(complaints.len() + 64);
        for line in complaints.split_inclusive(|b| *b == b'\n') {
            lines.extend_from_slice(b"find: ");
            lines.extend_from_slice(line);
        }
        self.say_all(&lines);
        Ok(())
    }

    /// Writes a message about a path, and sets the exit code to 1.
    pub(crate) fn complain(&self, path: &[u8], why: &str) -> io::Result<()> {
        let mut line = Vec::new();
        self.add_complaint(path, why, &mut line);
        self.tell(&line)
    }

    /// Appends a message about a path to others, for [`Printer::tell`], and sets the exit code to 1.
    pub(crate) fn add_complaint(&self, path: &[u8], why: &str, complaints: &mut Vec<u8>) {
        let quoted = quote::message(path, self.locale);
        self.fail();
        complaints.extend_from_slice(format!("{quoted}: {why}\n").as_bytes());
    }

    /// Writes a line to standard error without changing the exit code.
    pub(crate) fn remark(&self, line: &str) -> io::Result<()> {
        self.say_all(format!("find: {line}\n").as_bytes());
        Ok(())
    }

    /// Writes to standard error. A failure to do so does not stop the search.
    fn say_all(&self, text: &[u8]) {
        let _ = self.streams.borrow_mut().err.write_all(text);
    }

    /// Writes output, and returns the bytes that were written to standard
    /// output.
    fn put(&self, out: Output, others: Vec<Output>) -> io::Result<Vec<u8>> {
        let widths = &mut self.widths.borrow_mut();
        let streams = &mut *self.streams.borrow_mut();
        for (file, output) in self.files.iter().zip(others) {
            if !output.is_empty() {
                file.write(&output.finish(widths), streams.err);
            }
        }
        let printed = out.finish(widths);
        if !printed.is_empty() && self.lost.borrow().is_none() {
            self.note(streams.out.write_all(&printed));
        }
        Ok(printed)
    }

    /// Reports the files that could not be written.
    fn tell_of_files(&self) -> io::Result<()> {
        for file in self.files {
            if let Some(why) = file.trouble() {
                self.complain(&file.path, &why)?;
            }
        }
        Ok(())
    }

    /// Keeps the first error for the end. A closed pipe ends the search, since
    /// the reader of the output has enough.
    fn note(&self, done: io::Result<()>) {
        match done {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => self.ended.set(true),
            Err(error) => {
                self.lost.borrow_mut().get_or_insert(error);
            }
        }
    }

    /// Flushes standard output.
    pub(crate) fn flush_printed(&self) {
        if self.lost.borrow().is_none() {
            self.note(self.streams.borrow_mut().out.flush());
        }
    }

    /// Flushes standard output and all files.
    pub(crate) fn flush_all(&self) -> io::Result<()> {
        self.files.iter().for_each(OutputFile::flush);
        self.flush_printed();
        Ok(())
    }
}

impl Hands for Printer<'_> {
    fn flush(&self, out: Output, others: Vec<Output>) {
        let _ = self.put(out, others).and_then(|_| self.flush_all());
    }

    fn tell(&self, complaints: &[u8]) {
        let _ = Printer::tell(self, complaints);
    }

    fn say(&self, text: &[u8]) {
        self.say_all(text);
    }
}
