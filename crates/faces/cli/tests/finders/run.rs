//! Runs over trees on all cores, with several command lines each; failures are shrunk.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use trawl_testkit::finders::compare::{self, likeness};
use trawl_testkit::finders::grammar::Vocabulary;
use trawl_testkit::finders::plan::LEFT_OUT;
use trawl_testkit::finders::{
    self, Answer, Case, Difference, Grammar, Locales, Purpose, Side, Site, difference, shrink,
};
use trawl_testkit::oracle::Identity;
use trawl_testkit::prng::Prng;
use trawl_testkit::skip;

use crate::known::{self, Asked, Asker, Place};
use crate::tally::Tally;

/// Command lines per tree.
const CASES_PER_TREE: u64 = 20;
/// Words that mean the same to bfs, regardless of their arguments.
const BFS: &[&str] = &[
    "-name",
    "-iname",
    "-path",
    "-ipath",
    "-type",
    "-xtype",
    "-size",
    "-empty",
    "-perm",
    "-links",
    "-inum",
    "-uid",
    "-gid",
    "-nouser",
    "-nogroup",
    "-samefile",
    "-mtime",
    "-mmin",
    "-newer",
    "-true",
    "-false",
    "-prune",
    "-print",
    "-print0",
    "-maxdepth",
    "-mindepth",
    "-depth",
    "-lname",
    "-ilname",
    "-L",
    "-H",
    "-P",
];

/// Settings of a run.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) trawl: PathBuf,
    pub(crate) sides: Vec<Side>,
    pub(crate) seed: u64,
    pub(crate) cases: u64,
    /// Number of failures that ends the run.
    pub(crate) failures: usize,
    /// Whether failures are shrunk, which takes a minute each.
    pub(crate) shrinks: bool,
}

/// A run over many trees.
pub(crate) struct Run {
    plan: Plan,
    vocabularies: BTreeMap<Side, Vocabulary>,
    locales: Locales,
    has_bfs: bool,
    next: AtomicU64,
    tally: Mutex<Tally>,
    /// Reports of failures, by the words that remain.
    failures: Mutex<BTreeMap<String, String>>,
}

/// Answers of GNU find to a command line, and to the same without `-quit`.
struct Oracle {
    case: Case,
    answer: Answer,
    whole: Option<Answer>,
}

/// A question to one side.
struct Question<'a> {
    side: Side,
    identity: &'a Identity,
    asker: Asker,
    seed: u64,
}

impl Run {
    pub(crate) fn new(plan: Plan) -> Run {
        let (index, live) = finders::vocabularies(&plan.trawl);
        let known = [(Side::Index, Some(index)), (Side::Live, live)];
        let known = known
            .into_iter()
            .filter(|(side, _)| plan.sides.contains(side));
        let vocabularies = known
            .filter_map(|(side, words)| Some((side, words?)))
            .collect();
        Run {
            plan,
            vocabularies,
            locales: Locales::build(),
            has_bfs: skip::without_program("a second opinion", "bfs").is_none(),
            next: AtomicU64::new(0),
            tally: Mutex::default(),
            failures: Mutex::default(),
        }
    }

