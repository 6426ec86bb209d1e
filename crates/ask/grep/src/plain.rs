//! Lines without colours, columns and counts: what most searches print.
//!
//! The bytes are those of the printer of `grep-printer`. That one also resolves the path of every
//! member with a match, for links of terminals (a readlink(2) for each component), which costs more
//! than the search of a small file.

use std::io::{self, Write};

use grep_searcher::{Searcher, Sink, SinkContext, SinkFinish, SinkMatch};
use termcolor::Buffer;

use crate::options::{Options, Print, Shown};

/// Form of the lines.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Form {
    has_names: bool,
    has_heading: bool,
    /// A byte after names, in the place of a colon, a minus or a newline.
    name_end: Option<u8>,
}

impl Form {
    /// Returns the form of the lines; `None` if `grep-printer` has to print them.
    pub(crate) fn of(options: &Options, counts: bool) -> Option<Form> {
        let others = [
            options.colours,
            options.columns,
            options.offsets,
            options.trimmed,
        ];
        let is_plain = !counts && others.iter().all(|other| *other == Shown::No);
        (is_plain && options.print == Print::Lines).then(|| Form {
            has_names: options.names.is_yes(),
            has_heading: options.heading.is_yes(),
            name_end: options.nul_names.is_yes().then_some(0),
        })
    }
}

/// Prints the lines of one member.
pub(crate) struct Plain<'p> {
    out: &'p mut Buffer,
    name: &'p [u8],
    form: Form,
    has_written: bool,
    pub(crate) has_match: bool,
    /// Where the first NUL byte of a binary member lies.
    pub(crate) binary: Option<u64>,
}

impl<'p> Plain<'p> {
    pub(crate) fn new(out: &'p mut Buffer, name: &'p [u8], form: Form) -> Plain<'p> {
        Plain {
            out,
            name,
            form,
            has_written: false,
            has_match: false,
            binary: None,
        }
    }

    /// Writes a line; the separator stands behind its name and its number.
    fn line(
        &mut self,
        searcher: &Searcher,
        separator: u8,
        number: Option<u64>,
        line: &[u8],
    ) -> io::Result<()> {
        let Form {
            has_names,
            has_heading,
            name_end,
        } = self.form;
        let newline = searcher.line_terminator();
        if has_names && has_heading && !self.has_written {
            self.out.write_all(self.name)?;
            let end = name_end.unwrap_or(newline.as_byte());
            self.out.write_all(&[end])?;
        } else if has_names && !has_heading {
            self.out.write_all(self.name)?;
            self.out.write_all(&[name_end.unwrap_or(separator)])?;
        }
        self.has_written = true;
        if let Some(number) = number {
            write!(self.out, "{number}")?;
            self.out.write_all(&[separator])?;
        }
        self.out.write_all(line)?;
        if !newline.is_suffix(line) {
            self.out.write_all(newline.as_bytes())?;
        }
        Ok(())
    }

    /// Returns whether lines are not printed, because a message stands in their place.
    fn is_hidden(&self, searcher: &Searcher) -> bool {
        self.binary.is_some() && searcher.binary_detection().convert_byte().is_some()
    }
}

impl Sink for Plain<'_> {
    type Error = io::Error;

    fn matched(&mut self, searcher: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        self.has_match = true;
        if self.is_hidden(searcher) {
            return Ok(false);
        }
        self.line(searcher, b':', found.line_number(), found.bytes())?;
        Ok(true)
    }

    fn context(&mut self, searcher: &Searcher, line: &SinkContext<'_>) -> io::Result<bool> {
        if self.is_hidden(searcher) {
            return Ok(false);
        }
        self.line(searcher, b'-', line.line_number(), line.bytes())?;
        Ok(true)
    }

    fn context_break(&mut self, searcher: &Searcher) -> io::Result<bool> {
        self.out.write_all(b"--")?;
        self.out.write_all(searcher.line_terminator().as_bytes())?;
        Ok(true)
    }

    fn binary_data(&mut self, _: &Searcher, offset: u64) -> io::Result<bool> {
        self.binary = Some(offset);
        Ok(true)
    }

    fn finish(&mut self, searcher: &Searcher, _: &SinkFinish) -> io::Result<()> {
        let Some(offset) = self.binary.filter(|_| self.has_match) else {
            return Ok(());
        };
        // Lines of a member that is skipped are dropped.
        if searcher.binary_detection().convert_byte().is_none() {
            return Ok(());
        }
        if self.form.has_names {
            self.out.write_all(self.name)?;
            self.out.write_all(b": ")?;
        }
        let text = r#"binary file matches (found "\0" byte around offset"#;
        writeln!(self.out, "{text} {offset})")
    }
}
