//! Derives from a statement's predicates which data must be read: areas of the tree, intervals of
//! numbers, and literals in names.
//!
//! Everything found here is a necessary condition; the engine applies the whole predicate to the
//! rows read. A predicate that is not understood narrows nothing.

use std::collections::BTreeSet;

use datafusion::common::ScalarValue;
use datafusion::logical_expr::expr::{InList, ScalarFunction};
use datafusion::logical_expr::{BinaryExpr, Expr, Like, Operator};
use trawl_model::column::Column;
use trawl_model::filter::{Clause, Filter};
use trawl_model::need::{At, Letters, Literal, Need, Within};
use trawl_text::glob::{Case, Glob};
use trawl_text::locale::Locale;

use crate::areas::{Area, Areas};
use crate::contents::is_test;
use crate::tables::Table;

/// One second.
const SECOND_NS: i64 = 1_000_000_000;

/// The conditions that follow from predicates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Narrowed {
    /// Areas of the tree.
    pub(crate) areas: Areas,
    /// Intervals of numbers, and literals in names.
    pub(crate) filter: Filter,
    /// Names of attributes of contents, or of kinds of relations; `None` if any will do.
    pub(crate) names: Option<BTreeSet<String>>,
}

impl Narrowed {
    fn nothing() -> Narrowed {
        Narrowed {
            areas: Areas::Everywhere,
            filter: Filter::default(),
            names: None,
        }
    }

    fn in_area(area: Option<Area>) -> Narrowed {
        Narrowed {
            areas: area.map_or(Areas::Everywhere, Areas::one),
            ..Narrowed::nothing()
        }
    }

    fn to_filter(filter: Filter) -> Narrowed {
        Narrowed {
            filter,
            ..Narrowed::nothing()
        }
    }

    fn to_names(need: Need) -> Narrowed {
        Narrowed::to_filter(Filter::of_need(need))
    }

    fn to_name(name: &str) -> Narrowed {
        Narrowed {
            names: Some(BTreeSet::from([name.to_owned()])),
            ..Narrowed::nothing()
        }
    }

    fn and(self, other: Narrowed) -> Narrowed {
        Narrowed {
            areas: self.areas.and(other.areas),
            filter: self.filter.and(&other.filter),
            names: match (self.names, other.names) {
                (Some(one), Some(other)) => Some(&one & &other),
                (one, other) => one.or(other),
            },
        }
    }

    fn or(self, other: Narrowed) -> Narrowed {
        Narrowed {
            areas: self.areas.or(other.areas),
            filter: self.filter.or(&other.filter),
            names: match (self.names, other.names) {
                (Some(one), Some(other)) => Some(&one | &other),
                _ => None,
            },
        }
    }
}

/// Returns necessary conditions for rows that satisfy all `predicates`.
pub(crate) fn narrow(table: Table, predicates: &[Expr]) -> Narrowed {
    let all = predicates.iter().map(|one| of(table, one));
    all.fold(Narrowed::nothing(), Narrowed::and)
}

fn of(table: Table, predicate: &Expr) -> Narrowed {
    match predicate {
        Expr::BinaryExpr(BinaryExpr { left, op, right }) => match op {
            Operator::And => of(table, left).and(of(table, right)),
            Operator::Or => of(table, left).or(of(table, right)),
            _ => comparison(table, left, *op, right),
        },
        Expr::Between(between) if !between.negated => {
            let low = comparison(table, &between.expr, Operator::GtEq, &between.low);
            low.and(comparison(
                table,
                &between.expr,
                Operator::LtEq,
                &between.high,
            ))
        }
        Expr::InList(list) if !list.negated => in_list(table, list),
        Expr::Like(like) => pattern(table, like),
        call if is_test(call) => of_type(table, "f"),
        Expr::ScalarFunction(call) => function(table, call),
        Expr::Alias(alias) => of(table, &alias.expr),
        _ => Narrowed::nothing(),
    }
}

