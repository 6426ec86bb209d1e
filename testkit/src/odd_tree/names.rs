//! Names that are hard to print, to match, to quote, to sort or to decode.

use std::io;

use super::{Plan, Site};
use crate::folder::Folder;
use crate::lines::visible;

/// The table: add names that broke you.
pub const ODD_NAMES: &[&[u8]] = &[
    b"plain",
    b"a",
    b"name.txt",
    b"libodd.so.1",
    b"many.dots.in.a.name",
    b"ends.with.dot.",
    b"0",
    b"007",
    // Hidden, and nearly `.` or `..`.
    b".hidden",
    b"..two",
    b"...",
    b".x.",
    // Options and predicates.
    b"-dash",
    b"--help",
    b"-name",
    b"-",
    b"--",
    b"!",
    b"(",
    b")",
    b",",
    // White space and control characters.
    b" ",
    b" leading",
    b"trailing ",
    b"two  spaces",
    b"\ttab\there",
    b"\n",
    b"new\nline",
    b"ends with newline\n",
    b"carriage\rreturn",
    b"back\x08space",
    b"bell\x07",
    b"\x1b[31mred\x1b[0m",
    b"\x1b]0;title\x07",
    b"\x01",
    b"\x01one",
    b"record\x1eseparator\x1f",
    b"\x7fdelete",
    // Shells, quotes, globs, formats, SQL, CSV, URLs.
    b"single'quote",
    b"double\"quote",
    b"back\\slash",
    b"\\",
    b"ends with backslash\\",
    b"\\n literal",
    b"\\x41",
    b"star*",
    b"*",
    b"?",
    b"question?",
    b"[abc]",
    b"[!x]",
    b"[",
    b"]",
    b"{a,b}",
    b"~",
    b"~root",
    b"$HOME",
    b"$(id)",
    b"`id`",
    b"semi;colon",
    b"amper&sand",
    b"pipe|bar",
    b"less<greater>",
    b"#hash",
    b"%",
    b"100%",
    b"%s%n%p",
    b"%2F",
    b"equals=",
    b"plus+at@",
    b"colon:",
    b"comma,semi;",
    b"'; DROP TABLE entries; --",
    // Letter case.
    b"case",
    b"Case",
    b"CASE",
    // UTF-8: two spellings of one letter, case folding that changes lengths, wide, invisible.
    "é".as_bytes(),
    "e\u{301}".as_bytes(),
    "Straße".as_bytes(),
    "İstanbul".as_bytes(),
    "ŝ Ŝ ſ K".as_bytes(),
    "日本語".as_bytes(),
    "😀".as_bytes(),
    "\u{202e}txt.exe".as_bytes(),
    "\u{feff}mark".as_bytes(),
    "zero\u{200b}width".as_bytes(),
    "\u{85}\u{9b}31m".as_bytes(),
    "\u{fffd}".as_bytes(),
    "\u{10ffff}".as_bytes(),
    // Not UTF-8: lone bytes, cut and overlong sequences, surrogates, beyond Unicode.
    b"\xff",
    b"\xfe\xff",
    b"\x80",
    b"\x9b31m",
    b"latin-1 \xe9t\xe9",
    b"cut \xc3",
    b"cut \xe6\x97",
    b"cut \xf0\x9f\x98",
    b"overlong \xc0\xaf",
    b"surrogate \xed\xa0\x80",
    b"beyond \xf4\x90\x80\x80",
    b"\xc3\xa9 and \xe9",
    // As long as a name can be.
    &[b'x'; 255],
    &[0xff; 255],
    &two_byte_letters(),
];

/// Returns 255 bytes: 127 two-byte letters and one more byte.
const fn two_byte_letters() -> [u8; 255] {
    let mut name = [b'x'; 255];
    let mut at = 0;
    while at < 254 {
        name[at] = 0xc3;
        name[at + 1] = 0xa9;
        at += 2;
    }
    name
}

/// Makes `names`, with a file of each name, and `folders`, with a folder of each name that holds a
/// file and a link to its own name.
pub(super) fn build(site: &mut Site<'_>, top: &Folder, plan: &Plan) -> io::Result<()> {
    let files = top.make_folder(b"names")?;
    let folders = top.make_folder(b"folders")?;
    let random: Vec<Vec<u8>> = (0..plan.random_names).map(|_| random_name(site)).collect();
    for name in ODD_NAMES
        .iter()
        .copied()
        .chain(random.iter().map(Vec::as_slice))
    {
        let what = format!("the name {}", visible(name));
        site.attempt(&what, files.make_file(name, name));
        let made = folders.make_folder(name).and_then(|folder| {
            folder.make_file(b"inside", b"1")?;
            folder.make_symlink(b"link", name)
        });
        site.attempt(format!("{what} of a folder"), made);
    }
    Ok(())
}

/// Draws a name of up to 40 random bytes with a unique ending.
fn random_name(site: &mut Site<'_>) -> Vec<u8> {
    let length = 1 + site.prng.below(40);
    let mut name = Vec::new();
    while (name.len() as u64) < length {
        let byte = site.prng.bits().to_le_bytes()[0];
        if byte != 0 && byte != b'/' {
            name.push(byte);
        }
    }
    name.extend_from_slice(format!(".{:08x}", site.prng.below(1 << 32)).as_bytes());
    name
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn the_table_has_valid_distinct_names() {
        assert_eq!(
            ODD_NAMES.iter().collect::<BTreeSet<_>>().len(),
            ODD_NAMES.len()
        );
        for name in ODD_NAMES {
            assert!((1..=255).contains(&name.len()) && !name.contains(&b'/') && !name.contains(&0));
            assert!(*name != b"." && *name != b"..");
        }
        assert!(
            ODD_NAMES
                .iter()
                .filter(|name| std::str::from_utf8(name).is_err())
                .count()
                >= 12
        );
        assert!(std::str::from_utf8(&two_byte_letters()).is_ok());
    }
}
