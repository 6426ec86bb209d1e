//! Pictures as PNG, drawn by tiny-skia with the embedded font: no system fonts, no browser.

use tiny_skia::{
    Color, FillRule, LineCap, Paint, PathBuilder, Pixmap, Rect as SkiaRect, Stroke, StrokeDash,
    Transform,
};

use crate::Error;
use crate::font::Font;
use crate::ink::{Ink, Theme};
use crate::picture::{Anchor, Dashes, Item, Picture, Rect, Shape, Style, Weight};

/// The most pixels that a picture may have: 64 million take 256 MB while they are drawn.
pub const PIXELS_MAX: f64 = 64e6;

impl Picture {
    /// Returns the picture as a PNG file, `scale` pixels for each CSS pixel: 2 is sharp on most
    /// screens, 4 in print.
    pub fn png(&self, theme: Theme, scale: f64) -> Result<Vec<u8>, Error> {
        let (width, height) = ((self.width * scale).ceil(), (self.height * scale).ceil());
        let too_large = || Error::Size {
            width,
            height,
            limit: PIXELS_MAX,
        };
        if !(width >= 1.0 && height >= 1.0 && width * height <= PIXELS_MAX) {
            return Err(too_large());
        }
        let mut canvas = Canvas {
            pixels: Pixmap::new(width as u32, height as u32).ok_or_else(too_large)?,
            font: Font::new()?,
            theme,
            scale: Transform::from_scale(scale as f32, scale as f32),
        };
        canvas.pixels.fill(colour(Ink::Paper, theme, 1.0));
        let (at, text, style) = self.heading();
        canvas.text(at, &text, &style);
        for item in &self.items {
            canvas.draw(item);
        }
        let encoded = canvas.pixels.encode_png();
        encoded.map_err(|error| Error::Png(error.to_string()))
    }
}

fn colour(ink: Ink, theme: Theme, light: f64) -> Color {
    let [red, green, blue] = ink.rgb(theme).map(|one| (f64::from(one) * light) as u8);
    Color::from_rgba8(red, green, blue, 255)
}

struct Canvas {
    pixels: Pixmap,
    font: Font,
    theme: Theme,
    scale: Transform,
}

impl Canvas {
    fn paint(&self, ink: Ink, light: f64) -> Paint<'static> {
        let mut paint = Paint::default();
        paint.set_color(colour(ink, self.theme, light));
        paint
    }

    fn draw(&mut self, item: &Item) {
        match item {
            Item::Rect { rect, ink } => self.rect(rect, *ink),
            Item::Line {
                from,
                to,
                ink,
                dashed,
            } => self.line(*from, *to, *ink, *dashed),
            Item::Polygon { points, ink, shade } => self.polygon(points, *ink, *shade),
            Item::Text { at, text, style } => self.text(*at, text, style),
            Item::Mark { shape, ink, .. } => self.shape(shape, *ink),
            Item::Open { .. } | Item::Close => {}
        }
    }

    fn shape(&mut self, shape: &Shape, ink: Ink) {
        match shape {
            Shape::Bar(bar) => self.rect(bar, ink),
            Shape::Ring { x, y, radius } => {
                let ring = PathBuilder::from_circle(*x as f32, *y as f32, *radius as f32);
                if let Some(ring) = ring {
                    let stroke = Stroke {
                        width: 1.5,
                        ..Stroke::default()
                    };
                    let paint = self.paint(ink, 1.0);
                    self.pixels
                        .stroke_path(&ring, &paint, &stroke, self.scale, None);
                }
            }
        }
    }

    fn rect(&mut self, rect: &Rect, ink: Ink) {
        let (width, height) = (rect.width.max(0.0) as f32, rect.height.max(0.0) as f32);
        let rect = SkiaRect::from_xywh(rect.left as f32, rect.top as f32, width, height);
        if let Some(rect) = rect {
            let paint = self.paint(ink, 1.0);
            self.pixels.fill_rect(rect, &paint, self.scale, None);
        }
    }

    fn line(&mut self, from: (f64, f64), to: (f64, f64), ink: Ink, dashed: Dashes) {
        let mut path = PathBuilder::new();
        path.move_to(from.0 as f32, from.1 as f32);
        path.line_to(to.0 as f32, to.1 as f32);
        let dash = match dashed {
            Dashes::Dashed => StrokeDash::new(vec![4.0, 3.0], 0.0),
            Dashes::Solid => None,
        };
        let stroke = Stroke {
            width: 1.0,
            line_cap: LineCap::Butt,
            dash,
            ..Stroke::default()
        };
        if let Some(path) = path.finish() {
            let paint = self.paint(ink, 1.0);
            self.pixels
                .stroke_path(&path, &paint, &stroke, self.scale, None);
        }
    }

    fn polygon(&mut self, points: &[(f64, f64)], ink: Ink, shade: f64) {
        let mut path = PathBuilder::new();
        for (at, (x, y)) in points.iter().enumerate() {
            match at {
                0 => path.move_to(*x as f32, *y as f32),
                _ => path.line_to(*x as f32, *y as f32),
            }
        }
        path.close();
        if let Some(path) = path.finish() {
            let paint = self.paint(ink, 1.0 - shade);
            let rule = FillRule::Winding;
            self.pixels.fill_path(&path, &paint, rule, self.scale, None);
        }
    }

    fn text(&mut self, at: (f64, f64), text: &str, style: &Style) {
        let Some(path) = self.font.outlines(text, style.size) else {
            return;
        };
        let width = self.font.width(text, style.size);
        let back = match style.anchor {
            Anchor::Start => 0.0,
            Anchor::Middle => width / 2.0,
            Anchor::End => width,
        };
        let place =
            Transform::from_translate((at.0 - back) as f32, at.1 as f32).post_concat(self.scale);
        let paint = self.paint(style.ink, 1.0);
        self.pixels
            .fill_path(&path, &paint, FillRule::Winding, place, None);
        if style.weight == Weight::Bold {
            // The font has no bold letters: a line around them makes them bolder.
            let stroke = Stroke {
                width: style.size as f32 / 30.0,
                ..Stroke::default()
            };
            self.pixels.stroke_path(&path, &paint, &stroke, place, None);
        }
    }
}
