//! Trawl's own operations: what its commands, its daemon and its servers do, and the hook through
//! which a profiler learns how long each takes.
//!
//! The hook works in any crate and needs none: a program that wants a profile installs an
//! [`Observer`] once ([`observe`]). Without one, an operation costs a load and a branch, reads no
//! clock and allocates nothing. An operation is a batch, a page, a directory or a request, never a
//! row: rows take less time than a clock needs.
//!
//! ```
//! use trawl_model::operation::Operation;
//!
//! fn read_manifest() {
//!     let _span = Operation::ReadManifest.span();
//!     // The work. The operation ends where the span is dropped.
//! }
//! # read_manifest();
//! ```

use std::fmt;
use std::marker::PhantomData;
use std::sync::OnceLock;

/// Where an operation is measured: the name of its layer in profiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Layer {
    /// Inside a command, the daemon or a server.
    Trawl,
    /// Calls to and from other machines.
    Network,
}

impl Layer {
    /// All layers, the highest first.
    pub const ALL: &[Layer] = &[Layer::Trawl, Layer::Network];

    /// Returns the layer's name in profiles.
    pub fn name(self) -> &'static str {
        match self {
            Layer::Trawl => "trawl",
            Layer::Network => "network",
        }
    }
}

/// Defines [`Operation`] with a row for each operation: its layer, its name in profiles, and what it
/// is, which is also its documentation.
macro_rules! operations {
    ($($layer:ident $operation:ident $name:literal $about:literal;)*) => {
        /// An operation whose latency is recorded.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Operation {
            $(#[doc = $about] $operation,)*
        }

        impl Operation {
            /// All operations, in the order of their numbers.
            pub const ALL: &[Operation] = &[$(Operation::$operation,)*];

            /// Returns the operation's name in profiles.
            pub fn name(self) -> &'static str {
                match self { $(Operation::$operation => $name,)* }
            }

            /// Returns what the operation is, as a sentence.
            pub fn about(self) -> &'static str {
                match self { $(Operation::$operation => $about,)* }
            }

            /// Returns the layer at which the operation is measured.
            pub fn layer(self) -> Layer {
                match self { $(Operation::$operation => Layer::$layer,)* }
            }
        }
    };
}

// A new operation is a row here, and a span where it happens.
operations! {
    Trawl OpenIndex "open-index" "Opens the directory of an index and checks its format.";
    Trawl OpenSnapshot "open-snapshot" "Opens a snapshot: its description, its manifests, and later changes.";
    Trawl ReadManifest "read-manifest" "Reads the manifest of a shard, or of all shards at once.";
    Trawl OpenSegment "open-segment" "Opens a file of a segment.";
    Trawl ReadFooter "read-footer" "Reads and checks the footer of a segment's file; small files are read whole.";
    Trawl ReadColumn "read-column" "Reads the bytes of a column in one row group from a file that is not kept in memory.";
    Trawl DecodePages "decode-pages" "Decodes the wanted pages of a column in one row group.";
    Trawl LookUpName "look-up-name" "Looks names up in the sidecar of a segment.";
    Trawl AskDaemon "ask-daemon" "Waits for the daemon's answer to a request.";
    Trawl ReadDirectory "read-directory" "Lists a directory of a file system, or a part of a large one.";
    Trawl TakeEntries "take-entries" "Reads the attributes of the entries of a listed directory, and tests them.";
    Trawl Sort "sort" "Sorts rows; short lists are not counted.";
    Trawl WriteOutput "write-output" "Writes a buffer to standard output.";
    Trawl FetchMember "fetch-member" "Fetches the first bytes of a member of a set.";
    Trawl BeginSearch "begin-search" "Begins to answer a search call.";
    Trawl NextBlock "next-block" "Waits for the next records of a search call.";
    Trawl DrainEvents "drain-events" "Reads events that the kernel has queued.";
    Trawl Barrier "barrier" "Reads all events that were queued when a round began.";
    Trawl Round "round" "Brings a source's index up to date.";
    Trawl ReReadDirectory "re-read-directory" "Reads a changed directory again, or its changed names only.";
    Trawl Publish "publish" "Writes a generation or a snapshot, and makes it visible.";
    Trawl Scan "scan" "Scans a source.";
    Trawl AnswerNow "answer-now" "Answers a client that wants the index up to date.";
    Trawl AnswerStatus "answer-status" "Answers a client that asks for the daemon's state.";
    Trawl AnswerRefresh "answer-refresh" "Answers a client that wants a directory scanned again.";
    Trawl AnswerMetrics "answer-metrics" "Answers a client that asks for the daemon's own profile.";
    Network AskSearch "ask-search" "Asks a server to search, until the last record has arrived.";
    Network AskSearchContents "ask-search-contents" "Asks a server to search and to send small files along.";
    Network AskStat "ask-stat" "Asks a server for the attributes of a path.";
    Network AskList "ask-list" "Asks a server for the entries of a directory.";
    Network AskRead "ask-read" "Asks a server for bytes of a file.";
    Network AskFetch "ask-fetch" "Asks a server for bytes of a file and their version.";
    Network AskLinks "ask-links" "Asks a server for the targets of links.";
    Network AskAttributes "ask-attributes" "Asks a server for extended attributes.";
    Network AskCommand "ask-command" "Asks a server to answer a command line.";
    Network ServeSearch "serve-search" "Answers a client's search.";
    Network ServeSearchContents "serve-search-contents" "Answers a client's search, and sends small files along.";
    Network ServeStat "serve-stat" "Sends a client the attributes of a path.";
    Network ServeList "serve-list" "Sends a client the entries of a directory.";
    Network ServeRead "serve-read" "Sends a client bytes of a file.";
    Network ServeFetch "serve-fetch" "Sends a client bytes of a file and their version.";
    Network ServeLinks "serve-links" "Sends a client the targets of links.";
    Network ServeAttributes "serve-attributes" "Sends a client extended attributes.";
    Network ServeCommand "serve-command" "Answers a client's command line.";
}

