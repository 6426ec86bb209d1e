//! Listings as `ls` prints them: names with quotes, colours and links, in columns or in the long
//! format.

mod colour;
mod columns;
mod item;
mod long;
mod name;
mod render;
mod style;

pub use self::colour::{BadColours, Palette, Shown};
pub use self::item::{AccessMark, Item};
pub use self::name::{Name, Naming};
pub use self::render::Renderer;
pub use self::style::{Indicator, Layout, OwnerFields, Style};
