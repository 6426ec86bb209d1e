//! The answers to requests.

use std::os::unix::fs::FileExt;

use trawl_call::options::{Flags, Options};
use trawl_call::packed::encode;
use trawl_call::{
    Attributes, CallError, Cookie, Outcome, Pattern, RecordRef, Request, Root, RootParts, Search,
    Source, Trouble,
};
use trawl_sys::SysError;
use trawl_sys::confined::{look_anywhere, open_file_anywhere};
use trawl_sys::directory::Links;
use trawl_sys::stat::stat_fd;

use super::Serving;
use super::outlet::{Leave, Outlet, Task, refusal};
use crate::exports::{Exports, Place, Places};
use crate::wire::{Code, Ending, Message, Question, READ_MAX_BYTES};

/// Records are sent once they have so many bytes, or the next one is not there yet.
const BLOCK_BYTES: usize = 64 << 10;
/// The longest path in a question; it is in each record.
const PATH_MAX_BYTES: usize = 4096;
/// The most patterns of one question.
const PATTERNS_MAX: usize = 1024;

/// Answers a request: what is to be said last.
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
        } => read(outlet, id, exports, &path, (offset, length)),
        _ => Err(refusal(Code::Unsupported, 0, "it is no request")),
    };
    answered.unwrap_or_else(|refusal| refusal)
}

fn whole(records: u64) -> Message {
    let ending = Ending::Whole;
    Message::End { records, ending }
}

fn no(error: CallError) -> Message {
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
    let mut place = search.cookie();
    let (mut packed, mut waiting, mut records) = (Vec::new(), 0, 0);
    loop {
        let is_more = search.advance().map_err(no)?;
        if let Some(record) = search.record().map_err(no)? {
            encode(&record, &mut packed);
            waiting += 1;
        }
        let is_time = !is_more || packed.len() >= BLOCK_BYTES || search.is_waiting();
        if is_time && !packed.is_empty() {
            match task.leave(packed.len(), outlet.stall()) {
                Leave::Granted => {}
                Leave::Interrupted => return Err(no(CallError::Cancelled)),
                Leave::Late => {
                    let ending = Ending::Paused(place.to_bytes());
                    return Ok(Message::End { records, ending });
                }
            }
            outlet.say(id, &Message::Block(std::mem::take(&mut packed)));
            if outlet.is_broken() {
                return Err(no(CallError::Cancelled));
            }
            records += std::mem::take(&mut waiting);
            place = search.cookie();
        }
        if !is_more {
            return Ok(whole(records));
        }
    }
}

fn bad(text: &str) -> Message {
    refusal(Code::Question, 0, text)
}

/// What is asked.
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

/// All that is in a directory, with what lstat(2) says.
fn listing(path: &[u8], exports: &Exports) -> Result<Request, Message> {
    let flags = Flags(Flags::METADATA | Flags::NOFOLLOW);
    let (language, options) = flags.read().map_err(no)?;
    let pattern = Pattern::new(b"/*", language).map_err(|error| no(error.into()))?;
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

/// What stat(2) or lstat(2) says of a path.
fn stat(path: &[u8], links: Links, exports: &Exports) -> RecordRef<'static> {
    let found = match Places::new(exports).find(path) {
        Place::Anywhere(path) => look_anywhere(&path, links),
        Place::Confined(confined) => confined.look(b"", links),
    };
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

/// Sends a part of a file.
fn read(
    outlet: &Outlet,
    id: u32,
    exports: &Exports,
    path: &[u8],
    (offset, length): (u64, u32),
) -> Result<Message, Message> {
    if length > READ_MAX_BYTES {
        return Err(bad("so much cannot be read at once"));
    }
    let opened = match Places::new(exports).find(path) {
        Place::Anywhere(path) => open_file_anywhere(&path),
        Place::Confined(confined) => confined.open_file(),
    };
    let failed = |error: SysError| refusal(Code::System, error.errno.0, &error.to_string());
    let file = std::fs::File::from(opened.map_err(failed)?);
    let mut bytes = vec![0; BLOCK_BYTES];
    let (mut at, mut left, mut sent) = (offset, length as usize, 0u64);
    while left > 0 {
        let most = left.min(BLOCK_BYTES);
        let count = match file.read_at(&mut bytes[..most], at) {
            Ok(count) => count,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(error) => {
                let errno = error.raw_os_error().unwrap_or(0);
                return Err(refusal(Code::System, errno, &error.to_string()));
            }
        };
        if count == 0 {
            break;
        }
        outlet.say(id, &Message::Data(bytes[..count].to_vec()));
        at = at.saturating_add(count as u64);
        left -= count;
        sent += count as u64;
    }
    Ok(whole(sent))
}