impl Operation {
    /// Returns the operation's place in [`Operation::ALL`].
    pub fn number(self) -> usize {
        self as usize
    }

    /// Begins the operation. It ends when the span is dropped, in the same thread.
    #[inline]
    pub fn span(self) -> Span {
        Span {
            operation: self,
            began: OBSERVER
                .get()
                .map(|observer| (*observer, observer.enter(self))),
            stays: PhantomData,
        }
    }

    /// Begins an operation that may end in another thread, such as a call whose answer another
    /// thread receives. It is counted when it ends.
    #[inline]
    pub fn begin(self) -> Begun {
        Begun {
            operation: self,
            since_ns: OBSERVER.get().map(|observer| observer.now_ns()),
        }
    }
}

/// Records operations. Each method may be called by any thread, also inside another operation.
pub trait Observer: Sync + fmt::Debug {
    /// Returns the time: nanoseconds of a clock that never goes back.
    fn now_ns(&self) -> u64;

    /// Counts an operation that begins in this thread; returns the time.
    fn enter(&self, operation: Operation) -> u64;

    /// Counts the end of an operation that began in this thread at `since_ns`.
    fn leave(&self, operation: Operation, since_ns: u64);

    /// Counts an operation that began at `since_ns`, perhaps in another thread, and ends now.
    fn record(&self, operation: Operation, since_ns: u64);
}

static OBSERVER: OnceLock<&'static dyn Observer> = OnceLock::new();

/// Lets an observer record all operations that begin from now on. Returns false if there is one
/// already, which stays.
pub fn observe(observer: &'static dyn Observer) -> bool {
    OBSERVER.set(observer).is_ok()
}

/// Returns whether operations are recorded.
#[inline]
pub fn is_observed() -> bool {
    OBSERVER.get().is_some()
}

/// An operation that has begun and ends when this is dropped, in the thread in which it began.
#[must_use = "the operation ends when the span is dropped"]
#[derive(Debug)]
pub struct Span {
    operation: Operation,
    /// `None` if nobody observes.
    began: Option<(&'static dyn Observer, u64)>,
    /// Counts belong to threads.
    stays: PhantomData<*const ()>,
}

impl Drop for Span {
    #[inline]
    fn drop(&mut self) {
        if let Some((observer, since_ns)) = self.began {
            observer.leave(self.operation, since_ns);
        }
    }
}

/// An operation that has begun and may end in any thread; one that is dropped is not counted.
#[must_use = "the operation is counted when it ends"]
#[derive(Clone, Copy, Debug)]
pub struct Begun {
    operation: Operation,
    /// `None` if nobody observed.
    since_ns: Option<u64>,
}

impl Begun {
    /// Ends the operation and counts it.
    #[inline]
    pub fn end(self) {
        if let (Some(since_ns), Some(observer)) = (self.since_ns, OBSERVER.get()) {
            observer.record(self.operation, since_ns);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use std::sync::Mutex;

    #[derive(Debug)]
    struct Log(Mutex<Vec<(&'static str, Operation, u64)>>);

    impl Log {
        fn note(&self, what: &'static str, operation: Operation, time_ns: u64) {
            self.0.lock().unwrap().push((what, operation, time_ns));
        }
    }

    impl Observer for Log {
        fn now_ns(&self) -> u64 {
            7
        }

        fn enter(&self, operation: Operation) -> u64 {
            self.note("enter", operation, 5);
            5
        }

        fn leave(&self, operation: Operation, since_ns: u64) {
            self.note("leave", operation, since_ns);
        }

        fn record(&self, operation: Operation, since_ns: u64) {
            self.note("record", operation, since_ns);
        }
    }

    static LOG: Log = Log(Mutex::new(Vec::new()));

    // One test: an observer is installed for the whole process.
    #[test]
    fn operations_are_seen_from_when_an_observer_is_there() {
        let early = Operation::Sort.span();
        let begun = Operation::NextBlock.begin();
        assert!(!is_observed());
        assert!(observe(&LOG));
        assert!(!observe(&LOG) && is_observed());
        drop(early);
        begun.end();
        {
            let _outer = Operation::Round.span();
            let _inner = Operation::Barrier.span();
        }
        let begun = Operation::NextBlock.begin();
        let _ = Operation::NextBlock.begin();
        std::thread::spawn(move || begun.end()).join().unwrap();
        let seen = std::mem::take(&mut *LOG.0.lock().unwrap());
        let expected = [
            ("enter", Operation::Round, 5),
            ("enter", Operation::Barrier, 5),
            ("leave", Operation::Barrier, 5),
            ("leave", Operation::Round, 5),
            ("record", Operation::NextBlock, 7),
        ];
        assert_eq!(seen, expected);
    }

    #[test]
    fn names_are_words_and_none_has_two_operations() {
        let is_word = |name: &str| name.bytes().all(|b| b.is_ascii_lowercase() || b == b'-');
        let mut names = BTreeSet::new();
        for (number, operation) in Operation::ALL.iter().enumerate() {
            assert_eq!(operation.number(), number);
            assert!(is_word(operation.name()), "{operation:?}");
            assert!(
                names.insert((operation.layer(), operation.name())),
                "{operation:?}"
            );
            assert!(operation.about().ends_with('.'), "{operation:?}");
        }
    }
}
