//! Answers searches.

use trawl_call::options::{Flags, Options};
use trawl_call::packed::encode;
use trawl_call::{CallError, Cookie, Pattern, Request, Root, RootParts, Search, ServedBy};

use super::Question;
use crate::exports::{ExportedPath, Exports, PathTranslator};
use crate::messages::contents::Ahead;
use crate::messages::{Answerer, Block, End, Ending, Refusal, feature};
use crate::server::{BLOCK_BYTES, Job, Leave, PATH_MAX_BYTES};

/// Maximum number of patterns in a request.
const PATTERNS_MAX: usize = 1024;

/// Sends records as they are found.
pub(crate) fn search(
    job: &Job<'_>,
    request: Request,
    ahead: Option<Ahead<'_>>,
) -> Result<End, Refusal> {
    let request = request.cancelled_by(job.task.cancel.clone());
    let mut search = Search::open(&*job.serving.executor, request).map_err(Refusal::of_call)?;
    let mut blocks = Blocks {
        job,
        packed: Vec::new(),
        waiting: 0,
        sent: 0,
        who: None,
        place: search.cookie(),
        ahead,
    };
    loop {
        let is_more = search.advance().map_err(Refusal::of_call)?;
        // The executor changes only where no records wait to be sent, because each of its blocks
        // ends there.
        blocks.tell(search.served_by());
        if let Some(record) = search.record().map_err(Refusal::of_call)? {
            encode(&record, &mut blocks.packed);
            blocks.waiting += 1;
        }
        let is_time = !is_more || blocks.packed.len() >= BLOCK_BYTES || search.is_waiting();
        if is_time && !blocks.packed.is_empty() {
            if let Some(ending) = blocks.send()? {
                return Ok(ending);
            }
            blocks.place = search.cookie();
        }
        if !is_more {
            return Ok(End::whole(blocks.sent));
        }
    }
}

/// Records that wait to be sent.
struct Blocks<'a, 'e> {
    job: &'a Job<'a>,
    packed: Vec<u8>,
    /// Number of records in `packed`.
    waiting: u64,
    /// Number of records sent.
    sent: u64,
    /// The executor that gave the records in `packed`.
    who: Option<ServedBy>,
    /// Position after the last record sent.
    place: Cookie,
    /// Reads small files, if the client takes any.
    ahead: Option<Ahead<'e>>,
}

impl Blocks<'_, '_> {
    /// Tells clients that understand it which executor gives the records that follow.
    fn tell(&mut self, who: Option<ServedBy>) {
        if who == self.who || who.is_none() {
            return;
        }
        self.who = who;
        let answerer = match who {
            Some(ServedBy::Index | ServedBy::RemoteIndex) => Answerer::Index,
            _ => Answerer::Live,
        };
        if self.job.outlet.understands(feature::SERVED_BY) {
            self.job.say(&answerer);
        }
    }

    /// Sends the waiting records. Returns the final message if the answer has to pause.
    fn send(&mut self) -> Result<Option<End>, Refusal> {
        let leave = match &mut self.ahead {
            Some(ahead) => ahead.send(self.job, &self.packed),
            None => Leave::Granted,
        };
        let leave = match leave {
            Leave::Granted => self.job.leave(self.packed.len()),
            other => other,
        };
        match leave {
            Leave::Granted => {}
            Leave::Interrupted => return Err(Refusal::of_call(CallError::Cancelled)),
            Leave::Late => {
                let ending = Ending::Paused(self.place.to_bytes());
                let records = self.sent;
                return Ok(Some(End { records, ending }));
            }
        }
        self.job.say(&Block(std::mem::take(&mut self.packed)));
        if self.job.outlet.is_broken() {
            return Err(Refusal::of_call(CallError::Cancelled));
        }
        self.sent += std::mem::take(&mut self.waiting);
        Ok(None)
    }
}

/// Decodes a search request.
pub(in crate::messages) fn request(
    question: &Question,
    exports: &Exports,
) -> Result<Request, Refusal> {
    let (language, options) = Flags(question.flags).read().map_err(Refusal::of_call)?;
    let options = Options {
        max_depth: question.max_depth as usize,
        ..options
    };
    if question.patterns.len() > PATTERNS_MAX {
        return Err(Refusal::bad("there are too many patterns"));
    }
    let patterns = question.patterns.iter();
    let patterns = patterns.map(|text| Pattern::new(text, language).map_err(CallError::Pattern));
    let patterns = patterns
        .collect::<Result<Vec<_>, _>>()
        .map_err(Refusal::of_call)?;
    let mut places = PathTranslator::new(exports);
    let mut roots = Vec::with_capacity(question.roots.len());
    for root in &question.roots {
        let texts = [&root.path, &root.shown, &root.prefix];
        let is_text = |text: &&Vec<u8>| text.len() <= PATH_MAX_BYTES && !text.contains(&0);
        let pattern = patterns.get(root.pattern as usize);
        let Some(pattern) = pattern.filter(|_| texts.iter().all(is_text)) else {
            return Err(Refusal::bad(
                "a directory has a NUL byte or more than 4,096 bytes",
            ));
        };
        let parts = RootParts {
            number: root.number,
            path: root.path.clone(),
            shown: root.shown.clone(),
            prefix: root.prefix.clone(),
            pattern: pattern.clone(),
            skip: root.skip.clone(),
        };
        roots.push(Root::of_parts(parts, confined(&mut places, &root.path)));
    }
    let request = Request::of_roots(roots, options).map_err(Refusal::of_call)?;
    match &question.cookie[..] {
        [] => Ok(request),
        cookie => {
            let cookie = Cookie::from_bytes(cookie).map_err(Refusal::of_call)?;
            request.resume_at(cookie).map_err(Refusal::of_call)
        }
    }
}

fn confined(places: &mut PathTranslator<'_>, path: &[u8]) -> Option<trawl_call::Confined> {
    match places.find(path) {
        ExportedPath::Anywhere(_) => None,
        ExportedPath::Confined(confined) => Some(confined),
    }
}

/// Returns a search request for one directory.
pub(crate) fn of_one(
    path: &[u8],
    pattern: &[u8],
    flags: Flags,
    exports: &Exports,
) -> Result<Request, Refusal> {
    let (language, options) = flags.read().map_err(Refusal::of_call)?;
    let pattern =
        Pattern::new(pattern, language).map_err(|error| Refusal::of_call(error.into()))?;
    let parts = RootParts {
        number: 0,
        path: path.to_vec(),
        shown: path.to_vec(),
        prefix: Vec::new(),
        pattern,
        skip: Vec::new(),
    };
    let confined = confined(&mut PathTranslator::new(exports), path);
    Request::of_roots(vec![Root::of_parts(parts, confined)], options).map_err(Refusal::of_call)
}
