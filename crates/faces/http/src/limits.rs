//! Limits of the server.

use std::time::Duration;

use trawl_questions::limits::Limits;

/// Limits of the answers to a page and to programs.
pub const ANSWERS: Limits = Limits {
    rows_default: 100,
    rows_max: 10_000,
    bytes: 4 << 20,
    call: Duration::from_secs(30),
    silence: Duration::from_secs(120),
    open: 32,
    calls: 16,
};

/// Most connections at a time; further ones wait.
pub const CONNECTIONS: usize = 512;

/// Time in which the head of a request must have come; so also that of a silent connection.
pub const HEAD: Duration = Duration::from_secs(10);

/// Time in which the body of a request must have come.
pub const BODY: Duration = Duration::from_secs(10);

/// Most bytes of a request's head, and of its body.
pub const HEAD_BYTES: usize = 64 << 10;
/// See [`HEAD_BYTES`].
pub const BODY_BYTES: usize = 128 << 10;
/// Most bytes of a body that is read before it is known who sends it: there can be one for each request
/// of each connection.
pub const SHORT_BODY_BYTES: usize = 16 << 10;

/// Time that a download waits for its client to read on.
pub const STALL: Duration = Duration::from_secs(120);

/// Time in which a one-time link must be used.
pub const LINK: Duration = Duration::from_secs(600);

/// Time after which a session that asked nothing ends.
pub const IDLE: Duration = Duration::from_secs(12 * 60 * 60);

/// Most sessions. A further one ends the one that has been idle for the longest time.
pub const SESSIONS: usize = 16;

/// Least bytes of a token in a file.
pub const TOKEN_BYTES: usize = 16;

/// Most connections at a time of a server for many users; further ones wait. There are fewer if its
/// processes cannot have [`DESCRIPTORS`].
pub const CONNECTIONS_OF_ALL: usize = 12_288;

/// Descriptors of the process that has the connections: one for each, one for each question that is
/// under way, and some.
pub const DESCRIPTORS: u64 = 40_000;

/// Descriptors of the process itself, such as its listening sockets.
const OWN_DESCRIPTORS: u64 = 256;

/// Most processes of users. One more ends the one that was asked the longest time ago, once its answers
/// are given; of those that still give answers, there may be as many again.
pub const DESKS: usize = 256;

/// Returns how many connections a process with this limit on descriptors has at most. The others are
/// left for questions: as many as the users of all these processes can have under way, or half.
pub fn connections_within(descriptors: u64) -> usize {
    let all = descriptors.saturating_sub(OWN_DESCRIPTORS);
    let without = all.saturating_sub((DESKS * QUESTIONS_OF_ONE_USER) as u64);
    let most = usize::try_from(without.max(all / 2)).unwrap_or(CONNECTIONS_OF_ALL);
    most.clamp(1, CONNECTIONS_OF_ALL)
}

/// Most questions at a time of one of many users; further ones wait.
pub const CALLS_OF_ONE_USER: usize = 8;

/// Most questions at a time of all users; further ones wait.
pub const CALLS_OF_ALL: usize = 64;

/// Most questions for each processor that began less than [`FRESH`] ago; further ones wait.
pub const FRESH_CALLS_OF_A_PROCESSOR: usize = 2;

/// Time after which a question lets another one begin.
pub const FRESH: Duration = Duration::from_millis(250);

/// Time that a question waits for its turn.
pub const TURN: Duration = Duration::from_secs(60);

/// Most answers of one of many users that can be continued; each is a command that waits.
pub const ANSWERS_OF_ONE_USER: usize = 16;

/// Time in which TLS must have begun.
pub const HANDSHAKE: Duration = Duration::from_secs(10);

/// Most requests at a time on one connection of HTTP/2.
pub const STREAMS: u32 = 64;

/// Most questions of one of many users that are answered, or wait to be; further ones are refused.
pub const QUESTIONS_OF_ONE_USER: usize = 32;

/// Most connections of one address, or of one network of IPv6 (/64); further ones are closed.
pub const CONNECTIONS_OF_ONE_ADDRESS: usize = 256;

/// Most connections of proxies at a time.
pub const CONNECTIONS_OF_PROXIES: usize = 1024;

/// Time after which a connection is closed that asks nothing and reads nothing.
pub const QUIET: Duration = Duration::from_secs(120);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_leave_descriptors_for_questions() {
        for (descriptors, connections) in [
            (DESCRIPTORS, CONNECTIONS_OF_ALL),
            (20_000, 20_000 - 256 - 8_192),
            (1024, (1024 - 256) / 2),
            (0, 1),
            (u64::MAX, CONNECTIONS_OF_ALL),
        ] {
            assert_eq!(
                connections_within(descriptors),
                connections,
                "{descriptors}"
            );
        }
    }
}
