//! Search requests: roots, each with its pattern, and options.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use trawl_model::relative_path::join;

use crate::confined::Confined;
use crate::cookie::Cookie;
use crate::error::CallError;
use crate::options::{DEPTH_MAX, Extent, Options, RootForm};
use crate::pattern::Pattern;

/// A shared switch that cancels a search from any thread at any time.
#[derive(Clone, Debug, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// Cancels the search; it ends soon afterwards.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Returns whether the search was cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Returns the flag itself.
    pub(crate) fn flag(&self) -> &AtomicBool {
        &self.0
    }

    pub(crate) fn check(&self) -> Result<(), CallError> {
        match self.is_cancelled() {
            true => Err(CallError::Cancelled),
            false => Ok(()),
        }
    }
}

/// A directory to search.
#[derive(Clone, Debug)]
pub struct Root {
    number: u32,
    path: Vec<u8>,
    shown: Vec<u8>,
    prefix: Vec<u8>,
    pattern: Pattern,
    /// Paths below the root, in path order.
    skip: Vec<Vec<u8>>,
    confined: Option<Confined>,
}

/// The parts of a root; each field is documented at the function of the same name.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "see the functions of Root")]
pub struct RootParts {
    pub number: u32,
    pub path: Vec<u8>,
    pub shown: Vec<u8>,
    pub prefix: Vec<u8>,
    pub pattern: Pattern,
    pub skip: Vec<Vec<u8>>,
}

impl Root {
    /// Creates a root from parts that another program sent. With `confined`, the root is at that
    /// place, and its path is only a name.
    pub fn of_parts(parts: RootParts, confined: Option<Confined>) -> Root {
        Root {
            number: parts.number,
            path: parts.path,
            shown: parts.shown,
            prefix: parts.prefix,
            pattern: parts.pattern,
            skip: parts.skip,
            confined,
        }
    }

    /// Returns the root's place in a tree that no path may leave, if the root is confined.
    pub fn confined(&self) -> Option<&Confined> {
        self.confined.as_ref()
    }

    /// Returns the root's index in the caller's list.
    pub fn number(&self) -> u32 {
        self.number
    }

    /// Returns the root's path, absolute or relative to the working directory.
    pub fn path(&self) -> &[u8] {
        &self.path
    }

    /// Returns the root as the caller gave it.
    pub fn shown(&self) -> &[u8] {
        &self.shown
    }

    /// Returns the path of this part below the caller's root; empty for a whole root.
    pub fn prefix(&self) -> &[u8] {
        &self.prefix
    }

    /// Returns the pattern that is searched for in this root.
    pub fn pattern(&self) -> &Pattern {
        &self.pattern
    }

    /// Returns the paths below the root that other executors answer about, each with everything
    /// below it.
    pub fn skip(&self) -> &[Vec<u8>] {
        &self.skip
    }

    /// Returns whether another executor answers about this path below the root.
    pub(crate) fn is_elsewhere(&self, below: &[u8]) -> bool {
        self.skip.iter().any(|path| path == below)
    }

    /// Returns the part of the root at a path below it, without the paths in `skip` (which are
    /// relative to that part) and everything below them.
    pub(crate) fn part(
        &self,
        below: &[u8],
        path: Vec<u8>,
        pattern: Pattern,
        skip: Vec<Vec<u8>>,
    ) -> Root {
        Root {
            number: self.number,
            path,
            shown: self.shown.clone(),
            prefix: join(&self.prefix, below),
            pattern,
            skip,
            confined: self.confined.as_ref().map(|place| place.below(below)),
        }
    }
}

/// A search request.
#[derive(Clone, Debug)]
pub struct Request {
    roots: Vec<Root>,
    options: Options,
    resume: Option<Cookie>,
    cancel: Cancel,
}

/// Maximum number of roots in one request.
pub const ROOTS_MAX: usize = 1 << 20;