    /// Works through all trees.
    pub(crate) fn work(&self) {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        std::thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|| self.work_alone());
            }
        });
    }

    fn work_alone(&self) {
        let trees = self.plan.cases.div_ceil(CASES_PER_TREE);
        while self
            .failures
            .lock()
            .is_ok_and(|failures| failures.len() < self.plan.failures)
        {
            let at = self.next.fetch_add(1, Ordering::Relaxed);
            if at >= trees {
                return;
            }
            self.tree(self.plan.seed + at);
        }
    }

    fn tree(&self, seed: u64) {
        // Half a minute off, so that no limit of a minute is near.
        let present = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0, |age| age.as_secs());
        let plan = finders::Plan::new(seed, present as i64 + 30);
        let mut site = match Site::build(&plan, &self.plan.trawl) {
            Ok(site) => site,
            Err(error) => panic!("seed {seed}: cannot build the tree: {error}"),
        };
        let mut prng = Prng::new(seed);
        let people = people();
        let half_closed: Vec<[bool; 2]> = people
            .iter()
            .map(|(person, _)| half_closed(&site, person))
            .collect();
        let cases: Vec<Case> = (0..CASES_PER_TREE)
            .map(|_| self.draw(&site, &mut prng))
            .collect();
        for (at, case) in cases.iter().enumerate() {
            let (identity, asker) = &people[at % people.len()];
            let mut oracle = None;
            for &side in self.vocabularies.keys() {
                let [is_listed_only, is_searched_only] = half_closed[at % people.len()];
                let asked = Asked {
                    case,
                    asker: *asker,
                    plan: &plan,
                    is_listed_only,
                    is_searched_only,
                };
                let is_hidden = side == Side::Index && asked.is_listed_only;
                let is_beyond = side == Side::Index && reaches_left_out(&plan, case);
                let is_known = known::may_differ(side, &asked);
                let is_left_out = is_hidden
                    || is_beyond
                    || is_known
                    || mixes_lines(case)
                    || gathers_in_a_line(case);
                if is_left_out || !self.vocabularies[&side].knows_all(case) {
                    self.tally.lock().expect("no thread panicked").left_out += 1;
                    continue;
                }
                let question = Question {
                    side,
                    identity,
                    asker: *asker,
                    seed,
                };
                self.compare(&mut site, case, &question, &mut oracle);
            }
            if self.has_bfs && at % 4 == 0 {
                self.ask_bfs(&site, case, identity);
            }
        }
    }

    /// Draws a command line; most consist of words that every side knows.
    fn draw(&self, site: &Site, prng: &mut Prng) -> Case {
        let all: BTreeSet<String> = self
            .vocabularies
            .values()
            .flat_map(|words| words.unknown.iter().cloned())
            .collect();
        let most = self
            .vocabularies
            .values()
            .min_by_key(|words| words.unknown.len());
        let vocabulary = match most {
            Some(most) if prng.once_in(3) => most.clone(),
            _ => Vocabulary { unknown: all },
        };
        let purpose = match prng.below(24) {
            0 | 1 if vocabulary.knows("-delete") => Purpose::Delete,
            2..5 if vocabulary.knows("-exec") => Purpose::Change,
            _ => Purpose::Look,
        };
        let grammar = Grammar {
            values: &site.values,
            vocabulary: &vocabulary,
            files: &site.files,
            locales: &self.locales,
            is_noatime: site.is_noatime,
        };
        grammar.draw(prng, purpose)
    }

    /// Checks that the known differences still exist.
    pub(crate) fn expect_known(&self) {
        let mut sites = BTreeMap::new();
        let mut passing = Vec::new();
        for known in known::KNOWN {
            let Some(identity) = known.asker.identity() else {
                continue;
            };
            if known.place != Place::Usual && !skip::is_root() {
                continue;
            }
            let build = || Site::build(&known::plan_of(known.place), &self.plan.trawl);
            let site = sites
                .entry(known.place)
                .or_insert_with(|| build().expect("a small tree"));
            let language = known.language;
            if language.is_some_and(|name| !self.locales.has(name)) {
                continue;
            }
            let case = Case {
                env: language.map_or(Vec::new(), |name| self.locales.variables(name)),
                ..Case::of_words(known.example)
            };
            let asked = self.vocabularies.iter();
            let asked = asked.filter(|(side, words)| known::is_asked(known, **side, words));
            for (&side, _) in asked {
                let question = Question {
                    side,
                    identity: &identity,
                    asker: known.asker,
                    seed: 0,
                };
                if differs(site, &case, &question).is_none() {
                    passing.push(format!("{side:?}: {}", known.what));
                }
            }
        }
        assert!(
            passing.is_empty(),
            "answered as find does now, take it out of known.rs:\n{}",
            passing.join("\n")
        );
    }

    /// Asks a side; asks GNU find only if the same question was not asked before.
    fn compare(
        &self,
        site: &mut Site,
        case: &Case,
        question: &Question<'_>,
        oracle: &mut Option<Oracle>,
    ) {
        let asked = site.as_asked(question.side, case);
        let known = oracle.take().filter(|oracle| oracle.case == asked);
        let known = known.unwrap_or_else(|| ask_oracle(site, asked, question.identity));
        let Oracle { answer, whole, .. } = oracle.insert(known);
        let ours = site.ask(question.side, case, question.identity);
        match difference(case, answer, &ours, whole.as_ref()) {
            None => {
                let likeness = likeness(answer, &ours);
                let mut tally = self.tally.lock().expect("no thread panicked");
                tally.add(question.side, question.asker, answer, &ours, likeness);
            }
            // A time may pass a limit between one finder and the other.
            Some(_) if differs(site, case, question).is_none() => {}
            Some(difference) => self.explain(site, case, question, &difference),
        }
    }

    /// Shrinks a difference and records it, unless a similar one is known.
    fn explain(&self, site: &mut Site, case: &Case, question: &Question<'_>, first: &Difference) {
        let is_same =
            |found: Option<Difference>| found.is_some_and(|found| found.kind == first.kind);
        let fails = |site: &Site, case: &Case| {
            let [is_listed_only, is_searched_only] = half_closed(site, question.identity);
            let asked = Asked {
                case,
                asker: question.asker,
                plan: &site.plan,
                is_listed_only,
                is_searched_only,
            };
            !known::may_differ(question.side, &asked) && is_same(differs(site, case, question))
        };
        let small = match self.plan.shrinks {
            true => shrink::shrink_case(case, |case| fails(site, case)),
            false => case.clone(),
        };
        let signature = signature(&small, question.side, first.kind);
        if self
            .failures
            .lock()
            .expect("no thread panicked")
            .contains_key(&signature)
        {
            return;
        }
        let report = match self.plan.shrinks {
            true => self.smallest(site, case, small, question, fails),
            false => self.report(site, case, &small, question),
        };
        let report = cut(&report);
        // Nobody waits for the end of a long run.
        if self.plan.failures > 1 {
            eprintln!("{report}");
        }
        self.failures
            .lock()
            .expect("no thread panicked")
            .insert(signature, report);
    }

    /// Returns the failure in the smallest tree that still shows it.
    fn smallest(
        &self,
        site: &mut Site,
        case: &Case,
        small: Case,
        question: &Question<'_>,
        fails: impl Fn(&Site, &Case) -> bool,
    ) -> String {
        let whole = site.plan.clone();
        let plan = shrink::shrink_plan(&whole, |plan| {
            site.rebuild(plan).is_ok() && fails(site, &small)
        });
        site.rebuild(&plan).expect("a tree that was built before");
        let small = shrink::shrink_case(&small, |case| fails(site, case));
        let report = self.report(site, case, &small, question);
        site.rebuild(&whole).expect("a tree that was built before");
        report
    }

    fn report(&self, site: &Site, case: &Case, small: &Case, question: &Question<'_>) -> String {
        let last = differs(site, small, question);
        let what = last.map_or("it does not fail again".into(), |d| {
            format!("{:?}: {}", d.kind, d.text)
        });
        let bfs = match self.has_bfs {
            true => format!(
                "bfs: {}",
                site.ask(Side::Bfs, small, question.identity)
                    .ran
                    .text()
                    .escape_debug()
            ),
            false => String::new(),
        };
        format!(
            "seed {}, {:?}, {:?}\n{}\nsmallest:\n{what}\n{}{}\nagain: TRAWL_FIND_SEED={} TRAWL_FIND_CASES=1 cargo \
             test -p trawl-cli --test finders\n",
            question.seed,
            question.side,
            question.identity,
            case.shown(question.side.shown()),
            site.reproduction(question.side, small, question.identity),
            bfs.chars().take(400).collect::<String>(),
            question.seed,
        )
    }

    fn ask_bfs(&self, site: &Site, case: &Case, identity: &Identity) {
        let known = |words: &[Vec<u8>]| {
            words
                .first()
                .is_some_and(|w| BFS.iter().any(|name| name.as_bytes() == w))
        };
        let globals = case.globals.iter().map(Vec::as_slice);
        let is_known = case.leaves().into_iter().chain(globals).all(known) && case.env.is_empty();
        if !is_known
            || case.leading.iter().any(|word| word.starts_with(b"-O"))
            || case.starts_file.is_some()
        {
            return;
        }
        let theirs = site.ask(Side::Gnu, case, identity);
        let mut bfs = site.ask(Side::Bfs, case, identity);
        // bfs words messages in its own way.
        bfs.ran.stderr.clone_from(&theirs.ran.stderr);
        let same = difference(case, &theirs, &bfs, None).is_none();
        let mut tally = self.tally.lock().expect("no thread panicked");
        if same {
            tally.bfs.0 += 1
        } else {
            tally.bfs.1 += 1
        }
    }

    /// Returns the failures, one text each.
    pub(crate) fn failures(self) -> Vec<String> {
        let failures = self.failures.into_inner().expect("no thread panicked");
        failures.into_values().collect()
    }

    /// Prints the number of comparisons; panics with the failures.
    pub(crate) fn judge(self) {
        let tally = self.tally.lock().expect("no thread panicked").clone();
        eprintln!("seed {}\n{tally}", self.plan.seed);
        for side in &self.plan.sides {
            match self.vocabularies.get(side) {
                None => eprintln!("{side:?}: skipped, because the program has no such mode yet"),
                Some(words) if words.unknown.is_empty() => {}
                Some(words) => {
                    let list: Vec<&str> = words.unknown.iter().map(String::as_str).collect();
                    eprintln!(
                        "{side:?}: left out, because the program does not know: {}",
                        list.join(" ")
                    );
                }
            }
        }
        let (sides, cases) = (self.vocabularies.len(), self.plan.cases);
        let failures = self.failures();
        assert!(
            failures.is_empty(),
            "{} failures\n\n{}",
            failures.len(),
            failures.join("\n\n")
        );
        if cases >= 100 {
            tally.expect_substance(sides, cases);
        }
    }
}

