//! What `-exclude` leaves out where the rest of the expression is asked later
//! or not at all: start points, and links that are followed.

use trawl_model::path;
use trawl_model::rows::Row;

use super::row_of;
use super::walk::Walk;
use crate::context::Context;
use crate::probe::Probe;

impl Walk<'_, '_> {
    /// True if the start point is left out.
    pub(super) fn leaves_out_start(&self) -> bool {
        let parent = path::split(&self.found.path).map_or(&b""[..], |(dir, _)| dir);
        let question = &self.search.question;
        let mut cx = Context::new(&question.world, self.point, &self.probe);
        let row = row_of(self.found, parent);
        let exclusion = question.program.exclusion();
        exclusion.is_some_and(|expr| expr.eval(&row, &mut cx))
    }

    /// True if the row is left out that lies in the directory `dir`, so many
    /// levels below the walk's beginning.
    pub(super) fn leaves_out(
        &self,
        (dir, dir_depth): (&[u8], usize),
        row: &Row<'_>,
        probe: &dyn Probe,
    ) -> bool {
        let question = &self.search.question;
        let mut cx = Context::new(&question.world, self.point, probe);
        cx.enter_below(&self.place.parts(dir), self.place.depth + dir_depth);
        let exclusion = question.program.exclusion();
        exclusion.is_some_and(|expr| expr.eval(row, &mut cx))
    }
}
