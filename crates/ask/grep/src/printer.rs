//! The printers of `grep-printer`, one of them for each thread.

use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use grep_printer::{
    ColorSpecs, JSON, JSONBuilder, Standard, StandardBuilder, Stats, Summary, SummaryBuilder,
    SummaryKind,
};
use grep_regex::RegexMatcher;
use grep_searcher::Searcher;
use termcolor::Buffer;
use trawl_sets::Opened;

use crate::options::{Ending, Options, Print};
use crate::plain::{Form, Plain};

pub(crate) enum Printer {
    Plain(Buffer, Form),
    Lines(Standard<Buffer>),
    Summary(Summary<Buffer>, Naming),
    Json(JSON<Buffer>),
}

/// What is printed about a member beside its lines, and by whom: `grep-printer` would resolve the
/// path of each, for links of terminals.
#[derive(Clone, Copy)]
pub(crate) struct Naming {
    /// Whether the summary is about members without a selected line.
    is_without: bool,
    /// Where the name is written here; `None` if `grep-printer` does it.
    place: Option<Place>,
    /// The byte after the name.
    end: u8,
}

/// Where a name is written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Before the number of lines.
    Before,
    /// Alone.
    Alone,
}

/// The content of a member.
enum Content<'c> {
    Slice(&'c [u8]),
    Stream(&'c mut dyn Read),
}

/// What the search of one member found.
pub(crate) struct Looked {
    pub(crate) has_match: bool,
    pub(crate) is_binary: bool,
    pub(crate) stats: Option<Stats>,
}

impl Looked {
    fn new(has_match: bool, binary: Option<u64>, stats: Option<Stats>) -> Looked {
        Looked {
            has_match,
            is_binary: binary.is_some(),
            stats,
        }
    }
}

impl Naming {
    /// Puts the name into the output of a summary, if it belongs there.
    fn write(&self, out: &mut Buffer, name: &[u8], is_named: bool) -> io::Result<()> {
        match self.place {
            Some(Place::Before) if !out.is_empty() => {
                let number = out.as_slice().to_vec();
                out.clear();
                out.write_all(name)?;
                out.write_all(&[self.end])?;
                out.write_all(&number)
            }
            Some(Place::Alone) if is_named => {
                out.write_all(name)?;
                out.write_all(&[self.end])
            }
            _ => Ok(()),
        }
    }
}

impl Printer {
    pub(crate) fn new(options: &Options, counts: bool) -> Printer {
        let buffer = match options.colours.is_yes() {
            true => Buffer::ansi(),
            false => Buffer::no_color(),
        };
        if let Some(form) = Form::of(options, counts) {
            return Printer::Plain(buffer, form);
        }
        let place = match options.print {
            _ if options.colours.is_yes() => None,
            Print::Count => options.names.is_yes().then_some(Place::Before),
            Print::NamesWith | Print::NamesWithout => Some(Place::Alone),
            _ => None,
        };
        let kind = match options.print {
            Print::Lines | Print::Parts => return Printer::lines(options, counts, buffer),
            Print::Json => return Printer::Json(JSONBuilder::new().build(buffer)),
            Print::Count => SummaryKind::Count,
            Print::NamesWith if place.is_none() => SummaryKind::PathWithMatch,
            Print::NamesWithout if place.is_none() => SummaryKind::PathWithoutMatch,
            Print::NamesWithout => SummaryKind::QuietWithoutMatch,
            Print::NamesWith | Print::Nothing => SummaryKind::QuietWithMatch,
        };
        let naming = Naming {
            is_without: options.print == Print::NamesWithout,
            place,
            end: match (options.nul_names.is_yes(), place) {
                (true, _) => 0,
                (_, Some(Place::Before)) => b':',
                _ => match options.ending {
                    Ending::Newline => b'\n',
                    Ending::Nul => 0,
                },
            },
        };
        let mut builder = SummaryBuilder::new();
        builder
            .kind(kind)
            .color_specs(ColorSpecs::default_with_color())
            .stats(counts)
            .path(options.names.is_yes() && place.is_none())
            .exclude_zero(false)
            .path_terminator(options.nul_names.is_yes().then_some(0));
        Printer::Summary(builder.build(buffer), naming)
    }

    fn lines(options: &Options, counts: bool, buffer: Buffer) -> Printer {
        let mut builder = StandardBuilder::new();
        builder
            .color_specs(ColorSpecs::default_with_color())
            .stats(counts)
            .heading(options.heading.is_yes())
            .path(options.names.is_yes())
            .only_matching(options.print == Print::Parts)
            .column(options.columns.is_yes())
            .byte_offset(options.offsets.is_yes())
            .trim_ascii(options.trimmed.is_yes())
            .separator_context(Some(b"--".to_vec()))
            .path_terminator(options.nul_names.is_yes().then_some(0));
        Printer::Lines(builder.build(buffer))
    }

    pub(crate) fn buffer(&mut self) -> &mut Buffer {
        match self {
            Printer::Plain(buffer, _) => buffer,
            Printer::Lines(printer) => printer.get_mut(),
            Printer::Summary(printer, _) => printer.get_mut(),
            Printer::Json(printer) => printer.get_mut(),
        }
    }

    /// Searches a member; its output is in the buffer, alone.
    pub(crate) fn search(
        &mut self,
        matcher: &RegexMatcher,
        searcher: &mut Searcher,
        path: &Path,
        member: &Opened,
    ) -> io::Result<Looked> {
        let Some(content) = &member.content else {
            let file = Content::Stream(&mut &member.file);
            return self.look(matcher, searcher, path, file);
        };
        let looked = self.look(matcher, searcher, path, Content::Slice(content))?;
        match looked.is_binary {
            // In a stream, what lies between NUL bytes counts as lines; in a slice it does not.
            true => self.look(matcher, searcher, path, Content::Stream(&mut &content[..])),
            false => Ok(looked),
        }
    }

    fn look(
        &mut self,
        matcher: &RegexMatcher,
        searcher: &mut Searcher,
        path: &Path,
        content: Content<'_>,
    ) -> io::Result<Looked> {
        self.buffer().clear();
        macro_rules! look {
            ($sink:expr) => {
                match content {
                    Content::Slice(slice) => searcher.search_slice(matcher, slice, $sink)?,
                    Content::Stream(reader) => searcher.search_reader(matcher, reader, $sink)?,
                }
            };
        }
        match self {
            Printer::Plain(buffer, form) => {
                let mut sink = Plain::new(buffer, path.as_os_str().as_bytes(), *form);
                look!(&mut sink);
                Ok(Looked::new(sink.has_match, sink.binary, None))
            }
            Printer::Lines(printer) => {
                let mut sink = printer.sink_with_path(matcher, path);
                look!(&mut sink);
                let (binary, stats) = (sink.binary_byte_offset(), sink.stats().cloned());
                Ok(Looked::new(sink.has_match(), binary, stats))
            }
            Printer::Summary(printer, naming) => {
                let mut sink = printer.sink_with_path(matcher, path);
                look!(&mut sink);
                let (binary, stats) = (sink.binary_byte_offset(), sink.stats().cloned());
                // This sink says whether the name is printed.
                let has_match = sink.has_match();
                drop(sink);
                let is_left_out =
                    binary.is_some() && searcher.binary_detection().quit_byte().is_some();
                let is_named = has_match && !is_left_out;
                naming.write(printer.get_mut(), path.as_os_str().as_bytes(), is_named)?;
                Ok(Looked::new(has_match != naming.is_without, binary, stats))
            }
            Printer::Json(printer) => {
                let mut sink = printer.sink_with_path(matcher, path);
                look!(&mut sink);
                let (binary, stats) = (sink.binary_byte_offset(), sink.stats().clone());
                Ok(Looked::new(sink.has_match(), binary, Some(stats)))
            }
        }
    }
}