/// Returns ourselves and, if we may become one, an ordinary user.
fn people() -> Vec<(Identity, Asker)> {
    let both = [Asker::Ourselves, Asker::User];
    let known = |asker: Asker| Some((asker.identity()?, asker));
    both.into_iter().filter_map(known).collect()
}

/// Returns whether there are directories that somebody may only list, and whether there are some
/// that they may only search.
fn half_closed(site: &Site, identity: &Identity) -> [bool; 2] {
    let may_only = [site.listed_only(identity), site.searched_only(identity)];
    may_only.map(|directories| !directories.is_empty())
}

fn ask_oracle(site: &Site, case: Case, identity: &Identity) -> Oracle {
    let ask = |case: &Case| site.ask(Side::Gnu, case, identity);
    Oracle {
        answer: ask(&case),
        whole: case.has("-quit").then(|| ask(&case.without_quit())),
        case,
    }
}

fn differs(site: &Site, case: &Case, question: &Question<'_>) -> Option<Difference> {
    let asked = site.as_asked(question.side, case);
    let oracle = ask_oracle(site, asked, question.identity);
    let ours = site.ask(question.side, case, question.identity);
    difference(case, &oracle.answer, &ours, oracle.whole.as_ref())
}

/// Returns true if all output depends on the order of the walk: a command collects paths and prints
/// them in one line, because an earlier mistake absorbed its words.
fn gathers_in_a_line(case: &Case) -> bool {
    let leaves = case.leaves();
    let is_open =
        |leaf: &&[Vec<u8>]| matches!(leaf, [_, echo, plus] if echo == b"echo" && plus == b"+");
    leaves.iter().any(is_open)
}

