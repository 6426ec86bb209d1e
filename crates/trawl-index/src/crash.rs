//! Crash points: where a test ends the process as a kill or a power cut
//! would.
//!
//! Every creation, sync and rename of the writer and of gc passes
//! [`point`]. In debug builds, `TRAWL_CRASH_AT=N` aborts the process at the
//! N-th point (from 1) and `TRAWL_CRASH_LIST=1` prints each on standard
//! error. Release builds compile to nothing.

/// Marks a place between two steps that must each leave a whole index.
#[inline]
pub fn point(name: &str) {
    if cfg!(debug_assertions) {
        armed::pass(name);
    }
}

mod armed {
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicU64, Ordering};

    struct Plan {
        crash_at: Option<u64>,
        list: bool,
    }

    pub(super) fn pass(name: &str) {
        static PLAN: OnceLock<Plan> = OnceLock::new();
        static PASSED: AtomicU64 = AtomicU64::new(0);
        let plan = PLAN.get_or_init(|| Plan {
            crash_at: std::env::var("TRAWL_CRASH_AT")
                .ok()
                .and_then(|n| n.parse().ok()),
            list: std::env::var_os("TRAWL_CRASH_LIST").is_some_and(|v| v == "1"),
        });
        if plan.crash_at.is_none() && !plan.list {
            return;
        }
        let number = PASSED.fetch_add(1, Ordering::Relaxed) + 1;
        if plan.list {
            eprintln!("crash point {number}: {name}");
        }
        if plan.crash_at == Some(number) {
            std::process::abort();
        }
    }
}
