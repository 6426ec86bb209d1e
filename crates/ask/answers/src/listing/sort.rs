//! Orders of a listing.
//!
//! Names compare by bytes in the C locale, as in GNU ls. In other locales ls uses the C library's
//! collation tables, which this module approximates: letters and digits first, ignoring case, then
//! lower before upper case, then bytes. The two may differ for accents and for other scripts.

use std::cmp::Ordering;
use std::ffi::OsString;

use trawl_model::operation::Operation;
use trawl_model::{TimeKind, Timestamp};

use super::version;
use trawl_report::listing::Item;

/// Minimum length of a list whose sorting is recorded as an operation.
const RECORDED_ITEMS: usize = 64;

/// Key that a listing is sorted by; ties are broken by name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SortKey {
    /// Name.
    #[default]
    Name,
    /// The order of the index, by the bytes of the name.
    None,
    /// Size, largest first.
    Size,
    /// Time, newest first.
    Time,
    /// The part after the last dot.
    Extension,
    /// Numbers within the name.
    Version,
    /// Width of the printed name, narrowest first.
    Width,
}

/// Comparison of names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Collation {
    /// By bytes.
    Bytes,
    /// Approximately in the order of a dictionary.
    Words,
}

impl Collation {
    /// Returns the collation that `LC_ALL`, `LC_COLLATE` or `LANG` ask for. A locale that is not
    /// installed counts as "C", as after a failed setlocale(3).
    pub fn from_environment(
        get: impl Fn(&str) -> Option<OsString>,
        is_installed: impl Fn(&str) -> bool,
    ) -> Collation {
        let mut names = ["LC_ALL", "LC_COLLATE", "LANG"].into_iter();
        let locale = names.find_map(|name| get(name).filter(|value| !value.is_empty()));
        match locale
            .as_deref()
            .map(|locale| locale.to_string_lossy())
            .as_deref()
        {
            None | Some("C" | "POSIX") => Collation::Bytes,
            Some(locale) if locale.starts_with("C.") || !is_installed(locale) => Collation::Bytes,
            Some(_) => Collation::Words,
        }
    }

    /// Compares two names.
    pub fn compare(self, a: &[u8], b: &[u8]) -> Ordering {
        match self {
            Collation::Bytes => a.cmp(b),
            Collation::Words => compare_words(a, b),
        }
    }
}

fn compare_words(a: &[u8], b: &[u8]) -> Ordering {
    let (a_text, b_text) = (String::from_utf8_lossy(a), String::from_utf8_lossy(b));
    let letters = |text: &str| {
        let significant = text.chars().filter(|c| c.is_alphanumeric());
        significant.flat_map(char::to_lowercase).collect::<String>()
    };
    // Lower case comes first, which is the reverse of the code points.
    let cases = |text: &str| text.chars().map(char::is_uppercase).collect::<Vec<_>>();
    letters(&a_text)
        .cmp(&letters(&b_text))
        .then_with(|| cases(&a_text).cmp(&cases(&b_text)))
        .then_with(|| a.cmp(b))
}

/// Direction of the order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Direction {
    /// As the key says.
    #[default]
    Forward,
    /// Reversed, including ties.
    Reverse,
}

/// A complete order.
#[derive(Clone, Copy, Debug)]
pub struct Order {
    /// Primary key.
    pub key: SortKey,
    /// Comparison of names.
    pub collation: Collation,
    /// The time that [`SortKey::Time`] uses.
    pub time: TimeKind,
    /// Direction of the order.
    pub direction: Direction,
}

impl Order {
    /// Sorts a listing; items for which `first` is true come before the rest. `width` returns the
    /// width of a printed name.
    pub fn sort(
        &self,
        items: &mut [Item],
        first: &dyn Fn(&Item) -> bool,
        width: &dyn Fn(&Item) -> usize,
    ) {
        if self.key == SortKey::None {
            return;
        }
        let _span = (items.len() >= RECORDED_ITEMS).then(|| Operation::Sort.span());
        // No two names in a directory are equal, and a stable sort needs half as much memory again.
        items.sort_unstable_by(|a, b| {
            let order = self.compare(a, b, width);
            let order = match self.direction {
                Direction::Reverse => order.reverse(),
                Direction::Forward => order,
            };
            first(b).cmp(&first(a)).then(order)
        });
    }

    /// Returns true if the index already has listings in this order.
    pub fn is_stored_order(&self) -> bool {
        match self.key {
            SortKey::None => true,
            SortKey::Name => {
                self.collation == Collation::Bytes && self.direction == Direction::Forward
            }
            _ => false,
        }
    }

