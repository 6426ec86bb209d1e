//! The printers of `grep-printer`, one of them for each thread.

use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use grep_printer::{
    ColorSpecs, JSON, JSONBuilder, Standard, StandardBuilder, Stats, Summary, SummaryBuilder,
    SummaryKind,
};
use grep_searcher::{Searcher, SearcherBuilder, Sink};
use termcolor::Buffer;
use trawl_sets::Opened;

use crate::matcher::LineMatcher;
use crate::options::{Ending, Options, Print, Shown};
use crate::plain::{Form, Plain};

pub(crate) enum Printer {
    Plain(Buffer, Form),
    Lines(Standard<Buffer>),
    Summary(Summary<Buffer>, Naming),
    Json(JSON<Buffer>),
}

/// How a member's name is printed, if no lines are. `grep-printer` would resolve the path of each
/// member first, for hyperlinks in terminals.
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

/// The searchers of one thread.
pub(crate) struct Searchers {
    builder: SearcherBuilder,
    /// For contents in memory, of which it makes no copy.
    uncopied: Searcher,
    /// Whether all contents are transcoded, and thus copied.
    transcodes: bool,
}

impl Searchers {
    pub(crate) fn new(builder: &SearcherBuilder, options: &Options) -> Searchers {
        Searchers {
            builder: builder.clone(),
            uncopied: builder.build(),
            transcodes: options.encoding.is_some(),
        }
    }

    /// Returns whether a content is copied, for another encoding.
    fn copies(&self, content: &[u8]) -> bool {
        const MARKS: [&[u8]; 3] = [b"\xff\xfe", b"\xfe\xff", b"\xef\xbb\xbf"];
        self.transcodes || MARKS.iter().any(|mark| content.starts_with(mark))
    }
}

/// What the search of one member found.
pub(crate) struct Looked {
    pub(crate) has_match: bool,
    is_binary: bool,
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
    fn of(options: &Options) -> Naming {
        let place = match options.print {
            _ if options.colours.is_yes() => None,
            Print::Count => options.names.is_yes().then_some(Place::Before),
            Print::NamesWith | Print::NamesWithout => Some(Place::Alone),
            _ => None,
        };
        Naming {
            is_without: options.print == Print::NamesWithout,
            place,
            end: match (options.nul_names, place, options.ending) {
                (Shown::Yes, _, _) | (_, Some(Place::Alone), Ending::Nul) => 0,
                (_, Some(Place::Alone), Ending::Newline) => b'\n',
                _ => b':',
            },
        }
    }

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
        match options.print {
            Print::Lines | Print::Parts => Printer::lines(options, counts, buffer),
            Print::Json => Printer::Json(JSONBuilder::new().build(buffer)),
            _ => Printer::summary(options, counts, buffer),
        }
    }

    fn summary(options: &Options, counts: bool, buffer: Buffer) -> Printer {
        let naming = Naming::of(options);
        let is_here = naming.place.is_some();
        let kind = match options.print {
            Print::Count => SummaryKind::Count,
            Print::NamesWith if !is_here => SummaryKind::PathWithMatch,
            Print::NamesWithout if !is_here => SummaryKind::PathWithoutMatch,
            Print::NamesWithout => SummaryKind::QuietWithoutMatch,
            _ => SummaryKind::QuietWithMatch,
        };
        let mut builder = SummaryBuilder::new();
        builder
            .kind(kind)
            .color_specs(ColorSpecs::default_with_color())
            .stats(counts)
            .path(options.names.is_yes() && !is_here)
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
        matcher: &LineMatcher,
        searchers: &mut Searchers,
        path: &Path,
        member: &Opened,
    ) -> io::Result<Looked> {
        let mut looked = match &member.content {
            Some(content) => self.look(matcher, searchers, path, Content::Slice(content))?,
            None => self.look(matcher, searchers, path, Content::Stream(&mut &member.file))?,
        };
        if !looked.is_binary {
            return Ok(looked);
        }
        // A binary member that is skipped is one without lines.
        if searchers.uncopied.binary_detection().quit_byte().is_some() {
            let empty = self.look(matcher, searchers, path, Content::Slice(b""))?;
            looked.has_match = empty.has_match;
            return Ok(looked);
        }
        match &member.content {
            // In a stream, what lies between NUL bytes counts as lines; in a slice it does not.
            Some(content) => {
                self.look(matcher, searchers, path, Content::Stream(&mut &content[..]))
            }
            None => Ok(looked),
        }
    }

    fn look(
        &mut self,
        matcher: &LineMatcher,
        searchers: &mut Searchers,
        path: &Path,
        content: Content<'_>,
    ) -> io::Result<Looked> {
        self.buffer().clear();
        match self {
            Printer::Plain(buffer, form) => {
                let mut sink = Plain::new(buffer, path.as_os_str().as_bytes(), *form);
                content.search(matcher, searchers, &mut sink)?;
                Ok(Looked::new(sink.has_match, sink.binary, None))
            }
            Printer::Lines(printer) => {
                let mut sink = printer.sink_with_path(matcher, path);
                content.search(matcher, searchers, &mut sink)?;
                let (binary, stats) = (sink.binary_byte_offset(), sink.stats().cloned());
                Ok(Looked::new(sink.has_match(), binary, stats))
            }
            Printer::Summary(printer, naming) => {
                let mut sink = printer.sink_with_path(matcher, path);
                content.search(matcher, searchers, &mut sink)?;
                let (binary, stats) = (sink.binary_byte_offset(), sink.stats().cloned());
                let has_match = sink.has_match();
                drop(sink);
                // This sink says whether the name is printed.
                naming.write(printer.get_mut(), path.as_os_str().as_bytes(), has_match)?;
                Ok(Looked::new(has_match != naming.is_without, binary, stats))
            }
            Printer::Json(printer) => {
                let mut sink = printer.sink_with_path(matcher, path);
                content.search(matcher, searchers, &mut sink)?;
                let (binary, stats) = (sink.binary_byte_offset(), sink.stats().clone());
                Ok(Looked::new(sink.has_match(), binary, Some(stats)))
            }
        }
    }
}

