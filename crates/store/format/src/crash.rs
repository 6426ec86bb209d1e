//! Provides crash points at which a test ends the process like a kill or a power cut.
//!
//! Every creation, sync, rename and removal by the writer and by gc passes [`point`]. In debug
//! builds, `TRAWL_CRASH_AT=N` aborts the process at the N-th point (from 1) and
//! `TRAWL_CRASH_LIST=1` prints each point on standard error. In release builds the function does
//! nothing.

/// Marks a point between two steps; a crash here must leave a valid index.
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
