//! `error`: a server refuses a request, or the connection.

use trawl_call::CallError;

use super::Body;
use crate::wire::BadFrame;
use crate::wire::fields::{Fields, Reader};

/// Maximum length of an error's text in bytes; longer texts are truncated.
const WORDS_MAX_BYTES: usize = 1024;

/// Why a request was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u16)]
pub enum Code {
    /// There is no common version.
    Version = 1,
    /// The frame is invalid.
    Malformed = 2,
    /// The kind of request is unknown.
    Unsupported = 3,
    /// There are too many connections or requests.
    Busy = 4,
    /// The pattern, the options or the cookie are invalid.
    Question = 5,
    /// A system call failed.
    System = 6,
    /// The request was interrupted.
    Interrupted = 7,
}

impl Code {
    const ALL: [Code; 7] = [
        Code::Version,
        Code::Malformed,
        Code::Unsupported,
        Code::Busy,
        Code::Question,
        Code::System,
        Code::Interrupted,
    ];

    fn from_number(number: u16) -> Option<Code> {
        Code::ALL.into_iter().find(|code| *code as u16 == number)
    }
}

/// The refusal of a request or of the connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The reason as a code.
    pub code: Code,
    /// The errno of the failed system call, or 0.
    pub errno: i32,
    /// The reason as text.
    pub text: String,
}

impl Refusal {
    /// Creates a refusal.
    pub(crate) fn new(code: Code, errno: i32, text: &str) -> Refusal {
        let text = text.to_owned();
        Refusal { code, errno, text }
    }

    /// Creates the refusal of an invalid request.
    pub(crate) fn bad(text: &str) -> Refusal {
        Refusal::new(Code::Question, 0, text)
    }

    /// Creates the refusal of a search that failed.
    pub(crate) fn of_call(error: CallError) -> Refusal {
        let code = match error {
            CallError::Cancelled => Code::Interrupted,
            CallError::Thread(_) => Code::System,
            _ => Code::Question,
        };
        Refusal::new(code, 0, &error.to_string())
    }
}

impl Body for Refusal {
    fn write(&self, out: &mut Fields) {
        let most = self.text.len().min(WORDS_MAX_BYTES);
        let cut = (0..=most).rev().find(|at| self.text.is_char_boundary(*at));
        let cut = cut.unwrap_or(0);
        out.u16(self.code as u16).u16(0);
        out.u32(self.errno.cast_unsigned());
        out.bytes(&self.text.as_bytes()[..cut]);
    }

    fn read(body: &mut Reader<'_>) -> Result<Refusal, BadFrame> {
        let code = Code::from_number(body.u16("code")?).ok_or(BadFrame::Field("code"))?;
        body.exactly(&[0; 2], "padding")?;
        let errno = body.u32("errno")?.cast_signed();
        let words = body.bytes("words")?;
        let text = std::str::from_utf8(words).map_err(|_| BadFrame::Field("words"))?;
        if errno < 0 || words.len() > WORDS_MAX_BYTES {
            return Err(BadFrame::Field("error"));
        }
        let text = text.to_owned();
        Ok(Refusal { code, errno, text })
    }
}

#[cfg(test)]
impl super::Sample for Refusal {
    fn example() -> Refusal {
        Refusal::new(Code::System, 13, "cannot open x")
    }

    fn any() -> proptest::strategy::BoxedStrategy<Refusal> {
        use proptest::prelude::*;
        let code = (0..Code::ALL.len()).prop_map(|at| Code::ALL[at]);
        let refusal = |(code, errno, text)| Refusal { code, errno, text };
        (code, 0..i32::MAX, ".{0,20}").prop_map(refusal).boxed()
    }
}
