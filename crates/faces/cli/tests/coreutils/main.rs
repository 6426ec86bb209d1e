//! `ls`, `du` and `stat` compared with those of coreutils: random combinations of options and
//! variables over odd trees, byte for byte, as root and as an ordinary user.
//!
//! By default there are some hundred cases per tool. For a long run, or to reproduce a failure:
//!
//! ```sh
//! TRAWL_CASES=10000 TRAWL_SEED=1 cargo test -p trawl-cli --test coreutils
//! ```
//!
//! Left out, each with its reason:
//! - `ls -f`, `-U` and `--sort=none`: GNU ls has the order of readdir(3), the index that of names;
//!   the test in `tests/cli` compares sorted lines.
//! - `ls -D` and `-Z`: refused.
//! - `ls --dired`, terminals, signals: not about the output for files.
//! - `du` without `-l` where single lines are compared: which name of a file with several names
//!   counts depends on readdir(3), too.
//! - `ls -F --classify=auto`: if an option is given twice, the last one counts.
//! - `stat -c %12.3Y`: if the width is too small for seconds with decimals, GNU stat 9.1 appends
//!   spaces; if it is large enough, both agree.
//! - Output for directories above the tree: other processes write there.

#![forbid(unsafe_code)]

mod case;
mod du;
mod ls;
#[path = "../cli/site.rs"]
#[allow(dead_code, reason = "shared with the other tests of the program")]
mod site;
mod stat;
mod tree;
