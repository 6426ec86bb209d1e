//! Rows that need their turn, one after the other.
//!
//! Where a command is run or a file changed, the file is looked at as it is
//! now, and the expression is put to that: what changed since it was indexed
//! is passed over and told. Words behind a command are put to what it left,
//! as in the live search: see [`crate::probe::LateLook`].

use std::ffi::CString;
use std::os::fd::{AsFd, OwnedFd};

use trawl_model::rows::Row;
use trawl_model::{Subtrees, path};
use trawl_sys::directory::{Links, Purpose, open_below, open_path};
use trawl_sys::{CWD, Errno, SysError};

use super::ahead::Ahead;
use super::below;
use super::probe::IndexProbe;
use super::walk::Waiting;
use crate::context::{Context, Races, StartPoint, Stop, Turn};
use crate::driver::{DriverError, Search};
use crate::leaf::{Effect, Facts};
use crate::live::looker::{Late, Looker, Meaning};
use crate::live::probe::{LiveProbe, cause};
use crate::printer::Part;
use crate::probe::{LateLook, Probe};
use crate::traversal::Follow;

/// The message about a file that differs from the index.
const CHANGED: &str = "changed since it was indexed, and is left alone";

/// A row whose turn it is.
struct Candidate<'c> {
    row: &'c Row<'c>,
    probe: &'c dyn Probe,
    /// Looks at it once more where a leaf needs its attributes.
    late: Option<&'c dyn LateLook>,
    /// The directory it lies in, below the start point, and how deep that is;
    /// `None` for the start point.
    place: Option<(&'c [u8], usize)>,
    stop: Stop,
}

/// Takes rows in order.
pub(super) struct Turns<'t, 's> {
    search: &'t Search<'s>,
    point: &'t StartPoint,
    probe: &'t IndexProbe<'t>,
    looker: Looker,
    /// True if something may be changed: then only what is there now counts.
    looks_again: bool,
    /// The start point, opened.
    start: Option<OwnedFd>,
    /// The directory that was opened last, below the start point.
    dir: Option<(Vec<u8>, OwnedFd)>,
    /// Directories that were pruned in their turn, of the walk that goes on.
    pruned: Subtrees,
    /// Fetches files ahead of commands.
    ahead: Option<Ahead>,
}

impl<'t, 's> Turns<'t, 's> {
    pub(super) fn new(
        search: &'t Search<'s>,
        point: &'t StartPoint,
        probe: &'t IndexProbe<'t>,
    ) -> Turns<'t, 's> {
        let expr = &search.question.program.expr;
        Turns {
            search,
            point,
            probe,
            looker: Looker::new(expr.columns()),
            looks_again: expr.has(Effect::Change),
            start: None,
            dir: None,
            pruned: Subtrees::new(),
            ahead: Ahead::of(search),
        }
    }

    /// Begins the walk of a directory: what was pruned around it is kept for [`Turns::leave`],
    /// since the same directories may be met again behind a link, under other names.
    pub(super) fn enter(&mut self) -> Subtrees {
        std::mem::take(&mut self.pruned)
    }

    /// Ends the walk that [`Turns::enter`] began; returns the directories that it pruned.
    pub(super) fn leave(&mut self, around: Subtrees) -> Subtrees {
        std::mem::replace(&mut self.pruned, around)
    }

    /// Takes the start point's own row; whether it was pruned.
    pub(super) fn start(&mut self, row: &Row<'_>, stop: Stop) -> Result<bool, DriverError> {
        let follow = self.search.question.world.follow;
        if self.looks_again {
            let Some(name) = crate::live::path_of(&self.point.spelled) else {
                return Ok(false);
            };
            let meaning = match follow {
                Follow::Never => Meaning::Itself,
                _ => Meaning::Target,
            };
            if let Err(error) = self.looker.look(CWD, &name, meaning) {
                self.tell(&self.point.spelled, &error)?;
                return Ok(false);
            }
            let probe = LiveProbe::at_start(CWD, follow);
            return self.evaluate(&Candidate {
                row: &self.looker.row(),
                probe: &probe,
                late: None,
                place: None,
                stop,
            });
        }
        self.evaluate(&Candidate {
            row,
            probe: self.probe,
            late: None,
            place: None,
            stop,
        })
    }

    /// Takes rows below the start point.
    pub(super) fn take(&mut self, rows: Vec<Waiting>) -> Result<(), DriverError> {
        if let Some(ahead) = &mut self.ahead {
            ahead.coming(self.point, &rows);
        }
        for waiting in rows {
            if self.search.is_over() {
                break;
            }
            let told = self.ahead.as_mut().and_then(|ahead| ahead.begin(&waiting));
            let done = self.take_one(&waiting);
            if let (Some(ahead), Some(position)) = (&mut self.ahead, told) {
                ahead.end(position);
            }
            done?;
        }
        Ok(())
    }

