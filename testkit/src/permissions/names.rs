//! Names that printing, quoting and path handling often get wrong.

use crate::prng::Prng;

const ODD: &[&[u8]] = &[
    b"new\nline",
    b"\xff\xfe",
    b"caf\xc3\xa9",
    b"it's",
    b"\"quoted\"",
    b"-n",
    b"--help",
    b"\x1b[31mred\x1b[0m",
    b" ",
    b"a b",
    b"back\\slash",
    b"tab\there",
    b"$(id)",
    b"; rm -rf x",
    b"*",
    b"...",
    b"data",
    b"INDEX",
    b"%s%n",
];

/// The longest name on Linux.
pub const LONGEST_BYTES: usize = 255;

/// Draws a name; `number` makes ordinary names unique.
pub(super) fn draw(prng: &mut Prng, number: usize) -> Vec<u8> {
    match prng.below(12) {
        0 | 1 => {
            let mut name = prng.pick(ODD).to_vec();
            name.extend(number.to_string().bytes());
            name
        }
        2 if prng.once_in(6) => long(number),
        _ => format!("n{number}").into_bytes(),
    }
}

/// Returns a name of 255 bytes.
pub(super) fn long(number: usize) -> Vec<u8> {
    let mut name = number.to_string().into_bytes();
    name.resize(LONGEST_BYTES, b'l');
    name
}