impl Content<'_> {
    /// A searcher that copies, and has met a long line, looks for NUL bytes further ahead from then on:
    /// what it prints of a binary member would depend on the members before. So each copied content
    /// has a searcher of its own.
    fn search<S: Sink<Error = io::Error>>(
        self,
        matcher: &LineMatcher,
        searchers: &mut Searchers,
        sink: S,
    ) -> io::Result<()> {
        match self {
            Content::Slice(slice) if searchers.copies(slice) => {
                let mut searcher = searchers.builder.build();
                searcher.search_slice(matcher, slice, sink)
            }
            Content::Slice(slice) => searchers.uncopied.search_slice(matcher, slice, sink),
            Content::Stream(reader) => {
                let mut searcher = searchers.builder.build();
                searcher.search_reader(matcher, reader, sink)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::{Binary, Patterns, Select};
    use crate::search::{matcher, searcher};
    use trawl_sets::PlaceId;

    const CONTENTS: [&[u8]; 7] = [
        b"",
        b"none\nof\nthem\n",
        b"one\nfoo\ntwo\nthree\nfour\nfoo foo\nno newline foo",
        b"foo before\nbinary\0\nfoo behind\n",
        b"binary\0\nnothing\n",
        b"foo\0bar\0last foo",
        b"\n\nfoo\r\n\n\xff foo\n",
    ];

    /// Returns the forms in which lines and names are printed here instead of by `grep-printer`.
    fn forms() -> Vec<Options> {
        let mut forms = Vec::new();
        for bits in 0..1u32 << 8 {
            let shown = |at: u32| Shown::if_true(bits >> at & 1 == 1);
            let base = Options {
                patterns: Patterns {
                    texts: vec!["foo".into()],
                    ..Patterns::default()
                },
                names: shown(0),
                heading: shown(1),
                line_numbers: shown(2),
                nul_names: shown(3),
                before: (bits >> 4 & 1) as usize,
                after: (bits >> 5 & 1) as usize,
                select: [Select::Matching, Select::Others][(bits >> 6 & 1) as usize],
                ending: [Ending::Newline, Ending::Nul][(bits >> 7 & 1) as usize],
                ..Options::default()
            };
            for print in [
                Print::Lines,
                Print::Count,
                Print::NamesWith,
                Print::NamesWithout,
            ] {
                for binary in [Binary::Message, Binary::Text] {
                    forms.push(Options {
                        print,
                        binary,
                        ..base.clone()
                    });
                }
            }
        }
        forms
    }

    /// Returns a printer that leaves everything to `grep-printer`.
    fn oracle(options: &Options) -> Printer {
        let buffer = Buffer::no_color();
        let kind = match options.print {
            Print::Count => SummaryKind::Count,
            Print::NamesWith => SummaryKind::PathWithMatch,
            Print::NamesWithout => SummaryKind::PathWithoutMatch,
            _ => return Printer::lines(options, false, buffer),
        };
        let mut builder = SummaryBuilder::new();
        builder
            .kind(kind)
            .path(options.names.is_yes())
            .exclude_zero(false)
            .path_terminator(options.nul_names.is_yes().then_some(0));
        let naming = Naming {
            is_without: options.print == Print::NamesWithout,
            place: None,
            end: 0,
        };
        Printer::Summary(builder.build(buffer), naming)
    }

    fn printed(printer: &mut Printer, options: &Options, member: &Opened) -> (Vec<u8>, bool, bool) {
        let matcher = matcher(options).unwrap();
        let mut searchers = Searchers::new(&searcher(options).unwrap(), options);
        let path = Path::new("some/name");
        let looked = printer.search(&matcher, &mut searchers, path, member);
        let looked = looked.unwrap();
        let output = printer.buffer().as_slice().to_vec();
        (output, looked.has_match, looked.is_binary)
    }

    fn member(content: Vec<u8>) -> Opened {
        Opened {
            name: b"some/name".to_vec(),
            file: std::fs::File::open("/dev/null").unwrap(),
            is_stream: false,
            content: Some(content),
            place: PlaceId::Mount(0),
            was_cached: true,
            position: 0,
        }
    }

    #[test]
    fn what_is_printed_does_not_depend_on_the_members_before() {
        let options = Options {
            patterns: Patterns {
                texts: vec!["foo".into()],
                ..Patterns::default()
            },
            select: Select::Others,
            ..Options::default()
        };
        let late_nul = member([&b"x\n".repeat(40_000)[..], b"\0foo\n"].concat());
        let (first, ..) = printed(&mut Printer::new(&options, false), &options, &late_nul);
        assert!(first.len() > 30_000, "{} bytes", first.len());
        let mut searchers = Searchers::new(&searcher(&options).unwrap(), &options);
        let (matcher, path) = (matcher(&options).unwrap(), Path::new("some/name"));
        let mut printer = Printer::new(&options, false);
        let line = "a long line ".repeat(40_000).into_bytes();
        for mark in [&b"\0"[..], b"\xef\xbb\xbf\0", b"\xff\xfe"] {
            let long = member([mark, &line].concat());
            for one in [&long, &late_nul] {
                let looked = printer.search(&matcher, &mut searchers, path, one);
                looked.unwrap();
            }
            assert!(printer.buffer().as_slice() == first, "after {mark:?}");
        }
    }

    #[test]
    fn what_is_printed_here_is_what_grep_printer_prints() {
        let mut printed_bytes = 0;
        for options in forms() {
            for content in CONTENTS {
                let member = member(content.to_vec());
                let own = printed(&mut Printer::new(&options, false), &options, &member);
                let theirs = printed(&mut oracle(&options), &options, &member);
                let shown = content.escape_ascii();
                assert_eq!(own, theirs, "{shown} with {options:?}");
                printed_bytes += own.0.len();
            }
        }
        assert!(printed_bytes > 10_000);
    }
}