/// Returns true if messages appear in the middle of records: messages about security contexts,
/// which no file has here, if output goes to standard error, too.
fn mixes_lines(case: &Case) -> bool {
    let is_mixed = |leaf: &&[Vec<u8>]| match leaf {
        [.., file, format] if file == b"/dev/stderr" => format.contains(&b'Z'),
        _ => false,
    };
    case.leaves().iter().any(is_mixed)
}

/// Returns true if a question to the index reaches parts that are left out of it, which are then
/// read from the file system, or if it cannot be asked with those parts hidden.
fn reaches_left_out(plan: &finders::Plan, case: &Case) -> bool {
    let part = LEFT_OUT.as_bytes();
    let names = |start: &&Vec<u8>| start.windows(part.len()).any(|window| window == part);
    // Parentheses around it may hide a mistake.
    let is_operator = |leaf: &&[Vec<u8>]| matches!(leaf, [only] if only.len() <= 2);
    // Some options leave no operand for the operator after them, which at the beginning of a
    // parenthesis is a mistake.
    let is_option = |leaf: &&[Vec<u8>]| OPTIONS.iter().any(|option| leaf[0] == option.as_bytes());
    let leaves = case.leaves();
    // Before all words with a dash it is a start point, and after a parenthesis a mistake.
    let is_stray = leaves
        .first()
        .is_some_and(|leaf| !leaf[0].starts_with(b"-"));
    let is_mistaken =
        is_stray || leaves.iter().any(is_operator) || leaves.first().is_some_and(is_option);
    let leads_there = |node: &finders::plan::Node| match &node.kind {
        finders::plan::Kind::Symlink(to) => names(&to),
        _ => false,
    };
    let follows = ["-L", "-H", "-follow"].iter().any(|word| case.has(word));
    // A trailing slash follows a link, too.
    let follows = follows || case.all_starts().iter().any(|start| start.ends_with(b"/"));
    let is_followed = follows && plan.nodes.iter().any(leads_there);
    // These are walked live, including parts that are left out.
    let acts = ["-exec", "-execdir", "-ok", "-okdir", "-delete"];
    let acts = acts.iter().any(|word| case.has(word));
    let is_live = acts
        && ["-empty", "-L", "-follow"]
            .iter()
            .any(|word| case.has(word));
    let is_beyond = is_mistaken || is_followed || is_live || case.all_starts().iter().any(names);
    plan.leaves_out() && is_beyond
}