impl Request {
    /// Creates a request for the entries that match `pattern` in each of these directories.
    ///
    /// # Errors
    /// Fails for a directory that is the empty string or contains a NUL byte, for more than
    /// [`ROOTS_MAX`] directories, and for a depth beyond [`DEPTH_MAX`].
    pub fn new<P: AsRef<[u8]>>(
        pattern: &Pattern,
        roots: &[P],
        options: Options,
    ) -> Result<Request, CallError> {
        let root = |(number, path): (usize, &P)| Root {
            number: u32::try_from(number).unwrap_or(u32::MAX),
            path: path.as_ref().to_vec(),
            shown: path.as_ref().to_vec(),
            prefix: Vec::new(),
            pattern: pattern.clone(),
            skip: Vec::new(),
            confined: None,
        };
        let roots: Vec<Root> = roots.iter().enumerate().map(root).collect();
        Request::of_roots(roots, options)
    }

    /// Creates a request for these roots, each with its own pattern.
    ///
    /// # Errors
    /// As [`Request::new`].
    pub fn of_roots(roots: Vec<Root>, options: Options) -> Result<Request, CallError> {
        let bad = |why| Err(CallError::Roots { why });
        if roots.len() > ROOTS_MAX {
            return bad("there are more than a million");
        }
        if roots.iter().any(|root| root.path.is_empty()) {
            return bad("one of them is the empty string; write . for the working directory");
        }
        if roots.iter().any(|root| root.path.contains(&0)) {
            return bad("one of them has a NUL byte");
        }
        if options.max_depth > DEPTH_MAX {
            return Err(CallError::Depth {
                asked: options.max_depth,
                most: DEPTH_MAX,
            });
        }
        Ok(Request {
            roots,
            options,
            resume: None,
            cancel: Cancel::default(),
        })
    }

    /// Makes records and messages name the roots in this way, one name for each root.
    #[must_use]
    pub fn named<P: AsRef<[u8]>>(mut self, names: &[P]) -> Request {
        for (root, name) in self.roots.iter_mut().zip(names) {
            root.shown = name.as_ref().to_vec();
        }
        self
    }

    /// Makes the answer begin at a position in it.
    ///
    /// # Errors
    /// Fails if the cookie belongs to another question.
    pub fn resume_at(mut self, cookie: Cookie) -> Result<Request, CallError> {
        cookie.check(&self)?;
        self.resume = Some(cookie);
        Ok(self)
    }

    /// Makes the answer begin at a position that is known to be in it.
    #[must_use]
    pub(crate) fn begun_at(mut self, place: Option<Cookie>) -> Request {
        self.resume = place;
        self
    }

    /// Makes this switch cancel the request.
    #[must_use]
    pub fn cancelled_by(mut self, cancel: Cancel) -> Request {
        self.cancel = cancel;
        self
    }

    /// Returns the root with this number.
    pub fn root(&self, number: u32) -> Option<&Root> {
        let is_it = |root: &&Root| root.number == number;
        let at = self.roots.get(number as usize).filter(is_it);
        at.or_else(|| self.roots.iter().find(is_it))
    }

    /// Returns the directories to search.
    pub fn roots(&self) -> &[Root] {
        &self.roots
    }

    /// Returns the options.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// Returns the position to begin at, if it is not the beginning.
    pub fn resume(&self) -> Option<&Cookie> {
        self.resume.as_ref()
    }

    /// Returns the switch that cancels the request.
    pub fn cancel(&self) -> &Cancel {
        &self.cancel
    }

    /// Returns the request for one part of this request.
    ///
    /// # Errors
    /// Never fails for a part that [`crate::decompose`] made of this request.
    pub fn for_part(&self, part: &crate::decompose::Part) -> Result<Request, CallError> {
        let mut options = self.options;
        let above = crate::pattern::components(part.root.prefix()).count();
        options.max_depth = options.max_depth.saturating_sub(above);
        let request = Request::of_roots(vec![part.root.clone()], options)?;
        Ok(request.cancelled_by(self.cancel.clone()))
    }

