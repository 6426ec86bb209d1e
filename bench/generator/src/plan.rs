//! Distributes a number of entries over directories.

use crate::pattern::Pattern;
use crate::random::Random;
use crate::themes::{Theme, ThemeId, Themes};

/// Depth from which on trees get wider instead of deeper.
const DEEP: u32 = 12;
const MOST_FILES: f64 = 250_000.0;
/// Maximum number of sub-directories of a theme that has no large ones.
const MOST_SMALL: usize = 300;

/// A planned sub-directory, with its number of entries including itself.
pub(crate) struct Child<'t> {
    pub(crate) pattern: &'t Pattern,
    pub(crate) theme: ThemeId,
    pub(crate) rows: u64,
    /// Maximum number of its entries.
    most: u64,
}

/// Divides `rows` into very unequal parts of at least 1 each; fewer than `count` parts if `rows` is
/// too small.
pub(crate) fn shares(rows: u64, count: u64, random: &mut Random) -> Vec<u64> {
    let count = count.min(rows);
    let weights: Vec<f64> = (0..count).map(|_| random.pareto(1.2)).collect();
    let sum: f64 = weights.iter().sum();
    let over = (rows - count) as f64;
    let mut parts: Vec<u64> = weights
        .iter()
        .map(|weight| 1 + (over * weight / sum) as u64)
        .collect();
    // The largest part takes the rounding error.
    let mut given: u64 = parts.iter().sum();
    let largest = (0..parts.len()).max_by_key(|at| parts[*at]);
    if let Some(largest) = largest {
        given -= parts[largest];
        parts[largest] = rows - given;
    }
    parts
}

/// Draws the number of files of a directory.
pub(crate) fn files(theme: &Theme, random: &mut Random) -> u64 {
    let (median, spread) = theme.files;
    if random.per_mille(60) {
        return 0;
    }
    let mut count = random.log_normal(median, spread);
    if random.once_in(3000) {
        count *= 20.0 * random.pareto(1.0);
    }
    count.min(MOST_FILES) as u64
}

/// Plans the sub-directories of a directory that has `rows` entries below it besides its own files.
/// Also returns how many entries are left for more files.
pub(crate) fn children<'t>(
    themes: &'t Themes,
    theme: ThemeId,
    rows: u64,
    depth: u32,
    random: &mut Random,
) -> (Vec<Child<'t>>, u64) {
    let theme = themes.get(theme);
    if rows == 0 || theme.dirs.is_empty() {
        return (Vec::new(), rows);
    }
    let some = (1.7 * random.pareto(1.4)).min(5_000.0) as u64;
    // Larger trees have more sub-directories side by side.
    let count = some.max(rows.isqrt() / 4);
    let mut left = rows;
    let mut all: Vec<Child<'t>> = Vec::new();
    for part in shares(rows, count, random) {
        let mut child = draw(themes, theme, depth, random);
        child.rows = part.min(child.most);
        left -= child.rows;
        all.push(child);
    }
    let open = all.iter().filter(|child| child.most == u64::MAX).count() as u64;
    let parts = shares(left, open, random);
    let open = all.iter_mut().filter(|child| child.most == u64::MAX);
    for (child, part) in open.zip(parts) {
        child.rows += part;
        left -= part;
    }
    while left > 0 && (all.len() < MOST_SMALL || depth >= DEEP) {
        let mut child = draw(themes, theme, depth, random);
        child.rows = left.min(child.most);
        left -= child.rows;
        all.push(child);
    }
    (all, left)
}

/// Draws a sub-directory of a theme.
fn draw<'t>(themes: &'t Themes, theme: &'t Theme, depth: u32, random: &mut Random) -> Child<'t> {
    let (pattern, id) = &theme.dirs.all()[theme.dirs.draw(random)];
    let its = themes.get(*id);
    let most = if its.dirs.is_empty() || depth >= DEEP {
        1 + files(its, random)
    } else if let Some(most) = its.most.or(theme.most) {
        1 + random.log_normal(most / 8.0, 1.0).min(most) as u64
    } else {
        u64::MAX
    };
    Child {
        pattern,
        theme: *id,
        rows: 0,
        most,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_add_up() {
        let mut random = Random::new(5);
        for (rows, count) in [(0, 3), (1, 3), (3, 3), (100, 7), (1_000_000, 1000), (10, 1)] {
            let parts = shares(rows, count, &mut random);
            assert_eq!(parts.iter().sum::<u64>(), rows);
            assert_eq!(parts.len() as u64, count.min(rows));
            assert!(parts.iter().all(|part| *part > 0));
        }
    }

    #[test]
    fn nothing_gets_lost_in_a_plan() {
        let (themes, mut random) = (Themes::new().unwrap(), Random::new(6));
        for name in ["home", "git", "series", "modules", "package", "dataset"] {
            let theme = themes.named(name).unwrap();
            for (rows, depth) in [(0, 0), (1, 3), (50, 3), (5_000, 20), (1_000_000, 2)] {
                let (all, left) = children(&themes, theme, rows, depth, &mut random);
                let below: u64 = all.iter().map(|child| child.rows).sum();
                assert_eq!(below + left, rows, "{name}");
                assert!(all.iter().all(|child| child.rows > 0));
            }
        }
    }
}