fn in_list(table: Table, list: &InList) -> Narrowed {
    let each = |value| comparison(table, &list.expr, Operator::Eq, value);
    list.list
        .iter()
        .map(each)
        .reduce(Narrowed::or)
        .unwrap_or_else(Narrowed::nothing)
}

fn comparison(table: Table, left: &Expr, op: Operator, right: &Expr) -> Narrowed {
    let (name, op, value) = match (column(left), literal(right), column(right), literal(left)) {
        (Some(name), Some(value), _, _) => (name, op, value),
        (_, _, Some(name), Some(value)) => match op.swap() {
            Some(op) => (name, op, value),
            None => return Narrowed::nothing(),
        },
        _ => return Narrowed::nothing(),
    };
    if let (Operator::Eq, Some(text)) = (op, text_of(value)) {
        return equals(table, name, text);
    }
    let Some(stored) = table.stored(name) else {
        return Narrowed::nothing();
    };
    let Some((low, high)) = interval(stored, op, value) else {
        return Narrowed::nothing();
    };
    let mut filter = Filter::default();
    filter.add(Clause {
        column: stored,
        low,
        high,
    });
    Narrowed::to_filter(filter)
}

/// Narrows by `column = 'text'`.
fn equals(table: Table, name: &str, text: &str) -> Narrowed {
    let is_literal = !text.contains('\\');
    let path = || text.trim_end_matches('/').as_bytes().to_vec();
    let is_path = text.starts_with('/') && (text == "/" || !text.ends_with('/'));
    match (PathColumn::of(table, name), is_literal) {
        (Some(PathColumn::Path), true) if is_path => Narrowed::in_area(Some(Area::Entry(path()))),
        (Some(PathColumn::Dir), true) if is_path || text.is_empty() => {
            Narrowed::in_area(Some(Area::Children(path())))
        }
        _ if name == "type" => of_type(table, text),
        _ if table.name_column() == Some(name) => Narrowed::to_name(text),
        _ => match holds_text(table, name) {
            Some(within) => Narrowed::to_names(needed(text, within, At::Whole)),
            None => Narrowed::nothing(),
        },
    }
}

/// Returns the text that a column of entries shows, if the index can search it.
fn holds_text(table: Table, name: &str) -> Option<Within> {
    match (table, name) {
        (Table::Entries | Table::EntriesHistory, "name") => Some(Within::Name),
        (Table::Entries | Table::EntriesHistory, "path") => Some(Within::Path),
        _ => None,
    }
}

/// Returns what a name must contain so that its text contains `text`.
fn needed(text: &str, within: Within, at: At) -> Need {
    let literal = Literal {
        bytes: text.as_bytes().to_vec(),
        within,
        at,
        letters: Letters::Exact,
    };
    as_bytes(&literal)
}

/// Translates a literal of the shown text to one of the bytes. Names that are not UTF-8 are shown
/// with escapes such as `\xff`, which their bytes do not contain: a literal may begin inside an
/// escape, and a backslash may belong to one.
fn as_bytes(literal: &Literal) -> Need {
    if literal.bytes.contains(&b'\\') {
        return Need::Nothing;
    }
    let mut literal = literal.clone();
    if !literal.at.starts() {
        let is_of_escape =
            |byte: &u8| matches!(byte.to_ascii_lowercase(), b'0'..=b'9' | b'a'..=b'f' | b'x');
        let rest = literal.bytes.iter().position(|byte| !is_of_escape(byte));
        literal.bytes.drain(..rest.unwrap_or(literal.bytes.len()));
    }
    match literal.bytes.is_empty() && literal.at != At::Whole {
        true => Need::Nothing,
        false => Need::Has(literal),
    }
}

