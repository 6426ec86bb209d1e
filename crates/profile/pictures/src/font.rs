//! The embedded font: outlines and widths of the characters that labels need.
//!
//! A subset of DejaVu Sans, because a picture must look alike on a server without fonts. There is
//! no shaping: characters stand beside each other, and those that the font lacks become U+FFFD. The
//! SVG names system fonts instead and keeps all characters.

use tiny_skia::{Path, PathBuilder};
use ttf_parser::{Face, GlyphId, OutlineBuilder};

use crate::Error;

static LABELS: &[u8] = include_bytes!("../font/labels.ttf");

/// The embedded font.
pub(crate) struct Font {
    face: Face<'static>,
}

impl Font {
    pub(crate) fn new() -> Result<Font, Error> {
        Ok(Font {
            face: Face::parse(LABELS, 0)?,
        })
    }

    fn glyph(&self, one: char) -> GlyphId {
        let found = self.face.glyph_index(one);
        let or_else = || self.face.glyph_index('\u{fffd}');
        found.or_else(or_else).unwrap_or_default()
    }

    fn advance(&self, glyph: GlyphId, scale: f64) -> f64 {
        f64::from(self.face.glyph_hor_advance(glyph).unwrap_or(0)) * scale
    }

    fn scale(&self, size: f64) -> f64 {
        size / f64::from(self.face.units_per_em().max(1))
    }

    /// Returns the width of a text.
    pub(crate) fn width(&self, text: &str, size: f64) -> f64 {
        let scale = self.scale(size);
        let advances = text.chars().map(|one| self.advance(self.glyph(one), scale));
        advances.sum()
    }

    /// Returns a text's outlines, from (0, 0) to the right; `None` if nothing is to be drawn.
    pub(crate) fn outlines(&self, text: &str, size: f64) -> Option<Path> {
        let scale = self.scale(size);
        let mut pen = Pen {
            path: PathBuilder::new(),
            scale: scale as f32,
            x: 0.0,
        };
        let mut x = 0.0;
        for one in text.chars() {
            let glyph = self.glyph(one);
            pen.x = x as f32;
            self.face.outline_glyph(glyph, &mut pen);
            x += self.advance(glyph, scale);
        }
        pen.path.finish()
    }
}

/// Draws glyphs into a path: font units, with y upwards, become pixels.
struct Pen {
    path: PathBuilder,
    scale: f32,
    x: f32,
}

impl Pen {
    fn point(&self, x: f32, y: f32) -> (f32, f32) {
        (self.x + x * self.scale, -y * self.scale)
    }
}

impl OutlineBuilder for Pen {
    fn move_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.point(x, y);
        self.path.move_to(x, y);
    }

    fn line_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.point(x, y);
        self.path.line_to(x, y);
    }

    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        let ((x1, y1), (x, y)) = (self.point(x1, y1), self.point(x, y));
        self.path.quad_to(x1, y1, x, y);
    }

    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        let ((x1, y1), (x2, y2)) = (self.point(x1, y1), self.point(x2, y2));
        let (x, y) = self.point(x, y);
        self.path.cubic_to(x1, y1, x2, y2, x, y);
    }

    fn close(&mut self) {
        self.path.close();
    }
}

#[cfg(test)]
mod tests {
    use super::Font;

    #[test]
    fn the_font_has_every_character_that_our_labels_use() {
        let font = Font::new().unwrap();
        for one in (' '..='~').chain("µ×·–−…²↓→≤≥≈é\u{fffd}".chars()) {
            assert!(font.face.glyph_index(one).is_some(), "{one:?}");
        }
    }
}
