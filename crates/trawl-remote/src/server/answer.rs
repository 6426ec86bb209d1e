//! Answers requests.

use trawl_call::options::{Flags, Options};
use trawl_call::packed::encode;
use trawl_call::{
    Attributes, CallError, Cookie, Outcome, Pattern, RecordRef, Request, Root, RootParts, Search,
    ServedBy, Source, Trouble,
};
use trawl_sys::directory::Links;
use trawl_sys::link::{TargetBuffer, read_link_at};
use trawl_sys::stat::stat_fd;
use trawl_sys::{Errno, Op};

use super::attributes::{Asked, attributes};
use super::outlet::{Leave, Outlet, Task, refusal};
use super::watch::watch;
use super::{Serving, contents};
use crate::exports::{Exports, Place, Places};
use crate::wire::{Answerer, Code, Ending, LINKS_MAX, Message, Question, feature};

/// Records are sent once they have this many bytes, or when the next record is not ready.
pub(super) const BLOCK_BYTES: usize = 64 << 10;
/// Maximum length of a path in a request, in bytes; each record contains it.
pub(super) const PATH_MAX_BYTES: usize = 4096;
/// Maximum number of patterns in a request.
const PATTERNS_MAX: usize = 1024;

/// Answers a request, and returns the final message.
pub(super) fn answer(
    serving: &Serving,
    outlet: &Outlet,
    id: u32,
    task: &Task,
    message: Message,
) -> Message {
    if !serving.delay.is_zero() {
        std::thread::sleep(serving.delay);
    }
    let exports = &serving.exports;
    let answered = match message {
        Message::Search(question) => request(&question, exports)
            .and_then(|request| search(serving, outlet, id, task, request)),
        Message::List { path, .. } => {
            listing(&path, exports).and_then(|request| search(serving, outlet, id, task, request))
        }
        Message::Stat { of_link, path } => {
            let links = [Links::Followed, Links::Refused][usize::from(of_link)];
            let mut packed = Vec::new();
            encode(&stat(&path, links, exports), &mut packed);
            outlet.say(id, &Message::Block(packed));
            Ok(whole(1))
        }
        Message::Read {
            offset,
            length,
            path,
        } => contents::read(outlet, id, exports, &path, (offset, length)),
        Message::Fetch {
            offset,
            length,
            path,
        } => contents::fetch(outlet, id, exports, &path, (offset, length)),
        Message::Links(paths) => links(outlet, id, task, exports, &paths),
        Message::Watch { top, dirs } => watch(serving, outlet, id, task, (&top, dirs)),
        Message::Attributes { entries, top, from } => {
            let asked = Asked { entries, top, from };
            attributes(serving, outlet, id, task, &asked)
        }
        _ => Err(refusal(
            Code::Unsupported,
            0,
            "the message is not a request",
        )),
    };
    answered.unwrap_or_else(|refusal| refusal)
}

pub(super) fn whole(records: u64) -> Message {
    let ending = Ending::Whole;
    Message::End { records, ending }
}

pub(super) fn no(error: CallError) -> Message {
    let code = match error {
        CallError::Cancelled => Code::Interrupted,
        CallError::Thread(_) => Code::System,
        _ => Code::Question,
    };
    refusal(code, 0, &error.to_string())
}

/// Sends records as they are found.
fn search(
    serving: &Serving,
    outlet: &Outlet,
    id: u32,
    task: &Task,
    request: Request,
) -> Result<Message, Message> {
    let request = request.cancelled_by(task.cancel.clone());
    let mut search = Search::open(&*serving.executor, request).map_err(no)?;
    let mut blocks = Blocks {
        outlet,
        id,
        task,
        packed: Vec::new(),
        waiting: 0,
        sent: 0,
        who: None,
        place: search.cookie(),
    };
    loop {
        let is_more = search.advance().map_err(no)?;
        // The executor changes only where no records wait to be sent, because each of its blocks
        // ends there.
        blocks.tell(search.served_by());
        if let Some(record) = search.record().map_err(no)? {
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
            return Ok(whole(blocks.sent));
        }
    }
}

/// Records that wait to be sent.
struct Blocks<'a> {
    outlet: &'a Outlet,
    id: u32,
    task: &'a Task,
    packed: Vec<u8>,
    /// Number of records in `packed`.
    waiting: u64,
    /// Number of records sent.
    sent: u64,
    /// The executor that gave the records in `packed`.
    who: Option<ServedBy>,
    /// Position after the last record sent.
    place: Cookie,
}

impl Blocks<'_> {
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
        if self.outlet.understands(feature::SERVED_BY) {
            self.outlet.say(self.id, &Message::ServedBy(answerer));
        }
    }

    /// Sends the waiting records. Returns the final message if the answer has to pause.
    fn send(&mut self) -> Result<Option<Message>, Message> {
        match self.task.leave(self.packed.len(), self.outlet.stall()) {
            Leave::Granted => {}
            Leave::Interrupted => return Err(no(CallError::Cancelled)),
            Leave::Late => {
                let ending = Ending::Paused(self.place.to_bytes());
                let records = self.sent;
                return Ok(Some(Message::End { records, ending }));
            }
        }
        let block = Message::Block(std::mem::take(&mut self.packed));
        self.outlet.say(self.id, &block);
        if self.outlet.is_broken() {
            return Err(no(CallError::Cancelled));
        }
        self.sent += std::mem::take(&mut self.waiting);
        Ok(None)
    }
}

