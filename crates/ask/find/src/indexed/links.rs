//! Follows symbolic links (`-L`): each is treated as its target. The target is
//! read from the index if it is indexed, else from the live file system.
//!
//! The walk of a tree skips the rows of links. They are taken here, one after
//! the other: after the rest of the tree, or before it if contents come first.
//! So a directory's row stays on the right side of everything that is reached
//! through it.

use std::ops::ControlFlow;

use trawl_model::filter::{Clause, Filter};
use trawl_model::relative_path::join;
use trawl_model::rows::{Row, RowBatch};
use trawl_model::{Column, ColumnSet, FileType, Subtrees};
use trawl_query::{Index, Listing, Located, Start};
use trawl_text::quote;

use super::probe::BehindLink;
use super::turns::Turns;
use super::walk::{Walk, rows_of};
use super::{Stretch, WalkTop, rest};
use crate::context::Context;
use crate::driver::{DENIED, DriverError, LOOP};
use crate::leaf::Facts;
use crate::left_out::told_apart;
use crate::live::{self, Visited};
use crate::printer::Part;
use crate::probe::Probe;
use crate::resolve::{Follow, Remembered, Resolved, resolve_target};

/// Number of links that are resolved together.
pub(super) const LINKS_AT_ONCE: usize = 4096;

/// A link that the walk met.
struct Link {
    /// The stored path of its directory.
    dir: Vec<u8>,
    /// The depth of that directory below the beginning of the walk.
    dir_depth: usize,
    /// Its own row.
    row: RowBatch,
}

impl Link {
    fn row(&self) -> Row<'_> {
        Row {
            batch: &self.row,
            at: 0,
            dir: &self.dir,
        }
    }
}

impl Walk<'_, '_> {
    /// Follows the links below the directory, except those in `skip`.
    pub(super) fn follow_links(
        &self,
        skip: &Subtrees,
        turns: &mut Turns<'_, '_>,
    ) -> Result<(), DriverError> {
        let links = self.links(skip)?;
        let places = Remembered::new(self.index, self.link_columns());
        for some in links.chunks(LINKS_AT_ONCE) {
            let targets: Vec<(&[u8], &[u8])> = some
                .iter()
                .map(|link| (&link.dir[..], link.row.link_target.get(0)))
                // The index holds no link with an empty target, which
                // `resolve_target` does not accept.
                .filter(|(_, target)| !target.is_empty())
                .collect();
            places.prepare(&targets, Follow::Last)?;
            for link in some {
                if self.search.is_over() {
                    return Ok(());
                }
                self.follow(link, &places, turns)?;
            }
        }
        Ok(())
    }

    /// The columns to read of links and of their targets.
    fn link_columns(&self) -> ColumnSet {
        let own = [
            Column::Name,
            Column::Mode,
            Column::Dev,
            Column::Ino,
            Column::LinkTarget,
        ];
        let expr = &self.search.question.program.expr;
        expr.columns().union(ColumnSet::of(&own))
    }

    /// Evaluates a link whose target is not a directory.
    fn file(&self, link: &Link, target: &RowBatch, stored: &[u8]) -> Result<(), DriverError> {
        let mut row = target.clone();
        row.name = link.row.name.clone();
        let row = Row {
            batch: &row,
            at: 0,
            dir: &link.dir,
        };
        let probe = BehindLink {
            inner: &self.probe,
            stored,
        };
        self.evaluate(link, &row, &probe).map(drop)
    }

