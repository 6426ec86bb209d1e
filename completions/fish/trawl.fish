# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_trawl_global_optspecs
    string join \n i/index= status color= at= spreadsheet fresh= no-wait max-age= h/help V/version
end

function __fish_trawl_needs_command
    # Figure out if the current invocation already has a command.
    set -l cmd (commandline -opc)
    set -e cmd[1]
    argparse -s (__fish_trawl_global_optspecs) -- $cmd 2>/dev/null
    or return
    if set -q argv[1]
        # Also print the command, so this can be used to figure out what it is.
        echo $argv[1]
        return 1
    end
    return 0
end

function __fish_trawl_using_subcommand
    set -l cmd (__fish_trawl_needs_command)
    test -z "$cmd"
    and return 1
    contains -- $cmd[1] $argv
end

complete -c trawl -n "__fish_trawl_needs_command" -s i -l index -d 'Where the index lies [default: /var/lib/trawl for root, else $XDG_DATA_HOME/trawl or ~/.local/share/trawl, which questions ask together with /var/lib/trawl; variable TRAWL_INDEX, of several DIR:DIR]' -r -F
complete -c trawl -n "__fish_trawl_needs_command" -l color -l colour -d 'When to use colours' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c trawl -n "__fish_trawl_needs_command" -l at -d 'Answer from the newest snapshot that began by then: a time as date(1) reads it, a snapshot\'s id, latest, or -N for N before the latest. The file system itself is then never asked' -r
complete -c trawl -n "__fish_trawl_needs_command" -l fresh -d 'Wait until the index has everything that was changed before the question, at most so long; the exit code is 1 if it has not. Without this option, the same where a daemon watches (trawl watch) [default: 10s]' -r
complete -c trawl -n "__fish_trawl_needs_command" -l max-age -d 'Be content with an answer that was true so long ago, such as 30s, 5m or 1d' -r
complete -c trawl -n "__fish_trawl_needs_command" -l status -d 'Say on standard error as of when the answer is true and what could not be read'
complete -c trawl -n "__fish_trawl_needs_command" -l spreadsheet -d 'In --csv put an apostrophe before texts that a spreadsheet would take for formulas: those that begin with =, +, -, @, a tab or a return'
complete -c trawl -n "__fish_trawl_needs_command" -l no-wait -d 'Ask the index as it is, without waiting for a daemon'
complete -c trawl -n "__fish_trawl_needs_command" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c trawl -n "__fish_trawl_needs_command" -s V -l version -d 'Print version'
complete -c trawl -n "__fish_trawl_needs_command" -f -a "index" -d 'Scan trees and write them into the index'
complete -c trawl -n "__fish_trawl_needs_command" -f -a "sources" -d 'List what is indexed, or remove a source'
complete -c trawl -n "__fish_trawl_needs_command" -f -a "watch" -d 'Keep sources as of now: notice what changes and bring it into the index'
complete -c trawl -n "__fish_trawl_needs_command" -f -a "serve" -d 'Answer searches of other machines, over ssh or at a socket'
complete -c trawl -n "__fish_trawl_needs_command" -f -a "run" -d 'Run a command that sees directories of other machines as its own'
complete -c trawl -n "__fish_trawl_needs_command" -f -a "mount" -d 'Mount a directory of another machine, read-only'
complete -c trawl -n "__fish_trawl_needs_command" -f -a "unmount" -d 'Unmount what trawl mount mounted'
complete -c trawl -n "__fish_trawl_needs_command" -f -a "verify" -d 'Check every byte of the index (index --verify)'
complete -c trawl -n "__fish_trawl_needs_command" -f -a "gc" -d 'Remove what no snapshot needs (index --gc)'
complete -c trawl -n "__fish_trawl_needs_command" -f -a "locate" -d 'Find entries by their names as plocate does'
complete -c trawl -n "__fish_trawl_needs_command" -f -a "search" -d 'Search directories for a pattern with one call: live, or from an index that is as of now'
complete -c trawl -n "__fish_trawl_needs_command" -f -a "ls" -d 'List directories as ls does'
complete -c trawl -n "__fish_trawl_needs_command" -f -a "stat" -d 'Show the attributes of files as stat does'
complete -c trawl -n "__fish_trawl_needs_command" -f -a "du" -d 'Sum up space used as du does'
complete -c trawl -n "__fish_trawl_needs_command" -f -a "getfattr" -d 'Show extended attributes as getfattr does'
complete -c trawl -n "__fish_trawl_needs_command" -f -a "stats" -d 'Count entries and bytes by type, extension, size, age, owner and more'
complete -c trawl -n "__fish_trawl_needs_command" -f -a "sql" -d 'Ask with SQL'
complete -c trawl -n "__fish_trawl_needs_command" -f -a "export" -d 'Write what the index knows to files for other programs'
complete -c trawl -n "__fish_trawl_needs_command" -f -a "top" -d 'Show what is first by size, time or number: files, directories, owners'
complete -c trawl -n "__fish_trawl_needs_command" -f -a "duplicates" -d 'Find files that may be the same'
complete -c trawl -n "__fish_trawl_needs_command" -f -a "diff" -d 'Show what differs between two snapshots'
complete -c trawl -n "__fish_trawl_needs_command" -f -a "history" -d 'Show what all snapshots say of a path'
complete -c trawl -n "__fish_trawl_needs_command" -f -a "growth" -d 'Show how large a tree was in each snapshot'
complete -c trawl -n "__fish_trawl_needs_command" -f -a "help" -d 'Show help about trawl or one of its commands'
complete -c trawl -n "__fish_trawl_needs_command" -f -a "completions" -d 'Print completions for a shell'
complete -c trawl -n "__fish_trawl_needs_command" -f -a "man" -d 'Show a manual page'
complete -c trawl -n "__fish_trawl_needs_command" -f -a "find" -d 'Search with GNU find\'s language'
complete -c trawl -n "__fish_trawl_using_subcommand index" -s i -l index -d 'Where the index lies, as before the command' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand index" -l exclude -d 'Leave out what this shell pattern matches: a name, or, with a slash in it, a whole path. Kept with the source for its next scans' -r
complete -c trawl -n "__fish_trawl_using_subcommand index" -l threads -d 'Threads that read [default: one a core, at most 8]' -r
complete -c trawl -n "__fish_trawl_using_subcommand index" -l id-map -d 'For file systems whose ids are not this host\'s: lines such as `uid 1000-1999 501000`, `gid 100 100`, `uid * keep`. Kept with the source for its next scans; `none` forgets it' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand index" -l from-trace -d 'Read a trace that GUFI made instead of a tree; `-` is standard input, which must have directories in depth-first order, sorted by name' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand index" -l root -d 'Where the traced tree was mounted [default: / and the file\'s stem]' -r
complete -c trawl -n "__fish_trawl_using_subcommand index" -l keep -d 'Which snapshots of each source to keep: the N newest, of which the current one is the first, or a rule such as last=3,daily=7,weekly=5 (also hourly, monthly, yearly, within=30d). `trawl index` keeps the rule with the source for its next scans [default: 2]' -r
complete -c trawl -n "__fish_trawl_using_subcommand index" -l keep-for -d 'Keep snapshots younger than this, such as 12h, 30d or 8w, too: the same as within=AGE in a rule' -r
complete -c trawl -n "__fish_trawl_using_subcommand index" -l issues -d 'Which of the things that could not be read to list' -r -f -a "first\t'The first 20'
all\t'All, as they are found'
none\t'None; they are counted and kept in the index all the same'"
complete -c trawl -n "__fish_trawl_using_subcommand index" -l progress -d 'How to tell how it gets on' -r -f -a "auto\t'A line that is rewritten on a terminal, plain lines otherwise'
json\t'One JSON object a line'
plain\t'A line every few seconds'
none\t'Nothing'"
complete -c trawl -n "__fish_trawl_using_subcommand index" -l refresh -d 'Bring a directory, with all below, up to date: asks the daemon that watches it, which its owner may do, too; without one, the source that it lies in is scanned by who may write the index' -r
complete -c trawl -n "__fish_trawl_using_subcommand index" -l user -d 'Check for this user: a name, a number, or a number with groups, such as 1000:100,4 [default: owners of directories, some accounts, nobody]' -r
complete -c trawl -n "__fish_trawl_using_subcommand index" -l sample -d 'Look at so many directories of each tree, some of each kind of permissions [default: 1000]' -r
complete -c trawl -n "__fish_trawl_using_subcommand index" -l seed -d 'Choose as the run did that named this seed' -r
complete -c trawl -n "__fish_trawl_using_subcommand index" -l one-file-system -d 'Do not enter other file systems (the default)'
complete -c trawl -n "__fish_trawl_using_subcommand index" -l cross-file-systems -d 'Enter other file systems that are mounted below'
complete -c trawl -n "__fish_trawl_using_subcommand index" -l no-exclude -d 'Leave nothing out, whatever earlier scans left out'
complete -c trawl -n "__fish_trawl_using_subcommand index" -l no-xattr -d 'Do not read extended attributes'
complete -c trawl -n "__fish_trawl_using_subcommand index" -l full -d 'Write everything anew, also what has not changed since the last scan'
complete -c trawl -n "__fish_trawl_using_subcommand index" -l trust-ctime -d 'Do not look again for extended attributes and ACLs in directories that had none at the last scan, if no time of change (ctime) or other attribute of what is in them is another one now. Only on ext2 to ext4, XFS and Btrfs. Wrong where something changed a disk without the kernel noticing, or the clock was set back'
complete -c trawl -n "__fish_trawl_using_subcommand index" -l private -d 'Make a new index for its owner alone. The superuser\'s is otherwise for all users, each of whom sees what the permissions on the source let them see'
complete -c trawl -n "__fish_trawl_using_subcommand index" -s q -l quiet -d 'Show nothing but errors and issues'
complete -c trawl -n "__fish_trawl_using_subcommand index" -l verify -d 'Check every byte of the index, after the scan if there is one'
complete -c trawl -n "__fish_trawl_using_subcommand index" -l gc -d 'Remove what no snapshot needs, after the scan if there is one'
complete -c trawl -n "__fish_trawl_using_subcommand index" -l rebuild-names -d 'Make name sidecars that are missing or damaged again, after the scan if there is one'
complete -c trawl -n "__fish_trawl_using_subcommand index" -l dry-run -d 'With --gc: only tell which snapshots would stay, and why, and which would go'
complete -c trawl -n "__fish_trawl_using_subcommand index" -l check-permissions -d 'Compare what users are shown with what the file system shows them: of the trees named, or of all. Scans nothing. Needs root'
complete -c trawl -n "__fish_trawl_using_subcommand index" -l all -d 'Look at all directories'
complete -c trawl -n "__fish_trawl_using_subcommand index" -l json -d 'Print the summary as one JSON object a line'
complete -c trawl -n "__fish_trawl_using_subcommand index" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c trawl -n "__fish_trawl_using_subcommand sources; and not __fish_seen_subcommand_from remove" -s i -l index -d 'Where the index lies, as before the command' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand sources; and not __fish_seen_subcommand_from remove" -l json -d 'One JSON object a line'
complete -c trawl -n "__fish_trawl_using_subcommand sources; and not __fish_seen_subcommand_from remove" -l snapshots -d 'List every snapshot of each source: its id, when it began, its size'
complete -c trawl -n "__fish_trawl_using_subcommand sources; and not __fish_seen_subcommand_from remove" -s h -l help -d 'Print help'
complete -c trawl -n "__fish_trawl_using_subcommand sources; and not __fish_seen_subcommand_from remove" -f -a "remove" -d 'Remove sources from the index; the trees themselves stay as they are'
complete -c trawl -n "__fish_trawl_using_subcommand sources; and __fish_seen_subcommand_from remove" -s h -l help -d 'Print help'
complete -c trawl -n "__fish_trawl_using_subcommand watch" -s i -l index -d 'Where the index lies, as before the command' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand watch" -l interval -d 'That interval' -r
complete -c trawl -n "__fish_trawl_using_subcommand watch" -l apply-after -d 'How long changes wait to be brought into the index if nobody asks' -r
complete -c trawl -n "__fish_trawl_using_subcommand watch" -l max-dirty -d 'How many things may have changed, about, before that is done sooner' -r
complete -c trawl -n "__fish_trawl_using_subcommand watch" -l checkpoint -d 'How long changes lie beside the last snapshot before they become one of their own, for history; sooner where they are many, and when the daemon ends' -r
complete -c trawl -n "__fish_trawl_using_subcommand watch" -l exclude -d 'Leave out what this shell pattern matches [default: what the last scan left out]' -r
complete -c trawl -n "__fish_trawl_using_subcommand watch" -l poll -d 'Look at all directories at an interval, instead of being told of changes: for file systems that others change, too'
complete -c trawl -n "__fish_trawl_using_subcommand watch" -l no-xattr -d 'Do not read extended attributes [default: as the last scan]'
complete -c trawl -n "__fish_trawl_using_subcommand watch" -s q -l quiet -d 'Say only what is wrong'
complete -c trawl -n "__fish_trawl_using_subcommand watch" -l socket-unit -d 'Print a socket unit of systemd for these trees, which are indexed already: with it questions start the daemon'
complete -c trawl -n "__fish_trawl_using_subcommand watch" -l status -d 'Ask the daemons of all sources, or of these, how they are'
complete -c trawl -n "__fish_trawl_using_subcommand watch" -l json -d 'With --status: one JSON object a line'
complete -c trawl -n "__fish_trawl_using_subcommand watch" -l prometheus -d 'With --status: the text that Prometheus reads'
complete -c trawl -n "__fish_trawl_using_subcommand watch" -s h -l help -d 'Print help'
complete -c trawl -n "__fish_trawl_using_subcommand serve" -s i -l index -d 'Where the index lies, as before the command' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand serve" -l listen -d 'Serve who connects to a socket: unix:PATH, tls:ADDRESS:PORT, or systemd (the sockets that a service manager opened); can be given again' -r
complete -c trawl -n "__fish_trawl_using_subcommand serve" -l listen-chirp -d 'Answer Chirp\'s line search, for anybody who connects, as --chirp-user' -r
complete -c trawl -n "__fish_trawl_using_subcommand serve" -l chirp-user -d 'The user that Chirp\'s clients are served as' -r
complete -c trawl -n "__fish_trawl_using_subcommand serve" -l cert -d 'With tls: the server\'s certificate, then those in between (PEM)' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand serve" -l key -d 'With tls: its key' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand serve" -l client-ca -d 'With tls: who may sign clients\' certificates' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand serve" -l users -d 'With tls: which user a certificate stands for; lines sha256:…=USER, san:NAME=USER, cn:NAME=USER' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand serve" -l tls-user -d 'With tls: the user of the process that ends TLS' -r
complete -c trawl -n "__fish_trawl_using_subcommand serve" -l export -d 'Show only this tree, under this name; can be given again [default: all that the user may see, with the paths of this machine]' -r
complete -c trawl -n "__fish_trawl_using_subcommand serve" -l connections -d 'Connections in all' -r
complete -c trawl -n "__fish_trawl_using_subcommand serve" -l user-connections -d 'Connections of one user' -r
complete -c trawl -n "__fish_trawl_using_subcommand serve" -l served -d 'Connections that are served at the same time' -r
complete -c trawl -n "__fish_trawl_using_subcommand serve" -l user-served -d 'Connections of one user that are served at the same time' -r
complete -c trawl -n "__fish_trawl_using_subcommand serve" -l patience -d 'How long a connection may wait to be served' -r
complete -c trawl -n "__fish_trawl_using_subcommand serve" -l stall -d 'How long a client may take nothing of an answer' -r
complete -c trawl -n "__fish_trawl_using_subcommand serve" -l watched-directories -d 'Directories that are watched for a client that keeps what is in them; 0: none are' -r
complete -c trawl -n "__fish_trawl_using_subcommand serve" -l delay -d 'Begin each request so many milliseconds later, as if clients were far away' -r
complete -c trawl -n "__fish_trawl_using_subcommand serve" -l stdio -d 'Serve one client on standard input and output'
complete -c trawl -n "__fish_trawl_using_subcommand serve" -l restrict -d 'Show only the trees in /etc/trawl/exports'
complete -c trawl -n "__fish_trawl_using_subcommand serve" -l worker -d 'Serve the connections that come over standard input: what --listen starts for each user'
complete -c trawl -n "__fish_trawl_using_subcommand serve" -l tls-front -d 'End TLS for who is at standard input: what --listen tls: starts'
complete -c trawl -n "__fish_trawl_using_subcommand serve" -s h -l help -d 'Print help'
complete -c trawl -n "__fish_trawl_using_subcommand run" -s i -l index -d 'Where the index lies, as before the command' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand run" -l remote -d 'Show the command a directory of a server at this directory; can be given again. The server is what trawl search --remote takes, or a host for ssh' -r
complete -c trawl -n "__fish_trawl_using_subcommand run" -l sandbox-memory -d 'With --sandbox: how much of files\' contents is kept in memory, such as 512M or 2G. A file that has no room is not opened' -r
complete -c trawl -n "__fish_trawl_using_subcommand run" -l cover -d 'Without --remote: answer from tables what dynamically linked programs ask about files below this directory, instead of below the working directory; can be given again' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand run" -l served-by -d 'Without --remote: where names in tables come from: the file system, and the index for tables of many directories if a daemon (trawl watch) keeps it as of now (auto); the file system; or the index wherever a daemon says in time that it is as of now' -r -f -a "auto\t''
live\t''
index\t''"
complete -c trawl -n "__fish_trawl_using_subcommand run" -l max-age -d 'How old names and attributes may be that the command is shown' -r
complete -c trawl -n "__fish_trawl_using_subcommand run" -l watched-age -d 'The same of directories that the server watches, as it does where it can once the command has run for some seconds: until it says that something changed. 0s: have none watched' -r
complete -c trawl -n "__fish_trawl_using_subcommand run" -l ca -d 'Of tls: servers: who may sign the server\'s certificate [default: ca.pem in ~/.config/trawl or /etc/trawl]' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand run" -l cert -d 'For tls: servers: this client\'s certificate [default: cert.pem there]' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand run" -l key -d 'For tls: servers: its key [default: key.pem there]' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand run" -l sandbox -d 'Ask about the command\'s system calls instead of mounting: where there is no /dev/fuse'
complete -c trawl -n "__fish_trawl_using_subcommand run" -l audit -d 'Without --remote: answer the dynamic loader\'s search for libraries, too. That is so by itself where LD_LIBRARY_PATH has 32 directories or more; with fewer the loader\'s own search is as fast, unless each call is dear'
complete -c trawl -n "__fish_trawl_using_subcommand run" -l eager -d 'Without --remote: programs ask at their first look, not after some: where each system call is dear'
complete -c trawl -n "__fish_trawl_using_subcommand run" -l no-preload -d 'With --remote: let the mounts alone answer, no tables in the programs'
complete -c trawl -n "__fish_trawl_using_subcommand run" -l call-by-call -d 'Ask the server for each name and directory by itself, as ordinary remote file systems do: to compare with'
complete -c trawl -n "__fish_trawl_using_subcommand run" -s h -l help -d 'Print help'
complete -c trawl -n "__fish_trawl_using_subcommand mount" -l max-age -d 'How old names and attributes may be that the command is shown' -r
complete -c trawl -n "__fish_trawl_using_subcommand mount" -l watched-age -d 'The same of directories that the server watches, as it does where it can once the command has run for some seconds: until it says that something changed. 0s: have none watched' -r
complete -c trawl -n "__fish_trawl_using_subcommand mount" -l ca -d 'Of tls: servers: who may sign the server\'s certificate [default: ca.pem in ~/.config/trawl or /etc/trawl]' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand mount" -l cert -d 'For tls: servers: this client\'s certificate [default: cert.pem there]' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand mount" -l key -d 'For tls: servers: its key [default: key.pem there]' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand mount" -s f -l foreground -d 'Serve the mount until it is unmounted or a signal comes, instead of in the background'
complete -c trawl -n "__fish_trawl_using_subcommand mount" -l call-by-call -d 'Ask the server for each name and directory by itself, as ordinary remote file systems do: to compare with'
complete -c trawl -n "__fish_trawl_using_subcommand mount" -l ready -d 'Say on standard output when the mount is there'
complete -c trawl -n "__fish_trawl_using_subcommand mount" -s h -l help -d 'Print help'
complete -c trawl -n "__fish_trawl_using_subcommand unmount" -s h -l help -d 'Print help'
complete -c trawl -n "__fish_trawl_using_subcommand verify" -s i -l index -d 'Where the index lies, as before the command' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand verify" -l json -d 'One JSON object a line'
complete -c trawl -n "__fish_trawl_using_subcommand verify" -s h -l help -d 'Print help'
complete -c trawl -n "__fish_trawl_using_subcommand gc" -s i -l index -d 'Where the index lies, as before the command' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand gc" -l keep -d 'Which snapshots of each source to keep: the N newest, of which the current one is the first, or a rule such as last=3,daily=7,weekly=5 (also hourly, monthly, yearly, within=30d). `trawl index` keeps the rule with the source for its next scans [default: 2]' -r
complete -c trawl -n "__fish_trawl_using_subcommand gc" -l keep-for -d 'Keep snapshots younger than this, such as 12h, 30d or 8w, too: the same as within=AGE in a rule' -r
complete -c trawl -n "__fish_trawl_using_subcommand gc" -l dry-run -d 'Only tell which snapshots would stay, and why, and which would go'
complete -c trawl -n "__fish_trawl_using_subcommand gc" -l json -d 'One JSON object a line'
complete -c trawl -n "__fish_trawl_using_subcommand gc" -s h -l help -d 'Print help'
complete -c trawl -n "__fish_trawl_using_subcommand locate" -l index -d 'Where the index lies, as before the command' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand locate" -l below -d 'Look below this directory only; may be given several times' -r
complete -c trawl -n "__fish_trawl_using_subcommand locate" -s l -s n -l limit -d 'Stop after so many' -r
complete -c trawl -n "__fish_trawl_using_subcommand locate" -s d -l database -d 'Not here: an index is named by --index' -r
complete -c trawl -n "__fish_trawl_using_subcommand locate" -l color -l colour -d 'When to use colours' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c trawl -n "__fish_trawl_using_subcommand locate" -l at -d 'Answer from the newest snapshot that began by then: a time as date(1) reads it, a snapshot\'s id, latest, or -N for N before the latest. The file system itself is then never asked' -r
complete -c trawl -n "__fish_trawl_using_subcommand locate" -l fresh -d 'Wait until the index has everything that was changed before the question, at most so long; the exit code is 1 if it has not. Without this option, the same where a daemon watches (trawl watch) [default: 10s]' -r
complete -c trawl -n "__fish_trawl_using_subcommand locate" -l max-age -d 'Be content with an answer that was true so long ago, such as 30s, 5m or 1d' -r
complete -c trawl -n "__fish_trawl_using_subcommand locate" -s i -l ignore-case -d 'Letters match in either case'
complete -c trawl -n "__fish_trawl_using_subcommand locate" -s b -l basename -d 'Look at names only, not at whole paths'
complete -c trawl -n "__fish_trawl_using_subcommand locate" -s w -l wholename -d 'Look at whole paths (the default)'
complete -c trawl -n "__fish_trawl_using_subcommand locate" -s r -l regexp -d 'Patterns are basic regular expressions, looked for anywhere'
complete -c trawl -n "__fish_trawl_using_subcommand locate" -l regex -d 'Patterns are extended regular expressions, looked for anywhere'
complete -c trawl -n "__fish_trawl_using_subcommand locate" -l fuzzy -d 'Order by how well the letters of PATTERN fit, in their order and with anything between: the best first, as many as the terminal has rows'
complete -c trawl -n "__fish_trawl_using_subcommand locate" -s e -l existing -d 'Only what is there now'
complete -c trawl -n "__fish_trawl_using_subcommand locate" -s c -l count -d 'Print how many match, not which'
complete -c trawl -n "__fish_trawl_using_subcommand locate" -s 0 -l null -d 'A NUL byte behind each path instead of a newline'
complete -c trawl -n "__fish_trawl_using_subcommand locate" -s N -l literal -d 'No quotes around paths on a terminal'
complete -c trawl -n "__fish_trawl_using_subcommand locate" -l json -d 'One JSON object a line'
complete -c trawl -n "__fish_trawl_using_subcommand locate" -l csv -d 'Comma-separated values with a header'
complete -c trawl -n "__fish_trawl_using_subcommand locate" -s S -l statistics -d 'Say what is indexed instead, as trawl sources does'
complete -c trawl -n "__fish_trawl_using_subcommand locate" -s A -l all -d 'Accepted: of several patterns each must match'
complete -c trawl -n "__fish_trawl_using_subcommand locate" -s q -l quiet -d 'Accepted: there are no databases that could be missing'
complete -c trawl -n "__fish_trawl_using_subcommand locate" -l status -d 'Say on standard error as of when the answer is true and what could not be read'
complete -c trawl -n "__fish_trawl_using_subcommand locate" -l spreadsheet -d 'In --csv put an apostrophe before texts that a spreadsheet would take for formulas: those that begin with =, +, -, @, a tab or a return'
complete -c trawl -n "__fish_trawl_using_subcommand locate" -l no-wait -d 'Ask the index as it is, without waiting for a daemon'
complete -c trawl -n "__fish_trawl_using_subcommand locate" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c trawl -n "__fish_trawl_using_subcommand search" -s i -l index -d 'Where the index lies, as before the command' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand search" -l max-depth -d 'Go at most so many levels below PATH, and tell of what is deeper' -r
complete -c trawl -n "__fish_trawl_using_subcommand search" -l served-by -d 'Who answers: the index where it is known to be as of now, servers about their mounts and the file system elsewhere (auto), the file system, or the index as it is' -r -f -a "auto\t''
live\t''
index\t''"
complete -c trawl -n "__fish_trawl_using_subcommand search" -l remote -d 'Ask a server, in one round trip: unix:PATH, tls:HOST:PORT, ssh:HOST (which needs trawld there) or command:WORDS; each PATH is one of the server\'s' -r
complete -c trawl -n "__fish_trawl_using_subcommand search" -l ca -d 'With --remote tls:…: who may sign the server\'s certificate [default: ca.pem in ~/.config/trawl or /etc/trawl]' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand search" -l cert -d 'With --remote tls:…: this client\'s certificate [default: cert.pem there]' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand search" -l key -d 'With --remote tls:…: its key [default: key.pem there]' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand search" -l color -l colour -d 'When to use colours' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c trawl -n "__fish_trawl_using_subcommand search" -l at -d 'Answer from the newest snapshot that began by then: a time as date(1) reads it, a snapshot\'s id, latest, or -N for N before the latest. The file system itself is then never asked' -r
complete -c trawl -n "__fish_trawl_using_subcommand search" -l fresh -d 'Wait until the index has everything that was changed before the question, at most so long; the exit code is 1 if it has not. Without this option, the same where a daemon watches (trawl watch) [default: 10s]' -r
complete -c trawl -n "__fish_trawl_using_subcommand search" -l max-age -d 'Be content with an answer that was true so long ago, such as 30s, 5m or 1d' -r
complete -c trawl -n "__fish_trawl_using_subcommand search" -l paper -d 'The pattern is as in the paper: ? is one byte or none (the default)'
complete -c trawl -n "__fish_trawl_using_subcommand search" -l fnmatch -d 'The pattern is as fnmatch(3) has it: ? is one byte, [...] one of a set'
complete -c trawl -n "__fish_trawl_using_subcommand search" -s f -l stop-at-first -d 'Stop at the first match, of the earliest PATH that has one'
complete -c trawl -n "__fish_trawl_using_subcommand search" -s m -l metadata -d 'Say what stat(2) says of each match, symbolic links followed'
complete -c trawl -n "__fish_trawl_using_subcommand search" -s P -l no-follow -d 'With --metadata: of symbolic links themselves'
complete -c trawl -n "__fish_trawl_using_subcommand search" -s r -l include-root -d 'Print paths that begin with PATH'
complete -c trawl -n "__fish_trawl_using_subcommand search" -l readable -d 'Only what this user may read'
complete -c trawl -n "__fish_trawl_using_subcommand search" -l writable -d 'Only what this user may write'
complete -c trawl -n "__fish_trawl_using_subcommand search" -s x -l executable -d 'Only what this user may execute or, of directories, search'
complete -c trawl -n "__fish_trawl_using_subcommand search" -l period -d 'Only a period in the pattern matches one that begins a name'
complete -c trawl -n "__fish_trawl_using_subcommand search" -s L -l follow -d 'Go into directories that symbolic links lead to'
complete -c trawl -n "__fish_trawl_using_subcommand search" -l xdev -d 'Do not go into other file systems'
complete -c trawl -n "__fish_trawl_using_subcommand search" -l depth16 -d 'End with an error where something lies more than 16 levels below PATH, as the paper\'s search does'
complete -c trawl -n "__fish_trawl_using_subcommand search" -s 0 -l null -d 'A NUL byte behind each path instead of a newline'
complete -c trawl -n "__fish_trawl_using_subcommand search" -l json -d 'One JSON object a line, errors included'
complete -c trawl -n "__fish_trawl_using_subcommand search" -l status -d 'Say on standard error as of when the answer is true and what could not be read'
complete -c trawl -n "__fish_trawl_using_subcommand search" -l spreadsheet -d 'In --csv put an apostrophe before texts that a spreadsheet would take for formulas: those that begin with =, +, -, @, a tab or a return'
complete -c trawl -n "__fish_trawl_using_subcommand search" -l no-wait -d 'Ask the index as it is, without waiting for a daemon'
complete -c trawl -n "__fish_trawl_using_subcommand search" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c trawl -n "__fish_trawl_using_subcommand ls" -l index -d 'Where the index lies, as before the command' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand ls" -l format -d 'Format: long or verbose (-l), single-column (-1), vertical (-C), across or horizontal (-x), commas (-m)' -r -f -a "long\t''
single-column\t''
vertical\t''
across\t''
commas\t''"
complete -c trawl -n "__fish_trawl_using_subcommand ls" -s I -l ignore -d 'Not names that match this shell pattern' -r
complete -c trawl -n "__fish_trawl_using_subcommand ls" -l hide -d 'The same, unless -a or -A is given' -r
complete -c trawl -n "__fish_trawl_using_subcommand ls" -l sort -d 'What to sort by' -r -f -a "none\t''
name\t''
size\t''
time\t''
version\t''
extension\t''
width\t''"
complete -c trawl -n "__fish_trawl_using_subcommand ls" -l time -d 'Which time to show and sort by' -r -f -a "modification\t''
access\t''
status\t''
birth\t''"
complete -c trawl -n "__fish_trawl_using_subcommand ls" -l time-style -d 'How to show times: full-iso, long-iso, iso, locale or +FORMAT' -r
complete -c trawl -n "__fish_trawl_using_subcommand ls" -l block-size -d 'Unit of sizes, such as M or 512' -r
complete -c trawl -n "__fish_trawl_using_subcommand ls" -s F -l classify -d 'A character behind each name for its type: one of */=>@|' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c trawl -n "__fish_trawl_using_subcommand ls" -l indicator-style -d 'Which characters: none, slash (-p), file-type, classify (-F)' -r -f -a "none\t''
slash\t''
file-type\t''
classify\t''"
complete -c trawl -n "__fish_trawl_using_subcommand ls" -l quoting-style -d 'How to quote names: literal, locale, shell, shell-always, shell-escape, shell-escape-always, c, escape' -r
complete -c trawl -n "__fish_trawl_using_subcommand ls" -l hyperlink -d 'Names as links that terminals can open' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c trawl -n "__fish_trawl_using_subcommand ls" -s w -l width -d 'Line width, 0 for no limit' -r
complete -c trawl -n "__fish_trawl_using_subcommand ls" -s T -l tabsize -d 'Columns between tab stops, 0 for no tabs' -r
complete -c trawl -n "__fish_trawl_using_subcommand ls" -l color -l colour -d 'When to use colours' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c trawl -n "__fish_trawl_using_subcommand ls" -l at -d 'Answer from the newest snapshot that began by then: a time as date(1) reads it, a snapshot\'s id, latest, or -N for N before the latest. The file system itself is then never asked' -r
complete -c trawl -n "__fish_trawl_using_subcommand ls" -l fresh -d 'Wait until the index has everything that was changed before the question, at most so long; the exit code is 1 if it has not. Without this option, the same where a daemon watches (trawl watch) [default: 10s]' -r
complete -c trawl -n "__fish_trawl_using_subcommand ls" -l max-age -d 'Be content with an answer that was true so long ago, such as 30s, 5m or 1d' -r
complete -c trawl -n "__fish_trawl_using_subcommand ls" -s l -d 'Long format: mode, links, owner, group, size, time'
complete -c trawl -n "__fish_trawl_using_subcommand ls" -s 1 -d 'One name a line; without effect behind -l'
complete -c trawl -n "__fish_trawl_using_subcommand ls" -s C -d 'Names in columns, as on a terminal'
complete -c trawl -n "__fish_trawl_using_subcommand ls" -s x -d 'Names in columns, from left to right'
complete -c trawl -n "__fish_trawl_using_subcommand ls" -s m -d 'Names with commas between them, as many a line as fit'
complete -c trawl -n "__fish_trawl_using_subcommand ls" -s a -l all -d 'Names that begin with a dot too'
complete -c trawl -n "__fish_trawl_using_subcommand ls" -s A -l almost-all -d 'The same without . and ..'
complete -c trawl -n "__fish_trawl_using_subcommand ls" -s B -l ignore-backups -d 'Not names that end with ~'
complete -c trawl -n "__fish_trawl_using_subcommand ls" -s f -d 'All names in the order of the index: -aU, and neither -l, -s nor colours that stand before it'
complete -c trawl -n "__fish_trawl_using_subcommand ls" -s d -l directory -d 'Directories themselves, not what they hold'
complete -c trawl -n "__fish_trawl_using_subcommand ls" -s R -l recursive -d 'Subdirectories too, and theirs'
complete -c trawl -n "__fish_trawl_using_subcommand ls" -s t -d 'Newest first'
complete -c trawl -n "__fish_trawl_using_subcommand ls" -s S -d 'Largest first'
complete -c trawl -n "__fish_trawl_using_subcommand ls" -s X -d 'By what follows the last dot'
complete -c trawl -n "__fish_trawl_using_subcommand ls" -s v -d 'By numbers in names'
complete -c trawl -n "__fish_trawl_using_subcommand ls" -s U -d 'In the order of the index, which is by bytes of the name'
complete -c trawl -n "__fish_trawl_using_subcommand ls" -s r -l reverse -d 'The other way round'
complete -c trawl -n "__fish_trawl_using_subcommand ls" -s u -d 'Time of last access; sorts by it without -l'
complete -c trawl -n "__fish_trawl_using_subcommand ls" -s c -d 'Time of last change of the inode; sorts by it without -l'
complete -c trawl -n "__fish_trawl_using_subcommand ls" -l full-time -d '-l with times to the nanosecond'
complete -c trawl -n "__fish_trawl_using_subcommand ls" -s h -l human-readable -d 'Sizes with units, powers of 1024'
complete -c trawl -n "__fish_trawl_using_subcommand ls" -l si -d 'Sizes with units, powers of 1000'
complete -c trawl -n "__fish_trawl_using_subcommand ls" -s k -l kibibytes -d 'Blocks of 1024 bytes for -s and totals, whatever the environment says'
complete -c trawl -n "__fish_trawl_using_subcommand ls" -s n -l numeric-uid-gid -d 'Numbers in place of names of users and groups; long format'
complete -c trawl -n "__fish_trawl_using_subcommand ls" -s g -d 'Long format without the owner'
complete -c trawl -n "__fish_trawl_using_subcommand ls" -s o -d 'Long format without the group'
complete -c trawl -n "__fish_trawl_using_subcommand ls" -s G -l no-group -d 'No group in long format'
complete -c trawl -n "__fish_trawl_using_subcommand ls" -l author -d 'Each file\'s author in long format, which is its owner'
complete -c trawl -n "__fish_trawl_using_subcommand ls" -s i -l inode -d 'Inode numbers'
complete -c trawl -n "__fish_trawl_using_subcommand ls" -s s -l size -d 'Allocated blocks'
complete -c trawl -n "__fish_trawl_using_subcommand ls" -l file-type -d 'The same without * for executables'
complete -c trawl -n "__fish_trawl_using_subcommand ls" -s p -d 'A slash behind directories'
complete -c trawl -n "__fish_trawl_using_subcommand ls" -s N -l literal -d 'Names as they are, whatever they hold'
complete -c trawl -n "__fish_trawl_using_subcommand ls" -s Q -l quote-name -d 'Names in double quotes'
complete -c trawl -n "__fish_trawl_using_subcommand ls" -s b -l escape -d 'Escapes for characters that do not print'
complete -c trawl -n "__fish_trawl_using_subcommand ls" -s q -l hide-control-chars -d '? for characters that do not print, as on a terminal'
complete -c trawl -n "__fish_trawl_using_subcommand ls" -l show-control-chars -d 'Characters that do not print as they are'
complete -c trawl -n "__fish_trawl_using_subcommand ls" -l group-directories-first -d 'Directories before files'
complete -c trawl -n "__fish_trawl_using_subcommand ls" -s L -l dereference -d 'What links lead to in place of links'
complete -c trawl -n "__fish_trawl_using_subcommand ls" -s H -l dereference-command-line -d 'The same for links that are arguments'
complete -c trawl -n "__fish_trawl_using_subcommand ls" -l dereference-command-line-symlink-to-dir -d 'The same for links that are arguments and lead to directories'
complete -c trawl -n "__fish_trawl_using_subcommand ls" -s Z -l context -d 'Not to be had here: getfattr -n security.selinux shows contexts'
complete -c trawl -n "__fish_trawl_using_subcommand ls" -s D -l dired -d 'Not to be had here: ls itself has Emacs\' mode'
complete -c trawl -n "__fish_trawl_using_subcommand ls" -l json -d 'One JSON object a line'
complete -c trawl -n "__fish_trawl_using_subcommand ls" -l csv -d 'Comma-separated values with a header'
complete -c trawl -n "__fish_trawl_using_subcommand ls" -s 0 -l zero -d 'End lines with a zero byte; no quotes, one column'
complete -c trawl -n "__fish_trawl_using_subcommand ls" -l status -d 'Say on standard error as of when the answer is true and what could not be read'
complete -c trawl -n "__fish_trawl_using_subcommand ls" -l spreadsheet -d 'In --csv put an apostrophe before texts that a spreadsheet would take for formulas: those that begin with =, +, -, @, a tab or a return'
complete -c trawl -n "__fish_trawl_using_subcommand ls" -l no-wait -d 'Ask the index as it is, without waiting for a daemon'
complete -c trawl -n "__fish_trawl_using_subcommand ls" -l help -d 'Print help'
complete -c trawl -n "__fish_trawl_using_subcommand stat" -s i -l index -d 'Where the index lies, as before the command' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand stat" -s c -l format -d 'Print this, and a newline, for each file' -r
complete -c trawl -n "__fish_trawl_using_subcommand stat" -l printf -d 'Print this for each file, with \\n and other escapes read' -r
complete -c trawl -n "__fish_trawl_using_subcommand stat" -l cached -d 'How to use cached attributes: always or default; never is not to be had from an index' -r -f -a "default\t''
always\t''
never\t''"
complete -c trawl -n "__fish_trawl_using_subcommand stat" -l color -l colour -d 'When to use colours' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c trawl -n "__fish_trawl_using_subcommand stat" -l at -d 'Answer from the newest snapshot that began by then: a time as date(1) reads it, a snapshot\'s id, latest, or -N for N before the latest. The file system itself is then never asked' -r
complete -c trawl -n "__fish_trawl_using_subcommand stat" -l fresh -d 'Wait until the index has everything that was changed before the question, at most so long; the exit code is 1 if it has not. Without this option, the same where a daemon watches (trawl watch) [default: 10s]' -r
complete -c trawl -n "__fish_trawl_using_subcommand stat" -l max-age -d 'Be content with an answer that was true so long ago, such as 30s, 5m or 1d' -r
complete -c trawl -n "__fish_trawl_using_subcommand stat" -s t -l terse -d 'One line of numbers'
complete -c trawl -n "__fish_trawl_using_subcommand stat" -s L -l dereference -d 'What links lead to in place of links'
complete -c trawl -n "__fish_trawl_using_subcommand stat" -s f -l file-system -d 'The file systems that files lie on, as they are now'
complete -c trawl -n "__fish_trawl_using_subcommand stat" -l acl -d 'Access control lists, as getfacl prints them'
complete -c trawl -n "__fish_trawl_using_subcommand stat" -s n -l numeric -d 'With --acl numbers of users and groups, not names'
complete -c trawl -n "__fish_trawl_using_subcommand stat" -l json -d 'One JSON object a line'
complete -c trawl -n "__fish_trawl_using_subcommand stat" -l status -d 'Say on standard error as of when the answer is true and what could not be read'
complete -c trawl -n "__fish_trawl_using_subcommand stat" -l spreadsheet -d 'In --csv put an apostrophe before texts that a spreadsheet would take for formulas: those that begin with =, +, -, @, a tab or a return'
complete -c trawl -n "__fish_trawl_using_subcommand stat" -l no-wait -d 'Ask the index as it is, without waiting for a daemon'
complete -c trawl -n "__fish_trawl_using_subcommand stat" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c trawl -n "__fish_trawl_using_subcommand du" -s i -l index -d 'Where the index lies, as before the command' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand du" -l files0-from -d 'Sum up what this file names, each name with a zero byte behind it (-: standard input)' -r
complete -c trawl -n "__fish_trawl_using_subcommand du" -s d -l max-depth -d 'Show nothing deeper than N below an argument' -r
complete -c trawl -n "__fish_trawl_using_subcommand du" -s t -l threshold -d 'Show nothing smaller than SIZE; with a minus, nothing larger' -r
complete -c trawl -n "__fish_trawl_using_subcommand du" -l exclude -d 'Leave out what matches this shell pattern' -r
complete -c trawl -n "__fish_trawl_using_subcommand du" -s X -l exclude-from -d 'The same for every line of this file (-: standard input)' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand du" -l time -d 'Show the latest time of anything in each directory' -r -f -a "mtime\t''
atime\t''
ctime\t''"
complete -c trawl -n "__fish_trawl_using_subcommand du" -l time-style -d 'How to show times: full-iso, long-iso, iso or +FORMAT' -r
complete -c trawl -n "__fish_trawl_using_subcommand du" -s B -l block-size -d 'Unit of sizes, such as M or 512' -r
complete -c trawl -n "__fish_trawl_using_subcommand du" -l color -l colour -d 'When to use colours' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c trawl -n "__fish_trawl_using_subcommand du" -l at -d 'Answer from the newest snapshot that began by then: a time as date(1) reads it, a snapshot\'s id, latest, or -N for N before the latest. The file system itself is then never asked' -r
complete -c trawl -n "__fish_trawl_using_subcommand du" -l fresh -d 'Wait until the index has everything that was changed before the question, at most so long; the exit code is 1 if it has not. Without this option, the same where a daemon watches (trawl watch) [default: 10s]' -r
complete -c trawl -n "__fish_trawl_using_subcommand du" -l max-age -d 'Be content with an answer that was true so long ago, such as 30s, 5m or 1d' -r
complete -c trawl -n "__fish_trawl_using_subcommand du" -s s -l summarize -d 'Only the sum of each argument'
complete -c trawl -n "__fish_trawl_using_subcommand du" -s a -l all -d 'Files too, not only directories'
complete -c trawl -n "__fish_trawl_using_subcommand du" -s c -l total -d 'A grand total'
complete -c trawl -n "__fish_trawl_using_subcommand du" -s S -l separate-dirs -d 'Directories without their subdirectories'
complete -c trawl -n "__fish_trawl_using_subcommand du" -s l -l count-links -d 'Count every name of a file with several'
complete -c trawl -n "__fish_trawl_using_subcommand du" -s x -l one-file-system -d 'Leave out what lies on other file systems'
complete -c trawl -n "__fish_trawl_using_subcommand du" -s D -s H -l dereference-args -d 'Follow links that are arguments'
complete -c trawl -n "__fish_trawl_using_subcommand du" -s L -l dereference -d 'Count what links lead to in place of links'
complete -c trawl -n "__fish_trawl_using_subcommand du" -s P -l no-dereference -d 'Follow no links; the default'
complete -c trawl -n "__fish_trawl_using_subcommand du" -s A -l apparent-size -d 'Sizes of the content in place of allocated space'
complete -c trawl -n "__fish_trawl_using_subcommand du" -l inodes -d 'Numbers of inodes in place of space'
complete -c trawl -n "__fish_trawl_using_subcommand du" -s b -l bytes -d 'Bytes of content: --apparent-size --block-size=1'
complete -c trawl -n "__fish_trawl_using_subcommand du" -s k -d 'Blocks of 1024 bytes'
complete -c trawl -n "__fish_trawl_using_subcommand du" -s m -d 'Blocks of 1024 × 1024 bytes'
complete -c trawl -n "__fish_trawl_using_subcommand du" -s h -l human-readable -d 'Units in powers of 1024'
complete -c trawl -n "__fish_trawl_using_subcommand du" -l si -d 'Units in powers of 1000'
complete -c trawl -n "__fish_trawl_using_subcommand du" -s 0 -l null -d 'End lines with a zero byte'
complete -c trawl -n "__fish_trawl_using_subcommand du" -l json -d 'One JSON object a line'
complete -c trawl -n "__fish_trawl_using_subcommand du" -l csv -d 'Comma-separated values with a header'
complete -c trawl -n "__fish_trawl_using_subcommand du" -l status -d 'Say on standard error as of when the answer is true and what could not be read'
complete -c trawl -n "__fish_trawl_using_subcommand du" -l spreadsheet -d 'In --csv put an apostrophe before texts that a spreadsheet would take for formulas: those that begin with =, +, -, @, a tab or a return'
complete -c trawl -n "__fish_trawl_using_subcommand du" -l no-wait -d 'Ask the index as it is, without waiting for a daemon'
complete -c trawl -n "__fish_trawl_using_subcommand du" -l help -d 'Print help'
complete -c trawl -n "__fish_trawl_using_subcommand getfattr" -s i -l index -d 'Where the index lies, as before the command' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand getfattr" -s n -l name -d 'Show this attribute and its value' -r
complete -c trawl -n "__fish_trawl_using_subcommand getfattr" -s e -l encoding -d 'How values are written [default: text where that is readable, else base64]' -r -f -a "text\t'In quotation marks'
hex\t'Hexadecimal, behind `0x`'
base64\t'Base64, behind `0s`'"
complete -c trawl -n "__fish_trawl_using_subcommand getfattr" -s m -l match -d 'Show attributes whose name has a match of this regular expression; `-` stands for all' -r
complete -c trawl -n "__fish_trawl_using_subcommand getfattr" -l color -l colour -d 'When to use colours' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c trawl -n "__fish_trawl_using_subcommand getfattr" -l at -d 'Answer from the newest snapshot that began by then: a time as date(1) reads it, a snapshot\'s id, latest, or -N for N before the latest. The file system itself is then never asked' -r
complete -c trawl -n "__fish_trawl_using_subcommand getfattr" -l fresh -d 'Wait until the index has everything that was changed before the question, at most so long; the exit code is 1 if it has not. Without this option, the same where a daemon watches (trawl watch) [default: 10s]' -r
complete -c trawl -n "__fish_trawl_using_subcommand getfattr" -l max-age -d 'Be content with an answer that was true so long ago, such as 30s, 5m or 1d' -r
complete -c trawl -n "__fish_trawl_using_subcommand getfattr" -s d -l dump -d 'Show values too'
complete -c trawl -n "__fish_trawl_using_subcommand getfattr" -l only-values -d 'Write nothing but the values, as they are'
complete -c trawl -n "__fish_trawl_using_subcommand getfattr" -s h -l no-dereference -d 'Show the attributes of symbolic links, not of what they lead to'
complete -c trawl -n "__fish_trawl_using_subcommand getfattr" -s R -l recursive -d 'And of all that lies below directories'
complete -c trawl -n "__fish_trawl_using_subcommand getfattr" -s L -l logical -d 'With -R go into directories that links lead to'
complete -c trawl -n "__fish_trawl_using_subcommand getfattr" -s P -l physical -d 'With -R go into none of them, not even one that is named'
complete -c trawl -n "__fish_trawl_using_subcommand getfattr" -l absolute-names -d 'Keep the slash that paths begin with'
complete -c trawl -n "__fish_trawl_using_subcommand getfattr" -l json -d 'One JSON object a line'
complete -c trawl -n "__fish_trawl_using_subcommand getfattr" -s 0 -l null -d 'Print the paths of what has such an attribute, each with a NUL byte behind it'
complete -c trawl -n "__fish_trawl_using_subcommand getfattr" -l status -d 'Say on standard error as of when the answer is true and what could not be read'
complete -c trawl -n "__fish_trawl_using_subcommand getfattr" -l spreadsheet -d 'In --csv put an apostrophe before texts that a spreadsheet would take for formulas: those that begin with =, +, -, @, a tab or a return'
complete -c trawl -n "__fish_trawl_using_subcommand getfattr" -l no-wait -d 'Ask the index as it is, without waiting for a daemon'
complete -c trawl -n "__fish_trawl_using_subcommand getfattr" -l help -d 'Print help'
complete -c trawl -n "__fish_trawl_using_subcommand stats" -s i -l index -d 'Where the index lies, as before the command' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand stats" -l by -d 'Count by this only; may be given several times. Kinds joined by commas are counted together' -r -f -a "type\t'File, directory, symbolic link, …'
extension\t'What follows the last dot of a regular file\'s name'
size\t'Content of regular files'
age\t'Time since the content of regular files changed'
accessed\t'Time since regular files were read'
changed\t'Time since anything of regular files changed'
owner\t'Owner'
group\t'Owning group'
project\t'Project'
name-length\t'Length of the name, bytes'
depth\t'Levels below the path'
fullness\t'Directories by the number of their entries'"
complete -c trawl -n "__fish_trawl_using_subcommand stats" -s n -l limit -d 'So many extensions, combinations, and to people owners and groups; the others are one row' -r
complete -c trawl -n "__fish_trawl_using_subcommand stats" -l share -d 'What shares and bars are of' -r -f -a "entries\t'How many entries there are'
content\t'Apparent sizes'
disk\t'Allocated space'"
complete -c trawl -n "__fish_trawl_using_subcommand stats" -l color -l colour -d 'When to use colours' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c trawl -n "__fish_trawl_using_subcommand stats" -l at -d 'Answer from the newest snapshot that began by then: a time as date(1) reads it, a snapshot\'s id, latest, or -N for N before the latest. The file system itself is then never asked' -r
complete -c trawl -n "__fish_trawl_using_subcommand stats" -l fresh -d 'Wait until the index has everything that was changed before the question, at most so long; the exit code is 1 if it has not. Without this option, the same where a daemon watches (trawl watch) [default: 10s]' -r
complete -c trawl -n "__fish_trawl_using_subcommand stats" -l max-age -d 'Be content with an answer that was true so long ago, such as 30s, 5m or 1d' -r
complete -c trawl -n "__fish_trawl_using_subcommand stats" -l json -d 'One JSON object a line'
complete -c trawl -n "__fish_trawl_using_subcommand stats" -l csv -d 'Comma-separated values with a header'
complete -c trawl -n "__fish_trawl_using_subcommand stats" -l status -d 'Say on standard error as of when the answer is true and what could not be read'
complete -c trawl -n "__fish_trawl_using_subcommand stats" -l spreadsheet -d 'In --csv put an apostrophe before texts that a spreadsheet would take for formulas: those that begin with =, +, -, @, a tab or a return'
complete -c trawl -n "__fish_trawl_using_subcommand stats" -l no-wait -d 'Ask the index as it is, without waiting for a daemon'
complete -c trawl -n "__fish_trawl_using_subcommand stats" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c trawl -n "__fish_trawl_using_subcommand sql" -s i -l index -d 'Where the index lies, as before the command' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand sql" -s f -l file -d 'Read the statements from a file (`-` is standard input)' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand sql" -l format -d 'How rows are written [default: table]' -r -f -a "table\t'Columns for people'
json\t'One JSON object a line'
csv\t'Comma-separated values with a header'
tsv\t'Tab-separated values with a header; `\\t`, `\\n`, `\\\\` escaped'
parquet\t'A Parquet file'
arrow\t'An Arrow IPC file'"
complete -c trawl -n "__fish_trawl_using_subcommand sql" -s o -l output -d 'Write the rows to this file, which must not exist' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand sql" -l memory-limit -d 'Memory for sorting, grouping and joining; more goes to temporary files [default: a quarter of the machine\'s]' -r
complete -c trawl -n "__fish_trawl_using_subcommand sql" -l temp-dir -d 'Directory for temporary files [default: TMPDIR or /tmp]' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand sql" -l timeout -d 'Give up a statement after so many seconds' -r
complete -c trawl -n "__fish_trawl_using_subcommand sql" -l threads -d 'Threads [default: one a processor]' -r
complete -c trawl -n "__fish_trawl_using_subcommand sql" -l color -l colour -d 'When to use colours' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c trawl -n "__fish_trawl_using_subcommand sql" -l at -d 'Answer from the newest snapshot that began by then: a time as date(1) reads it, a snapshot\'s id, latest, or -N for N before the latest. The file system itself is then never asked' -r
complete -c trawl -n "__fish_trawl_using_subcommand sql" -l fresh -d 'Wait until the index has everything that was changed before the question, at most so long; the exit code is 1 if it has not. Without this option, the same where a daemon watches (trawl watch) [default: 10s]' -r
complete -c trawl -n "__fish_trawl_using_subcommand sql" -l max-age -d 'Be content with an answer that was true so long ago, such as 30s, 5m or 1d' -r
complete -c trawl -n "__fish_trawl_using_subcommand sql" -l json -d 'One JSON object a line (--format json)'
complete -c trawl -n "__fish_trawl_using_subcommand sql" -l csv -d 'Comma-separated values with a header (--format csv)'
complete -c trawl -n "__fish_trawl_using_subcommand sql" -s 0 -l null -d 'The first column alone, each value ended by a NUL'
complete -c trawl -n "__fish_trawl_using_subcommand sql" -l status -d 'Say on standard error as of when the answer is true and what could not be read'
complete -c trawl -n "__fish_trawl_using_subcommand sql" -l spreadsheet -d 'In --csv put an apostrophe before texts that a spreadsheet would take for formulas: those that begin with =, +, -, @, a tab or a return'
complete -c trawl -n "__fish_trawl_using_subcommand sql" -l no-wait -d 'Ask the index as it is, without waiting for a daemon'
complete -c trawl -n "__fish_trawl_using_subcommand sql" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c trawl -n "__fish_trawl_using_subcommand export" -s i -l index -d 'Where the index lies, as before the command' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand export" -l parquet -d 'Write Parquet files below this new directory' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand export" -l csv -d 'Write CSV files below this new directory' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand export" -l json -d 'Write files of JSON lines below this new directory' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand export" -l tables -d 'Only these tables' -r -f -a "entries\t'Every entry'
dirs\t'Directories with sums'
xattrs\t'Extended attributes'
issues\t'What could not be read'"
complete -c trawl -n "__fish_trawl_using_subcommand export" -l part-rows -d 'Rows of a part, at most' -r
complete -c trawl -n "__fish_trawl_using_subcommand export" -l threads -d 'Threads [default: one a processor]' -r
complete -c trawl -n "__fish_trawl_using_subcommand export" -l color -l colour -d 'When to use colours' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c trawl -n "__fish_trawl_using_subcommand export" -l at -d 'Answer from the newest snapshot that began by then: a time as date(1) reads it, a snapshot\'s id, latest, or -N for N before the latest. The file system itself is then never asked' -r
complete -c trawl -n "__fish_trawl_using_subcommand export" -l fresh -d 'Wait until the index has everything that was changed before the question, at most so long; the exit code is 1 if it has not. Without this option, the same where a daemon watches (trawl watch) [default: 10s]' -r
complete -c trawl -n "__fish_trawl_using_subcommand export" -l max-age -d 'Be content with an answer that was true so long ago, such as 30s, 5m or 1d' -r
complete -c trawl -n "__fish_trawl_using_subcommand export" -l force -d 'Replace what an earlier export left in the directory'
complete -c trawl -n "__fish_trawl_using_subcommand export" -l status -d 'Say on standard error as of when the answer is true and what could not be read'
complete -c trawl -n "__fish_trawl_using_subcommand export" -l spreadsheet -d 'In --csv put an apostrophe before texts that a spreadsheet would take for formulas: those that begin with =, +, -, @, a tab or a return'
complete -c trawl -n "__fish_trawl_using_subcommand export" -l no-wait -d 'Ask the index as it is, without waiting for a daemon'
complete -c trawl -n "__fish_trawl_using_subcommand export" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c trawl -n "__fish_trawl_using_subcommand top" -s i -l index -d 'Where the index lies, as before the command' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand top" -l oldest -d 'Files whose time is longest ago' -r -f -a "mtime\t'Last change of the content'
atime\t'Last access'
ctime\t'Last change of anything'
btime\t'Creation, where it is known'"
complete -c trawl -n "__fish_trawl_using_subcommand top" -l newest -d 'Files whose time is latest' -r -f -a "mtime\t'Last change of the content'
atime\t'Last access'
ctime\t'Last change of anything'
btime\t'Creation, where it is known'"
complete -c trawl -n "__fish_trawl_using_subcommand top" -l by -d 'What is first' -r -f -a "space\t'How much space it takes'
entries\t'How many entries there are'"
complete -c trawl -n "__fish_trawl_using_subcommand top" -s n -l limit -d 'So many lines' -r
complete -c trawl -n "__fish_trawl_using_subcommand top" -l color -l colour -d 'When to use colours' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c trawl -n "__fish_trawl_using_subcommand top" -l at -d 'Answer from the newest snapshot that began by then: a time as date(1) reads it, a snapshot\'s id, latest, or -N for N before the latest. The file system itself is then never asked' -r
complete -c trawl -n "__fish_trawl_using_subcommand top" -l fresh -d 'Wait until the index has everything that was changed before the question, at most so long; the exit code is 1 if it has not. Without this option, the same where a daemon watches (trawl watch) [default: 10s]' -r
complete -c trawl -n "__fish_trawl_using_subcommand top" -l max-age -d 'Be content with an answer that was true so long ago, such as 30s, 5m or 1d' -r
complete -c trawl -n "__fish_trawl_using_subcommand top" -l files -d 'Files [default]'
complete -c trawl -n "__fish_trawl_using_subcommand top" -l dirs -d 'Directories with everything below them'
complete -c trawl -n "__fish_trawl_using_subcommand top" -l fullest -d 'Directories by the number of their own entries'
complete -c trawl -n "__fish_trawl_using_subcommand top" -l owners -d 'Owners'
complete -c trawl -n "__fish_trawl_using_subcommand top" -l groups -d 'Owning groups'
complete -c trawl -n "__fish_trawl_using_subcommand top" -l extensions -d 'Extensions of files'
complete -c trawl -n "__fish_trawl_using_subcommand top" -l projects -d 'Projects'
complete -c trawl -n "__fish_trawl_using_subcommand top" -l apparent-size -d 'Sizes as ls shows them, not the space that they take'
complete -c trawl -n "__fish_trawl_using_subcommand top" -s b -l bytes -d 'Sizes in bytes, not with units'
complete -c trawl -n "__fish_trawl_using_subcommand top" -l json -d 'One JSON object a line'
complete -c trawl -n "__fish_trawl_using_subcommand top" -l csv -d 'Comma-separated values with a header'
complete -c trawl -n "__fish_trawl_using_subcommand top" -s 0 -l null -d 'Paths or names alone, each ended by a zero byte'
complete -c trawl -n "__fish_trawl_using_subcommand top" -l status -d 'Say on standard error as of when the answer is true and what could not be read'
complete -c trawl -n "__fish_trawl_using_subcommand top" -l spreadsheet -d 'In --csv put an apostrophe before texts that a spreadsheet would take for formulas: those that begin with =, +, -, @, a tab or a return'
complete -c trawl -n "__fish_trawl_using_subcommand top" -l no-wait -d 'Ask the index as it is, without waiting for a daemon'
complete -c trawl -n "__fish_trawl_using_subcommand top" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c trawl -n "__fish_trawl_using_subcommand duplicates" -s i -l index -d 'Where the index lies, as before the command' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand duplicates" -l min-size -d 'Leave out smaller files; units as in 10K, 1M, 2G' -r
complete -c trawl -n "__fish_trawl_using_subcommand duplicates" -s n -l limit -d 'So many groups' -r
complete -c trawl -n "__fish_trawl_using_subcommand duplicates" -l color -l colour -d 'When to use colours' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c trawl -n "__fish_trawl_using_subcommand duplicates" -l at -d 'Answer from the newest snapshot that began by then: a time as date(1) reads it, a snapshot\'s id, latest, or -N for N before the latest. The file system itself is then never asked' -r
complete -c trawl -n "__fish_trawl_using_subcommand duplicates" -l fresh -d 'Wait until the index has everything that was changed before the question, at most so long; the exit code is 1 if it has not. Without this option, the same where a daemon watches (trawl watch) [default: 10s]' -r
complete -c trawl -n "__fish_trawl_using_subcommand duplicates" -l max-age -d 'Be content with an answer that was true so long ago, such as 30s, 5m or 1d' -r
complete -c trawl -n "__fish_trawl_using_subcommand duplicates" -l name -d 'Only files of the same name, too'
complete -c trawl -n "__fish_trawl_using_subcommand duplicates" -l verify -d 'Read the files, and tell only of those that hold the same now'
complete -c trawl -n "__fish_trawl_using_subcommand duplicates" -l json -d 'One JSON object a group'
complete -c trawl -n "__fish_trawl_using_subcommand duplicates" -l csv -d 'Comma-separated values with a header, a file a line'
complete -c trawl -n "__fish_trawl_using_subcommand duplicates" -s 0 -l null -d 'Paths alone, each ended by a zero byte, each group by another'
complete -c trawl -n "__fish_trawl_using_subcommand duplicates" -l status -d 'Say on standard error as of when the answer is true and what could not be read'
complete -c trawl -n "__fish_trawl_using_subcommand duplicates" -l spreadsheet -d 'In --csv put an apostrophe before texts that a spreadsheet would take for formulas: those that begin with =, +, -, @, a tab or a return'
complete -c trawl -n "__fish_trawl_using_subcommand duplicates" -l no-wait -d 'Ask the index as it is, without waiting for a daemon'
complete -c trawl -n "__fish_trawl_using_subcommand duplicates" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c trawl -n "__fish_trawl_using_subcommand diff" -s i -l index -d 'Where the index lies, as before the command' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand diff" -l only -d 'Tell only of these' -r -f -a "created\t'What has come'
deleted\t'What has gone'
changed\t'What has other attributes'
moved\t'What has another path'"
complete -c trawl -n "__fish_trawl_using_subcommand diff" -l ignore -d 'Attributes that do not count [default: atime,device]; none compares all' -r
complete -c trawl -n "__fish_trawl_using_subcommand diff" -l summary -d 'Count by directory, owner or extension instead' -r -f -a "dir\t'The directory that holds the entry, as deep as --depth says'
owner\t'The owner'
ext\t'What follows the last dot of a regular file\'s name'"
complete -c trawl -n "__fish_trawl_using_subcommand diff" -l depth -d 'Levels of directories that --summary tells apart' -r
complete -c trawl -n "__fish_trawl_using_subcommand diff" -l color -l colour -d 'When to use colours' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c trawl -n "__fish_trawl_using_subcommand diff" -l at -d 'Answer from the newest snapshot that began by then: a time as date(1) reads it, a snapshot\'s id, latest, or -N for N before the latest. The file system itself is then never asked' -r
complete -c trawl -n "__fish_trawl_using_subcommand diff" -l fresh -d 'Wait until the index has everything that was changed before the question, at most so long; the exit code is 1 if it has not. Without this option, the same where a daemon watches (trawl watch) [default: 10s]' -r
complete -c trawl -n "__fish_trawl_using_subcommand diff" -l max-age -d 'Be content with an answer that was true so long ago, such as 30s, 5m or 1d' -r
complete -c trawl -n "__fish_trawl_using_subcommand diff" -l no-moves -d 'What moved is deleted in one place and created in another'
complete -c trawl -n "__fish_trawl_using_subcommand diff" -l collapse-moves -d 'Leave out what only moved with its directory'
complete -c trawl -n "__fish_trawl_using_subcommand diff" -l name-only -d 'Nothing but paths; of what moved the new one'
complete -c trawl -n "__fish_trawl_using_subcommand diff" -s 0 -l null -d 'The same, each path ended by a NUL byte'
complete -c trawl -n "__fish_trawl_using_subcommand diff" -l json -d 'One JSON object a line'
complete -c trawl -n "__fish_trawl_using_subcommand diff" -l csv -d 'Comma-separated values with a header'
complete -c trawl -n "__fish_trawl_using_subcommand diff" -l exit-code -d 'Exit with 1 if anything differs'
complete -c trawl -n "__fish_trawl_using_subcommand diff" -l status -d 'Say on standard error as of when the answer is true and what could not be read'
complete -c trawl -n "__fish_trawl_using_subcommand diff" -l spreadsheet -d 'In --csv put an apostrophe before texts that a spreadsheet would take for formulas: those that begin with =, +, -, @, a tab or a return'
complete -c trawl -n "__fish_trawl_using_subcommand diff" -l no-wait -d 'Ask the index as it is, without waiting for a daemon'
complete -c trawl -n "__fish_trawl_using_subcommand diff" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c trawl -n "__fish_trawl_using_subcommand history" -s i -l index -d 'Where the index lies, as before the command' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand history" -l color -l colour -d 'When to use colours' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c trawl -n "__fish_trawl_using_subcommand history" -l at -d 'Answer from the newest snapshot that began by then: a time as date(1) reads it, a snapshot\'s id, latest, or -N for N before the latest. The file system itself is then never asked' -r
complete -c trawl -n "__fish_trawl_using_subcommand history" -l fresh -d 'Wait until the index has everything that was changed before the question, at most so long; the exit code is 1 if it has not. Without this option, the same where a daemon watches (trawl watch) [default: 10s]' -r
complete -c trawl -n "__fish_trawl_using_subcommand history" -l max-age -d 'Be content with an answer that was true so long ago, such as 30s, 5m or 1d' -r
complete -c trawl -n "__fish_trawl_using_subcommand history" -l all -d 'A line for every snapshot, also where nothing is new'
complete -c trawl -n "__fish_trawl_using_subcommand history" -l json -d 'One JSON object a line'
complete -c trawl -n "__fish_trawl_using_subcommand history" -l csv -d 'Comma-separated values with a header'
complete -c trawl -n "__fish_trawl_using_subcommand history" -l status -d 'Say on standard error as of when the answer is true and what could not be read'
complete -c trawl -n "__fish_trawl_using_subcommand history" -l spreadsheet -d 'In --csv put an apostrophe before texts that a spreadsheet would take for formulas: those that begin with =, +, -, @, a tab or a return'
complete -c trawl -n "__fish_trawl_using_subcommand history" -l no-wait -d 'Ask the index as it is, without waiting for a daemon'
complete -c trawl -n "__fish_trawl_using_subcommand history" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c trawl -n "__fish_trawl_using_subcommand growth" -s i -l index -d 'Where the index lies, as before the command' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand growth" -l by -d 'What is measured apart' -r -f -a "total\t'Everything together'
dir\t'Each directory right below, and what lies beside them'
owner\t'Each owner'
ext\t'What follows the last dot of regular files\' names'"
complete -c trawl -n "__fish_trawl_using_subcommand growth" -l color -l colour -d 'When to use colours' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c trawl -n "__fish_trawl_using_subcommand growth" -l at -d 'Answer from the newest snapshot that began by then: a time as date(1) reads it, a snapshot\'s id, latest, or -N for N before the latest. The file system itself is then never asked' -r
complete -c trawl -n "__fish_trawl_using_subcommand growth" -l fresh -d 'Wait until the index has everything that was changed before the question, at most so long; the exit code is 1 if it has not. Without this option, the same where a daemon watches (trawl watch) [default: 10s]' -r
complete -c trawl -n "__fish_trawl_using_subcommand growth" -l max-age -d 'Be content with an answer that was true so long ago, such as 30s, 5m or 1d' -r
complete -c trawl -n "__fish_trawl_using_subcommand growth" -l json -d 'One JSON object a line: each key in each snapshot'
complete -c trawl -n "__fish_trawl_using_subcommand growth" -l csv -d 'The same as comma-separated values with a header'
complete -c trawl -n "__fish_trawl_using_subcommand growth" -l status -d 'Say on standard error as of when the answer is true and what could not be read'
complete -c trawl -n "__fish_trawl_using_subcommand growth" -l spreadsheet -d 'In --csv put an apostrophe before texts that a spreadsheet would take for formulas: those that begin with =, +, -, @, a tab or a return'
complete -c trawl -n "__fish_trawl_using_subcommand growth" -l no-wait -d 'Ask the index as it is, without waiting for a daemon'
complete -c trawl -n "__fish_trawl_using_subcommand growth" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c trawl -n "__fish_trawl_using_subcommand help" -s h -l help -d 'Print help'
complete -c trawl -n "__fish_trawl_using_subcommand completions" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c trawl -n "__fish_trawl_using_subcommand man" -s o -l output -d 'Write the pages of all commands into DIR instead' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand man" -s h -l help -d 'Print help'
complete -c trawl -n '__fish_seen_subcommand_from find' -o not -d 'true if EXPR is false'
complete -c trawl -n '__fish_seen_subcommand_from find' -o exclude -d 'leave out what EXPR matches and do not go into it, wherever this stands; true'
complete -c trawl -n '__fish_seen_subcommand_from find' -o and -d 'true if both sides are; may be left out'
complete -c trawl -n '__fish_seen_subcommand_from find' -o or -d 'true if one side is'
complete -c trawl -n '__fish_seen_subcommand_from find' -o depth -d 'list what a directory holds before the directory'
complete -c trawl -n '__fish_seen_subcommand_from find' -o files0-from -d 'read start points, each with a NUL behind it, from FILE (- for standard input)'
complete -c trawl -n '__fish_seen_subcommand_from find' -o ignore_readdir_race -d 'say nothing of files that vanish during the search'
complete -c trawl -n '__fish_seen_subcommand_from find' -o noignore_readdir_race -d 'say so (the default)'
complete -c trawl -n '__fish_seen_subcommand_from find' -o maxdepth -d 'go at most N levels below the start points'
complete -c trawl -n '__fish_seen_subcommand_from find' -o mindepth -d 'skip what lies less than N levels below the start points'
complete -c trawl -n '__fish_seen_subcommand_from find' -o noleaf -d 'accepted, changes nothing'
complete -c trawl -n '__fish_seen_subcommand_from find' -o xdev -d 'stay on the file system of the start point'
complete -c trawl -n '__fish_seen_subcommand_from find' -o mount -d 'stay on the file system of the start point'
complete -c trawl -n '__fish_seen_subcommand_from find' -o daystart -d 'count ages from midnight in the tests behind it'
complete -c trawl -n '__fish_seen_subcommand_from find' -o follow -d 'follow symbolic links, as -L does'
complete -c trawl -n '__fish_seen_subcommand_from find' -o regextype -d 'read the regular expressions behind it as TYPE: emacs (the default), egrep, posix-basic, …'
complete -c trawl -n '__fish_seen_subcommand_from find' -o warn -d 'remark upon doubtful words from here on'
complete -c trawl -n '__fish_seen_subcommand_from find' -o nowarn -d 'do not'
complete -c trawl -n '__fish_seen_subcommand_from find' -o acl -d 'has an access control list beyond its mode, or a default one'
complete -c trawl -n '__fish_seen_subcommand_from find' -o amin -d 'was last read N minutes ago'
complete -c trawl -n '__fish_seen_subcommand_from find' -o anewer -d 'was read after the content of FILE changed'
complete -c trawl -n '__fish_seen_subcommand_from find' -o atime -d 'was last read N days ago'
complete -c trawl -n '__fish_seen_subcommand_from find' -o cmin -d 'last changed status N minutes ago'
complete -c trawl -n '__fish_seen_subcommand_from find' -o cnewer -d 'changed status after the content of FILE changed'
complete -c trawl -n '__fish_seen_subcommand_from find' -o context -d 'the SELinux context matches PATTERN (refused: contexts are not kept)'
complete -c trawl -n '__fish_seen_subcommand_from find' -o ctime -d 'last changed status N days ago'
complete -c trawl -n '__fish_seen_subcommand_from find' -o empty -d 'is a regular file of 0 bytes or a directory without entries'
complete -c trawl -n '__fish_seen_subcommand_from find' -o executable -d 'the asker may execute it, or search the directory, links followed'
complete -c trawl -n '__fish_seen_subcommand_from find' -o false -d 'never'
complete -c trawl -n '__fish_seen_subcommand_from find' -o fstype -d 'lies on a file system of TYPE, as mounted now'
complete -c trawl -n '__fish_seen_subcommand_from find' -o gid -d 'belongs to the group with number N'
complete -c trawl -n '__fish_seen_subcommand_from find' -o group -d 'belongs to the group NAME, a name or a number'
complete -c trawl -n '__fish_seen_subcommand_from find' -o ilname -d 'the same in either case'
complete -c trawl -n '__fish_seen_subcommand_from find' -o iname -d 'the same in either case'
complete -c trawl -n '__fish_seen_subcommand_from find' -o inum -d 'has inode number N'
complete -c trawl -n '__fish_seen_subcommand_from find' -o ipath -d 'the same in either case'
complete -c trawl -n '__fish_seen_subcommand_from find' -o iwholename -d 'the same in either case'
complete -c trawl -n '__fish_seen_subcommand_from find' -o iregex -d 'the same in either case'
complete -c trawl -n '__fish_seen_subcommand_from find' -o links -d 'has N hard links'
complete -c trawl -n '__fish_seen_subcommand_from find' -o lname -d 'is a symbolic link whose target matches PATTERN'
complete -c trawl -n '__fish_seen_subcommand_from find' -o mmin -d 'last changed content N minutes ago'
complete -c trawl -n '__fish_seen_subcommand_from find' -o mtime -d 'last changed content N days ago'
complete -c trawl -n '__fish_seen_subcommand_from find' -o name -d 'has a name that matches PATTERN'
complete -c trawl -n '__fish_seen_subcommand_from find' -o newer -d 'changed content after the content of FILE changed'
complete -c trawl -n '__fish_seen_subcommand_from find' -o newerXY -d 'time X (a, B, c, m) is later than time Y of FILE; for Y = t, FILE is a date in words'
complete -c trawl -n '__fish_seen_subcommand_from find' -o nogroup -d 'belongs to a group that has no name'
complete -c trawl -n '__fish_seen_subcommand_from find' -o nouser -d 'belongs to a user that has no name'
complete -c trawl -n '__fish_seen_subcommand_from find' -o path -d 'has a path, spelled from the start point, that matches PATTERN'
complete -c trawl -n '__fish_seen_subcommand_from find' -o wholename -d 'has a path, spelled from the start point, that matches PATTERN'
complete -c trawl -n '__fish_seen_subcommand_from find' -o perm -d 'has exactly the bits of MODE, all of them (-MODE) or any of them (/MODE)'
complete -c trawl -n '__fish_seen_subcommand_from find' -o readable -d 'the asker may read it, links followed'
complete -c trawl -n '__fish_seen_subcommand_from find' -o regex -d 'has a path that matches the regular expression PATTERN as a whole'
complete -c trawl -n '__fish_seen_subcommand_from find' -o samefile -d 'is a hard link to the same file as FILE'
complete -c trawl -n '__fish_seen_subcommand_from find' -o size -d 'has a size of N units, rounded up: 512 bytes, or c bytes, w words, k, M, G'
complete -c trawl -n '__fish_seen_subcommand_from find' -o true -d 'always'
complete -c trawl -n '__fish_seen_subcommand_from find' -o type -d 'is a file, directory, symbolic link, pipe, socket, block or character device'
complete -c trawl -n '__fish_seen_subcommand_from find' -o uid -d 'belongs to the user with number N'
complete -c trawl -n '__fish_seen_subcommand_from find' -o unique -d 'leave out what was reached before under another name; remembers every file'
complete -c trawl -n '__fish_seen_subcommand_from find' -o used -d 'was read N days after its status last changed'
complete -c trawl -n '__fish_seen_subcommand_from find' -o user -d 'belongs to the user NAME, a name or a number'
complete -c trawl -n '__fish_seen_subcommand_from find' -o writable -d 'the asker may write to it, links followed'
complete -c trawl -n '__fish_seen_subcommand_from find' -o xattr -d 'has an extended attribute that matches NAME, with a value that may be read and matches VALUE'
complete -c trawl -n '__fish_seen_subcommand_from find' -o xattrname -d 'has the extended attribute NAME, which is no pattern'
complete -c trawl -n '__fish_seen_subcommand_from find' -o xtype -d 'the same as -type, of what a link leads to; with -L, of the link itself'
complete -c trawl -n '__fish_seen_subcommand_from find' -o delete -d 'remove the file or empty directory; turns on -depth; true if that succeeded'
complete -c trawl -n '__fish_seen_subcommand_from find' -o exec -d 'run COMMAND with the path for {}; true if it ends with 0; with + once for many paths, always true'
complete -c trawl -n '__fish_seen_subcommand_from find' -o execdir -d 'the same in the directory of the entry, with ./NAME for {}'
complete -c trawl -n '__fish_seen_subcommand_from find' -o fls -d 'print a line as -ls does to FILE'
complete -c trawl -n '__fish_seen_subcommand_from find' -o fprint -d 'print the path on a line of FILE, which is made or emptied at the start'
complete -c trawl -n '__fish_seen_subcommand_from find' -o fprint0 -d 'print the path and a NUL byte to FILE'
complete -c trawl -n '__fish_seen_subcommand_from find' -o fprintf -d 'print FORMAT as -printf does to FILE'
complete -c trawl -n '__fish_seen_subcommand_from find' -o json -d 'print the entry\'s path and attributes as a JSON object on a line'
complete -c trawl -n '__fish_seen_subcommand_from find' -o limit -d 'end the search when this is reached for the Nth time, as in -print -limit 10; without another action, print N paths'
complete -c trawl -n '__fish_seen_subcommand_from find' -o ls -d 'print inode, blocks, mode, links, owner, group, size, time and path on a line'
complete -c trawl -n '__fish_seen_subcommand_from find' -o ok -d 'the same as -exec, asking first; the command reads nothing'
complete -c trawl -n '__fish_seen_subcommand_from find' -o okdir -d 'the same as -execdir, asking first; the command reads nothing'
complete -c trawl -n '__fish_seen_subcommand_from find' -o print -d 'print the path on a line (the default); `?` for control characters on a terminal'
complete -c trawl -n '__fish_seen_subcommand_from find' -o print0 -d 'print the path and a NUL byte, for `xargs -0`'
complete -c trawl -n '__fish_seen_subcommand_from find' -o printf -d 'print FORMAT, with %-directives and \\\\-escapes filled in'
complete -c trawl -n '__fish_seen_subcommand_from find' -o prune -d 'do not go into the directory (nothing with -depth); always true'
complete -c trawl -n '__fish_seen_subcommand_from find' -o quit -d 'end the search'
complete -c trawl -n '__fish_seen_subcommand_from find' -o sort -d 'print everything in the order of these columns, -COLUMN backwards, then of paths, as in -sort -size,name; held in memory, but with -limit N only the first N'
