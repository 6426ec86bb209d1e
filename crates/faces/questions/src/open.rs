//! Answers that can be continued, each by a cursor that holds once.
//!
//! Invariants: the number of open answers is bounded; an answer that nobody continues is closed after a
//! while; a cursor cannot be guessed.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use tokio::task::AbortHandle;

use crate::answer::Answer;
use crate::limits::Limits;

/// The answers that are open.
#[derive(Clone, Debug, Default)]
pub struct Open {
    answers: Arc<Mutex<HashMap<String, Kept>>>,
}

/// An answer that waits for its client.
#[derive(Debug)]
struct Kept {
    answer: Option<Answer>,
    since: Instant,
    expiry: AbortHandle,
}

impl Drop for Kept {
    fn drop(&mut self) {
        self.expiry.abort();
    }
}

impl Open {
    /// Keeps an answer, and returns the cursor that continues it. If too many are open, the one that
    /// has been silent for the longest time is closed.
    ///
    /// # Errors
    /// Fails if the kernel has no random numbers.
    pub fn keep(&self, answer: Answer, limits: &Limits) -> std::io::Result<String> {
        let cursor = secret()?;
        let expiry = tokio::spawn({
            let (open, cursor, silence) = (self.clone(), cursor.clone(), limits.silence);
            async move {
                tokio::time::sleep(silence).await;
                drop(open.take(&cursor));
            }
        });
        let mut answers = self.lock();
        if answers.len() >= limits.open {
            let oldest = answers.iter().min_by_key(|(_, kept)| kept.since);
            if let Some(oldest) = oldest.map(|(cursor, _)| cursor.clone()) {
                answers.remove(&oldest);
            }
        }
        let kept = Kept {
            answer: Some(answer),
            since: Instant::now(),
            expiry: expiry.abort_handle(),
        };
        answers.insert(cursor.clone(), kept);
        Ok(cursor)
    }

    /// Takes the answer that a cursor continues; `None` if it was closed, continued or never open.
    pub fn take(&self, cursor: &str) -> Option<Answer> {
        let kept = self.lock().remove(cursor);
        kept.and_then(|mut kept| kept.answer.take())
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Kept>> {
        self.answers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns 128 random bits, in hexadecimal.
///
/// # Errors
/// Fails if the kernel has no random numbers.
pub fn secret() -> std::io::Result<String> {
    let mut bytes = [0_u8; 16];
    let mut filled = 0;
    while filled < bytes.len() {
        let flags = rustix::rand::GetRandomFlags::empty();
        filled += rustix::rand::getrandom(&mut bytes[filled..], flags)?;
    }
    Ok(bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::child::Program;
    use crate::limits::ASSISTANT;
    use crate::rows::Form;
    use crate::words::Question;
    use std::time::Duration;

    fn answer() -> Answer {
        let shell = Program {
            path: "/bin/sh".into(),
            index: None,
        };
        let question = Question {
            words: vec!["-c".into(), "sleep 1000".into()],
            form: Form::Objects,
            limit: None,
        };
        let running = shell.start(&question, ASSISTANT.bytes);
        Answer::new(running.expect("a shell runs"), Form::Objects)
    }

    fn run<T>(work: impl Future<Output = T>) -> T {
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        runtime
            .enable_all()
            .build()
            .expect("a runtime")
            .block_on(work)
    }

    #[test]
    fn a_cursor_holds_once() {
        run(async {
            let open = Open::default();
            let cursor = open.keep(answer(), &ASSISTANT).expect("random numbers");
            assert!(open.take("").is_none());
            assert!(open.take(&cursor).is_some());
            assert!(open.take(&cursor).is_none());
        });
    }

    #[test]
    fn the_oldest_answer_is_closed_if_too_many_are_open() {
        run(async {
            let open = Open::default();
            let keep = || open.keep(answer(), &ASSISTANT).expect("random numbers");
            let cursors: Vec<String> = (0..=ASSISTANT.open).map(|_| keep()).collect();
            assert!(open.take(&cursors[0]).is_none());
            assert!(
                cursors[1..]
                    .iter()
                    .all(|cursor| open.take(cursor).is_some())
            );
        });
    }

    #[test]
    fn silent_answers_are_closed() {
        run(async {
            let open = Open::default();
            let short = Limits {
                silence: Duration::from_millis(1),
                ..ASSISTANT
            };
            let cursor = open.keep(answer(), &short);
            let cursor = cursor.expect("random numbers");
            while open.lock().contains_key(&cursor) {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            assert!(open.take(&cursor).is_none());
        });
    }
}
