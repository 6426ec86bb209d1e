//! The files of the page, which are part of the program. Its sources are in `web/`.
//!
//! They are compressed once, when the first client wants them so.

use std::io::Write as _;
use std::sync::LazyLock;

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::Response;
use flate2::Compression;
use flate2::write::GzEncoder;

/// A file.
struct File {
    path: &'static str,
    media_type: &'static str,
    bytes: &'static [u8],
}

macro_rules! file {
    ($path:literal, $media_type:literal) => {
        File {
            path: $path,
            media_type: $media_type,
            bytes: include_bytes!(concat!("../../../../web/dist/", $path)),
        }
    };
}

/// The page itself, which every address has that is no other file.
const INDEX: File = file!("index.html", "text/html; charset=utf-8");

const FILES: &[File] = &[
    file!("assets/app.js", "text/javascript; charset=utf-8"),
    file!("assets/app.css", "text/css; charset=utf-8"),
    file!("assets/icon.svg", "image/svg+xml"),
    file!("assets/licences.txt", "text/plain; charset=utf-8"),
];

/// The compressed files, in the order of [`INDEX`] and [`FILES`].
static COMPRESSED: LazyLock<Vec<Vec<u8>>> =
    LazyLock::new(|| all().map(|file| compressed(file.bytes)).collect());

fn all() -> impl Iterator<Item = &'static File> {
    std::iter::once(&INDEX).chain(FILES)
}

fn compressed(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    let written = encoder.write_all(bytes).and_then(|()| encoder.finish());
    // Memory takes everything.
    written.unwrap_or_default()
}

/// Returns the file of a path, or the page where the path names a view.
pub fn answer(path: &str, headers: &HeaderMap) -> Response {
    let path = path.trim_start_matches('/');
    let is_file = path.starts_with("assets/") || path == "favicon.ico" || path == "robots.txt";
    let found = all().enumerate().find(|(_, file)| file.path == path);
    let (at, file) = match found {
        Some(found) => found,
        None if is_file => return status(StatusCode::NOT_FOUND),
        None => (0, &INDEX),
    };
    let tag = format!(
        "\"{:08x}-{:x}\"",
        crc32fast::hash(file.bytes),
        file.bytes.len()
    );
    let has = |name, wanted: &str| {
        let values = headers.get_all(name).iter();
        let mut values = values.filter_map(|value| value.to_str().ok());
        values.any(|value| value.split(',').any(|one| one.trim().starts_with(wanted)))
    };
    if has(header::IF_NONE_MATCH, &tag) {
        return status(StatusCode::NOT_MODIFIED);
    }
    let gzip = COMPRESSED
        .get(at)
        .filter(|_| has(header::ACCEPT_ENCODING, "gzip"));
    let mut response = match gzip {
        Some(bytes) => Response::new(Body::from(bytes.as_slice())),
        None => Response::new(Body::from(file.bytes)),
    };
    let out = response.headers_mut();
    if gzip.is_some() {
        out.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    out.insert(header::VARY, HeaderValue::from_static("accept-encoding"));
    out.insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static(file.media_type),
    );
    out.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    if let Ok(tag) = HeaderValue::from_str(&tag) {
        out.insert(header::ETAG, tag);
    }
    response
}

fn status(status: StatusCode) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    response
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read as _;

    /// The most that a new user loads, compressed.
    const BYTES_MAX: usize = 600 << 10;

    #[test]
    fn the_page_is_small() {
        let bytes: usize = COMPRESSED.iter().map(Vec::len).sum();
        assert!(bytes <= BYTES_MAX, "{bytes}");
    }

    #[test]
    fn files_are_what_they_were_before_compression() {
        for (file, bytes) in all().zip(COMPRESSED.iter()) {
            let mut read = Vec::new();
            let mut decoder = flate2::read::GzDecoder::new(bytes.as_slice());
            decoder.read_to_end(&mut read).expect("our own");
            assert_eq!(read, file.bytes, "{}", file.path);
        }
    }

    #[test]
    fn views_are_the_page_and_missing_files_are_missing() {
        let none = HeaderMap::new();
        for path in ["/", "/space/usr/lib/x.y", "/../../etc/passwd", "/search"] {
            let response = answer(path, &none);
            let media_type = response.headers()[header::CONTENT_TYPE].to_str();
            assert_eq!(media_type.expect("text"), INDEX.media_type, "{path}");
        }
        for path in [
            "/assets/",
            "/assets/../index.html",
            "/assets/none.js",
            "/favicon.ico",
        ] {
            assert_eq!(
                answer(path, &none).status(),
                StatusCode::NOT_FOUND,
                "{path}"
            );
        }
        let script = answer("/assets/app.js", &none);
        let tag = script.headers()[header::ETAG].clone();
        let known = HeaderMap::from_iter([(header::IF_NONE_MATCH, tag)]);
        assert_eq!(
            answer("/assets/app.js", &known).status(),
            StatusCode::NOT_MODIFIED
        );
    }
}
