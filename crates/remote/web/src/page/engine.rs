//! The query engine of HTML pages.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::OFlags;
use trawl_call::request::Cancel;
use trawl_sets::expand::Engine;
use trawl_sets::member::Op;
use trawl_sets::{Found, Names, Problem};
use trawl_text::glob::{Case, Glob};
use url::Url;

use super::html::links;
use crate::error::WebError;
use crate::http::{Address, Client, is_url};

/// Number of bytes at the beginning of a file that show whether it is HTML.
const SNIFFED_BYTES: u64 = 1024;

/// Media types of HTML pages.
const MEDIA_TYPES: [&str; 2] = ["text/html", "application/xhtml+xml"];

/// Extensions of HTML pages.
const EXTENSIONS: [&str; 3] = ["html", "htm", "xhtml"];

/// Answers queries on HTML pages: local files, and URLs whose server says that they are HTML.
///
/// The empty query selects all documents that the page links to ([`links`]). Another query is a
/// wildcard pattern (`*`, `?`, `[…]`), which selects the documents whose URL or path, or the last
/// component of it, matches. A page on a server links only to `http:` and `https:` URLs; a local
/// page also to local files, as paths.
pub struct Pages(Client);

impl Pages {
    /// Returns an engine that fetches pages with this client.
    pub fn new(client: Client) -> Pages {
        Pages(client)
    }

    /// Returns the page; `None` if the object is not HTML.
    fn remote(&self, name: &[u8]) -> Result<Option<Page>, WebError> {
        let limits = self.0.limits();
        let mut response = self.0.get(&Address::parse(name)?)?;
        let media_type = response.media_type.as_deref();
        if !media_type.is_some_and(|name| MEDIA_TYPES.contains(&name)) {
            return Ok(None);
        }
        let wanted = limits.page_bytes.saturating_add(1);
        let (bytes, _) = response.body.begin(wanted, limits.head)?;
        let url = response.address.url().clone();
        Ok(Some(Page::cut(url, bytes, limits.page_bytes)))
    }

    fn local(&self, path: &[u8]) -> io::Result<Option<Page>> {
        let Some(file) = open_html(path)? else {
            return Ok(None);
        };
        let most = self.0.limits().page_bytes;
        let mut bytes = Vec::new();
        file.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
        let absolute = std::path::absolute(OsStr::from_bytes(path))?;
        let url = Url::from_file_path(&absolute);
        let url = url.map_err(|()| io::Error::other("the path cannot be written as a URL"))?;
        Ok(Some(Page::cut(url, bytes, most)))
    }
}

/// A page that was read.
struct Page {
    url: Url,
    bytes: Vec<u8>,
    is_whole: bool,
}

impl Page {
    fn cut(url: Url, mut bytes: Vec<u8>, most: u64) -> Page {
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        let is_whole = bytes.len() <= most;
        bytes.truncate(most);
        Page {
            url,
            bytes,
            is_whole,
        }
    }
}

impl Engine for Pages {
    fn accepts(&self, prefix: &[u8]) -> bool {
        is_url(prefix) || matches!(open_html(prefix), Ok(Some(_)))
    }

    fn run(&self, prefix: &[u8], query: &[u8], _: &Cancel) -> Result<Box<dyn Names>, Problem> {
        let problem = |source: io::Error| Problem {
            name: prefix.to_vec(),
            op: Op::Expand,
            source,
        };
        let page = match is_url(prefix) {
            true => self.remote(prefix).map_err(io::Error::from),
            false => self.local(prefix),
        };
        let Some(page) = page.map_err(problem)? else {
            return Ok(Box::new(std::iter::empty()));
        };
        let glob = (!query.is_empty()).then(|| Glob::of_environment(query, Case::Sensitive));
        let names = links(&page.bytes, &page.url);
        let names = names.iter().filter_map(|url| name_of(url, &page.url));
        let is_selected = |name: &Vec<u8>| glob.as_ref().is_none_or(|glob| selects(glob, name));
        let names: Vec<Vec<u8>> = names.filter(is_selected).collect();
        let cut = (!page.is_whole).then(|| {
            let most = self.0.limits().page_bytes;
            problem(io::Error::other(format!(
                "the page is larger than {most} bytes: links after them are missing"
            )))
        });
        let names = names.into_iter();
        Ok(Box::new(Links { names, cut }))
    }
}

/// The links of a page, and the problem that some are missing.
struct Links {
    names: std::vec::IntoIter<Vec<u8>>,
    cut: Option<Problem>,
}

impl Names for Links {
    fn next(&mut self, cancel: &Cancel) -> Option<Result<Found, Problem>> {
        if cancel.is_cancelled() {
            return None;
        }
        match Iterator::next(&mut self.names) {
            Some(name) => Some(Ok(Found::named(name))),
            None => self.cut.take().map(Err),
        }
    }
}

/// Returns the name of a linked document: a URL, or the path of a local file if the page is local,
/// relative to the page's directory where the document lies below it.
fn name_of(url: &Url, page: &Url) -> Option<Vec<u8>> {
    if Address::parse(url.as_str().as_bytes()).is_ok() {
        return Some(url.as_str().as_bytes().to_vec());
    }
    if url.scheme() != "file" || page.scheme() != "file" {
        return None;
    }
    let path = url.to_file_path().ok()?;
    let own = page.to_file_path().ok()?;
    if path == own {
        return None;
    }
    let below = own.parent().and_then(|dir| path.strip_prefix(dir).ok());
    let below = below.filter(|below| *below != Path::new(""));
    let name = below.unwrap_or(&path).as_os_str().to_owned().into_vec();
    (!name.contains(&0)).then_some(name)
}

fn selects(glob: &Glob, name: &[u8]) -> bool {
    let path = name.split(|byte| *byte == b'?').next().unwrap_or_default();
    let last = path.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
    glob.matches(name) || glob.matches(last)
}

/// Opens a local file if it is a regular file that begins as HTML.
fn open_html(path: &[u8]) -> io::Result<Option<File>> {
    let path = Path::new(OsStr::from_bytes(path));
    if !std::fs::metadata(path)?.is_file() {
        return Ok(None);
    }
    // A FIFO that has taken the file's place does not block.
    let flags = i32::try_from((OFlags::NONBLOCK | OFlags::NOCTTY).bits()).unwrap_or_default();
    let file = File::options().read(true).custom_flags(flags).open(path)?;
    let mut head = Vec::new();
    (&file).take(SNIFFED_BYTES).read_to_end(&mut head)?;
    let extension = path.extension().map(OsStr::to_ascii_lowercase);
    let is_named = extension.is_some_and(|own| EXTENSIONS.iter().any(|name| own == *name));
    head.make_ascii_lowercase();
    let has = |text: &[u8]| head.windows(text.len()).any(|part| part == text);
    let is_html = is_named || has(b"<!doctype html") || has(b"<html");
    if head.contains(&0) || !is_html {
        return Ok(None);
    }
    io::Seek::rewind(&mut &file)?;
    Ok(Some(file))
}
