//! The description of a predicate: one row of the [`crate::registry`].

use trawl_model::ColumnSet;

use crate::error::FindError;
use crate::leaf::Leaf;
use crate::parser::Arguments;

/// The role of a predicate, in the order in which help lists them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// Joins or groups other predicates.
    Operator,
    /// Changes the whole search, wherever it stands; always true.
    GlobalOption,
    /// Changes the predicates after it; always true.
    PositionalOption,
    /// True or false of an entry, with no other effect.
    Test,
    /// Has an effect, such as output.
    Action,
}

/// The standard or program that a predicate comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Standard {
    /// POSIX.1 find.
    Posix,
    /// GNU find.
    Gnu,
    /// bfs(1).
    Bfs,
    /// None: Trawl's own.
    Trawl,
}

/// The cost of a test, cheapest first. Tests without side effects are evaluated
/// in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Cost {
    /// Nothing.
    Free,
    /// A comparison of numbers.
    Number,
    /// A match against a name.
    Name,
    /// A look-up in a table or a system database.
    LookUp,
    /// A path has to be assembled and matched.
    Path,
    /// A regular expression over the path.
    Regex,
    /// A look at the file itself, which may fail with a message. Only tests
    /// that need nothing but the path come before it.
    Look,
    /// The content of the file has to be known, which may mean that it is read.
    Content,
    /// Output.
    Output,
}

/// How words join into a tree, in order of decreasing precedence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operator {
    /// `(`
    Open,
    /// `)`
    Close,
    /// `!`
    Not,
    /// `-exclude`
    Exclude,
    /// `-a`
    And,
    /// `-o`
    Or,
    /// `,`
    Comma,
}

impl Operator {
    /// Returns true if the operator stands in front of its operand.
    pub(crate) fn begins_a_part(self) -> bool {
        matches!(self, Operator::Open | Operator::Not | Operator::Exclude)
    }
}

/// How a predicate is parsed.
#[derive(Clone, Copy)]
pub enum Parse {
    /// Parses its arguments and becomes a leaf of the expression.
    Leaf(fn(&mut Arguments<'_>) -> Result<Box<dyn Leaf>, FindError>),
    /// Parses its arguments into the settings; the leaf is always true.
    Option(fn(&mut Arguments<'_>) -> Result<(), FindError>),
    /// Joins leaves.
    Operator(Operator),
}

/// A word of the find language. Help, man page and completions are generated
/// from these.
pub struct Predicate {
    /// Its name with the dash.
    pub name: &'static str,
    /// Other spellings.
    pub aliases: &'static [&'static str],
    /// Its arguments as help shows them; empty if it takes none.
    pub args: &'static str,
    /// Its role.
    pub kind: Kind,
    /// Its description: one line that starts with a verb, without a full stop.
    pub help: &'static str,
    /// Its cost per row.
    pub cost: Cost,
    /// The columns it reads; a leaf may add to them ([`Leaf::columns`]).
    pub columns: ColumnSet,
    /// The standard or program that it comes from.
    pub standard: Standard,
    /// How it is parsed.
    pub parse: Parse,
}

impl Predicate {
    /// The name and the aliases.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        std::iter::once(self.name).chain(self.aliases.iter().copied())
    }
}

impl std::fmt::Debug for Predicate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}
