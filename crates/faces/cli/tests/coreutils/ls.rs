//! `trawl ls` compared with GNU ls.

use trawl_testkit::lines::Order;

use crate::case::{self, Deck};
use crate::tree;

const OPTIONS: &[&[&str]] = &[
    &[
        "-l",
        "-g",
        "-o",
        "-n",
        "--full-time",
        "--format=long",
        "-lgo",
    ],
    &[
        "-1",
        "-C",
        "-x",
        "-m",
        "--format=commas",
        "--format=across",
        "--format=single-column",
    ],
    &["-l", "-1", "-l"],
    &["-a", "-A", "--all", "--almost-all"],
    &["-R", "-d"],
    &[
        "-t",
        "-S",
        "-X",
        "-v",
        "--sort=time",
        "--sort=size",
        "--sort=version",
    ],
    &["--sort=extension", "--sort=width", "-t"],
    &["-r", "--reverse"],
    &[
        "-c",
        "-u",
        "--time=atime",
        "--time=use",
        "--time=ctime",
        "--time=status",
        "--time=birth",
    ],
    &[
        "--time-style=iso",
        "--time-style=long-iso",
        "--time-style=full-iso",
        "--time-style=locale",
    ],
    &[
        "--time-style=+%Y/%j %-H:%M",
        "--time-style=+%d old\n%H:%M %3N new",
        "--time-style=posix-iso",
    ],
    &[
        "-h",
        "--si",
        "--block-size=K",
        "--block-size=1M",
        "--block-size=kB",
        "--block-size=512",
    ],
    &["-k", "-s", "-i", "-is", "-G", "--author", "--no-group"],
    &["-s", "-i"],
    &[
        "-F",
        "-p",
        "--file-type",
        "--classify=auto",
        "--indicator-style=slash",
        "--indicator-style=none",
    ],
    &[
        "--indicator-style=classify",
        "--indicator-style=file-type",
        "-F",
    ],
    &[
        "-N",
        "-Q",
        "-b",
        "-q",
        "--show-control-chars",
        "--quoting-style=locale",
    ],
    &[
        "--quoting-style=shell",
        "--quoting-style=shell-always",
        "--quoting-style=shell-escape",
        "--quoting-style=shell-escape-always",
        "--quoting-style=c",
        "--quoting-style=escape",
        "--quoting-style=literal",
    ],
    &["--group-directories-first"],
    &["-w20", "-w0", "--width=60", "-w1", "-w 0x30", "-w010"],
    &["-T4", "-T0", "--tabsize=3"],
    &[
        "-L",
        "-H",
        "--dereference-command-line-symlink-to-dir",
        "--dereference",
    ],
    &[
        "-B",
        "-I*1*",
        "--ignore=.*",
        "--hide=a*",
        "-I[!a]*",
        "-I[^a]*",
        "--ignore-backups",
    ],
    &[
        "--color=always",
        "--color=yes",
        "--color",
        "--color=never",
        "--color=tty",
    ],
    &["--color=always", "--color=force"],
    &["--hyperlink", "--hyperlink=always", "--hyperlink=never"],
    &["--zero"],
    &["-A"],
];

const VARIABLES: &[(&str, &[&str])] = &[
    ("LC_ALL", &["C", "C.UTF-8", "POSIX"]),
    (
        "TZ",
        &["America/New_York", "Asia/Kolkata", "XYZ-3:30", "UTC0"],
    ),
    ("COLUMNS", &["40", "0", "132", ""]),
    ("TABSIZE", &["4", "0"]),
    ("BLOCK_SIZE", &["1K", "human-readable", "si", "M"]),
    ("LS_BLOCK_SIZE", &["512", "K", "nonsense"]),
    ("POSIXLY_CORRECT", &["1"]),
    ("TIME_STYLE", &["long-iso", "posix-long-iso", "+%s", "iso"]),
    ("QUOTING_STYLE", &["shell", "c", "escape", "locale"]),
    ("TERM", &["xterm", "dumb", "linux"]),
    (
        "LS_COLORS",
        &[
            "*.tar=31:di=34:ow=0:ln=target:or=41",
            "no=7:ex=32:mi=05;31:or=31:*1=35",
            "lc=<:rc=>:ec=E:mh=44:su=0",
            "nonsense",
            "ln=36:rs=0:cl=",
        ],
    ),
];

#[test]
fn any_options_print_what_gnu_ls_prints() {
    let site = tree::build("coreutils-ls", 1);
    let deck = Deck {
        tool: "ls",
        options: OPTIONS,
        variables: VARIABLES,
        arguments: tree::ARGUMENTS,
        order: |_| Order::Exact,
        left_out: |options| {
            let marks = ["-F", "--classify", "--classify=auto"];
            options
                .iter()
                .filter(|option| marks.contains(option))
                .count()
                > 1
        },
    };
    case::run(&site, &deck);
}