    fn links(&self, skip: &Subtrees) -> Result<Vec<Link>, DriverError> {
        let mut filter = Filter::default();
        filter.add(Clause {
            column: Column::Mode,
            low: 0o120_000,
            high: 0o127_777,
        });
        let mut request = self.request(self.link_columns(), filter);
        request.min_depth = 1;
        request.skip = skip.clone();
        let work = |listing: &Listing<'_>, links: &mut Vec<Link>| {
            let of_links = rows_of(listing).filter(|row| row.file_type() == FileType::Symlink);
            links.extend(of_links.map(|row| Link {
                dir: listing.dir.path.to_vec(),
                dir_depth: listing.dir.depth,
                row: row.alone(),
            }));
        };
        let mut all = Vec::new();
        self.index.walk(self.found, &request, work, |links| {
            all.extend(links);
            ControlFlow::Continue(())
        })?;
        Ok(all)
    }

    fn follow(
        &self,
        link: &Link,
        places: &Remembered<&Index>,
        turns: &mut Turns<'_, '_>,
    ) -> Result<(), DriverError> {
        let stored = link.row().path();
        let spelled = || self.point.spell(&self.place.below(&stored));
        let target = link.row.link_target.get(0);
        // The index holds no link with an empty target, which `resolve_target`
        // does not accept.
        if target.is_empty() {
            return self.alone(link);
        }
        match told_apart(self.index, resolve_target(places, &link.dir, target)?)? {
            Resolved::To(Located::Found(found), _) => self.behind(link, &found, turns),
            Resolved::To(Located::Missing { .. }, _) => self.alone(link),
            Resolved::To(Located::NotDirectory { .. }, _) => {
                self.search.complain(&spelled(), "Not a directory")?;
                self.alone(link)
            }
            Resolved::To(Located::Denied { .. }, _) => {
                self.search.complain(&spelled(), DENIED)?;
                self.unknown(link)
            }
            Resolved::Loop => self.search.complain(&spelled(), LOOP),
            // The state of the live file system at that time is not known.
            _ if self.index.is_as_of().is_past() => self.alone(link),
            Resolved::To(..) | Resolved::Unread(_) => {
                let depth = self.place.depth + link.dir_depth + 1;
                let below = self.place.below(&stored);
                let device = self.place.device.as_u64();
                let place = (&below[..], depth);
                match live::visit_link(self.search, self.point, place, device)? {
                    Visited::Unread => self.unknown(link),
                    Visited::Whole => Ok(()),
                }
            }
        }
    }

    /// Evaluates a link whose target does not exist: it stands for itself.
    fn alone(&self, link: &Link) -> Result<(), DriverError> {
        self.evaluate(link, &link.row(), &self.probe).map(drop)
    }

    /// Evaluates a link whose target cannot be read: only its name is known.
    fn unknown(&self, link: &Link) -> Result<(), DriverError> {
        let row = link.row();
        self.evaluate_knowing(Facts::Name, link, &row, &self.probe)
            .map(drop)
    }

    /// Evaluates a link's target, and searches it if it is a directory.
    fn behind(
        &self,
        link: &Link,
        target: &Start,
        turns: &mut Turns<'_, '_>,
    ) -> Result<(), DriverError> {
        if !target.is_dir && !self.looks_up() {
            return self.file(link, &target.row, &target.path);
        }
        let stored = link.row().path();
        if target.is_dir
            && let Some(above) = self.on_the_way(link, &target.path)
        {
            return self.tell_of_loop(&self.place.below(&stored), &above);
        }
        let mut row = target.row.clone();
        row.name = link.row.name.clone();
        let row = Row {
            batch: &row,
            at: 0,
            dir: &link.dir,
        };
        let mut way = self.place.way.clone();
        way.push(self.stretch(link));
        let place = WalkTop {
            stored: target.path.clone(),
            below: self.place.below(&stored),
            depth: self.place.depth + link.dir_depth + 1,
            device: self.place.device,
            way,
        };
        let traversal = &self.search.question.program.traversal;
        let goes_in = target.is_dir
            && place.depth < traversal.max_depth
            && !(traversal.one_file_system && row.dev() != place.device);
        let walk = Walk::new(self.search, self.index, self.point, target, place)?;
        let probe = BehindLink {
            inner: &walk.probe,
            stored: &target.path,
        };
        let first = traversal.contents_first;
        if self.leaves_out((&link.dir, link.dir_depth), &row, &probe) {
            return Ok(());
        }
        let pruned = !first && self.evaluate(link, &row, &probe)?;
        if goes_in && !pruned && !self.search.has_ended() {
            walk.contents(turns)?;
        }
        if first && !self.search.has_ended() {
            self.evaluate(link, &row, &probe)?;
        }
        Ok(())
    }

    /// Returns true if some leaf tests facts that rows do not hold.
    fn looks_up(&self) -> bool {
        let expr = &self.search.question.program.expr;
        let mut found = expr.needs_empty_directories();
        expr.leaves(&mut |node| found |= node.leaf.attribute_test().is_some());
        found
    }

    /// Returns the part of the way that ends at a link.
    fn stretch(&self, link: &Link) -> Stretch {
        Stretch {
            from: self.place.stored.clone(),
            to: link.dir.clone(),
            below: self.place.below.clone(),
        }
    }

    /// Returns the path of a directory below the start point, if the way to the
    /// link goes through that directory.
    fn on_the_way(&self, link: &Link, target: &[u8]) -> Option<Vec<u8>> {
        let here = self.stretch(link);
        let mut way = self.place.way.iter().chain(std::iter::once(&here));
        let through = way.find(|stretch| stretch.leads_through(target))?;
        Some(join(&through.below, rest(target, &through.from)))
    }

    /// Reports that a directory is also one of the directories above it. Both
    /// paths are relative to the start point.
    pub(super) fn tell_of_loop(&self, below: &[u8], above: &[u8]) -> Result<(), DriverError> {
        let locale = self.search.question.world.locale;
        let quoted = |path: &[u8]| quote::message(path, locale);
        let line = format!(
            "File system loop detected; {} is part of the same file system loop as {}.",
            quoted(&self.point.spell(below)),
            quoted(&self.point.spell(above))
        );
        self.search.printer.fail();
        self.search.remark(&line)
    }

    /// Evaluates the expression on the row of a link or of its target. Returns
    /// whether it was pruned.
    fn evaluate(&self, link: &Link, row: &Row<'_>, probe: &dyn Probe) -> Result<bool, DriverError> {
        self.evaluate_knowing(Facts::Attributes, link, row, probe)
    }

    /// Like [`Walk::evaluate`], if only `known` facts are known of the row's
    /// entry.
    fn evaluate_knowing(
        &self,
        known: Facts,
        link: &Link,
        row: &Row<'_>,
        probe: &dyn Probe,
    ) -> Result<bool, DriverError> {
        let question = &self.search.question;
        let depth = self.place.depth + link.dir_depth;
        if question.program.traversal.min_depth > depth + 1 {
            return Ok(false);
        }
        let mut part = Part::default();
        let mut cx = Context::new(&question.world, self.point, probe);
        cx.enter_below(&self.place.parts(&link.dir), depth);
        cx.known = known;
        question.program.expr.eval(row, &mut cx);
        let pruned = cx.pruned;
        part.take_back(cx);
        self.search.printer.emit(part)?;
        Ok(pruned)
    }
}