    /// Returns the request for one root alone. It keeps the position to begin at if that is in this
    /// root.
    pub(crate) fn only(&self, at: usize) -> Request {
        let resume = self.resume.as_ref();
        Request {
            roots: self.roots[at..=at].to_vec(),
            options: self.options,
            resume: resume
                .filter(|cookie| cookie.root == self.roots[at].number)
                .cloned(),
            cancel: self.cancel.clone(),
        }
    }

    /// Returns the request for some of the roots. It keeps the position to begin at if that is in
    /// one of these roots.
    pub(crate) fn some(&self, roots: std::ops::Range<usize>) -> Request {
        let roots = self.roots[roots].to_vec();
        let resume = self.resume.as_ref();
        let resume = resume.filter(|place| roots.iter().any(|root| root.number == place.root));
        Request {
            resume: resume.cloned(),
            options: self.options,
            cancel: self.cancel.clone(),
            roots,
        }
    }

    /// Returns whether the first match ends the search.
    pub(crate) fn is_first(&self) -> bool {
        self.options.extent == Extent::First
    }

    /// Returns the path that records have for the path `below` of a root; the empty path is the
    /// root itself.
    pub fn spell(&self, root: &Root, below: &[u8]) -> Vec<u8> {
        let below = join(&root.prefix, below);
        match (self.options.root_form, &below[..]) {
            (RootForm::Omitted, b"") => b".".to_vec(),
            (RootForm::Omitted, _) => below,
            (RootForm::Included, b"") => root.shown.clone(),
            (RootForm::Included, _) => {
                let slash: &[u8] = if root.shown.ends_with(b"/") {
                    b""
                } else {
                    b"/"
                };
                [&root.shown, slash, &below].concat()
            }
        }
    }

    /// Returns the path below the root for a path in a record; the inverse of [`Request::spell`].
    pub fn unspell<'p>(&self, root: &Root, path: &'p [u8]) -> &'p [u8] {
        let mut rest = path;
        if self.options.root_form == RootForm::Included {
            rest = rest.strip_prefix(&root.shown[..]).unwrap_or(rest);
            rest = rest.strip_prefix(b"/").unwrap_or(rest);
        } else if rest == b"." {
            rest = b"";
        }
        rest = rest.strip_prefix(&root.prefix[..]).unwrap_or(rest);
        rest.strip_prefix(b"/").unwrap_or(rest)
    }

    /// Returns whether a record of this root can have this path: that of the root, or of something below
    /// it. Whoever takes records from an executor that may lie asks this, because programs are given the
    /// paths.
    pub fn can_have(&self, root: &Root, path: &[u8]) -> bool {
        let below = self.unspell(root, path);
        let mut parts = below.split(|byte| *byte == b'/');
        let is_below = |part: &[u8]| !matches!(part, b"" | b"." | b"..");
        (below.is_empty() || parts.all(is_below)) && self.spell(root, below) == path
    }
}