/// Returns the need of `LIKE 'pattern'`.
fn needed_by_pattern(pattern: &str, within: Within) -> Need {
    if pattern.contains('\\') {
        return Need::Nothing;
    }
    let pieces: Vec<&str> = pattern.split(['%', '_']).collect();
    let last = pieces.len() - 1;
    let needs = pieces.iter().enumerate().map(|(nth, piece)| {
        // The beginning of a path is an area of the tree already.
        let is_known = nth == 0 && last > 0 && within == Within::Path;
        match is_known || piece.is_empty() && last > 0 {
            true => Need::Nothing,
            false => needed(piece, within, At::of(nth == 0, nth == last)),
        }
    });
    needs.fold(Need::Nothing, Need::and)
}

fn of_type(table: Table, letter: &str) -> Narrowed {
    let kind = match letter {
        "f" => 0o100_000,
        "d" => 0o040_000,
        "l" => 0o120_000,
        "p" => 0o010_000,
        "s" => 0o140_000,
        "b" => 0o060_000,
        "c" => 0o020_000,
        _ => return Narrowed::nothing(),
    };
    let Some(column) = table.stored("type") else {
        return Narrowed::nothing();
    };
    let mut filter = Filter::default();
    filter.add(Clause {
        column,
        low: kind,
        high: kind | 0o7777,
    });
    Narrowed::to_filter(filter)
}

/// Narrows by `column LIKE 'pattern'`.
fn pattern(table: Table, like: &Like) -> Narrowed {
    let is_plain = !like.negated && !like.case_insensitive && like.escape_char.is_none();
    let parts = (column(&like.expr), literal(&like.pattern).and_then(text_of));
    match parts {
        (Some(name), Some(pattern)) if is_plain => {
            // A backslash escapes the next character, or belongs to an escaped name.
            let end = pattern.find(['%', '_', '\\']).unwrap_or(pattern.len());
            let area = match PathColumn::of(table, name) {
                Some(_) => Narrowed::in_area(around_prefix(&pattern[..end])),
                None => Narrowed::nothing(),
            };
            match holds_text(table, name) {
                Some(within) => area.and(Narrowed::to_names(needed_by_pattern(pattern, within))),
                None => area,
            }
        }
        _ => Narrowed::nothing(),
    }
}

/// Narrows by `under(column, 'path')`, `starts_with(column, 'path')` and `glob('pattern', column)`.
fn function(table: Table, call: &ScalarFunction) -> Narrowed {
    if let ("glob", [pattern, subject]) = (call.func.name(), &call.args[..]) {
        return shell_pattern(table, pattern, subject);
    }
    let [subject, text] = &call.args[..] else {
        return Narrowed::nothing();
    };
    let (Some(name), Some(text)) = (column(subject), literal(text).and_then(text_of)) else {
        return Narrowed::nothing();
    };
    if PathColumn::of(table, name).is_none() {
        return Narrowed::nothing();
    }
    match call.func.name() {
        "under" if text.starts_with('/') && !text.contains('\\') => {
            let top = text.trim_end_matches('/').as_bytes().to_vec();
            Narrowed::in_area(Some(Area::Subtree(top)))
        }
        "starts_with" => {
            let end = text.find('\\').unwrap_or(text.len());
            Narrowed::in_area(around_prefix(&text[..end]))
        }
        _ => Narrowed::nothing(),
    }
}

fn shell_pattern(table: Table, pattern: &Expr, subject: &Expr) -> Narrowed {
    let within = column(subject).and_then(|name| holds_text(table, name));
    let (Some(within), Some(text)) = (within, literal(pattern).and_then(text_of)) else {
        return Narrowed::nothing();
    };
    let glob = Glob::new(text.as_bytes(), Case::Sensitive, Locale::Utf8);
    Narrowed::to_names(glob.need(within).map(&as_bytes))
}

/// Returns the smallest subtree that holds every path with this prefix.
fn around_prefix(prefix: &str) -> Option<Area> {
    let slash = prefix.starts_with('/').then(|| prefix.rfind('/'))??;
    // The subtree at the top narrows nothing.
    Some(Area::Subtree(prefix.as_bytes()[..slash].to_vec())).filter(|_| slash > 0)
}

