//! Names that expressions, patterns and terminals often get wrong.

use crate::prng::Prng;

/// The longest name on Linux.
pub const LONGEST_BYTES: usize = 255;

const PARTS: &[&[u8]] = &[
    b"a",
    b"b",
    b"ab",
    b"A",
    b"x",
    b".",
    b".c",
    b".txt",
    b"lib",
    b"_",
    b"1",
    b"10",
    b"\xc3\xa9",
];

const ODD: &[&[u8]] = &[
    b"new\nline",
    b"\xff\xfe",
    b"it's",
    b"\"quoted\"",
    b"-name",
    b"-print",
    b"--",
    b"-",
    b"(",
    b")",
    b"!",
    b",",
    b"!a",
    b"(x)",
    b"\x1b[31mred\x1b[0m",
    b" ",
    b"a b ",
    b"back\\slash",
    b"tab\there",
    b"*",
    b"?",
    b"[a]",
    b"[",
    b"\\",
    b"...",
    b"..a",
    b"{}",
    b";",
    b"+",
    b"%p%n",
    b"$(id)",
    b"\xe2\x82",
    b"\x01\x7f",
];

/// Draws a name, which need not be new.
pub(super) fn draw(prng: &mut Prng, number: usize) -> Vec<u8> {
    match prng.below(14) {
        0..3 => prng.pick(ODD).to_vec(),
        3 => [*prng.pick(ODD), *prng.pick(PARTS)].concat(),
        4 if prng.once_in(4) => {
            let mut name = format!("{number}-").into_bytes();
            name.resize(LONGEST_BYTES, b'l');
            name
        }
        _ => {
            let parts = 1 + prng.below(3);
            let mut name: Vec<u8> = (0..parts).flat_map(|_| prng.pick(PARTS).to_vec()).collect();
            if name == b"." || name == b".." {
                name.push(b'0');
            }
            name
        }
    }
}
