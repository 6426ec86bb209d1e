//! Bars that show shares of a whole.

use trawl_text::locale::Locale;

/// Width of a whole bar in terminal columns.
pub const BAR_WIDTH: usize = 20;

/// Characters that bars are drawn with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ink {
    /// Block characters, with a resolution of an eighth of a column.
    Blocks,
    /// Number signs, where text is not UTF-8.
    Signs,
}

impl Ink {
    /// Returns the characters that this locale can show.
    pub fn of(locale: Locale) -> Ink {
        match locale.is_utf8() {
            true => Ink::Blocks,
            false => Ink::Signs,
        }
    }
}

/// Returns a part as a fraction of the whole, from 0 to 1.
pub fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 {
        0.0
    } else {
        part as f64 / whole as f64
    }
}

/// Returns a bar for a share from 0 to 1, without spaces behind it.
pub fn bar(share: f64, ink: Ink) -> String {
    let eighths = (share.clamp(0.0, 1.0) * (BAR_WIDTH * 8) as f64).round() as usize;
    match ink {
        Ink::Signs => "#".repeat(eighths.div_ceil(8)),
        Ink::Blocks => {
            let mut out = "█".repeat(eighths / 8);
            // U+2589 is seven eighths wide, U+258F one eighth.
            let rest = u32::try_from(eighths % 8).unwrap_or(0);
            out.extend((rest > 0).then(|| char::from_u32(0x2590 - rest)).flatten());
            out
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_as_long_as_the_share() {
        assert_eq!(bar(1.0, Ink::Blocks), "█".repeat(BAR_WIDTH));
        assert_eq!(bar(0.5 / 160.0 + 1.0 / 160.0, Ink::Blocks), "▎");
        assert_eq!(bar(7.0 / 160.0, Ink::Blocks), "▉");
        assert_eq!(bar(0.0, Ink::Blocks), "");
        assert_eq!(bar(share(1, 0), Ink::Signs), "");
        assert_eq!(bar(0.001, Ink::Signs), "");
        assert_eq!(bar(0.01, Ink::Signs), "#");
    }
}
