//! Represents a command line of find as a tree of its parts, so that parts can be left out, and
//! derives from its words how its output must be compared.

use std::fmt::Write as _;

use super::build::quoted;

/// A word of a command line: bytes without NUL.
pub type Word = Vec<u8>;

/// How sub-expressions are joined, loosest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Operator {
    /// `,`
    Comma,
    /// `-o`
    Or,
    /// `-a`, or nothing.
    And,
}

/// Name of scripts that change an entry: the word behind the script's text in the arguments of
/// `-exec`.
pub const CHANGE: &str = "change";

/// An expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expr {
    /// A test, an action or an option, with its arguments.
    Leaf(Vec<Word>),
    /// `!`, or `-not`.
    Not(Word, Box<Expr>),
    /// Two or more, joined by this word, which may be empty for `And`.
    Join(Operator, Word, Vec<Expr>),
    /// An expression in redundant parentheses.
    Group(Box<Expr>),
}

/// Unusual streams and signals with which a finder starts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Start {
    /// Nothing unusual.
    #[default]
    Usual,
    /// Standard input is closed.
    NoInput,
    /// Standard output is closed.
    NoOutput,
    /// Every write to standard output fails with "no space".
    FullOutput,
    /// Standard output is a pipe without a reader, and its signal is ignored.
    UnreadOutput,
    /// Signals are ignored.
    IgnoredSignals,
}

impl Start {
    /// Returns the shell script that sets this up and then executes the finder; `None` if not
    /// needed.
    pub fn script(self) -> Option<&'static str> {
        Some(match self {
            Start::Usual => return None,
            Start::NoInput => "exec \"$@\" <&-",
            Start::NoOutput => "exec \"$@\" >&-",
            Start::FullOutput => "exec \"$@\" > /dev/full",
            Start::UnreadOutput => {
                "trap '' PIPE; exec 9> >(exec 0<&-); wait $!; exec \"$@\" >&9 9>&-"
            }
            Start::IgnoredSignals => "trap '' PIPE HUP USR1; exec \"$@\"",
        })
    }
}

/// A command line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Case {
    /// Streams and signals at the start.
    pub start: Start,
    /// Environment variables to set.
    pub env: Vec<(String, String)>,
    /// `-H -L -P -O…`.
    pub leading: Vec<Word>,
    /// Start points.
    pub starts: Vec<Word>,
    /// Start points in the file that `-files0-from` names.
    pub starts_file: Option<Vec<Word>>,
    /// Options for the whole search, each with its argument.
    pub globals: Vec<Vec<Word>>,
    /// Words in front of the rest that hide some entries; may be empty.
    pub hides: Vec<Word>,
    /// The rest, joined without an operator.
    pub exprs: Vec<Expr>,
}

impl Expr {
    /// Makes a leaf from its words.
    pub fn leaf<W: AsRef<[u8]>>(words: &[W]) -> Expr {
        Expr::Leaf(words.iter().map(|word| word.as_ref().to_vec()).collect())
    }

    fn binds(&self) -> Option<Operator> {
        match self {
            Expr::Join(operator, ..) => Some(*operator),
            _ => None,
        }
    }

    fn render(&self, words: &mut Vec<Word>) {
        match self {
            Expr::Leaf(leaf) => words.extend_from_slice(leaf),
            Expr::Group(inner) => {
                words.push(b"(".to_vec());
                inner.render(words);
                words.push(b")".to_vec());
            }
            Expr::Not(word, inner) => {
                words.push(word.clone());
                inner.render_within(inner.binds().is_some(), words);
            }
            Expr::Join(operator, word, parts) => {
                for (at, part) in parts.iter().enumerate() {
                    if at > 0 && !word.is_empty() {
                        words.push(word.clone());
                    }
                    let is_looser = part.binds().is_some_and(|inner| inner <= *operator);
                    part.render_within(is_looser, words);
                }
            }
        }
    }

    fn render_within(&self, needs_parentheses: bool, words: &mut Vec<Word>) {
        if needs_parentheses {
            words.push(b"(".to_vec());
        }
        self.render(words);
        if needs_parentheses {
            words.push(b")".to_vec());
        }
    }

