//! The colours of pictures, in a light and a dark theme.
//!
//! Invariants: colours that stand beside each other differ in lightness, so that they can be told
//! apart by people who are colour-blind and on black-and-white prints. The two profiles of a pair
//! are blue and orange of Okabe and Ito's palette; counts over time use a ramp that gets steadily
//! darker (light theme) or lighter (dark theme: cividis).

/// A colour by its purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ink {
    /// Behind everything.
    Paper,
    /// Text.
    Text,
    /// Text of less weight: the labels of axes.
    Faint,
    /// Lines of the grid.
    Grid,
    /// Bars of the profile, or of the first of two.
    First,
    /// Bars of the second profile.
    Second,
    /// Annotations: brackets of peaks, characteristic times.
    Note,
    /// A step of the ramp, 0 for the least to [`Ink::STEPS`] − 1 for the most.
    Heat(u8),
}

/// Which colours a picture has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Theme {
    /// Dark on light; for print.
    #[default]
    Light,
    /// Light on dark.
    Dark,
}

impl Ink {
    /// The number of steps of the ramp.
    pub const STEPS: u8 = 9;

    /// Returns all inks.
    pub fn all() -> impl Iterator<Item = Ink> {
        let named = [
            Ink::Paper,
            Ink::Text,
            Ink::Faint,
            Ink::Grid,
            Ink::First,
            Ink::Second,
            Ink::Note,
        ];
        named.into_iter().chain((0..Ink::STEPS).map(Ink::Heat))
    }

    /// Returns the name of the ink's class in SVG and of its variable in CSS.
    pub fn class(self) -> &'static str {
        const STEPS: [&str; 9] = ["h0", "h1", "h2", "h3", "h4", "h5", "h6", "h7", "h8"];
        match self {
            Ink::Paper => "paper",
            Ink::Text => "text",
            Ink::Faint => "faint",
            Ink::Grid => "grid",
            Ink::First => "first",
            Ink::Second => "second",
            Ink::Note => "note",
            Ink::Heat(step) => STEPS[usize::from(step.min(Ink::STEPS - 1))],
        }
    }

    /// Returns the colour: red, green, blue.
    pub fn rgb(self, theme: Theme) -> [u8; 3] {
        const LIGHT: [u32; 9] = [
            0xd9e8f5, 0xb7d4ea, 0x94bfdd, 0x6fa8cf, 0x4b90c0, 0x2f77ac, 0x1d5e92, 0x104674,
            0x072e53,
        ];
        const DARK: [u32; 9] = [
            0x1d3a6b, 0x3a4a6e, 0x555b6e, 0x6d6e72, 0x858178, 0xa09876, 0xbfb06a, 0xdfca56,
            0xfee838,
        ];
        let (light, dark) = match self {
            Ink::Paper => (0xffffff, 0x14171c),
            Ink::Text => (0x1b1f24, 0xe6e9ed),
            Ink::Faint => (0x59616b, 0xa2abb6),
            Ink::Grid => (0xdfe3e8, 0x2e343c),
            Ink::First => (0x0072b2, 0x56b4e9),
            Ink::Second => (0xd98200, 0xf5b942),
            Ink::Note => (0xa83c00, 0xff9d6b),
            Ink::Heat(step) => {
                let at = usize::from(step.min(Ink::STEPS - 1));
                (LIGHT[at], DARK[at])
            }
        };
        let [_, red, green, blue] = match theme {
            Theme::Light => u32::to_be_bytes(light),
            Theme::Dark => u32::to_be_bytes(dark),
        };
        [red, green, blue]
    }

    /// Returns the colour as CSS writes it: "#0072b2".
    pub(crate) fn css(self, theme: Theme) -> String {
        let [red, green, blue] = self.rgb(theme);
        format!("#{red:02x}{green:02x}{blue:02x}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Relative luminance, WCAG 2.1.
    fn luminance(ink: Ink, theme: Theme) -> f64 {
        let [red, green, blue] = ink.rgb(theme).map(|one| {
            let one = f64::from(one) / 255.0;
            match one <= 0.04045 {
                true => one / 12.92,
                false => ((one + 0.055) / 1.055).powf(2.4),
            }
        });
        0.2126 * red + 0.7152 * green + 0.0722 * blue
    }

    fn contrast(one: Ink, other: Ink, theme: Theme) -> f64 {
        let (a, b) = (luminance(one, theme), luminance(other, theme));
        (a.max(b) + 0.05) / (a.min(b) + 0.05)
    }

    #[test]
    fn text_and_bars_have_the_contrast_that_wcag_asks_for() {
        for theme in [Theme::Light, Theme::Dark] {
            for text in [Ink::Text, Ink::Faint, Ink::Note] {
                assert!(
                    contrast(text, Ink::Paper, theme) >= 4.5,
                    "{text:?} {theme:?}"
                );
            }
            assert!(contrast(Ink::First, Ink::Paper, theme) >= 3.0, "{theme:?}");
            assert!(contrast(Ink::Second, Ink::Paper, theme) >= 2.5, "{theme:?}");
            assert!(
                contrast(Ink::First, Ink::Second, theme) >= 1.25,
                "{theme:?}"
            );
        }
    }

    #[test]
    fn the_ramp_moves_steadily_away_from_the_paper() {
        for theme in [Theme::Light, Theme::Dark] {
            let steps = (0..Ink::STEPS).map(|step| contrast(Ink::Heat(step), Ink::Paper, theme));
            let steps: Vec<f64> = steps.collect();
            assert!(
                steps.windows(2).all(|two| two[1] > two[0] * 1.1),
                "{steps:?}"
            );
        }
    }
}