pub(super) fn bad(text: &str) -> Message {
    refusal(Code::Question, 0, text)
}

/// Decodes a search request.
fn request(question: &Question, exports: &Exports) -> Result<Request, Message> {
    let (language, options) = Flags(question.flags).read().map_err(no)?;
    let options = Options {
        max_depth: question.max_depth as usize,
        ..options
    };
    if question.patterns.len() > PATTERNS_MAX {
        return Err(bad("there are too many patterns"));
    }
    let patterns = question.patterns.iter();
    let patterns = patterns.map(|text| Pattern::new(text, language).map_err(CallError::Pattern));
    let patterns = patterns.collect::<Result<Vec<_>, _>>().map_err(no)?;
    let mut places = Places::new(exports);
    let mut roots = Vec::with_capacity(question.roots.len());
    for root in &question.roots {
        let texts = [&root.path, &root.shown, &root.prefix];
        let is_text = |text: &&Vec<u8>| text.len() <= PATH_MAX_BYTES && !text.contains(&0);
        let pattern = patterns.get(root.pattern as usize);
        let Some(pattern) = pattern.filter(|_| texts.iter().all(is_text)) else {
            return Err(bad("a directory has a NUL byte or more than 4,096 bytes"));
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
    let request = Request::of_roots(roots, options).map_err(no)?;
    match &question.cookie[..] {
        [] => Ok(request),
        cookie => {
            let cookie = Cookie::from_bytes(cookie).map_err(no)?;
            request.resume_at(cookie).map_err(no)
        }
    }
}

fn confined(places: &mut Places<'_>, path: &[u8]) -> Option<trawl_call::Confined> {
    match places.find(path) {
        Place::Anywhere(_) => None,
        Place::Confined(confined) => Some(confined),
    }
}

/// Returns the request for all entries of a directory with their own attributes.
fn listing(path: &[u8], exports: &Exports) -> Result<Request, Message> {
    let flags = Flags(Flags::METADATA | Flags::NOFOLLOW);
    of_one(path, b"/*", flags, exports)
}

/// Returns a search request for one directory.
pub(super) fn of_one(
    path: &[u8],
    pattern: &[u8],
    flags: Flags,
    exports: &Exports,
) -> Result<Request, Message> {
    let (language, options) = flags.read().map_err(no)?;
    let pattern = Pattern::new(pattern, language).map_err(|error| no(error.into()))?;
    let parts = RootParts {
        number: 0,
        path: path.to_vec(),
        shown: path.to_vec(),
        prefix: Vec::new(),
        pattern,
        skip: Vec::new(),
    };
    let confined = confined(&mut Places::new(exports), path);
    Request::of_roots(vec![Root::of_parts(parts, confined)], options).map_err(no)
}

/// Returns the attributes of a path, or the error, as a record.
fn stat(path: &[u8], links: Links, exports: &Exports) -> RecordRef<'static> {
    let found = Places::new(exports).find(path).look(b"", links);
    let outcome = match found.and_then(stat_fd) {
        Ok(stat) => Outcome::Match(Some(Attributes::from(&stat))),
        Err(error) => Outcome::Error(Trouble {
            source: Source::Stat,
            errno: error.errno.0,
        }),
    };
    RecordRef {
        root: 0,
        path: b".",
        outcome,
    }
}

/// Sends the targets of links: for each path an errno and the target.
fn links(
    outlet: &Outlet,
    id: u32,
    task: &Task,
    exports: &Exports,
    paths: &[Vec<u8>],
) -> Result<Message, Message> {
    if paths.len() > LINKS_MAX {
        return Err(bad("there are too many links"));
    }
    let (mut places, mut buffer) = (Places::new(exports), TargetBuffer::default());
    let (mut data, mut sent) = (Vec::new(), 0u64);
    for (at, path) in paths.iter().enumerate() {
        let opened = places.find(path).look(b"", Links::Refused);
        let target = opened.and_then(|link| read_link_at(link, c"", &mut buffer));
        let (errno, target) = match target {
            Ok(target) => (0, target),
            // readlinkat(2) with an empty path reports an object that is no link as `ENOENT`.
            Err(error) if error.errno == Errno::NOENT && error.op == Op::Readlinkat => {
                (Errno::INVAL.0, &b""[..])
            }
            Err(error) => (error.errno.0, &b""[..]),
        };
        data.extend_from_slice(&errno.to_le_bytes());
        data.extend_from_slice(&(target.len() as u32).to_le_bytes());
        data.extend_from_slice(target);
        if data.len() >= BLOCK_BYTES || at + 1 == paths.len() {
            sent += data.len() as u64;
            outlet.say(id, &Message::Data(std::mem::take(&mut data)));
        }
        if task.cancel.is_cancelled() || outlet.is_broken() {
            return Err(no(CallError::Cancelled));
        }
    }
    Ok(whole(sent))
}
