//! Pieces of HTML.

use crate::picture::clean;
use crate::svg::escape;

/// Returns text for a page: clean and escaped.
pub(super) fn text(text: &str) -> String {
    escape(&clean(text))
}

/// Returns a name for a page, isolated so that letters written from right to left do not change how
/// the text around them reads.
pub(super) fn name(name: &str) -> String {
    format!("<bdi>{}</bdi>", text(name))
}

/// Opens a section with a heading. `heading` is markup.
pub(super) fn section(id: &str, heading: &str) -> String {
    format!("<section id=\"{id}\"><h2>{heading}</h2>")
}

/// Returns a table; headings are text, cells are markup.
pub(super) fn table(headings: &[&str], rows: &[Vec<String>]) -> String {
    let head: String = headings
        .iter()
        .map(|one| format!("<th scope=\"col\">{}</th>", text(one)))
        .collect();
    let row = |cells: &Vec<String>| {
        let cells: String = cells.iter().map(|one| format!("<td>{one}</td>")).collect();
        format!("<tr>{cells}</tr>")
    };
    let body: String = rows.iter().map(row).collect();
    format!("<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>")
}
