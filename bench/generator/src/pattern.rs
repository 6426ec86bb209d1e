//! Patterns that names are made from.
//!
//! A pattern is text with fields in braces; a number behind the letter is a count of digits.
//!
//! | field | becomes |
//! |---|---|
//! | `{w}` `{W}` | a word; with a capital |
//! | `{s}` | the directory's own word, the same for all of its series |
//! | `{o}` | a word in another script |
//! | `{p}` `{n}` | a package; a person |
//! | `{i4}` | the number in the series, with leading zeros |
//! | `{r7}` `{x8}` | random decimal and hexadecimal digits |
//! | `{d}` `{y}` | a day such as `20240311`; a year |
//! | `{v}` | a version such as `2.14.1` |

use std::str::FromStr;

use crate::line::put_digits;
use crate::random::Random;
use crate::words::{FOREIGN, PACKAGES, SURNAMES, WORDS};

/// A name's pattern, and the content of files with such names.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Pattern {
    parts: Vec<Part>,
    /// Content of the files that it names.
    pub(crate) content: Content,
}

/// Size distribution of a kind of files, and whether they are executable.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Content {
    pub(crate) median_bytes: f64,
    pub(crate) sigma: f64,
    pub(crate) executable: bool,
}

#[derive(Clone, Debug, PartialEq)]
enum Part {
    Text(&'static str),
    Word,
    Capital,
    Stem,
    Foreign,
    Package,
    Person,
    Number(usize),
    Decimal(usize),
    Hex(usize),
    Day,
    Year,
    Version,
}

/// The words that fields are filled from.
pub(crate) struct Vocabulary {
    words: Vec<&'static str>,
    people: Vec<&'static str>,
    packages: Vec<&'static str>,
}

/// Properties shared by the names of one directory.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Series {
    stem: usize,
    /// Difference between consecutive numbers.
    step: u64,
    number: u64,
}

impl Vocabulary {
    pub(crate) fn new() -> Vocabulary {
        let all = |text: &'static str| text.split_whitespace().collect();
        Vocabulary {
            words: all(WORDS),
            people: all(SURNAMES),
            packages: all(PACKAGES),
        }
    }

    /// Starts a series with a word of its own.
    pub(crate) fn series(&self, random: &mut Random) -> Series {
        Series {
            stem: random.below(self.words.len() as u64) as usize,
            step: *random.pick(&[1, 1, 1, 1, 2, 5, 10, 50, 100, 500]),
            number: random.below(3),
        }
    }

    /// Draws a login name: an initial and a surname.
    pub(crate) fn login(&self, random: &mut Random) -> String {
        let initial = char::from(b'a' + random.below(26) as u8);
        format!("{initial}{}", random.pick(&self.people))
    }

    /// Draws a word.
    pub(crate) fn word(&self, random: &mut Random) -> &'static str {
        let word: &&str = random.pick_skewed(&self.words);
        word
    }

    /// Returns the software that computing centres install, each package once.
    pub(crate) fn packages(&self) -> &[&'static str] {
        &self.packages
    }

    /// Appends a name.
    pub(crate) fn fill(
        &self,
        pattern: &Pattern,
        series: &mut Series,
        random: &mut Random,
        name: &mut Vec<u8>,
    ) {
        for part in &pattern.parts {
            match part {
                Part::Text(text) => name.extend_from_slice(text.as_bytes()),
                Part::Word => name.extend_from_slice(self.word(random).as_bytes()),
                Part::Capital => {
                    let start = name.len();
                    name.extend_from_slice(self.word(random).as_bytes());
                    name[start].make_ascii_uppercase();
                }
                Part::Stem => name.extend_from_slice(self.words[series.stem].as_bytes()),
                Part::Foreign => name.extend_from_slice(random.pick(FOREIGN).as_bytes()),
                Part::Package => name.extend_from_slice(random.pick(&self.packages).as_bytes()),
                Part::Person => name.extend_from_slice(random.pick(&self.people).as_bytes()),
                Part::Number(width) => {
                    put_digits(name, series.number, *width);
                    series.number += series.step;
                }
                Part::Decimal(width) => {
                    put_digits(name, random.below(10u64.pow(*width as u32)), *width);
                }
                Part::Hex(width) => put_hex(name, *width, random),
                Part::Day => put_day(name, random),
                Part::Year => put_digits(name, 2008 + random.below(18), 4),
                Part::Version => put_version(name, random),
            }
        }
    }
}

