//! Extended attributes of entries and of everything below directories.

use std::ffi::OsStr;
use std::ops::ControlFlow;
use std::os::unix::ffi::OsStrExt;

use trawl_find::reference::error_text;
use trawl_find::regex::{Dialect, Regex};
use trawl_find::resolve::{Follow, Resolved};
use trawl_model::FileType;
use trawl_model::path::{is_within, split};
use trawl_query::{Attribute, AttributeRequest, Attributed, Links, Located, Start};
use trawl_session::{Depth, NotIndexed, Session};
use trawl_text::glob::Case;
use trawl_text::locale::Locale;

use crate::error::AnswerError;

/// Selection of attributes by name.
pub enum Names {
    /// This one.
    One(Vec<u8>),
    /// Those whose names match a regular expression.
    Matching(Box<Regex>),
    /// All.
    All,
}

impl Names {
    /// Selects the names in which `pattern`, an extended regular expression, matches any part; `-`
    /// selects all. Returns `None` if the pattern is invalid.
    pub fn matching(pattern: &[u8], locale: Locale) -> Option<Names> {
        match pattern {
            b"-" | b"" => Some(Names::All),
            pattern => {
                let extended = Dialect::PosixExtended;
                // The pattern must be valid by itself, too.
                Regex::new(pattern, extended, Case::Sensitive, locale).ok()?;
                let anywhere = [b".*(", pattern, b").*"].concat();
                let regex = Regex::new(&anywhere, extended, Case::Sensitive, locale).ok()?;
                Some(Names::Matching(Box::new(regex)))
            }
        }
    }

    /// Returns true if the name is selected.
    pub fn has(&self, name: &[u8]) -> bool {
        match self {
            Names::One(one) => one == name,
            Names::Matching(regex) => regex.matches(name),
            Names::All => true,
        }
    }
}

/// Returns the kernel's error for an attribute that an entry does not have.
pub fn absent(name: &[u8]) -> &'static str {
    let spaces: [&[u8]; 3] = [b"user.", b"trusted.", b"security."];
    if spaces.contains(&name) {
        return "Invalid argument";
    }
    let is_acl = name.starts_with(b"system.posix_acl_");
    match is_acl || spaces.iter().any(|space| name.starts_with(space)) {
        true => "No such attribute",
        false => "Operation not supported",
    }
}

/// Entries that are asked about besides an argument, and links that are followed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// True to ask about everything below directories, too.
    pub recursive: bool,
    /// True for the attributes of links, not of their targets.
    pub no_dereference: bool,
    /// True to enter the directories that links below an argument lead to.
    pub logical: bool,
    /// True not to enter directories through links, not even from arguments.
    pub physical: bool,
}

impl Options {
    /// Returns true if targets of links below an argument are asked about or entered.
    fn looks_behind_links(self) -> bool {
        !self.no_dereference || self.logical
    }
}

/// The result for a path.
pub enum Found<'a> {
    /// The entry's attributes.
    Attributes(&'a [Attribute]),
    /// A link without a target.
    Dangling(NoTarget),
}

/// Why a link has no target.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NoTarget {
    /// No source contains it.
    #[error("{0}")]
    NotIndexed(NotIndexed),
    /// Links lead in a circle.
    #[error("Too many levels of symbolic links")]
    Loop,
    /// It does not exist.
    #[error("No such file or directory")]
    Missing,
    /// A path on the way to it is not a directory.
    #[error("Not a directory")]
    NotDirectory,
    /// The asking user may not search a directory on the way to it.
    #[error("Permission denied")]
    Denied,
    /// Only the live file system knows about it, and it cannot be read.
    #[error("{}", error_text(.0))]
    Unread(std::io::Error),
}

