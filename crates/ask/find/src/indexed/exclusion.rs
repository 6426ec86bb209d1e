//! Evaluates `-exclude` where the rest of the expression is evaluated later or
//! not at all: for start points, and for symbolic links that are followed.

use trawl_model::path;
use trawl_model::rows::Row;

use super::row_of;
use super::walk::Walk;
use crate::context::Context;
use crate::probe::Probe;

impl Walk<'_, '_> {
    /// Returns true if the start point is excluded.
    pub(super) fn leaves_out_start(&self) -> bool {
        let parent = path::split(&self.found.path).map_or(&b""[..], |(dir, _)| dir);
        let question = &self.search.question;
        let mut cx = Context::new(&question.world, self.point, &self.probe);
        let row = row_of(self.found, parent);
        let exclusion = question.program.exclusion();
        exclusion.is_some_and(|expr| expr.eval(&row, &mut cx))
    }

    /// Returns true if the row is excluded. It lies in the directory `dir`,
    /// `dir_depth` levels below the beginning of the walk.
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