    fn compare(&self, a: &Item, b: &Item, width: &dyn Fn(&Item) -> usize) -> Ordering {
        let by_key = match self.key {
            SortKey::Name | SortKey::None => Ordering::Equal,
            SortKey::Size => size(b).cmp(&size(a)),
            SortKey::Time => self.time(b).cmp(&self.time(a)),
            SortKey::Extension => self
                .collation
                .compare(extension(&a.name), extension(&b.name)),
            SortKey::Version => {
                return version::compare(&a.name, &b.name).then_with(|| a.name.cmp(&b.name));
            }
            SortKey::Width => width(a).cmp(&width(b)),
        };
        by_key.then_with(|| self.collation.compare(&a.name, &b.name))
    }

    fn time(&self, item: &Item) -> Timestamp {
        let time = item.meta.as_ref().and_then(|meta| self.time.of(meta));
        let unknown = match item.meta {
            Some(_) => Timestamp { secs: -1, nanos: 0 },
            None => Timestamp::default(),
        };
        time.unwrap_or(unknown)
    }
}

fn size(item: &Item) -> u64 {
    item.meta.map_or(0, |meta| meta.size)
}

fn extension(name: &[u8]) -> &[u8] {
    name.iter()
        .rposition(|b| *b == b'.')
        .map_or(&[], |dot| &name[dot..])
}

#[cfg(test)]
mod tests {
    use super::*;
    use trawl_model::Meta;

    fn sorted(names: &[&str], collation: Collation, direction: Direction) -> Vec<String> {
        let mut items: Vec<Item> = names
            .iter()
            .map(|name| Item::unknown(name.as_bytes()))
            .collect();
        let order = Order {
            key: SortKey::Name,
            collation,
            time: TimeKind::Modified,
            direction,
        };
        order.sort(&mut items, &|_| false, &|item| item.name.len());
        items
            .into_iter()
            .map(|item| String::from_utf8(item.name).unwrap())
            .collect()
    }

    #[test]
    fn names_sort_by_bytes_or_by_words() {
        let names = ["b", "B", "a", ".c", "A", "_d"];
        assert_eq!(
            sorted(&names, Collation::Bytes, Direction::Forward),
            [".c", "A", "B", "_d", "a", "b"]
        );
        assert_eq!(
            sorted(&names, Collation::Words, Direction::Forward),
            ["a", "A", "b", "B", ".c", "_d"]
        );
        assert_eq!(
            sorted(&names, Collation::Bytes, Direction::Reverse),
            ["b", "a", "_d", "B", "A", ".c"]
        );
    }

    #[test]
    fn ties_are_broken_by_name_and_turned_too() {
        let item = |name: &str, size| Item {
            meta: Some(Meta {
                size,
                ..Meta::default()
            }),
            ..Item::unknown(name.as_bytes())
        };
        let mut items = vec![item("b", 1), item("a", 1), item("c", 9)];
        let mut order = Order {
            key: SortKey::Size,
            collation: Collation::Bytes,
            time: TimeKind::Modified,
            direction: Direction::Forward,
        };
        let names = |items: &[Item]| items.iter().map(|i| i.name[0]).collect::<Vec<_>>();
        order.sort(&mut items, &|_| false, &|item| item.name.len());
        assert_eq!(names(&items), b"cab");
        order.direction = Direction::Reverse;
        order.sort(&mut items, &|_| false, &|item| item.name.len());
        assert_eq!(names(&items), b"bac");
    }

    #[test]
    fn the_locale_decides() {
        let env = |set: &'static [(&str, &str)]| {
            move |name: &str| {
                let found = set.iter().find(|(key, _)| *key == name);
                found.map(|(_, value)| OsString::from(value))
            }
        };
        let read = |set| Collation::from_environment(env(set), |name| name != "en_XX.UTF-8");
        assert_eq!(read(&[]), Collation::Bytes);
        assert_eq!(read(&[("LANG", "de_DE.UTF-8")]), Collation::Words);
        assert_eq!(read(&[("LANG", "en_XX.UTF-8")]), Collation::Bytes);
        assert_eq!(
            read(&[("LANG", "de_DE.UTF-8"), ("LC_ALL", "C.UTF-8")]),
            Collation::Bytes
        );
        assert_eq!(
            read(&[("LANG", "C"), ("LC_COLLATE", "fr_FR"), ("LC_ALL", "")]),
            Collation::Words
        );
    }
}