/// Passes the attributes of `given`, and of what the options ask for besides, to `visit`, with each
/// path spelled from `given`.
///
/// # Errors
/// If the index cannot be read, or the visitor's.
pub fn attributes<E: From<AnswerError>>(
    session: &mut Session<'_>,
    given: &OsStr,
    options: Options,
    visit: impl FnMut(&[u8], Found<'_>) -> Result<(), E>,
) -> Result<(), E> {
    Walk { options, visit }.argument(session, given)
}

/// Number of entries whose links are looked up together.
const ENTRIES_AT_ONCE: usize = 1024;

/// A walk over entries.
struct Walk<F> {
    options: Options,
    visit: F,
}

impl<F> Walk<F> {
    /// Returns the directory below which to continue, if the argument leads to one that must be
    /// entered.
    fn top(
        &self,
        session: &mut Session<'_>,
        spelled: &[u8],
        start: Start,
    ) -> Result<Option<Start>, AnswerError> {
        let may_follow =
            self.options.logical || !(self.options.physical || self.options.no_dereference);
        let own = match session.resolve(spelled, Follow::Never)? {
            Some(Resolved::To(Located::Found(own), _)) => *own,
            _ => return Ok(None),
        };
        if own.own_row().file_type() != FileType::Symlink {
            return Ok(start.is_dir.then_some(start));
        }
        let target = match session.resolve(spelled, Follow::Last)? {
            Some(Resolved::To(Located::Found(target), _)) => *target,
            _ => return Ok(None),
        };
        Ok((may_follow && target.is_dir).then_some(target))
    }
}

impl<E: From<AnswerError>, F: FnMut(&[u8], Found<'_>) -> Result<(), E>> Walk<F> {
    fn argument(&mut self, session: &mut Session<'_>, given: &OsStr) -> Result<(), E> {
        let follow = match self.options.no_dereference {
            true => Follow::Never,
            false => Follow::Last,
        };
        let Some(start) = session.locate(given, follow).map_err(AnswerError::from)? else {
            return Ok(());
        };
        let spelled = given.as_bytes();
        self.show(spelled, &own(session, &start)?)?;
        if !self.options.recursive {
            return Ok(session
                .note(&start, Depth::Itself)
                .map_err(AnswerError::from)?);
        }
        if let Some(top) = self.top(session, spelled, start)? {
            session.note(&top, Depth::All).map_err(AnswerError::from)?;
            self.below(session, spelled, &top, &[])?;
        }
        Ok(())
    }

    /// Shows everything below `top`, spelled from `spelled`, except the content of directories in
    /// `around`, from which a link led here.
    fn below(
        &mut self,
        session: &mut Session<'_>,
        spelled: &[u8],
        top: &Start,
        around: &[Vec<u8>],
    ) -> Result<(), E> {
        let follows = self.options.looks_behind_links();
        let request = AttributeRequest {
            links: match follows {
                true => Links::Always,
                false => Links::LikeOthers,
            },
            ..AttributeRequest::default()
        };
        let at_once = if follows { ENTRIES_AT_ONCE } else { 1 };
        let mut waiting: Vec<Attributed> = Vec::new();
        let mut done = Ok(());
        // The target of a link may be added to the session's index meanwhile.
        let index = session.share_index();
        let whole = index.attributes_below(top, &request, |entry| {
            let within = |dir: &Vec<u8>| is_within(&entry.path, dir) && entry.path != *dir;
            if around
                .iter()
                .any(|dir| is_within(dir, &top.path) && within(dir))
            {
                return ControlFlow::Continue(());
            }
            waiting.push(entry);
            if waiting.len() >= at_once {
                done = self.entries(session, spelled, top, around, &mut waiting);
            }
            match done {
                Ok(()) => ControlFlow::Continue(()),
                Err(_) => ControlFlow::Break(()),
            }
        });
        whole.map_err(AnswerError::from)?;
        done?;
        self.entries(session, spelled, top, around, &mut waiting)
    }

    /// Shows entries below `top`, after looking up together where their links lead. Leaves
    /// `waiting` empty.
    fn entries(
        &mut self,
        session: &mut Session<'_>,
        spelled: &[u8],
        top: &Start,
        around: &[Vec<u8>],
        waiting: &mut Vec<Attributed>,
    ) -> Result<(), E> {
        let follows = self.options.looks_behind_links();
        if follows {
            let links = waiting.iter().filter(|entry| entry.is_link);
            let links = links.map(|link| &link.path[..]);
            let prepared = session.known().prepare_links(links);
            prepared.map_err(AnswerError::from)?;
        }
        for entry in waiting.drain(..) {
            let path = below(spelled, &top.path, &entry.path);
            match entry.is_link && follows {
                true => self.link(session, &path, &entry, &chain(around, top, &entry))?,
                false => self.show(&path, &entry.attributes)?,
            }
        }
        Ok(())
    }

    /// Shows the attributes of a link's target and, with `-L`, of everything below the target.
    fn link(
        &mut self,
        session: &mut Session<'_>,
        path: &[u8],
        link: &Attributed,
        around: &[Vec<u8>],
    ) -> Result<(), E> {
        let resolved = session.resolve_path(&link.path, Follow::Last);
        let target = target_of(resolved.map_err(AnswerError::from)?);
        let target = match target {
            Ok(target) => Some(target),
            Err(why) => {
                self.dangles(path, why)?;
                None
            }
        };
        if self.options.no_dereference {
            self.show(path, &link.attributes)?;
        } else if let Some(target) = &target {
            self.show(path, &own(session, target)?)?;
        }
        match target {
            Some(target)
                if self.options.logical && target.is_dir && !around.contains(&target.path) =>
            {
                self.below(session, path, &target, around)
            }
            _ => Ok(()),
        }
    }

    fn show(&mut self, path: &[u8], attributes: &[Attribute]) -> Result<(), E> {
        (self.visit)(path, Found::Attributes(attributes))
    }

    fn dangles(&mut self, path: &[u8], why: NoTarget) -> Result<(), E> {
        match self.options.no_dereference {
            true => Ok(()),
            false => (self.visit)(path, Found::Dangling(why)),
        }
    }
}

/// Returns the target that a link was resolved to.
fn target_of(resolved: Option<Resolved>) -> Result<Start, NoTarget> {
    match resolved {
        Some(Resolved::To(Located::Found(target), _)) => Ok(*target),
        Some(Resolved::To(Located::NotIndexed { nearest }, path)) => {
            Err(NoTarget::NotIndexed(NotIndexed { path, nearest }))
        }
        Some(Resolved::To(Located::NotDirectory { .. }, _)) => Err(NoTarget::NotDirectory),
        Some(Resolved::To(Located::Denied { .. }, _)) => Err(NoTarget::Denied),
        Some(Resolved::Loop) => Err(NoTarget::Loop),
        Some(Resolved::Unread(error)) => Err(NoTarget::Unread(error)),
        _ => Err(NoTarget::Missing),
    }
}

/// Returns the attributes of an entry.
fn own(session: &Session<'_>, start: &Start) -> Result<Vec<Attribute>, AnswerError> {
    Ok(session.index().attributes(start)?)
}

/// Returns the path of an entry below `top`, which is spelled `spelled`. There is a slash between
/// the two even if `spelled` ends in one, as in getfattr.
fn below(spelled: &[u8], top: &[u8], path: &[u8]) -> Vec<u8> {
    [spelled, path.strip_prefix(top).unwrap_or(path)].concat()
}

/// Returns `around` and the directories from `top` down to an entry.
fn chain(around: &[Vec<u8>], top: &Start, entry: &Attributed) -> Vec<Vec<u8>> {
    let mut chain = around.to_vec();
    let mut at = &entry.path[..];
    while let Some((dir, _)) = split(at).filter(|(dir, _)| is_within(dir, &top.path)) {
        chain.push(dir.to_vec());
        at = dir;
    }
    chain
}