    /// Collects every leaf in it.
    pub fn leaves<'a>(&'a self, found: &mut Vec<&'a [Word]>) {
        match self {
            Expr::Leaf(words) => found.push(words),
            Expr::Not(_, inner) | Expr::Group(inner) => inner.leaves(found),
            Expr::Join(_, _, parts) => parts.iter().for_each(|part| part.leaves(found)),
        }
    }

    /// Returns the expression with its leaves changed.
    pub fn map(&self, change: &impl Fn(&[Word]) -> Vec<Word>) -> Expr {
        match self {
            Expr::Leaf(words) => Expr::Leaf(change(words)),
            Expr::Not(word, inner) => Expr::Not(word.clone(), Box::new(inner.map(change))),
            Expr::Group(inner) => Expr::Group(Box::new(inner.map(change))),
            Expr::Join(operator, word, parts) => {
                let parts = parts.iter().map(|part| part.map(change)).collect();
                Expr::Join(*operator, word.clone(), parts)
            }
        }
    }

    /// Returns smaller expressions to replace it, the smallest first.
    fn smaller(&self) -> Vec<Expr> {
        match self {
            Expr::Leaf(_) => Vec::new(),
            Expr::Not(word, inner) => {
                let within = inner.smaller().into_iter();
                let within = within.map(|inner| Expr::Not(word.clone(), Box::new(inner)));
                std::iter::once((**inner).clone()).chain(within).collect()
            }
            Expr::Group(inner) => {
                let within = inner.smaller().into_iter();
                let within = within.map(|inner| Expr::Group(Box::new(inner)));
                std::iter::once((**inner).clone()).chain(within).collect()
            }
            Expr::Join(operator, word, parts) => smaller_join(*operator, word, parts),
        }
    }
}

fn smaller_join(operator: Operator, word: &Word, parts: &[Expr]) -> Vec<Expr> {
    let mut found: Vec<Expr> = parts.to_vec();
    for at in 0..parts.len() {
        if parts.len() > 2 {
            let mut fewer = parts.to_vec();
            fewer.remove(at);
            found.push(Expr::Join(operator, word.clone(), fewer));
        }
        for smaller in parts[at].smaller() {
            let mut changed = parts.to_vec();
            changed[at] = smaller;
            found.push(Expr::Join(operator, word.clone(), changed));
        }
    }
    found
}

impl Case {
    /// Makes a command line of these words: start points, then leaves. A leaf extends from a word
    /// with a dash or an operator to the next one.
    pub fn of_words(words: &[&str]) -> Case {
        let mut case = Case::default();
        for word in words {
            let bytes = word.as_bytes().to_vec();
            let is_first = word.starts_with('-') || ["(", ")", "!", ","].contains(word);
            match case.exprs.last_mut() {
                _ if ["-L", "-H", "-P"].contains(word) || word.starts_with("-O") => {
                    case.leading.push(bytes);
                }
                None if !is_first => case.starts.push(bytes),
                Some(Expr::Leaf(leaf)) if !is_first => leaf.push(bytes),
                _ => case.exprs.push(Expr::Leaf(vec![bytes])),
            }
        }
        case
    }

    /// Returns every word behind the program's name.
    pub fn words(&self) -> Vec<Word> {
        let mut words = self.leading.clone();
        words.extend_from_slice(&self.starts);
        words.extend(self.globals.iter().flatten().cloned());
        words.extend_from_slice(&self.hides);
        let is_within = !self.hides.is_empty() && !self.exprs.is_empty();
        if is_within {
            words.push(b"(".to_vec());
        }
        for expr in &self.exprs {
            let is_loose =
                self.exprs.len() > 1 && expr.binds().is_some_and(|op| op < Operator::And);
            expr.render_within(is_loose, &mut words);
        }
        if is_within {
            words.push(b")".to_vec());
        }
        words
    }

    /// Returns every test, action and option in the expression.
    pub fn leaves(&self) -> Vec<&[Word]> {
        let mut found = Vec::new();
        self.exprs.iter().for_each(|expr| expr.leaves(&mut found));
        found
    }

    /// Returns whether a word occurs; a leaf may consist of several tests.
    pub fn has(&self, word: &str) -> bool {
        let first = |leaf: &&[Word]| leaf.first().is_some_and(|w| w == word.as_bytes());
        let is_in = |leaf: &&[Word]| leaf.iter().any(|w| w == word.as_bytes());
        self.leaves().iter().any(is_in)
            || self.leading.iter().any(|w| w == word.as_bytes())
            || self.globals.iter().any(|g| first(&g.as_slice()))
    }

    /// Returns whether it changes the tree.
    pub fn changes(&self) -> bool {
        let is_change = |leaf: &&[Word]| leaf.contains(&CHANGE.as_bytes().to_vec());
        self.has("-delete") || self.leaves().iter().any(is_change)
    }

    /// Returns the command line with `-quit` replaced by `-true`.
    pub fn without_quit(&self) -> Case {
        let change = |words: &[Word]| match words {
            [quit] if quit == b"-quit" => vec![b"-true".to_vec()],
            _ => words.to_vec(),
        };
        let mut case = self.clone();
        case.exprs = self.exprs.iter().map(|expr| expr.map(&change)).collect();
        case
    }

    /// Returns the command line without entries whose path contains `part`.
    pub fn without_paths(&self, part: &str) -> Case {
        let pattern = format!("*{part}*").into_bytes();
        Case {
            hides: vec![b"!".to_vec(), b"-path".to_vec(), pattern],
            ..self.clone()
        }
    }

    /// Returns every start point, including those in a file.
    pub fn all_starts(&self) -> Vec<&Word> {
        let from_file = self.starts_file.iter().flatten();
        self.starts.iter().chain(from_file).collect()
    }

