//! The priority of the calling thread.

use rustix::process::{getpriority_process, setpriority_process};

/// Gives this thread, and threads that it starts from now on, the lowest ordinary priority: others
/// that want the processor go first, and the disk as well, where its scheduler knows priorities.
///
/// Source: <https://man7.org/linux/man-pages/man2/setpriority.2.html> ("C library/kernel
/// differences": the value belongs to a thread)
pub fn be_last() {
    // Lowering one's own priority is always allowed.
    let _ = setpriority_process(None, 19);
}

/// Returns the nice value of this thread, from −20 to 19.
pub fn nice() -> i32 {
    getpriority_process(None).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_this_thread_and_its_own_come_last() {
        let before = nice();
        let inherited = std::thread::spawn(|| {
            be_last();
            std::thread::spawn(nice).join().unwrap()
        });
        assert_eq!(inherited.join().unwrap(), 19);
        assert_eq!(nice(), before);
    }
}
