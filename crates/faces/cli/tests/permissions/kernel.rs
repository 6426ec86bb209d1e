//! Random trees, every user, several start points: the index compared with the kernel.

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use trawl_testkit::permissions::compare::Questions;
use trawl_testkit::permissions::stage::cannot;
use trawl_testkit::permissions::{Check, Person, Plan, Site, Tally, people, shrink, views};
use trawl_testkit::prng::Prng;
use trawl_testkit::skip::Skip;
use trawl_testkit::{Scratch, skip};

use super::{alone, texts};

/// Default number of trees.
const TREES: u64 = 50;
/// Number of trees that are asked about through a server.
const REMOTE_TREES: u64 = 6;
/// Start points per tree.
const STARTS: usize = 11;
/// One tree in so many has a text index.
const TEXT_EVERY: u64 = 4;
/// Users per tree with whom more than find is checked.
const THOROUGH: u64 = 3;

pub(crate) fn number(variable: &str, or_else: u64) -> u64 {
    let asked = std::env::var(variable).ok();
    asked.and_then(|text| text.parse().ok()).unwrap_or(or_else)
}

/// Returns all checks that can be made here.
pub(crate) fn possible() -> Vec<Check> {
    let mut all = Check::ALL.to_vec();
    // `trawl-sql` is built apart, and its own test asks it.
    all.retain(|check| *check != Check::Sql);
    if !views::are_possible() {
        Skip::new("views against the kernel", "/dev/fuse cannot be opened").say();
        all.retain(|check| *check != Check::Views);
    }
    all
}

fn wanted() -> Vec<Check> {
    let Ok(words) = std::env::var("TRAWL_PERMISSION_CHECKS") else {
        return possible();
    };
    let is_wanted = |check: &Check| words.split(',').any(|word| word == check.word());
    Check::ALL.into_iter().filter(is_wanted).collect()
}

/// Counts of the questions, by check.
type Tallies = [Tally; Check::ALL.len()];

#[test]
fn every_user_sees_what_the_kernel_shows() {
    if cannot("permissions against the kernel") {
        return;
    }
    let _alone = alone();
    let scratch = Scratch::new("permissions-program");
    let built = env!("CARGO_BIN_EXE_trawl").into();
    let program = std::env::var_os("TRAWL_PERMISSION_PROGRAM").unwrap_or(built);
    let trawl = scratch.install(Path::new(&program));
    let (first, trees) = (
        number("TRAWL_SEED", 1),
        number("TRAWL_PERMISSION_TREES", TREES),
    );
    eprintln!("seeds {first} to {}", first + trees - 1);
    let run = Run::new(trawl, wanted(), first, trees);
    // Twice as many threads as cores, because an index waits for the disk.
    let threads = 2 * std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| run.work());
        }
    });
    run.judge();
}

