//! `ls`, `du` and `stat` against those of coreutils: random combinations of
//! options and of variables over odd trees, byte for byte, as root and as an
//! ordinary user.
//!
//! Some hundred cases a tool as a rule. For a long run, or to see a failure
//! again:
//!
//! ```sh
//! TRAWL_CASES=10000 TRAWL_SEED=1 cargo test -p trawl-cli --test coreutils
//! ```
//!
//! Left out, each with its reason:
//! - `ls -f`, `-U` and `--sort=none`: GNU ls has the order of readdir(3), the
//!   index that of names; the test in `tests/cli` compares sorted lines.
//! - `ls -D` and `-Z`: refused.
//! - `ls --dired`, terminals, signals: not about what is printed of files.
//! - `du` without `-l` where single lines are compared: which name of a file
//!   with several counts depends on readdir(3), too.
//! - `ls -F --classify=auto`: of the same option twice the last one counts.
//! - `stat -c %12.3Y`: where the width is too small for seconds with decimals
//!   GNU stat 9.1 adds spaces behind them; where it is large enough both agree.
//! - What is printed of directories above the tree: others write there.

#![forbid(unsafe_code)]

mod case;
mod du;
mod ls;
#[path = "../cli/site.rs"]
#[allow(dead_code, reason = "shared with the other tests of the program")]
mod site;
mod stat;
mod tree;