/// Columns that tell where in the tree a row is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PathColumn {
    /// The entry's own path.
    Path,
    /// Its directory's path.
    Dir,
}

impl PathColumn {
    fn of(table: Table, name: &str) -> Option<PathColumn> {
        match (table, name) {
            (Table::Sources | Table::Snapshots, _) => None,
            (_, "path") => Some(PathColumn::Path),
            // In the `dirs` table not every child of the parent has a row.
            (
                Table::Entries
                | Table::EntriesHistory
                | Table::Xattrs
                | Table::Attributes
                | Table::Relations,
                "dir",
            ) => Some(PathColumn::Dir),
            _ => None,
        }
    }
}

/// Returns the interval of a stored column's values that `op value` admits.
fn interval(stored: Column, op: Operator, value: &ScalarValue) -> Option<(i128, i128)> {
    let is_time = matches!(
        stored,
        Column::Atime | Column::Mtime | Column::Ctime | Column::Btime
    );
    let number = match is_time {
        true => seconds(value)?,
        false => number(value)?,
    };
    let (least, most) = (i128::MIN, i128::MAX);
    Some(match op {
        Operator::Eq => (number, number),
        // A second has many nanoseconds: the bound itself may match.
        Operator::Lt | Operator::LtEq => (least, number),
        Operator::Gt | Operator::GtEq => (number, most),
        _ => return None,
    })
}

fn seconds(value: &ScalarValue) -> Option<i128> {
    let ScalarValue::TimestampNanosecond(Some(nanos), _) = value else {
        return None;
    };
    // Times outside the range are shown as its ends.
    let is_inside = *nanos > i64::MIN + SECOND_NS && *nanos < i64::MAX - SECOND_NS;
    is_inside.then(|| i128::from(nanos.div_euclid(SECOND_NS)))
}

fn number(value: &ScalarValue) -> Option<i128> {
    Some(match value {
        ScalarValue::Int64(Some(n)) => (*n).into(),
        ScalarValue::UInt64(Some(n)) => (*n).into(),
        ScalarValue::Int32(Some(n)) => (*n).into(),
        ScalarValue::UInt32(Some(n)) => (*n).into(),
        _ => return None,
    })
}

fn column(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::Column(column) => Some(&column.name),
        Expr::Alias(alias) => column(&alias.expr),
        _ => None,
    }
}

fn literal(expr: &Expr) -> Option<&ScalarValue> {
    match expr {
        Expr::Literal(value, _) => Some(value),
        _ => None,
    }
}