/// The tools themselves in place of the program pass; a program that hides one entry, shows one too
/// many, or forgets an error does not.
#[test]
fn the_comparison_finds_what_is_wrong() {
    if let Some(skip) = skip::without_root("the comparison itself") {
        return skip.say();
    }
    let scratch = Scratch::new("permissions-self");
    let install = |name: &str, body: &str| {
        let path = scratch.join(name);
        let text = format!("#!/bin/sh\nshift 2\n[ $1 = index ] && exit 0\n{body}\n");
        std::fs::write(&path, text).expect("a script");
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(&path, mode).expect("our own file");
        path
    };
    let same = install("same", r#"exec "$@""#);
    let less = install("less", r#""$@" | grep -zv /n13; true"#);
    let more = install("more", r#""$@"; printf 'more\0'"#);
    let mute = install("mute", r#""$@" 2>/dev/null"#);
    let failures = |trawl: PathBuf| -> Vec<String> {
        let run = Run::new(trawl, vec![Check::Find, Check::Usage, Check::List], 1, 4);
        run.work();
        run.failure
            .into_inner()
            .expect("no panic")
            .into_iter()
            .collect()
    };
    assert_eq!(failures(same), Vec::<String>::new());
    for program in [less, more, mute] {
        assert_eq!(failures(program.clone()).len(), 1, "{}", program.display());
    }
}

/// A server answers a command line as the kernel shows the tree to its user: the same comparisons,
/// with questions that go through the protocol.
#[test]
fn a_server_shows_its_user_what_the_kernel_shows() {
    if cannot("command lines for other machines") {
        return;
    }
    let _alone = alone();
    let scratch = Scratch::new("permissions-remote");
    let trawl = scratch.install(Path::new(env!("CARGO_BIN_EXE_trawl")));
    let program = trawl.display();
    let asking = scratch.join("asking");
    // Words are `--index DIR COMMAND …`; other commands are run here.
    let text = format!(
        "#!/bin/sh\ncase $3 in find|getfattr|du|ls|stat|locate|search|duplicates) ;; \
         *) exec {program} \"$@\" ;; esac\n\
         index=$2\nshift 2\n\
         exec {program} --remote \"command:{program} serve --stdio --index $index\" \"$@\"\n"
    );
    std::fs::write(&asking, text).expect("a script");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&asking, mode).expect("our own file");
    let checks = vec![
        Check::Find,
        Check::Attributes,
        Check::Usage,
        Check::List,
        Check::Status,
        Check::Names,
        Check::Search,
        Check::Duplicates,
    ];
    let run = Run::new(asking, checks, 1, REMOTE_TREES);
    run.work();
    let rows = run.sum.lock().expect("no panic").map(|tally| tally.rows);
    assert!(
        run.checks.iter().all(|check| rows[*check as usize] > 100),
        "{rows:?}"
    );
    run.judge();
}

struct Run {
    trawl: PathBuf,
    checks: Vec<Check>,
    next: AtomicU64,
    end: u64,
    sum: Mutex<Tallies>,
    failure: Mutex<Option<String>>,
}

impl Run {
    fn new(trawl: PathBuf, checks: Vec<Check>, first: u64, trees: u64) -> Run {
        Run {
            trawl,
            checks,
            next: AtomicU64::new(first),
            end: first + trees,
            sum: Mutex::default(),
            failure: Mutex::default(),
        }
    }

    fn work(&self) {
        while self.failure.lock().is_ok_and(|failure| failure.is_none()) {
            let seed = self.next.fetch_add(1, Ordering::Relaxed);
            if seed >= self.end {
                return;
            }
            match self.tree(seed) {
                Ok(tallies) => {
                    let mut sum = self.sum.lock().expect("no thread panicked");
                    sum.iter_mut()
                        .zip(tallies)
                        .for_each(|(sum, one)| sum.add(one));
                }
                Err(text) => *self.failure.lock().expect("no thread panicked") = Some(text),
            }
        }
    }

    /// Builds, indexes and asks; a failure is reported with a smaller tree.
    fn tree(&self, seed: u64) -> Result<Tallies, String> {
        let plan = Plan::new(seed);
        let starts = plan.starts(STARTS);
        let site = site(&plan, &self.trawl)?;
        let mut prng = Prng::new(seed);
        let mut people = people::everybody();
        if std::env::var_os("ONLY_ROOT").is_some() {
            people.truncate(1);
        }
        let thorough: Vec<usize> = [0usize]
            .into_iter()
            .chain(
                (0..THOROUGH)
                    .map(|_| usize::try_from(prng.below(people.len() as u64)).expect("small")),
            )
            .collect();
        let mut tallies = Tallies::default();
        for (at, person) in people.iter().enumerate() {
            let questions = Questions::new(&site, person, &starts);
            for check in &self.checks {
                if *check != Check::Find && !thorough.contains(&at) {
                    continue;
                }
                let tally = questions
                    .check(*check)
                    .map_err(|why| self.explain(&plan, person, *check, &why))?;
                tallies[*check as usize].add(tally);
            }
        }
        texts::check(&site, &people).map_err(|why| format!("seed {seed}: {why}"))?;
        Ok(tallies)
    }

    fn explain(&self, plan: &Plan, person: &Person, check: Check, why: &str) -> String {
        let all = plan.starts(STARTS);
        let fails = |plan: &Plan| {
            let site = site(plan, &self.trawl).ok()?;
            // Of the other entries, only the remaining holders.
            let is_left = |start: &&Vec<u8>| plan.has_holder_of(start);
            let starts: Vec<Vec<u8>> = all.iter().filter(is_left).cloned().collect();
            Questions::new(&site, person, &starts).check(check).err()
        };
        let (small, last) = shrink::shrink(plan, fails);
        let seed = plan.seed;
        format!(
            "{why}\nagain: TRAWL_SEED={seed} TRAWL_PERMISSION_TREES=1 cargo test -p trawl-cli \
             --test permissions\n\nsmallest tree that fails:\n{}\n{last}",
            shrink::describe(&small)
        )
    }

    fn judge(self) {
        if let Some(text) = self.failure.into_inner().expect("no thread panicked") {
            panic!("{text}");
        }
        let sum = self.sum.into_inner().expect("no thread panicked");
        for check in &self.checks {
            eprintln!("{}: {:?}", check.word(), sum[*check as usize]);
        }
        // A comparison of nothing with nothing must not count as a proof.
        let find = sum[Check::Find as usize];
        let trees = find.questions / people::everybody().len();
        if trees >= 50 && self.checks == possible() {
            let has_rows = |check: &Check| sum[*check as usize].rows > 1_000;
            assert!(self.checks.iter().all(has_rows), "{sum:?}");
            assert!(find.refusals > 1_000 && find.deviations > 50, "{find:?}");
            assert!(find.live > 0, "nothing was read live: {find:?}");
            let starts = find.questions * STARTS;
            assert!(find.live * 2 < starts, "most was read live: {find:?}");
        }
    }
}

fn site(plan: &Plan, trawl: &Path) -> Result<Site, String> {
    let site = Site::build(plan, trawl).map_err(|error| format!("seed {}: {error}", plan.seed))?;
    let added = site.add_references();
    added.map_err(|error| format!("seed {}: {error}", plan.seed))?;
    // Contents need files that have been unchanged for seconds: not for each tree.
    let ran = match plan.seed % TEXT_EVERY {
        0 => site.index_contents(),
        _ => site.index(),
    };
    if ran.code != Some(0) {
        return Err(format!("seed {}: {ran}", plan.seed));
    }
    let ran = site.define();
    if ran.code != Some(0) {
        return Err(format!("seed {}: {ran}", plan.seed));
    }
    Ok(site)
}