    fn take_one(&mut self, waiting: &Waiting) -> Result<(), DriverError> {
        let row = Row {
            batch: &waiting.batch,
            at: 0,
            dir: &waiting.dir,
        };
        let stored = row.path();
        if self.pruned.contains(&stored) {
            return Ok(());
        }
        let place = (below(self.point, &waiting.dir), waiting.dir_depth);
        let pruned = match self.looks_again {
            true => self.look_again(&row, place, waiting.stop)?,
            false => self.evaluate(&Candidate {
                row: &row,
                probe: self.probe,
                late: None,
                place: Some(place),
                stop: waiting.stop,
            })?,
        };
        if pruned {
            self.pruned.insert(stored);
        }
        Ok(())
    }

    fn look_again(
        &mut self,
        row: &Row<'_>,
        place: (&[u8], usize),
        stop: Stop,
    ) -> Result<bool, DriverError> {
        let follow = self.search.question.world.follow;
        let meaning = Meaning::below(follow);
        let name = CString::new(row.name()).unwrap_or_default();
        let found = match self.open(place.0) {
            Ok(()) => match &self.dir {
                Some((_, fd)) => self.looker.look(fd.as_fd(), &name, meaning),
                None => Err(SysError::new(trawl_sys::Op::Openat, Errno::NOENT)),
            },
            Err(error) => Err(error),
        };
        let spelled = || {
            let dir = self.point.spell(place.0);
            path::join(dir.strip_suffix(b"/").unwrap_or(&dir), row.name())
        };
        let looked = match found {
            Ok(looked) => looked,
            Err(error) => {
                self.tell(&spelled(), &error)?;
                return Ok(false);
            }
        };
        let Some((_, fd)) = &self.dir else {
            return Ok(false);
        };
        let columns = self.search.question.program.expr.columns();
        let late = Late::new(fd.as_fd(), meaning, columns);
        self.evaluate(&Candidate {
            row: &self.looker.row(),
            probe: &LiveProbe::below(fd.as_fd(), follow),
            late: (!looked.is_dir).then_some(&late),
            place: Some(place),
            stop,
        })
    }

    /// Opens a directory below the start point, through no link unless links
    /// are followed.
    fn open(&mut self, dir: &[u8]) -> Result<(), SysError> {
        if self.dir.as_ref().is_some_and(|(open, _)| open == dir) {
            return Ok(());
        }
        self.dir = None;
        let links = |followed| match followed {
            true => Links::Followed,
            false => Links::Refused,
        };
        let follow = self.search.question.world.follow;
        if self.start.is_none() {
            let name = crate::live::path_of(&self.point.spelled).unwrap_or_default();
            let links = links(follow != Follow::Never);
            self.start = Some(open_path(CWD, &name, Purpose::Pass, links)?);
        }
        let Some(start) = &self.start else {
            return Ok(());
        };
        let below = if dir.is_empty() { &b"."[..] } else { dir };
        let name = CString::new(below).unwrap_or_default();
        let links = links(follow == Follow::Always);
        let fd = open_below(start, &name, Purpose::Pass, links)?;
        self.dir = Some((dir.to_vec(), fd));
        Ok(())
    }

    /// Tells that a file cannot be looked at any more.
    fn tell(&self, spelled: &[u8], error: &SysError) -> Result<(), DriverError> {
        let gone = matches!(error.errno, Errno::NOENT | Errno::NOTDIR | Errno::LOOP);
        match gone {
            true if self.search.question.world.races == Races::Ignored => Ok(()),
            true => self.search.complain(spelled, CHANGED),
            false => self.search.complain(spelled, &cause(error).0),
        }
    }

    /// Puts a row to the expression, whose leaves may act now; whether it was
    /// pruned.
    fn evaluate(&self, candidate: &Candidate<'_>) -> Result<bool, DriverError> {
        let Candidate { row, stop, .. } = *candidate;
        let mut part = Part::default();
        let mut cx = Context::new(&self.search.question.world, self.point, candidate.probe);
        if let Some((dir, depth)) = candidate.place {
            cx.enter_below(&[dir], depth);
        }
        let expr = &self.search.question.program.expr;
        if self.looks_again && stop.effect == Effect::Change {
            cx.turn = Turn::Scout;
            let told = (cx.complaints.len(), cx.failed);
            expr.eval(row, &mut cx);
            if cx.deferred != Some(stop) {
                let path = cx.path(row).to_vec();
                return match self.search.question.world.races {
                    Races::Ignored => Ok(false),
                    Races::Told => self.search.complain(&path, CHANGED).map(|()| false),
                };
            }
            cx.take_back_complaints(told);
            cx.next_row();
        }
        cx.turn = Turn::Mine;
        cx.hands = Some(&self.search.printer);
        if candidate.late.is_some() {
            cx.late = candidate.late;
            cx.look_late(Facts::Type);
        }
        let program = self.search.question.program;
        match program.exclusion() {
            Some(exclusion) if cx.depth < program.traversal.min_depth => {
                exclusion.eval(row, &mut cx)
            }
            _ => expr.eval(row, &mut cx),
        };
        let pruned = cx.pruned && !program.traversal.contents_first;
        part.take_back(cx);
        self.search.printer.emit(part)?;
        Ok(pruned)
    }
}
