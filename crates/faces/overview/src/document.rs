//! An overview: sections of sentences, tables and pictures. Nothing in it is formatted for HTML or
//! for plain text yet.

use trawl_model::Timestamp;
use trawl_session::Completeness;

/// An overview.
#[derive(Clone, Debug, Default)]
pub struct Document {
    /// What it is about.
    pub title: Vec<u8>,
    /// For whom, on which machine and with which program it was made.
    pub origin: Vec<(&'static str, Vec<u8>)>,
    /// Time at which it was made.
    pub made: Timestamp,
    /// The sections.
    pub sections: Vec<Section>,
}

/// An answer to one question, or to a few that belong together.
#[derive(Clone, Debug, Default)]
pub struct Section {
    /// Name in addresses and options: lower-case letters.
    pub name: &'static str,
    /// Heading.
    pub title: &'static str,
    /// What is shown and how it was counted.
    pub about: String,
    /// The contents.
    pub parts: Vec<Part>,
    /// Times as of which the answer is true, with the place that each is about. A place has one
    /// line.
    pub as_of: Vec<(Vec<u8>, String)>,
    /// Messages about what the answer lacks, and other remarks.
    pub remarks: Vec<String>,
    /// Number of further messages, which are not kept.
    pub remarks_left_out: u64,
    /// What the answer lacks.
    pub lacking: Completeness,
    /// Command lines that give the same.
    pub commands: Vec<String>,
}

/// A part of a section.
#[derive(Clone, Debug)]
pub enum Part {
    /// A sentence.
    Sentence(Vec<u8>),
    /// A table.
    Table(Table),
    /// Areas that show the sizes of a tree's parts.
    Tiles(Tiles),
    /// A value over time.
    Curve(Curve),
}

/// A table. The first column names its rows.
#[derive(Clone, Debug, Default)]
pub struct Table {
    /// What the rows are.
    pub caption: Vec<u8>,
    /// Headings of the columns.
    pub columns: Vec<Column>,
    /// The rows; each has as many cells as there are columns.
    pub rows: Vec<Vec<Cell>>,
}

/// A column of a table.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// Heading.
    pub heading: &'static str,
    /// How its cells are aligned.
    pub align: Align,
}

/// Alignment of cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// Words.
    Left,
    /// Numbers.
    Right,
}

/// A cell of a table.
#[derive(Clone, Debug)]
pub enum Cell {
    /// Words or numbers.
    Text(String),
    /// A name or a path.
    Name(Vec<u8>),
    /// A share of a whole, from 0 to 1; drawn as a bar.
    Share(f64),
}

impl Section {
    /// Returns true if nothing is missing.
    pub fn is_complete(&self) -> bool {
        self.lacking.is_complete()
    }
}

impl Document {
    /// Returns what all sections lack.
    pub fn lacking(&self) -> Completeness {
        let mut all = Completeness::default();
        for section in &self.sections {
            all.add(&section.lacking);
        }
        all
    }
}

/// A tree whose parts are drawn as areas.
#[derive(Clone, Debug, Default)]
pub struct Tiles {
    /// What is drawn.
    pub caption: Vec<u8>,
    /// The parts.
    pub tiles: Vec<Tile>,
}

/// A part of a tree.
#[derive(Clone, Debug, Default)]
pub struct Tile {
    /// Name.
    pub label: Vec<u8>,
    /// Size, which the area shows.
    pub bytes: u64,
    /// Parts of it.
    pub tiles: Vec<Tile>,
}

/// A value over time.
#[derive(Clone, Debug, Default)]
pub struct Curve {
    /// What is drawn.
    pub caption: Vec<u8>,
    /// Times and bytes, in the order of time.
    pub points: Vec<(Timestamp, u64)>,
}

/// Returns a column of words.
pub const fn words(heading: &'static str) -> Column {
    Column {
        heading,
        align: Align::Left,
    }
}

/// Returns a column of numbers.
pub const fn numbers(heading: &'static str) -> Column {
    Column {
        heading,
        align: Align::Right,
    }
}
