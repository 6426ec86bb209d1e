//! "The common files accessed by any two different executions only account for a very small fraction
//! of all accessed files" (Propeller, section 2.3, Table 3).

use std::collections::BTreeSet;

use trawl_testkit::skip::without_program;

use crate::site::Site;

/// The largest share in Table 3: 62 of the 279 files of Apt-get are files of OpenOffice, too.
const SHARE_MAX: f64 = 0.222;

const HEADERS: [&str; 12] = [
    "stdio.h",
    "stdlib.h",
    "string.h",
    "math.h",
    "pthread.h",
    "sys/socket.h",
    "netinet/in.h",
    "signal.h",
    "sys/stat.h",
    "time.h",
    "unistd.h",
    "errno.h",
];

fn opened(label: &str, line: &str) -> BTreeSet<Vec<u8>> {
    let site = Site::new(label);
    let includes = HEADERS.map(|header| format!("#include <{header}>\n"));
    site.write(
        "main.c",
        includes.concat() + "int main(void) { return 0; }\n",
    );
    for at in 0..60 {
        site.write(&format!("source/{at}"), format!("{at}\n"));
    }
    site.learn(line).expect_code(0);
    let graph = site.learnt();
    graph.files().iter().map(|file| file.path.clone()).collect()
}

#[test]
fn programs_open_files_of_their_own() {
    let commands = [
        (
            "apt-get",
            "apt-get -s install coreutils >/dev/null 2>&1 || apt-cache policy coreutils >/dev/null",
        ),
        (
            "git",
            "git init -q repository; cp -r source repository; cd repository; git add .; \
            git -c user.name=a -c user.email=a@b commit -qm x; git log --stat >/dev/null",
        ),
        ("gcc", "gcc -O1 -o main main.c"),
        (
            "python3",
            "python3 -c 'import asyncio, email.message, http.client, json, sqlite3, unittest'",
        ),
    ];
    let mut sets = Vec::new();
    for (program, line) in commands {
        match without_program("files of four programs", program) {
            Some(skip) => skip.say(),
            None => sets.push((program, opened(&format!("isolation-{program}"), line))),
        }
    }
    for (one, own) in &sets {
        for (other, others) in sets.iter().filter(|(other, _)| other != one) {
            let common = own.intersection(others).count();
            let share = common as f64 / own.len() as f64;
            println!(
                "{one} ({}) and {other}: {common} ({:.1} %)",
                own.len(),
                share * 100.0
            );
            assert!(
                share <= SHARE_MAX,
                "{one} and {other}: {common} of {}",
                own.len()
            );
        }
    }
}