    /// Returns smaller command lines, the smallest first.
    pub fn smaller(&self) -> Vec<Case> {
        let mut found = Vec::new();
        let mut push = |change: &dyn Fn(&mut Case)| {
            let mut case = self.clone();
            change(&mut case);
            found.push(case);
        };
        for at in 0..self.exprs.len() {
            push(&|case| drop(case.exprs.remove(at)));
        }
        for at in 0..self.starts.len() {
            push(&|case| drop(case.starts.remove(at)));
        }
        for at in 0..self.globals.len() {
            push(&|case| drop(case.globals.remove(at)));
        }
        for at in 0..self.leading.len() {
            push(&|case| drop(case.leading.remove(at)));
        }
        if self.start != Start::Usual {
            push(&|case| case.start = Start::Usual);
        }
        for at in 0..self.env.len() {
            push(&|case| drop(case.env.remove(at)));
        }
        for (at, expr) in self.exprs.iter().enumerate() {
            for smaller in expr.smaller() {
                push(&|case| case.exprs[at] = smaller.clone());
            }
        }
        found
    }

    /// Formats it as a line for a shell, with `find` as the program.
    pub fn shown(&self, find: &str) -> String {
        let mut text = String::new();
        for (name, value) in &self.env {
            let _ = write!(text, "{name}={} ", quoted(value.as_bytes()));
        }
        if let Some(script) = self.start.script() {
            let _ = write!(text, "bash -c {} _ ", quoted(script.as_bytes()));
        }
        text += find;
        for word in self.words() {
            let _ = write!(text, " {}", quoted(&word));
        }
        text
    }

    /// Returns the bytes that end records of the output: newlines, NULs or both.
    pub fn endings(&self) -> Vec<u8> {
        let mut endings: Vec<u8> = self
            .leaves()
            .iter()
            .filter_map(|leaf| ending(leaf))
            .collect();
        // As a start point, this name is taken for the action.
        if self.starts.iter().any(|start| start == b"-print") {
            endings.push(b'\n');
        }
        endings.sort_unstable();
        endings.dedup();
        if endings.is_empty() {
            vec![b'\n']
        } else {
            endings
        }
    }
}

/// Returns the byte that ends a leaf's records.
fn ending(leaf: &[Word]) -> Option<u8> {
    let (name, arguments) = leaf.split_first()?;
    match name.as_slice() {
        b"-print" | b"-fprint" | b"-ls" | b"-fls" => Some(b'\n'),
        b"-print0" | b"-fprint0" => Some(0),
        b"-printf" | b"-fprintf" => {
            let zero = arguments
                .last()
                .is_some_and(|f| f.windows(2).any(|two| two == b"\\0"));
            Some(if zero { 0 } else { b'\n' })
        }
        b"-exec" | b"-execdir" | b"-ok" | b"-okdir" => {
            let zero = arguments.iter().any(|word| word.ends_with(b"\\0"));
            Some(if zero { 0 } else { b'\n' })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(exprs: Vec<Expr>) -> String {
        let case = Case {
            exprs,
            ..Case::default()
        };
        case.shown("find")
    }

    #[test]
    fn parentheses_stand_where_they_must() {
        let leaf = |name: &str| Expr::leaf(&[name]);
        let or = Expr::Join(Operator::Or, b"-o".to_vec(), vec![leaf("-a1"), leaf("-a2")]);
        let and = Expr::Join(Operator::And, Vec::new(), vec![or.clone(), leaf("-a3")]);
        assert_eq!(line(vec![and]), "find '(' -a1 -o -a2 ')' -a3");
        assert_eq!(line(vec![or.clone()]), "find -a1 -o -a2");
        let not = Expr::Not(b"!".to_vec(), Box::new(or.clone()));
        assert_eq!(
            line(vec![not, leaf("-x")]),
            "find '!' '(' -a1 -o -a2 ')' -x"
        );
        let comma = Expr::Join(Operator::Comma, b",".to_vec(), vec![or, leaf("-x")]);
        assert_eq!(line(vec![comma]), "find -a1 -o -a2 , -x");
    }

    #[test]
    fn smaller_ones_are_smaller_and_end() {
        let leaf = |name: &str| Expr::leaf(&[name]);
        let parts = vec![
            leaf("-a"),
            leaf("-b"),
            Expr::Not(b"!".to_vec(), Box::new(leaf("-c"))),
        ];
        let mut case = Case {
            starts: vec![b".".to_vec()],
            exprs: vec![Expr::Join(Operator::Or, b"-o".to_vec(), parts)],
            ..Case::default()
        };
        let mut steps = 0;
        while let Some(smaller) = case.smaller().pop() {
            assert!(smaller.words().len() < case.words().len());
            case = smaller;
            steps += 1;
        }
        assert!(steps > 3 && case.words().is_empty());
    }
}