/// Words that say how to search, not what to search for.
const OPTIONS: &[&str] = &[
    "-d",
    "-daystart",
    "-depth",
    "-follow",
    "-ignore_readdir_race",
    "-maxdepth",
    "-mindepth",
    "-mount",
    "-noignore_readdir_race",
    "-noleaf",
    "-nowarn",
    "-regextype",
    "-warn",
    "-xdev",
];

/// Length of the longest line in a report that is shown completely.
const LINE_BYTES: usize = 3_000;

/// Cuts long lines of a report, which nobody reads.
fn cut(report: &str) -> String {
    let short = |line: &str| match line.char_indices().nth(LINE_BYTES) {
        Some((at, _)) => format!("{} …\n", &line[..at]),
        None => format!("{line}\n"),
    };
    report.lines().map(short).collect()
}

/// Returns the words that identify a failure; failures with the same words are one.
fn signature(case: &Case, side: Side, kind: compare::Kind) -> String {
    let leaves = case.leaves().into_iter().map(<[Vec<u8>]>::to_vec);
    let globals = case.globals.iter().cloned();
    let mut words: Vec<String> = leaves
        .chain(globals)
        .filter_map(|leaf| {
            leaf.first()
                .map(|word| String::from_utf8_lossy(word).into_owned())
        })
        .chain(
            case.leading
                .iter()
                .map(|word| String::from_utf8_lossy(word).into_owned()),
        )
        .collect();
    words.sort();
    words.dedup();
    format!("{side:?} {kind:?} {}", words.join(" "))
}
