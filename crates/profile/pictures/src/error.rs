//! Errors: what cannot be drawn, and why.

/// Why there is no picture.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The profile has no such operation, or no call of it.
    #[error("the profile has no call of operation {0}")]
    Operation(String),
    /// The picture would have too many pixels.
    #[error("a picture of {width} × {height} pixels is larger than {limit} pixels in all")]
    Size {
        /// Width in pixels.
        width: f64,
        /// Height in pixels.
        height: f64,
        /// The limit.
        limit: f64,
    },
    /// The embedded font cannot be read.
    #[error("the embedded font is damaged: {0}")]
    Font(#[from] ttf_parser::FaceParsingError),
    /// The PNG encoder failed.
    #[error("cannot encode the picture as PNG: {0}")]
    Png(String),
}
