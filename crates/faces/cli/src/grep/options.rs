//! Options of `trawl grep`.

use std::ffi::OsString;
use std::path::PathBuf;

use trawl_grep::options::{
    Binary, Case, Ending, Extent, Options, Patterns, Print, Select, Shown, Syntax,
};

use crate::arguments::Manner;
use crate::failure::Failure;
use crate::forms::{FormArgs, Offer};
use crate::output::Device;

/// The forms of the answer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Offered;

impl Offer for Offered {
    const JSON: &'static str = "Print JSON messages, as ripgrep does";
}

// Options of `trawl grep`.
#[derive(Debug, clap::Args)]
#[command(after_help = super::EXAMPLES)]
pub(crate) struct GrepArgs {
    /// Search for this pattern in these files and directories
    ///
    /// The first word is the pattern, unless -e or -f gives one. Directories are searched with
    /// everything below them. The default is the working directory. - is standard input.
    #[arg(value_name = "PATTERN|NAME")]
    pub(super) words: Vec<OsString>,
    /// Search the files that this find expression selects
    #[arg(
        last = true,
        value_name = "FIND-EXPRESSION",
        allow_hyphen_values = true
    )]
    pub(super) expression: Vec<OsString>,
    /// Search for PATTERN; may be given several times
    #[arg(
        short = 'e',
        long = "regexp",
        value_name = "PATTERN",
        allow_hyphen_values = true
    )]
    regexp: Vec<OsString>,
    /// Search for the patterns in FILE, one a line
    #[arg(short = 'f', long, value_name = "FILE")]
    file: Vec<PathBuf>,
    /// Read patterns as fixed strings
    #[arg(short = 'F', long)]
    fixed_strings: bool,
    /// Accepted: patterns are always extended
    #[arg(short = 'E', long)]
    extended_regexp: bool,
    /// Refused, with the remedy
    #[arg(short = 'P', long)]
    perl_regexp: bool,
    /// Ignore the case of letters
    #[arg(short = 'i', long)]
    ignore_case: bool,
    /// Ignore case unless the pattern has an upper-case letter
    #[arg(short = 'S', long)]
    smart_case: bool,
    /// Match only whole words
    #[arg(short = 'w', long)]
    word_regexp: bool,
    /// Match only whole lines
    #[arg(short = 'x', long)]
    line_regexp: bool,
    /// Select the lines that do not match
    #[arg(short = 'v', long)]
    invert_match: bool,
    /// Print the number of selected lines of each file
    #[arg(short = 'c', long)]
    count: bool,
    /// Print the names of files with a selected line
    #[arg(short = 'l', long)]
    files_with_matches: bool,
    /// Print the names of files without a selected line
    #[arg(short = 'L', long)]
    files_without_match: bool,
    /// Print only the matching parts of lines
    #[arg(short = 'o', long)]
    only_matching: bool,
    /// Print nothing and stop at the first selected line
    #[arg(short = 'q', long, visible_alias = "silent")]
    quiet: bool,
    /// Print no messages about files that cannot be read
    #[arg(short = 's', long)]
    no_messages: bool,
    /// Stop reading a file after N selected lines
    #[arg(short = 'm', long, value_name = "N")]
    max_count: Option<u64>,
    /// Print line numbers; default on a terminal
    #[arg(short = 'n', long, overrides_with = "no_line_number")]
    line_number: bool,
    /// Print no line numbers
    #[arg(short = 'N', long, overrides_with = "line_number")]
    no_line_number: bool,
    /// Print the column of the first match
    #[arg(long)]
    column: bool,
    /// Print the byte offset of each line
    #[arg(short = 'b', long)]
    byte_offset: bool,
    /// Print file names
    #[arg(short = 'H', long, overrides_with = "no_filename")]
    with_filename: bool,
    /// Print no file names
    #[arg(short = 'h', long, overrides_with = "with_filename")]
    no_filename: bool,
    /// Print file names above lines; default on a terminal
    #[arg(long, overrides_with = "no_heading")]
    heading: bool,
    /// Print file names before each line
    #[arg(long, overrides_with = "heading")]
    no_heading: bool,
    /// Print a NUL byte after file names
    #[arg(short = '0', long, short_alias = 'Z')]
    null: bool,
    /// Lines end with a NUL byte instead of a newline
    #[arg(short = 'z', long)]
    null_data: bool,
    /// Remove white space at the beginning of lines
    #[arg(long)]
    trim: bool,
    /// Print N lines after each selected line
    #[arg(short = 'A', long, value_name = "N")]
    after_context: Option<usize>,
    /// Print N lines before each selected line
    #[arg(short = 'B', long, value_name = "N")]
    before_context: Option<usize>,
    /// Print N lines before and after each selected line
    #[arg(short = 'C', long, value_name = "N")]
    context: Option<usize>,
    /// Search binary files as if they were text
    #[arg(short = 'a', long)]
    text: bool,
    /// Treat binary files as files without a match
    #[arg(short = 'I', long)]
    no_binary: bool,
    /// Decode files from this encoding, such as latin1
    ///
    /// The default is UTF-8, or what a byte order mark says.
    #[arg(long, value_name = "ENCODING")]
    encoding: Option<String>,
    /// Accepted: directories are always searched
    #[arg(short = 'r', long)]
    recursive: bool,
    /// Read every file, whatever an index says about contents
    #[arg(long)]
    pub(super) no_text_index: bool,
    /// Search only files whose names match GLOB
    #[arg(long, value_name = "GLOB")]
    pub(super) include: Vec<OsString>,
    /// Leave out files whose names match GLOB
    #[arg(long, value_name = "GLOB")]
    pub(super) exclude: Vec<OsString>,
    /// Leave out directories whose names match GLOB
    #[arg(long, value_name = "GLOB")]
    pub(super) exclude_dir: Vec<OsString>,
    /// Use N threads [default: one for each processor]
    #[arg(
        short = 'j',
        long,
        value_name = "N",
        default_value_t = 0,
        hide_default_value = true,
        value_parser = clap::value_parser!(u16).range(0..=1024)
    )]
    threads: u16,
    /// Print files in this order
    #[arg(long, value_name = "ORDER", value_enum)]
    pub(super) sort: Option<Sort>,
    /// Print counts and times at the end
    #[arg(long)]
    pub(super) stats: bool,
    #[command(flatten)]
    pub(super) form: FormArgs<Offered>,
    #[command(flatten)]
    pub(crate) manner: Manner,
    /// Print help
    #[arg(long, action = clap::ArgAction::Help)]
    help: Option<bool>,
}

