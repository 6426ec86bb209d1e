//! The printers of `grep-printer`, one of them for each thread.

use std::io;
use std::path::Path;

use grep_printer::{
    ColorSpecs, JSON, JSONBuilder, Standard, StandardBuilder, Stats, Summary, SummaryBuilder,
    SummaryKind,
};
use grep_regex::RegexMatcher;
use grep_searcher::Searcher;
use termcolor::Buffer;
use trawl_sets::Opened;

use crate::options::{Options, Print};

pub(crate) enum Printer {
    Lines(Standard<Buffer>),
    Summary {
        printer: Summary<Buffer>,
        /// Whether names of members without a selected line are printed.
        is_without: bool,
    },
    Json(JSON<Buffer>),
}

/// What the search of one member found.
pub(crate) struct Looked {
    pub(crate) has_match: bool,
    pub(crate) is_binary: bool,
    pub(crate) stats: Option<Stats>,
}

impl Printer {
    pub(crate) fn new(options: &Options, counts: bool) -> Printer {
        let buffer = match options.colours.is_yes() {
            true => Buffer::ansi(),
            false => Buffer::no_color(),
        };
        let kind = match options.print {
            Print::Lines | Print::Parts => return Printer::lines(options, counts, buffer),
            Print::Json => return Printer::Json(JSONBuilder::new().build(buffer)),
            Print::Count => SummaryKind::Count,
            Print::NamesWith => SummaryKind::PathWithMatch,
            Print::NamesWithout => SummaryKind::PathWithoutMatch,
            Print::Nothing => SummaryKind::QuietWithMatch,
        };
        let mut builder = SummaryBuilder::new();
        builder
            .kind(kind)
            .color_specs(ColorSpecs::default_with_color())
            .stats(counts)
            .path(options.names.is_yes())
            .exclude_zero(false)
            .path_terminator(options.nul_names.is_yes().then_some(0));
        Printer::Summary {
            printer: builder.build(buffer),
            is_without: options.print == Print::NamesWithout,
        }
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
            Printer::Lines(printer) => printer.get_mut(),
            Printer::Summary { printer, .. } => printer.get_mut(),
            Printer::Json(printer) => printer.get_mut(),
        }
    }

    pub(crate) fn search(
        &mut self,
        matcher: &RegexMatcher,
        searcher: &mut Searcher,
        path: &Path,
        member: &Opened,
    ) -> io::Result<Looked> {
        let is_without = matches!(
            self,
            Printer::Summary {
                is_without: true,
                ..
            }
        );
        macro_rules! look {
            ($printer:expr, $stats:expr) => {{
                let mut sink = $printer.sink_with_path(matcher, path);
                match &member.content {
                    Some(content) => searcher.search_slice(matcher, content, &mut sink)?,
                    None => searcher.search_reader(matcher, &member.file, &mut sink)?,
                }
                // In a stream, what lies between NUL bytes counts as lines; in a slice it does not.
                if let (Some(content), Some(_)) = (&member.content, sink.binary_byte_offset()) {
                    drop(sink);
                    $printer.get_mut().clear();
                    sink = $printer.sink_with_path(matcher, path);
                    searcher.search_reader(matcher, &content[..], &mut sink)?;
                }
                Ok(Looked {
                    // This sink says whether the name was printed.
                    has_match: sink.has_match() != is_without,
                    is_binary: sink.binary_byte_offset().is_some(),
                    stats: $stats(&sink),
                })
            }};
        }
        match self {
            Printer::Lines(printer) => {
                look!(printer, |sink: &grep_printer::StandardSink<
                    '_,
                    '_,
                    _,
                    _,
                >| { sink.stats().cloned() })
            }
            Printer::Summary { printer, .. } => {
                look!(printer, |sink: &grep_printer::SummarySink<'_, '_, _, _>| {
                    sink.stats().cloned()
                })
            }
            Printer::Json(printer) => {
                look!(printer, |sink: &grep_printer::JSONSink<'_, '_, _, _>| Some(
                    sink.stats().clone()
                ))
            }
        }
    }
}
