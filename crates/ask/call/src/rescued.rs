//! Continues an answer from an index or a server by a live walk when the index or the server fails:
//! index files may disappear under a reader when somebody takes a right away, and a server may be
//! gone.

use crate::cookie::Cookie;
use crate::error::CallError;
use crate::executor::{Block, Executor, Stream};
use crate::live::LiveWalk;
use crate::packed::decode;
use crate::request::Request;
use trawl_query::QueryError;

/// A stream whose records a live walk would give in the same order.
pub(crate) struct Rescued {
    stream: Box<dyn Stream>,
    /// The request, until the walk has taken over.
    request: Option<Request>,
    live: LiveWalk,
    /// Position at which the stream began; the records in `last`, if any, lie after it.
    place: Cookie,
    /// The last block of records that was returned.
    last: Vec<u8>,
}

impl Rescued {
    /// Wraps `stream`, which answers `request`.
    pub(crate) fn new(stream: Box<dyn Stream>, request: Request, live: LiveWalk) -> Rescued {
        let place = match request.resume() {
            Some(cookie) => cookie.clone(),
            None => Cookie::begin(&request),
        };
        Rescued {
            stream,
            request: Some(request),
            live,
            place,
            last: Vec::new(),
        }
    }

    /// Replaces the stream by a live walk that begins after the last record returned.
    fn walk_on(&mut self, request: Request) -> Result<(), CallError> {
        let mut rest = &self.last[..];
        while !rest.is_empty() {
            let (record, length) = decode(rest)?;
            rest = &rest[length..];
            if rest.is_empty() {
                self.place.advance(&request, &record);
            }
        }
        let request = request.begun_at(Some(self.place.clone()));
        self.stream = self.live.begin(request)?;
        Ok(())
    }
}

fn can_be_rescued(error: &CallError) -> bool {
    match error {
        CallError::Index(error) => !matches!(error, QueryError::Cancelled),
        CallError::Remote(_) => true,
        _ => false,
    }
}

impl Stream for Rescued {
    fn next_block(&mut self) -> Result<Option<Block>, CallError> {
        let next = self.stream.next_block();
        match next {
            Err(error) if can_be_rescued(&error) => {
                let request = self.request.take().ok_or(error)?;
                self.walk_on(request)?;
                self.stream.next_block()
            }
            Ok(Some(block)) => {
                if self.request.is_some() && !block.packed.is_empty() {
                    self.last.clone_from(&block.packed);
                }
                Ok(Some(block))
            }
            next => next,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::executor::ServedBy;
    use crate::options::Options;
    use crate::pattern::{Language, Pattern};
    use crate::search::Search;
    use std::fs;
    use std::os::unix::ffi::OsStrExt;

    /// Gives these records, `in_block` of them in a block, and then fails as an unreadable index
    /// does.
    #[derive(Clone)]
    struct Fails {
        records: Vec<Vec<u8>>,
        in_block: usize,
    }

    impl Stream for Fails {
        fn next_block(&mut self) -> Result<Option<Block>, CallError> {
            let gone = QueryError::Read {
                path: "gone".into(),
                cause: std::io::ErrorKind::NotFound.into(),
            };
            match self.records.len() {
                0 => Err(CallError::Index(gone)),
                left => Ok(Some(Block {
                    served_by: ServedBy::Index,
                    packed: self
                        .records
                        .drain(..self.in_block.min(left))
                        .flatten()
                        .collect(),
                })),
            }
        }
    }

    impl Executor for Fails {
        fn begin(&self, request: Request) -> Result<Box<dyn Stream>, CallError> {
            let stream = Box::new(self.clone());
            Ok(Box::new(Rescued::new(stream, request, LiveWalk::default())))
        }
    }

    /// Returns the packed records of an answer, and the executor that served the last one.
    fn all(executor: &dyn Executor, request: &Request) -> (Vec<Vec<u8>>, Option<ServedBy>) {
        let mut search = Search::open(executor, request.clone()).unwrap();
        let mut records = Vec::new();
        while let Some(record) = search.next_record().unwrap() {
            let mut packed = Vec::new();
            crate::packed::encode(&record, &mut packed);
            records.push(packed);
        }
        (records, search.served_by())
    }

    #[test]
    fn wherever_the_index_fails_the_answer_is_whole() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["a/b/c", "a/b-", "a.b", "d", "z/y"] {
            fs::create_dir_all(dir.path().join(name)).unwrap();
            for file in ["x.c", "y.h", "z.c"] {
                fs::write(dir.path().join(name).join(file), "x").unwrap();
            }
        }
        let root = dir.path().as_os_str().as_bytes();
        for pattern in ["*.c", "*", "/", "/."] {
            let pattern = Pattern::new(pattern.as_bytes(), Language::default()).unwrap();
            let request = Request::new(&pattern, &[root], Options::default()).unwrap();
            let (whole, _) = all(&LiveWalk::default(), &request);
            assert!(!whole.is_empty());
            for given in 0..=whole.len() {
                for in_block in [1, 2, 100] {
                    let records = whole[..given].to_vec();
                    let (got, by) = all(&Fails { records, in_block }, &request);
                    assert_eq!(got, whole, "{given} records, {in_block} in a block");
                    let is_live = by == Some(ServedBy::Live);
                    assert_eq!(is_live, given < whole.len());
                }
            }
        }
    }

    #[test]
    fn what_was_cancelled_is_not_gone_on_with() {
        struct Cancelled;
        impl Stream for Cancelled {
            fn next_block(&mut self) -> Result<Option<Block>, CallError> {
                Err(CallError::Index(QueryError::Cancelled))
            }
        }
        let pattern = Pattern::new(b"*", Language::default()).unwrap();
        let request = Request::new(&pattern, &["/"], Options::default()).unwrap();
        let mut stream = Rescued::new(Box::new(Cancelled), request, LiveWalk::default());
        let next = stream.next_block();
        assert!(matches!(next, Err(CallError::Index(QueryError::Cancelled))));
    }
}