fn put_hex(name: &mut Vec<u8>, width: usize, random: &mut Random) {
    let mut bits = 0;
    for at in 0..width {
        if at % 16 == 0 {
            bits = random.bits();
        }
        name.push(b"0123456789abcdef"[(bits & 15) as usize]);
        bits >>= 4;
    }
}

fn put_day(name: &mut Vec<u8>, random: &mut Random) {
    put_digits(name, 2014 + random.below(12), 4);
    put_digits(name, 1 + random.below(12), 2);
    put_digits(name, 1 + random.below(28), 2);
}

fn put_version(name: &mut Vec<u8>, random: &mut Random) {
    for (at, end) in [(0, 6), (1, 25), (2, 10)] {
        if at > 0 {
            name.push(b'.');
        }
        put_digits(name, random.below(end), 1);
    }
}

impl Pattern {
    /// Parses a pattern.
    ///
    /// # Errors
    /// A description of an invalid field.
    pub(crate) fn parse(text: &'static str) -> Result<Pattern, String> {
        let mut parts = Vec::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('{') {
            if !before.is_empty() {
                parts.push(Part::Text(before));
            }
            let (field, after) = after
                .split_once('}')
                .ok_or_else(|| format!("{text}: a brace is not closed"))?;
            parts.push(Part::parse(field).ok_or_else(|| format!("{text}: no field {field}"))?);
            rest = after;
        }
        if !rest.is_empty() {
            parts.push(Part::Text(rest));
        }
        Ok(Pattern {
            parts,
            content: Content::of(text),
        })
    }
}

impl Part {
    fn parse(field: &str) -> Option<Part> {
        let (letter, digits) = field.split_at_checked(1)?;
        let width = || usize::from_str(digits).ok();
        Some(match letter {
            "i" => Part::Number(width()?),
            "r" => Part::Decimal(width()?),
            "x" => Part::Hex(width()?),
            _ if !digits.is_empty() => return None,
            "w" => Part::Word,
            "W" => Part::Capital,
            "s" => Part::Stem,
            "o" => Part::Foreign,
            "p" => Part::Package,
            "n" => Part::Person,
            "d" => Part::Day,
            "y" => Part::Year,
            "v" => Part::Version,
            _ => return None,
        })
    }
}

const KIB: f64 = 1024.0;
const MIB: f64 = KIB * KIB;