/// Parses a list of directories in the form of the search call: separated by `:`; a `\` quotes the
/// next byte, so that `\:` is part of a name; an empty element is the working directory, as in
/// `PATH`.
///
/// # Errors
/// Fails for a NUL byte, and for a backslash at the end.
pub fn parse_roots(list: &[u8]) -> Result<Vec<Vec<u8>>, CallError> {
    let bad = |why| Err(CallError::Roots { why });
    let (mut roots, mut root) = (Vec::new(), Vec::new());
    let mut bytes = list.iter();
    while let Some(byte) = bytes.next() {
        match byte {
            0 => return bad("it has a NUL byte"),
            b'\\' => match bytes.next() {
                Some(0) => return bad("it has a NUL byte"),
                Some(byte) => root.push(*byte),
                None => {
                    return bad(
                        "nothing follows its last backslash: write \\\\ for the backslash itself",
                    );
                }
            },
            b':' => roots.push(std::mem::take(&mut root)),
            byte => root.push(*byte),
        }
    }
    roots.push(root);
    for root in roots.iter_mut().filter(|root| root.is_empty()) {
        root.push(b'.');
    }
    Ok(roots)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pattern::Language;
    use proptest::prelude::*;

    /// Returns the list that [`parse_roots`] parses as these directories.
    fn join_roots<P: AsRef<[u8]>>(roots: &[P]) -> Vec<u8> {
        let mut list = Vec::new();
        for (at, root) in roots.iter().enumerate() {
            if at > 0 {
                list.push(b':');
            }
            for byte in root.as_ref() {
                if matches!(byte, b':' | b'\\') {
                    list.push(b'\\');
                }
                list.push(*byte);
            }
        }
        list
    }

    #[test]
    fn lists_are_read_as_path_is() {
        for (list, roots) in [
            (&b"/a"[..], &[&b"/a"[..]][..]),
            (b"/a:b c:/d", &[b"/a", b"b c", b"/d"]),
            (b"", &[b"."]),
            (b":/a::", &[b".", b"/a", b".", b"."]),
            (b"a\\:b:c\\\\", &[b"a:b", b"c\\"]),
        ] {
            assert_eq!(parse_roots(list).unwrap(), roots, "{list:?}");
        }
        assert!(parse_roots(b"a\\").is_err() && parse_roots(b"a\0b").is_err());
    }

    #[test]
    fn paths_outside_the_root_are_no_paths_of_records() {
        let pattern = Pattern::new(b"*", Language::default()).unwrap();
        let of = |root_form, root: &[u8], path: &[u8]| {
            let options = Options {
                root_form,
                ..Options::default()
            };
            let request = Request::new(&pattern, &[root], options).unwrap();
            request.can_have(&request.roots()[0], path)
        };
        let below: [&[u8]; 3] = [b"x", b"x/y", b"..x/.y"];
        let outside: [&[u8]; 8] = [
            b"",
            b"..",
            b"../x",
            b"x/../..",
            b"x//y",
            b"x/./y",
            b"x/",
            b"/etc/passwd",
        ];
        for path in below {
            assert!(of(RootForm::Omitted, b"srv", path));
            assert!(of(RootForm::Included, b"srv", &[b"srv/", path].concat()));
            assert!(of(RootForm::Included, b"/", &[b"/", path].concat()));
        }
        assert!(of(RootForm::Omitted, b"srv", b"."));
        assert!(of(RootForm::Included, b"srv", b"srv"));
        assert!(of(RootForm::Included, b"../..", b"../../x"));
        for path in outside {
            let shown = path.escape_ascii();
            assert!(!of(RootForm::Omitted, b"srv", path), "{shown}");
            assert!(!of(RootForm::Included, b"srv", path), "{shown}");
            let within = [b"srv/", path].concat();
            assert!(!of(RootForm::Included, b"srv", &within), "{shown}");
        }
        assert!(!of(RootForm::Included, b"srv", b"srvx"));
        assert!(!of(RootForm::Included, b"srv", b"other/x"));
    }

    proptest! {
        #[test]
        fn any_list_can_be_written(roots in proptest::collection::vec("[a:\\\\ |/]{1,5}", 1..5)) {
            let read = parse_roots(&join_roots(&roots)).unwrap();
            let roots: Vec<&[u8]> = roots.iter().map(|root| root.as_bytes()).collect();
            prop_assert_eq!(read, roots);
        }

        #[test]
        fn spelling_is_undone(root in "[./]?[a-b/]{1,4}", below in "([a-b]{1,2}(/[a-b]{1,2}){0,2})?", included: bool) {
            let pattern = Pattern::new(b"*", Language::default()).unwrap();
            let options = Options {
                root_form: if included { RootForm::Included } else { RootForm::Omitted },
                ..Options::default()
            };
            let request = Request::new(&pattern, &[&root], options).unwrap();
            let root = &request.roots()[0];
            let path = request.spell(root, below.as_bytes());
            prop_assert_eq!(request.unspell(root, &path), below.as_bytes());
            prop_assert!(request.can_have(root, &path));
        }
    }
}
