//! Answers the roots one after the other, each by the executor that is chosen for it.

use crate::error::CallError;
use crate::executor::{Block, Stream};
use crate::packed::decode;
use crate::record::Outcome;
use crate::request::Request;

/// Chooses the executor for a request about one root, whose index in the list is given, and begins
/// the answer.
type Choose = Box<dyn FnMut(usize, Request) -> Result<Box<dyn Stream>, CallError> + Send>;

/// The stream of roots that are answered one after the other.
pub(crate) struct Chain {
    request: Request,
    next: usize,
    choose: Choose,
    current: Option<Box<dyn Stream>>,
    is_over: bool,
}

impl Chain {
    /// Creates the chain. `choose` is called for the roots in order, from the one on in which the
    /// search begins.
    pub(crate) fn new(
        request: Request,
        choose: impl FnMut(usize, Request) -> Result<Box<dyn Stream>, CallError> + Send + 'static,
    ) -> Chain {
        let first = request.resume().map_or(0, |cookie| cookie.root as usize);
        Chain {
            request,
            next: first,
            choose: Box::new(choose),
            current: None,
            is_over: false,
        }
    }

    /// Begins the next root; false if there is none.
    fn begin_next(&mut self) -> Result<bool, CallError> {
        let at = self.next;
        if at >= self.request.roots().len() {
            return Ok(false);
        }
        self.next += 1;
        self.current = Some((self.choose)(at, self.request.only(at))?);
        Ok(true)
    }
}

impl Stream for Chain {
    fn next_block(&mut self) -> Result<Option<Block>, CallError> {
        while !self.is_over {
            let Some(current) = &mut self.current else {
                self.is_over = !self.begin_next()?;
                continue;
            };
            match current.next_block()? {
                None => self.current = None,
                Some(block) => {
                    self.is_over = self.request.is_first() && has_match(&block.packed)?;
                    return Ok(Some(block));
                }
            }
        }
        Ok(None)
    }
}

/// Returns whether the records include a match.
pub(crate) fn has_match(packed: &[u8]) -> Result<bool, CallError> {
    let mut rest = packed;
    while !rest.is_empty() {
        let (record, length) = decode(rest)?;
        if matches!(record.outcome, Outcome::Match(_)) {
            return Ok(true);
        }
        rest = &rest[length..];
    }
    Ok(false)
}