/// Orders of output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Sort {
    /// By path
    Path,
    /// As files are done
    None,
}

impl GrepArgs {
    /// Returns whether messages about files are printed.
    pub(super) fn tells(&self) -> bool {
        !self.no_messages
    }

    /// Returns whether -q was given.
    pub(super) fn is_quiet(&self) -> bool {
        self.quiet
    }

    /// Returns whether the first word is a name because options give the patterns.
    pub(super) fn has_patterns(&self) -> bool {
        !self.regexp.is_empty() || !self.file.is_empty()
    }

    /// Returns the options of the search. `first` is the pattern, unless options give it;
    /// `is_single` says that one file is searched, whose name is not printed.
    pub(super) fn options(
        &self,
        first: Option<&OsString>,
        is_single: bool,
    ) -> Result<Options, Failure> {
        if self.perl_regexp {
            let text = "-P is not supported: leave it out; patterns have \\d, \\w, \\b and lazy \
                        repetition, but no look-around and no back-references";
            return Err(Failure::Usage(text.into()));
        }
        let is_terminal = Device::of_stdout() == Device::Terminal;
        let no_color = std::env::var_os("NO_COLOR");
        let colours = self.manner.color.unwrap_or_default();
        let names = !self.no_filename && (self.with_filename || !is_single);
        Ok(Options {
            patterns: self.patterns(first)?,
            select: match self.invert_match {
                true => Select::Others,
                false => Select::Matching,
            },
            ending: match self.null_data {
                true => Ending::Nul,
                false => Ending::Newline,
            },
            binary: match (self.text, self.no_binary) {
                (true, _) => Binary::Text,
                (_, true) => Binary::Skip,
                _ => Binary::Message,
            },
            encoding: self.encoding.clone(),
            print: self.print(),
            before: self.before_context.or(self.context).unwrap_or(0),
            after: self.after_context.or(self.context).unwrap_or(0),
            max_count: self.max_count,
            names: Shown::if_true(names),
            heading: Shown::if_true(self.heading || (is_terminal && !self.no_heading && names)),
            line_numbers: Shown::if_true(
                self.line_number
                    || self.form.is_json()
                    || ((is_terminal || self.column) && !self.no_line_number),
            ),
            columns: Shown::if_true(self.column),
            offsets: Shown::if_true(self.byte_offset),
            colours: Shown::if_true(colours.decide(Device::of_stdout(), no_color.as_deref())),
            nul_names: Shown::if_true(self.null),
            trimmed: Shown::if_true(self.trim),
            threads: self.threads.into(),
        })
    }

    /// Returns whether standard input holds patterns.
    pub(super) fn reads_patterns_from_input(&self) -> bool {
        self.file.iter().any(|file| file.as_os_str() == "-")
    }

    /// Returns whether the output is JSON.
    pub(super) fn is_json(&self) -> bool {
        self.form.is_json()
    }

    fn print(&self) -> Print {
        match () {
            () if self.quiet => Print::Nothing,
            () if self.form.is_json() => Print::Json,
            () if self.files_with_matches => Print::NamesWith,
            () if self.files_without_match => Print::NamesWithout,
            () if self.count => Print::Count,
            () if self.only_matching => Print::Parts,
            () => Print::Lines,
        }
    }

    fn patterns(&self, first: Option<&OsString>) -> Result<Patterns, Failure> {
        let mut texts = Vec::new();
        for given in self.regexp.iter().chain(first) {
            texts.extend(text(given)?.split('\n').map(String::from));
        }
        for path in &self.file {
            let read = match path.as_os_str() == "-" {
                true => std::io::read_to_string(std::io::stdin()),
                false => std::fs::read_to_string(path),
            };
            let read = read.map_err(|source| Failure::File {
                action: "read",
                path: path.clone(),
                source,
            })?;
            texts.extend(read.lines().map(String::from));
        }
        Ok(Patterns {
            texts,
            syntax: match self.fixed_strings {
                true => Syntax::Fixed,
                false => Syntax::Regex,
            },
            case: match (self.ignore_case, self.smart_case) {
                (true, _) => Case::Insensitive,
                (_, true) => Case::Smart,
                _ => Case::Sensitive,
            },
            extent: match (self.line_regexp, self.word_regexp) {
                (true, _) => Extent::Line,
                (_, true) => Extent::Word,
                _ => Extent::Anywhere,
            },
        })
    }
}

fn text(given: &OsString) -> Result<&str, Failure> {
    given.to_str().ok_or_else(|| {
        let text = "the pattern is not valid UTF-8: write bytes as (?-u:\\xff)";
        Failure::Usage(text.into())
    })
}