/// Suffixes of names, each with the median size and the spread of sizes.
const CONTENTS: &[(&str, f64, f64)] = &[
    (".c", 9.0 * KIB, 1.4),
    (".h", 3.0 * KIB, 1.3),
    (".cpp", 8.0 * KIB, 1.4),
    (".rs", 8.0 * KIB, 1.3),
    (".f90", 14.0 * KIB, 1.4),
    (".py", 5.0 * KIB, 1.4),
    (".pyc", 6.0 * KIB, 1.4),
    (".js", 3.0 * KIB, 1.6),
    (".map", 9.0 * KIB, 1.7),
    (".json", 1.5 * KIB, 2.2),
    (".yaml", 900.0, 1.2),
    (".md", 2.5 * KIB, 1.3),
    (".txt", 2.0 * KIB, 2.4),
    (".sh", 1.2 * KIB, 1.2),
    (".o", 22.0 * KIB, 1.6),
    (".a", 300.0 * KIB, 2.0),
    (".so", 180.0 * KIB, 2.0),
    (".gz", 200.0 * KIB, 2.6),
    (".tar.gz", 12.0 * MIB, 2.2),
    (".zip", 6.0 * MIB, 2.2),
    (".log", 20.0 * KIB, 2.6),
    (".out", 30.0 * KIB, 2.6),
    (".err", 500.0, 2.6),
    (".csv", 60.0 * KIB, 2.6),
    (".dat", 400.0 * KIB, 2.6),
    (".bin", 1.0 * MIB, 2.0),
    (".h5", 4.0 * MIB, 2.0),
    (".nc", 12.0 * MIB, 1.9),
    (".vtu", 2.0 * MIB, 1.5),
    (".parquet", 16.0 * MIB, 1.5),
    (".npz", 2.0 * MIB, 2.0),
    (".npy", 4.0 * MIB, 2.2),
    (".pt", 90.0 * MIB, 1.5),
    (".png", 60.0 * KIB, 1.6),
    (".svg", 30.0 * KIB, 1.4),
    (".pdf", 350.0 * KIB, 1.6),
    (".JPG", 3.5 * MIB, 0.6),
    (".jpg", 500.0 * KIB, 1.4),
    (".MP4", 120.0 * MIB, 1.5),
    (".tif", 18.0 * MIB, 1.5),
    (".docx", 60.0 * KIB, 1.6),
    (".xlsx", 40.0 * KIB, 1.6),
    (".pptx", 3.0 * MIB, 1.5),
    (".tex", 12.0 * KIB, 1.3),
    (".bam", 400.0 * MIB, 1.5),
    (".fastq.gz", 200.0 * MIB, 1.4),
    (".vcf.gz", 40.0 * MIB, 2.4),
    (":2,S", 9.0 * KIB, 1.6),
    (".html", 8.0 * KIB, 1.5),
    (".mo", 20.0 * KIB, 1.4),
    (".iso", 900.0 * MIB, 0.8),
];

impl Content {
    /// Chooses by the longest known suffix of the name.
    fn of(name: &str) -> Content {
        let known = CONTENTS.iter().filter(|(end, ..)| name.ends_with(end));
        let longest = known.max_by_key(|(end, ..)| end.len());
        let (_, median_bytes, sigma) = longest.copied().unwrap_or(("", 3.0 * KIB, 2.2));
        let plain = !name.contains('.') && name.starts_with("{w}");
        Content {
            median_bytes,
            sigma,
            executable: name.ends_with(".sh") || name.ends_with(".so") || plain,
        }
    }

    /// Draws the size of one file in bytes. A few files are empty, a few are very large.
    pub(crate) fn size_bytes(&self, random: &mut Random) -> u64 {
        const LARGEST_BYTES: f64 = 4.0 * MIB * MIB;
        let often = random.below(1000);
        let size = match often {
            0..25 => 0.0,
            25..27 => self.median_bytes * 20.0 * random.pareto(0.9),
            _ => random.log_normal(self.median_bytes, self.sigma),
        };
        size.min(LARGEST_BYTES) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(pattern: &'static str) -> String {
        let (vocabulary, mut random) = (Vocabulary::new(), Random::new(3));
        let mut series = vocabulary.series(&mut random);
        let mut name = Vec::new();
        let pattern = Pattern::parse(pattern).unwrap();
        vocabulary.fill(&pattern, &mut series, &mut random, &mut name);
        String::from_utf8(name).unwrap()
    }

    #[test]
    fn fields_are_filled() {
        assert_eq!(named("README.md"), "README.md");
        let name = named("run_{r4}.{x6}.h5");
        assert_eq!((name.len(), &name[..4], &name[15..]), (18, "run_", ".h5"));
        assert!(name[4..8].bytes().all(|b| b.is_ascii_digit()), "{name}");
        assert!(name[9..15].bytes().all(|b| b.is_ascii_hexdigit()), "{name}");
        assert!(named("{W}").starts_with(|c: char| c.is_ascii_uppercase()));
        assert_eq!(named("{d}").len(), 8);
    }

    #[test]
    fn bad_patterns_are_told() {
        for bad in ["{w", "{q}", "{w3}", "{i}", "{}"] {
            assert!(Pattern::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn the_longest_end_decides() {
        assert_eq!(Content::of("{w}.tar.gz").median_bytes, 12.0 * MIB);
        assert_eq!(Content::of("{w}.gz").median_bytes, 200.0 * KIB);
        assert!(Content::of("{w}").executable && !Content::of("{w}.c").executable);
    }
}
