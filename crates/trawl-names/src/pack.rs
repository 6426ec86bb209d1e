//! Packing names with a table of symbols: at each place the longest symbol
//! that is there.

use crate::symbols::{CodeWriter, SYMBOL_BYTES_MOST, Symbols};

/// Stands for no code at a node.
const NO_CODE: u16 = u16::MAX;
/// Bits of the smallest table of edges.
const EDGE_BITS_LEAST: u32 = 8;

/// Symbols as a tree of their bytes. A node's number and the code of the
/// symbol that ends in it lie together in what leads to it: the number in
/// the low half, the code in the high one. 0 leads nowhere.
pub(crate) struct Encoder {
    /// By the first two bytes.
    pairs: Vec<u32>,
    /// By a node and the next byte, in a table of open addresses: these
    /// above, what they lead to below.
    edges: Vec<u64>,
    shift: u32,
}

fn leads_to(node: u16, code: u16) -> u32 {
    u32::from(code) << 16 | u32::from(node)
}

impl Encoder {
    pub(crate) fn new(symbols: &Symbols) -> Encoder {
        let bytes: usize = symbols.texts().map(|text| text.len() - 1).sum();
        let bits = (bytes * 2).next_power_of_two().ilog2().max(EDGE_BITS_LEAST);
        let mut encoder = Encoder {
            pairs: vec![0; 1 << 16],
            edges: vec![0; 1 << bits],
            shift: u32::BITS - bits,
        };
        let mut nodes = 0;
        for (code, text) in symbols.texts().enumerate() {
            if text.len() > 1 {
                encoder.add(text, code as u16, &mut nodes);
            }
        }
        encoder
    }

    fn add(&mut self, text: &[u8], code: u16, nodes: &mut u16) {
        let mut next_node = || {
            *nodes += 1;
            leads_to(*nodes, NO_CODE)
        };
        let pair = &mut self.pairs[pair_of(text[0], text[1])];
        if *pair == 0 {
            *pair = next_node();
        }
        if text.len() == 2 {
            *pair = leads_to(*pair as u16, code);
        }
        let mut node = *pair as u16;
        for (at, byte) in text.iter().enumerate().skip(2) {
            let place = self.edge_place(node, *byte);
            let edge = &mut self.edges[place];
            if *edge == 0 {
                *edge = edge_key(node, *byte) << 32 | u64::from(next_node());
            }
            if at + 1 == text.len() {
                *edge = *edge >> 32 << 32 | u64::from(leads_to(*edge as u16, code));
            }
            node = *edge as u16;
        }
    }

    /// Where an edge is, or would be.
    #[inline]
    fn edge_place(&self, node: u16, byte: u8) -> usize {
        let key = edge_key(node, byte);
        let mixed = (key as u32).wrapping_mul(0x9e37_79b1) >> self.shift;
        let mut place = mixed as usize;
        while let Some(edge) = self.edges.get(place) {
            if *edge == 0 || *edge >> 32 == key {
                return place;
            }
            place = (place + 1) & (self.edges.len() - 1);
        }
        0
    }

    /// The longest symbol that a text begins with: its code and length.
    #[inline]
    fn longest(&self, text: &[u8]) -> (u16, usize) {
        let (first, second) = match text {
            [first, second, ..] => (*first, *second),
            [only] => return (u16::from(*only), 1),
            [] => return (0, 1),
        };
        let mut best = (u16::from(first), 1);
        let mut reached = self.pairs[pair_of(first, second)];
        for (at, byte) in text.iter().enumerate().skip(2).take(SYMBOL_BYTES_MOST - 1) {
            if reached == 0 {
                return best;
            }
            if reached >> 16 != u32::from(NO_CODE) {
                best = ((reached >> 16) as u16, at);
            }
            reached = self.edges[self.edge_place(reached as u16, *byte)] as u32;
        }
        if reached != 0 && reached >> 16 != u32::from(NO_CODE) {
            best = ((reached >> 16) as u16, text.len().min(SYMBOL_BYTES_MOST));
        }
        best
    }

    /// Tells of the codes of names, each with a zero byte behind it.
    #[inline]
    pub(crate) fn codes(&self, text: &[u8], mut tell: impl FnMut(u16)) {
        let mut rest = text;
        while !rest.is_empty() {
            let (code, len) = self.longest(rest);
            tell(code);
            rest = rest.get(len..).unwrap_or_default();
        }
    }

    /// Appends the codes of names, each with a zero byte behind it.
    pub(crate) fn pack(&self, text: &[u8], out: &mut Vec<u8>) {
        let mut writer = CodeWriter::default();
        self.codes(text, |code| writer.push(code, out));
        writer.finish(out);
    }
}

#[inline]
fn pair_of(first: u8, second: u8) -> usize {
    usize::from(first) << 8 | usize::from(second)
}

#[inline]
fn edge_key(node: u16, byte: u8) -> u64 {
    u64::from(node) << 8 | u64::from(byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_symbol_is_taken() {
        let texts = [&b"ab"[..], b"abcd", b"c\0", b"fifteen-bytes.c"];
        let symbols = Symbols::new(texts.into_iter()).unwrap();
        let encoder = Encoder::new(&symbols);
        let codes = |text: &[u8]| {
            let mut codes = Vec::new();
            encoder.codes(text, |code| codes.push(code));
            codes
        };
        assert_eq!(codes(b"abc\0"), [256, 258]);
        assert_eq!(codes(b"abcd\0"), [257, 0]);
        assert_eq!(codes(b"abcx"), [256, 99, 120]);
        assert_eq!(codes(b"fifteen-bytes.c"), [259]);
        assert_eq!(codes(b"fifteen-bytes.cc\0"), [259, 258]);
        assert_eq!(codes(b"fifteen-bytes.")[0], 102);
    }
}