fn text_of(value: &ScalarValue) -> Option<&str> {
    match value {
        ScalarValue::Utf8(Some(text))
        | ScalarValue::Utf8View(Some(text))
        | ScalarValue::LargeUtf8(Some(text)) => Some(text),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::prelude::{col, lit};

    fn areas(predicate: Expr) -> Areas {
        narrow(Table::Entries, &[predicate]).areas
    }

    fn clause(predicate: Expr) -> Option<(Column, i128, i128)> {
        let filter = narrow(Table::Entries, &[predicate]).filter;
        filter.clauses.first().map(|c| (c.column, c.low, c.high))
    }

    #[test]
    fn paths_leave_a_part_of_the_tree() {
        let subtree = |path: &str| Areas::one(Area::Subtree(path.into()));
        assert_eq!(
            areas(col("path").like(lit("/home/x/%"))),
            subtree("/home/x")
        );
        assert_eq!(areas(col("path").like(lit("/home/x%"))), subtree("/home"));
        assert_eq!(areas(col("dir").like(lit("/a_b/c%"))), Areas::Everywhere);
        assert_eq!(areas(col("dir").like(lit("/a/b_/c%"))), subtree("/a"));
        assert_eq!(areas(col("name").like(lit("/a/%"))), Areas::Everywhere);
        assert_eq!(
            areas(col("path").not_like(lit("/a/b/%"))),
            Areas::Everywhere
        );
        assert_eq!(
            areas(col("dir").eq(lit("/a/b"))),
            Areas::one(Area::Children(b"/a/b".to_vec()))
        );
        assert_eq!(
            areas(lit("/a/b").eq(col("path"))),
            Areas::one(Area::Entry(b"/a/b".to_vec()))
        );
    }

    #[test]
    fn either_of_two_parts_is_both() {
        let either = col("dir").eq(lit("/a")).or(col("dir").eq(lit("/b")));
        let Areas::These(parts) = areas(either) else {
            panic!("not narrowed")
        };
        assert_eq!(parts.len(), 2);
        let open = col("dir").eq(lit("/a")).or(col("size").eq(lit(5i64)));
        assert_eq!(areas(open), Areas::Everywhere);
    }

    #[test]
    fn an_escaped_name_is_not_taken_for_bytes() {
        assert_eq!(areas(col("path").eq(lit("/a/\\xff"))), Areas::Everywhere);
        assert_eq!(
            areas(col("path").like(lit("/a/b\\xff/%"))),
            Areas::one(Area::Subtree(b"/a".to_vec()))
        );
    }

    fn need(predicate: Expr) -> Need {
        narrow(Table::Entries, &[predicate]).filter.need
    }

    fn has(text: &str, at: At) -> Need {
        Need::Has(Literal {
            bytes: text.into(),
            within: Within::Name,
            at,
            letters: Letters::Exact,
        })
    }

    #[test]
    fn names_leave_runs_of_letters() {
        assert_eq!(need(col("name").eq(lit("abc"))), has("abc", At::Whole));
        assert_eq!(need(col("name").like(lit("%.log"))), has(".log", At::End));
        assert_eq!(need(col("name").like(lit("core%"))), has("core", At::Start));
        assert_eq!(
            need(col("name").like(lit("a%z_q"))),
            Need::All(vec![
                has("a", At::Start),
                has("z", At::Anywhere),
                has("q", At::End)
            ])
        );
        assert_eq!(need(col("name").like(lit("%"))), Need::Nothing);
        assert_eq!(need(col("name").not_like(lit("%.log"))), Need::Nothing);
        assert_eq!(need(col("dir").like(lit("%.log"))), Need::Nothing);
    }

    #[test]
    fn what_may_be_of_an_escape_is_not_needed() {
        // The text `a\xff` contains these, its bytes do not.
        for pattern in ["%ff", "%xf%", "%f"] {
            assert_eq!(
                need(col("name").like(lit(pattern))),
                Need::Nothing,
                "{pattern}"
            );
        }
        assert_eq!(need(col("name").like(lit("%ffoo"))), has("oo", At::End));
        assert_eq!(need(col("name").like(lit("%\\%"))), Need::Nothing);
    }

    #[test]
    fn numbers_leave_intervals() {
        assert_eq!(
            clause(col("size").gt(lit(100i64))),
            Some((Column::Size, 100, i128::MAX))
        );
        assert_eq!(
            clause(lit(5u32).gt_eq(col("uid"))),
            Some((Column::Uid, i128::MIN, 5))
        );
        let time = |nanos| {
            lit(ScalarValue::TimestampNanosecond(
                Some(nanos),
                Some("UTC".into()),
            ))
        };
        assert_eq!(
            clause(col("mtime").lt(time(-1))),
            Some((Column::Mtime, i128::MIN, -1))
        );
        assert_eq!(clause(col("mtime").gt(time(i64::MAX))), None);
        assert_eq!(
            clause(col("type").eq(lit("f"))),
            Some((Column::Mode, 0o100_000, 0o107_777))
        );
        assert_eq!(clause(col("size").not_eq(lit(1i64))), None);
    }
}
