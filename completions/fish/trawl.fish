# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_trawl_global_optspecs
    string join \n i/index= status color= at= spreadsheet fresh= no-wait max-age= profile= remote= h/help V/version
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

complete -c trawl -n "__fish_trawl_needs_command" -s i -l index -d 'Use the index in DIR' -r -F
complete -c trawl -n "__fish_trawl_needs_command" -l color -l colour -d 'Choose when to use colours' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c trawl -n "__fish_trawl_needs_command" -l at -d 'Answer from the newest snapshot that began by TIME' -r
complete -c trawl -n "__fish_trawl_needs_command" -l fresh -d 'Wait up to TIME until the index includes all earlier changes' -r
complete -c trawl -n "__fish_trawl_needs_command" -l max-age -d 'Accept answers up to AGE old, such as 30s, 5m or 1d' -r
complete -c trawl -n "__fish_trawl_needs_command" -l profile -d 'Record how long each operation of trawl takes, and write FILE at the end' -r -F
complete -c trawl -n "__fish_trawl_needs_command" -l remote -d 'Ask the server at ADDRESS; the option may be repeated' -r
complete -c trawl -n "__fish_trawl_needs_command" -l status -d 'Report how fresh the answer is and what could not be read'
complete -c trawl -n "__fish_trawl_needs_command" -l spreadsheet -d 'Protect --csv texts that spreadsheets take for formulas'
complete -c trawl -n "__fish_trawl_needs_command" -l no-wait -d 'Ask the index as it is, without waiting for a daemon'
complete -c trawl -n "__fish_trawl_needs_command" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c trawl -n "__fish_trawl_needs_command" -s V -l version -d 'Print version'
complete -c trawl -n "__fish_trawl_needs_command" -f -a "index" -d 'Scan trees and write them into the index'
complete -c trawl -n "__fish_trawl_needs_command" -f -a "sources" -d 'List the indexed trees, or remove some'
complete -c trawl -n "__fish_trawl_needs_command" -f -a "watch" -d 'Watch trees and keep their index up to date'
complete -c trawl -n "__fish_trawl_needs_command" -f -a "serve" -d 'Answer searches from other machines, over ssh or a socket, and browsers'
complete -c trawl -n "__fish_trawl_needs_command" -f -a "run" -d 'Run a command that sees directories of other machines as its own'
complete -c trawl -n "__fish_trawl_needs_command" -f -a "mount" -d 'Mount a directory of another machine, read-only, or views'
complete -c trawl -n "__fish_trawl_needs_command" -f -a "unmount" -d 'Unmount directories that trawl mount has mounted'
complete -c trawl -n "__fish_trawl_needs_command" -f -a "view" -d 'Define questions that are directories where views are mounted'
complete -c trawl -n "__fish_trawl_needs_command" -f -a "verify" -d 'Check every byte of the index (index --verify)'
complete -c trawl -n "__fish_trawl_needs_command" -f -a "gc" -d 'Remove snapshots and files that are no longer kept (index --gc)'
complete -c trawl -n "__fish_trawl_needs_command" -f -a "locate" -d 'Find entries by name, as plocate does'
complete -c trawl -n "__fish_trawl_needs_command" -f -a "grep" -d 'Search the contents of files, as ripgrep and grep do'
complete -c trawl -n "__fish_trawl_needs_command" -f -a "search" -d 'Search directories for a pattern, live or from an up-to-date index'
complete -c trawl -n "__fish_trawl_needs_command" -f -a "set" -d 'List the members of a set, or run a command on each'
complete -c trawl -n "__fish_trawl_needs_command" -f -a "ls" -d 'List directories, as ls does'
complete -c trawl -n "__fish_trawl_needs_command" -f -a "stat" -d 'Show attributes of files, as stat does'
complete -c trawl -n "__fish_trawl_needs_command" -f -a "du" -d 'Sum up disk usage, as du does'
complete -c trawl -n "__fish_trawl_needs_command" -f -a "getfattr" -d 'Show extended attributes, as getfattr does'
complete -c trawl -n "__fish_trawl_needs_command" -f -a "stats" -d 'Count entries and bytes by type, extension, size, age, owner and more'
complete -c trawl -n "__fish_trawl_needs_command" -f -a "report" -d 'Write a report on indexed trees as a page or as mail'
complete -c trawl -n "__fish_trawl_needs_command" -f -a "web" -d 'Search and look around in a browser'
complete -c trawl -n "__fish_trawl_needs_command" -f -a "token" -d 'Make, list and revoke tokens of the service for many users'
complete -c trawl -n "__fish_trawl_needs_command" -f -a "mcp" -d 'Answer the questions of an assistant (MCP)'
complete -c trawl -n "__fish_trawl_needs_command" -f -a "sql" -d 'Query the index with SQL'
complete -c trawl -n "__fish_trawl_needs_command" -f -a "export" -d 'Write the index\'s content to files for other programs'
complete -c trawl -n "__fish_trawl_needs_command" -f -a "top" -d 'Rank files, directories or owners by size, time or number'
complete -c trawl -n "__fish_trawl_needs_command" -f -a "quota" -d 'Show what users and groups use of their quotas'
complete -c trawl -n "__fish_trawl_needs_command" -f -a "duplicates" -d 'Find files that may be duplicates'
complete -c trawl -n "__fish_trawl_needs_command" -f -a "diff" -d 'Show the differences between two snapshots'
complete -c trawl -n "__fish_trawl_needs_command" -f -a "history" -d 'Show the state of a path in every snapshot'
complete -c trawl -n "__fish_trawl_needs_command" -f -a "growth" -d 'Show the size of a tree in each snapshot'
complete -c trawl -n "__fish_trawl_needs_command" -f -a "groups" -d 'List, show, explain and edit groups of files that belong together'
complete -c trawl -n "__fish_trawl_needs_command" -f -a "hooks" -d 'Show what hooks find in files: attributes, words, references'
complete -c trawl -n "__fish_trawl_needs_command" -f -a "related" -d 'Show files related to a file: built from, opened with, includes'
complete -c trawl -n "__fish_trawl_needs_command" -f -a "attr" -d 'Set attributes of files, which find -attr finds'
complete -c trawl -n "__fish_trawl_needs_command" -f -a "profile" -d 'Record and compare latencies of system calls and other operations'
complete -c trawl -n "__fish_trawl_needs_command" -f -a "help" -d 'Show help for trawl or one of its commands'
complete -c trawl -n "__fish_trawl_needs_command" -f -a "completions" -d 'Print shell completions'
complete -c trawl -n "__fish_trawl_needs_command" -f -a "man" -d 'Show a manual page'
complete -c trawl -n "__fish_trawl_needs_command" -f -a "find" -d 'Find entries with GNU find\'s language'
complete -c trawl -n "__fish_trawl_using_subcommand index; and not __fish_seen_subcommand_from define list show drop" -s i -l index -d 'Use the index in DIR, as before the command' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand index; and not __fish_seen_subcommand_from define list show drop" -l profile -d 'Record how long each operation of trawl takes, and write FILE' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand index; and not __fish_seen_subcommand_from define list show drop" -l exclude -d 'Leave out names or paths that match GLOB' -r
complete -c trawl -n "__fish_trawl_using_subcommand index; and not __fish_seen_subcommand_from define list show drop" -l threads -d 'Read with N threads [default: one per core, at most 8]' -r
complete -c trawl -n "__fish_trawl_using_subcommand index; and not __fish_seen_subcommand_from define list show drop" -l id-map -d 'Map user and group ids of a foreign file system' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand index; and not __fish_seen_subcommand_from define list show drop" -l text-max-size -d 'Leave larger files out of the text index [default: 33554432]' -r
complete -c trawl -n "__fish_trawl_using_subcommand index; and not __fish_seen_subcommand_from define list show drop" -l from-trace -d 'Read a GUFI trace instead of a tree (-: standard input)' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand index; and not __fish_seen_subcommand_from define list show drop" -l root -d 'Set the traced tree\'s mount point [default: / and FILE\'s stem]' -r
complete -c trawl -n "__fish_trawl_using_subcommand index; and not __fish_seen_subcommand_from define list show drop" -l keep -d 'Keep these snapshots of each source [default: 2]' -r
complete -c trawl -n "__fish_trawl_using_subcommand index; and not __fish_seen_subcommand_from define list show drop" -l keep-for -d 'Keep snapshots younger than AGE, too, such as 12h, 30d or 8w' -r
complete -c trawl -n "__fish_trawl_using_subcommand index; and not __fish_seen_subcommand_from define list show drop" -l issues -d 'List these issues, the paths that could not be read' -r -f -a "first\t'The first 20'
all\t'All, as they are found'
none\t'None; issues are still counted and kept in the index'"
complete -c trawl -n "__fish_trawl_using_subcommand index; and not __fish_seen_subcommand_from define list show drop" -l progress -d 'Report the progress in this way' -r -f -a "auto\t'A line that is rewritten on a terminal, plain lines otherwise'
json\t'One JSON object per line'
plain\t'A line every few seconds'
none\t'Nothing'"
complete -c trawl -n "__fish_trawl_using_subcommand index; and not __fish_seen_subcommand_from define list show drop" -l refresh -d 'Bring a directory and everything below it up to date' -r
complete -c trawl -n "__fish_trawl_using_subcommand index; and not __fish_seen_subcommand_from define list show drop" -l user -d 'Check for USER [default: directory owners, some accounts, nobody]' -r
complete -c trawl -n "__fish_trawl_using_subcommand index; and not __fish_seen_subcommand_from define list show drop" -l sample -d 'Look at N directories of each tree [default: 1000]' -r
complete -c trawl -n "__fish_trawl_using_subcommand index; and not __fish_seen_subcommand_from define list show drop" -l seed -d 'Choose the same directories as a run that reported this seed' -r
complete -c trawl -n "__fish_trawl_using_subcommand index; and not __fish_seen_subcommand_from define list show drop" -l one-file-system -d 'Do not enter other file systems (the default)'
complete -c trawl -n "__fish_trawl_using_subcommand index; and not __fish_seen_subcommand_from define list show drop" -l cross-file-systems -d 'Enter other file systems that are mounted below'
complete -c trawl -n "__fish_trawl_using_subcommand index; and not __fish_seen_subcommand_from define list show drop" -l no-exclude -d 'Leave nothing out, regardless of earlier scans'
complete -c trawl -n "__fish_trawl_using_subcommand index; and not __fish_seen_subcommand_from define list show drop" -l no-xattr -d 'Do not read extended attributes'
complete -c trawl -n "__fish_trawl_using_subcommand index; and not __fish_seen_subcommand_from define list show drop" -l full -d 'Write everything anew, even if unchanged since the last scan'
complete -c trawl -n "__fish_trawl_using_subcommand index; and not __fish_seen_subcommand_from define list show drop" -l trust-ctime -d 'Trust unchanged ctimes, to skip reading attributes and ACLs'
complete -c trawl -n "__fish_trawl_using_subcommand index; and not __fish_seen_subcommand_from define list show drop" -l private -d 'Create a new index that only its owner may read'
complete -c trawl -n "__fish_trawl_using_subcommand index; and not __fish_seen_subcommand_from define list show drop" -l text -d 'Also index the contents of files, so that trawl grep reads only candidates'
complete -c trawl -n "__fish_trawl_using_subcommand index; and not __fish_seen_subcommand_from define list show drop" -l no-text -d 'Remove the text index'
complete -c trawl -n "__fish_trawl_using_subcommand index; and not __fish_seen_subcommand_from define list show drop" -l keywords -d 'Also index the words and attributes of files, for trawl find -keyword, -phrase and -attr'
complete -c trawl -n "__fish_trawl_using_subcommand index; and not __fish_seen_subcommand_from define list show drop" -l no-keywords -d 'Remove the index of words and attributes'
complete -c trawl -n "__fish_trawl_using_subcommand index; and not __fish_seen_subcommand_from define list show drop" -s q -l quiet -d 'Show nothing but errors and issues'
complete -c trawl -n "__fish_trawl_using_subcommand index; and not __fish_seen_subcommand_from define list show drop" -l verify -d 'Check every byte of the index, after the scan if any'
complete -c trawl -n "__fish_trawl_using_subcommand index; and not __fish_seen_subcommand_from define list show drop" -l gc -d 'Remove data that no snapshot needs, after the scan if any'
complete -c trawl -n "__fish_trawl_using_subcommand index; and not __fish_seen_subcommand_from define list show drop" -l rebuild-names -d 'Rebuild missing or damaged name sidecars, after the scan if any'
complete -c trawl -n "__fish_trawl_using_subcommand index; and not __fish_seen_subcommand_from define list show drop" -l dry-run -d 'With --gc, only show which snapshots would stay or go, and why'
complete -c trawl -n "__fish_trawl_using_subcommand index; and not __fish_seen_subcommand_from define list show drop" -l check-permissions -d 'Compare what the index shows users with what the file system shows'
complete -c trawl -n "__fish_trawl_using_subcommand index; and not __fish_seen_subcommand_from define list show drop" -l all -d 'Look at all directories'
complete -c trawl -n "__fish_trawl_using_subcommand index; and not __fish_seen_subcommand_from define list show drop" -l json -d 'Print the summary as one JSON object per line'
complete -c trawl -n "__fish_trawl_using_subcommand index; and not __fish_seen_subcommand_from define list show drop" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c trawl -n "__fish_trawl_using_subcommand index; and not __fish_seen_subcommand_from define list show drop" -a "define" -d 'Declare a named index over attributes, and make it'
complete -c trawl -n "__fish_trawl_using_subcommand index; and not __fish_seen_subcommand_from define list show drop" -a "list" -d 'List the named indices, and what they cover'
complete -c trawl -n "__fish_trawl_using_subcommand index; and not __fish_seen_subcommand_from define list show drop" -a "show" -d 'Show the entries of a named index, in the order of their values, or the neighbours of a file'
complete -c trawl -n "__fish_trawl_using_subcommand index; and not __fish_seen_subcommand_from define list show drop" -a "drop" -d 'Remove a named index'
complete -c trawl -n "__fish_trawl_using_subcommand index; and __fish_seen_subcommand_from define" -l kind -d 'Arrange the values in this way' -r -f -a "ordered\t'By value: answers ranges and single values'
hashed\t'By the value\'s hash: answers single values of all attributes'
inverted\t'By each value of a list and each word of a text, of an attribute of contents'
graph\t'By the files at both ends of a relation'"
complete -c trawl -n "__fish_trawl_using_subcommand index; and __fish_seen_subcommand_from define" -l on -d 'Index these attributes, the first in order first' -r
complete -c trawl -n "__fish_trawl_using_subcommand index; and __fish_seen_subcommand_from define" -s i -l index -d 'Use the index in DIR' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand index; and __fish_seen_subcommand_from define" -s q -l quiet -d 'Show nothing but errors'
complete -c trawl -n "__fish_trawl_using_subcommand index; and __fish_seen_subcommand_from define" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c trawl -n "__fish_trawl_using_subcommand index; and __fish_seen_subcommand_from list" -s i -l index -d 'Use the index in DIR' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand index; and __fish_seen_subcommand_from list" -l json -d 'Print one JSON object per line'
complete -c trawl -n "__fish_trawl_using_subcommand index; and __fish_seen_subcommand_from list" -l csv -d 'Print comma-separated values with a header'
complete -c trawl -n "__fish_trawl_using_subcommand index; and __fish_seen_subcommand_from list" -l arrow -d 'Write an Arrow IPC stream'
complete -c trawl -n "__fish_trawl_using_subcommand index; and __fish_seen_subcommand_from list" -s h -l help -d 'Print help'
complete -c trawl -n "__fish_trawl_using_subcommand index; and __fish_seen_subcommand_from show" -l in -d 'Show entries below DIR; of a graph, look for files that refer to FILE there [default: `.`, or FILE\'s directory]' -r
complete -c trawl -n "__fish_trawl_using_subcommand index; and __fish_seen_subcommand_from show" -l in-group -d 'Show only files of the group with this id or name, as trawl groups lists it' -r
complete -c trawl -n "__fish_trawl_using_subcommand index; and __fish_seen_subcommand_from show" -s n -l limit -d 'Show N entries' -r
complete -c trawl -n "__fish_trawl_using_subcommand index; and __fish_seen_subcommand_from show" -s i -l index -d 'Use the index in DIR' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand index; and __fish_seen_subcommand_from show" -l color -l colour -d 'Choose when to use colours' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c trawl -n "__fish_trawl_using_subcommand index; and __fish_seen_subcommand_from show" -l at -d 'Answer from the newest snapshot that began by TIME' -r
complete -c trawl -n "__fish_trawl_using_subcommand index; and __fish_seen_subcommand_from show" -l fresh -d 'Wait up to TIME until the index includes all earlier changes' -r
complete -c trawl -n "__fish_trawl_using_subcommand index; and __fish_seen_subcommand_from show" -l max-age -d 'Accept answers up to AGE old, such as 30s, 5m or 1d' -r
complete -c trawl -n "__fish_trawl_using_subcommand index; and __fish_seen_subcommand_from show" -l json -d 'Print one JSON object per line'
complete -c trawl -n "__fish_trawl_using_subcommand index; and __fish_seen_subcommand_from show" -l csv -d 'Print comma-separated values with a header'
complete -c trawl -n "__fish_trawl_using_subcommand index; and __fish_seen_subcommand_from show" -l arrow -d 'Write an Arrow IPC stream'
complete -c trawl -n "__fish_trawl_using_subcommand index; and __fish_seen_subcommand_from show" -s 0 -l null -d 'Print only paths, each terminated by a NUL byte'
complete -c trawl -n "__fish_trawl_using_subcommand index; and __fish_seen_subcommand_from show" -l status -d 'Report how fresh the answer is and what could not be read'
complete -c trawl -n "__fish_trawl_using_subcommand index; and __fish_seen_subcommand_from show" -l spreadsheet -d 'Protect --csv texts that spreadsheets take for formulas'
complete -c trawl -n "__fish_trawl_using_subcommand index; and __fish_seen_subcommand_from show" -l no-wait -d 'Ask the index as it is, without waiting for a daemon'
complete -c trawl -n "__fish_trawl_using_subcommand index; and __fish_seen_subcommand_from show" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c trawl -n "__fish_trawl_using_subcommand index; and __fish_seen_subcommand_from drop" -s i -l index -d 'Use the index in DIR' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand index; and __fish_seen_subcommand_from drop" -s h -l help -d 'Print help'
complete -c trawl -n "__fish_trawl_using_subcommand sources; and not __fish_seen_subcommand_from remove" -s i -l index -d 'Use the index in DIR, as before the command' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand sources; and not __fish_seen_subcommand_from remove" -l profile -d 'Record how long each operation of trawl takes, and write FILE' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand sources; and not __fish_seen_subcommand_from remove" -l json -d 'Print one JSON object per line'
complete -c trawl -n "__fish_trawl_using_subcommand sources; and not __fish_seen_subcommand_from remove" -l snapshots -d 'List every snapshot of each source: its id, start time and size'
complete -c trawl -n "__fish_trawl_using_subcommand sources; and not __fish_seen_subcommand_from remove" -s h -l help -d 'Print help'
complete -c trawl -n "__fish_trawl_using_subcommand sources; and not __fish_seen_subcommand_from remove" -f -a "remove" -d 'Remove trees from the index; the trees themselves stay unchanged'
complete -c trawl -n "__fish_trawl_using_subcommand sources; and __fish_seen_subcommand_from remove" -s h -l help -d 'Print help'
complete -c trawl -n "__fish_trawl_using_subcommand watch" -s i -l index -d 'Use the index in DIR, as before the command' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand watch" -l profile -d 'Record how long each operation of trawl takes, and write FILE' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand watch" -l interval -d 'Set the interval of --poll' -r
complete -c trawl -n "__fish_trawl_using_subcommand watch" -l apply-after -d 'Apply changes to the index after TIME if nobody asks' -r
complete -c trawl -n "__fish_trawl_using_subcommand watch" -l max-dirty -d 'Apply changes sooner if about N entries may have changed' -r
complete -c trawl -n "__fish_trawl_using_subcommand watch" -l checkpoint -d 'Make a snapshot of changes after TIME, for history' -r
complete -c trawl -n "__fish_trawl_using_subcommand watch" -l exclude -d 'Leave out names or paths that match GLOB' -r
complete -c trawl -n "__fish_trawl_using_subcommand watch" -l metrics -d 'Print how long the daemons\' own operations took' -r -f -a "prometheus\t'Prometheus\' text format, for node_exporter too'
native\t'OpenMetrics 2.0, with native histograms'
recording\t'A recording, for trawl profile report'"
complete -c trawl -n "__fish_trawl_using_subcommand watch" -l metrics-file -d 'Write how long the daemon\'s own operations took to FILE, every 15 seconds' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand watch" -l poll -d 'Look at all directories at an interval instead of receiving events'
complete -c trawl -n "__fish_trawl_using_subcommand watch" -l no-xattr -d 'Do not read extended attributes [default: as in the last scan]'
complete -c trawl -n "__fish_trawl_using_subcommand watch" -s q -l quiet -d 'Print only warnings'
complete -c trawl -n "__fish_trawl_using_subcommand watch" -l socket-unit -d 'Print a systemd socket unit for these trees'
complete -c trawl -n "__fish_trawl_using_subcommand watch" -l status -d 'Show the state of the daemons of all sources, or of these'
complete -c trawl -n "__fish_trawl_using_subcommand watch" -l json -d 'With --status, print one JSON object per line'
complete -c trawl -n "__fish_trawl_using_subcommand watch" -l prometheus -d 'With --status, print the text format that Prometheus reads'
complete -c trawl -n "__fish_trawl_using_subcommand watch" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c trawl -n "__fish_trawl_using_subcommand serve" -s i -l index -d 'Use the index in DIR, as before the command' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand serve" -l profile -d 'Record how long each operation of trawl takes, and write FILE' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand serve" -l listen -d 'Serve clients that connect to ADDRESS' -r
complete -c trawl -n "__fish_trawl_using_subcommand serve" -l listen-chirp -d 'Answer Chirp\'s line search for any client, as --chirp-user' -r
complete -c trawl -n "__fish_trawl_using_subcommand serve" -l chirp-user -d 'Serve Chirp\'s clients as USER' -r
complete -c trawl -n "__fish_trawl_using_subcommand serve" -l cert -d 'For tls and http, use this server certificate, then intermediate ones (PEM)' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand serve" -l key -d 'For tls and http, use the server key in FILE' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand serve" -l client-ca -d 'For tls and http, accept client certificates signed by the CA in FILE' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand serve" -l users -d 'For tls and http, read the users of certificates from FILE' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand serve" -l tls-user -d 'For tls and http, run the process that ends TLS as USER' -r
complete -c trawl -n "__fish_trawl_using_subcommand serve" -l http -d 'Serve a page and an API over HTTPS, to each user as that user (docs/web.md)' -r
complete -c trawl -n "__fish_trawl_using_subcommand serve" -l pam -d 'For http, let users log in with their passwords, checked by the PAM service SERVICE' -r
complete -c trawl -n "__fish_trawl_using_subcommand serve" -l pam-directory -d 'Read the configuration of PAM services from DIR' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand serve" -l oidc -d 'For http, let users log in at the provider of OpenID Connect that FILE names (docs/web.md)' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand serve" -l proxy-header -d 'For http, believe proxies which user asks in the header NAME [default: x-remote-user]' -r
complete -c trawl -n "__fish_trawl_using_subcommand serve" -l sessions -d 'For http, keep sessions and tokens in DIR [default: /var/lib/trawl-http]' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand serve" -l record -d 'For http, append a line of JSON for each question and login to FILE' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand serve" -l time-limit -d 'For http, answer a question after TIME, with what has been found so far [default: 30s]' -r
complete -c trawl -n "__fish_trawl_using_subcommand serve" -l hourly-bytes -d 'For http, send each user at most SIZE in an hour [default: no limit]' -r
complete -c trawl -n "__fish_trawl_using_subcommand serve" -l hourly-rows -d 'For http, send each user at most NUMBER rows of answers in an hour [default: no limit]' -r
complete -c trawl -n "__fish_trawl_using_subcommand serve" -l export -d 'Show only the tree DIR, under NAME' -r
complete -c trawl -n "__fish_trawl_using_subcommand serve" -l connections -d 'Allow N connections in all' -r
complete -c trawl -n "__fish_trawl_using_subcommand serve" -l user-connections -d 'Allow N connections of one user' -r
complete -c trawl -n "__fish_trawl_using_subcommand serve" -l served -d 'Serve N connections at the same time' -r
complete -c trawl -n "__fish_trawl_using_subcommand serve" -l user-served -d 'Serve N connections of one user at the same time' -r
complete -c trawl -n "__fish_trawl_using_subcommand serve" -l patience -d 'Let a connection wait up to TIME to be served' -r
complete -c trawl -n "__fish_trawl_using_subcommand serve" -l stall -d 'Let a client pause up to TIME while it receives an answer' -r
complete -c trawl -n "__fish_trawl_using_subcommand serve" -l watched-directories -d 'Watch N directories for a client that caches them; 0 watches none' -r
complete -c trawl -n "__fish_trawl_using_subcommand serve" -l metrics-file -d 'Write how long the server\'s own operations took to FILE, every 15 seconds' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand serve" -l delay -d 'Delay each request by MS milliseconds, to simulate distant clients' -r
complete -c trawl -n "__fish_trawl_using_subcommand serve" -l stdio -d 'Serve one client on standard input and output'
complete -c trawl -n "__fish_trawl_using_subcommand serve" -l restrict -d 'Show only the trees in /etc/trawl/exports'
complete -c trawl -n "__fish_trawl_using_subcommand serve" -l worker -d 'Serve connections that come over standard input; --listen starts this'
complete -c trawl -n "__fish_trawl_using_subcommand serve" -l tls-front -d 'End TLS for the process at standard input; --listen tls: starts this'
complete -c trawl -n "__fish_trawl_using_subcommand serve" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c trawl -n "__fish_trawl_using_subcommand run" -s i -l index -d 'Use the index in DIR, as before the command' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand run" -l profile -d 'Record how long each operation of trawl takes, and write FILE' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand run" -l remote -d 'Show the command a server\'s directory PATH at POINT' -r
complete -c trawl -n "__fish_trawl_using_subcommand run" -l sandbox-memory -d 'Keep up to SIZE of file contents in memory with --sandbox' -r
complete -c trawl -n "__fish_trawl_using_subcommand run" -l cover -d 'Answer calls about files below DIRECTORY from tables' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand run" -l fetch-ahead -d 'Fetch files ahead for programs with N arguments or more' -r
complete -c trawl -n "__fish_trawl_using_subcommand run" -l served-by -d 'Take the names in tables from this source' -r -f -a "auto\t''
live\t''
index\t''"
complete -c trawl -n "__fish_trawl_using_subcommand run" -l max-age -d 'Show names and attributes up to AGE old' -r
complete -c trawl -n "__fish_trawl_using_subcommand run" -l watched-age -d 'Show names and attributes up to AGE old in watched directories' -r
complete -c trawl -n "__fish_trawl_using_subcommand run" -l ca -d 'For tls: servers, trust certificates signed by the CA in FILE' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand run" -l cert -d 'For tls: servers, use the client certificate in FILE' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand run" -l key -d 'For tls: servers, use the client key in FILE' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand run" -l sandbox -d 'Intercept the command\'s system calls instead of mounting'
complete -c trawl -n "__fish_trawl_using_subcommand run" -l audit -d 'Answer the dynamic loader\'s search for libraries, too'
complete -c trawl -n "__fish_trawl_using_subcommand run" -l eager -d 'Let programs ask at their first look, not only after several'
complete -c trawl -n "__fish_trawl_using_subcommand run" -l learn -d 'Record which files the command\'s programs open, read and write'
complete -c trawl -n "__fish_trawl_using_subcommand run" -l fetch-groups -d 'Fetch the rest of a file\'s group once a program opens the file'
complete -c trawl -n "__fish_trawl_using_subcommand run" -l no-preload -d 'With --remote, use only the mounts, without tables in programs'
complete -c trawl -n "__fish_trawl_using_subcommand run" -l call-by-call -d 'Ask the server separately for each name and directory'
complete -c trawl -n "__fish_trawl_using_subcommand run" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c trawl -n "__fish_trawl_using_subcommand mount" -l profile -d 'Record how long each operation of trawl takes, and write FILE' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand mount" -l views -d 'Mount the views on the empty directory POINT' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand mount" -l in -d 'For views: search DIR where a question in its short form names no directory' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand mount" -l definitions -d 'Read the views for everybody from DIR' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand mount" -l max-age -d 'Show names and attributes up to AGE old' -r
complete -c trawl -n "__fish_trawl_using_subcommand mount" -l watched-age -d 'Show names and attributes up to AGE old in watched directories' -r
complete -c trawl -n "__fish_trawl_using_subcommand mount" -l ca -d 'For tls: servers, trust certificates signed by the CA in FILE' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand mount" -l cert -d 'For tls: servers, use the client certificate in FILE' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand mount" -l key -d 'For tls: servers, use the client key in FILE' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand mount" -l all-users -d 'For views: let all users look, each with their own permissions (root only)'
complete -c trawl -n "__fish_trawl_using_subcommand mount" -s f -l foreground -d 'Serve in the foreground until unmounted or stopped by a signal'
complete -c trawl -n "__fish_trawl_using_subcommand mount" -l call-by-call -d 'Ask the server separately for each name and directory'
complete -c trawl -n "__fish_trawl_using_subcommand mount" -l ready -d 'Report on standard output when the mount is ready'
complete -c trawl -n "__fish_trawl_using_subcommand mount" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c trawl -n "__fish_trawl_using_subcommand unmount" -l profile -d 'Record how long each operation of trawl takes, and write FILE' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand unmount" -s h -l help -d 'Print help'
complete -c trawl -n "__fish_trawl_using_subcommand view; and not __fish_seen_subcommand_from define list show remove check answer" -l profile -d 'Record how long each operation of trawl takes, and write FILE' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand view; and not __fish_seen_subcommand_from define list show remove check answer" -s h -l help -d 'Print help'
complete -c trawl -n "__fish_trawl_using_subcommand view; and not __fish_seen_subcommand_from define list show remove check answer" -f -a "define" -d 'Define a view, or give an existing one another question'
complete -c trawl -n "__fish_trawl_using_subcommand view; and not __fish_seen_subcommand_from define list show remove check answer" -f -a "list" -d 'List the views and their questions'
complete -c trawl -n "__fish_trawl_using_subcommand view; and not __fish_seen_subcommand_from define list show remove check answer" -f -a "show" -d 'Show the question of a view'
complete -c trawl -n "__fish_trawl_using_subcommand view; and not __fish_seen_subcommand_from define list show remove check answer" -f -a "remove" -d 'Remove a view'
complete -c trawl -n "__fish_trawl_using_subcommand view; and not __fish_seen_subcommand_from define list show remove check answer" -f -a "check" -d 'Check a question, and show it in the words of find'
complete -c trawl -n "__fish_trawl_using_subcommand view; and not __fish_seen_subcommand_from define list show remove check answer" -f -a "answer" -d 'Answer a question of a mount, as the asking user'
complete -c trawl -n "__fish_trawl_using_subcommand view; and __fish_seen_subcommand_from define" -l definitions -d 'Read the views for everybody from DIR' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand view; and __fish_seen_subcommand_from define" -l system -d 'Define it for everybody'
complete -c trawl -n "__fish_trawl_using_subcommand view; and __fish_seen_subcommand_from define" -s h -l help -d 'Print help'
complete -c trawl -n "__fish_trawl_using_subcommand view; and __fish_seen_subcommand_from list" -l definitions -d 'Read the views for everybody from DIR' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand view; and __fish_seen_subcommand_from list" -l json -d 'Print one JSON object per line'
complete -c trawl -n "__fish_trawl_using_subcommand view; and __fish_seen_subcommand_from list" -s h -l help -d 'Print help'
complete -c trawl -n "__fish_trawl_using_subcommand view; and __fish_seen_subcommand_from show" -l definitions -d 'Read the views for everybody from DIR' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand view; and __fish_seen_subcommand_from show" -l json -d 'Print one JSON object per line'
complete -c trawl -n "__fish_trawl_using_subcommand view; and __fish_seen_subcommand_from show" -s h -l help -d 'Print help'
complete -c trawl -n "__fish_trawl_using_subcommand view; and __fish_seen_subcommand_from remove" -l definitions -d 'Read the views for everybody from DIR' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand view; and __fish_seen_subcommand_from remove" -l system -d 'Remove a view that was defined for everybody'
complete -c trawl -n "__fish_trawl_using_subcommand view; and __fish_seen_subcommand_from remove" -s h -l help -d 'Print help'
complete -c trawl -n "__fish_trawl_using_subcommand view; and __fish_seen_subcommand_from check" -s h -l help -d 'Print help'
complete -c trawl -n "__fish_trawl_using_subcommand view; and __fish_seen_subcommand_from answer" -s h -l help -d 'Print help'
complete -c trawl -n "__fish_trawl_using_subcommand verify" -s i -l index -d 'Use the index in DIR, as before the command' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand verify" -l profile -d 'Record how long each operation of trawl takes, and write FILE' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand verify" -l json -d 'Print one JSON object per line'
complete -c trawl -n "__fish_trawl_using_subcommand verify" -s h -l help -d 'Print help'
complete -c trawl -n "__fish_trawl_using_subcommand gc" -s i -l index -d 'Use the index in DIR, as before the command' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand gc" -l profile -d 'Record how long each operation of trawl takes, and write FILE' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand gc" -l keep -d 'Keep these snapshots of each source [default: 2]' -r
complete -c trawl -n "__fish_trawl_using_subcommand gc" -l keep-for -d 'Keep snapshots younger than AGE, too, such as 12h, 30d or 8w' -r
complete -c trawl -n "__fish_trawl_using_subcommand gc" -l dry-run -d 'Only show which snapshots would stay or go, and why'
complete -c trawl -n "__fish_trawl_using_subcommand gc" -l json -d 'Print one JSON object per line'
complete -c trawl -n "__fish_trawl_using_subcommand gc" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c trawl -n "__fish_trawl_using_subcommand locate" -l index -d 'Use the index in DIR, as before the command' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand locate" -l profile -d 'Record how long each operation of trawl takes, and write FILE' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand locate" -l below -d 'Look only below DIR; may be given several times' -r
complete -c trawl -n "__fish_trawl_using_subcommand locate" -s l -s n -l limit -d 'Stop after NUMBER matches' -r
complete -c trawl -n "__fish_trawl_using_subcommand locate" -s d -l database -d 'Refuse: --index names the index' -r
complete -c trawl -n "__fish_trawl_using_subcommand locate" -l color -l colour -d 'Choose when to use colours' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c trawl -n "__fish_trawl_using_subcommand locate" -l at -d 'Answer from the newest snapshot that began by TIME' -r
complete -c trawl -n "__fish_trawl_using_subcommand locate" -l fresh -d 'Wait up to TIME until the index includes all earlier changes' -r
complete -c trawl -n "__fish_trawl_using_subcommand locate" -l max-age -d 'Accept answers up to AGE old, such as 30s, 5m or 1d' -r
complete -c trawl -n "__fish_trawl_using_subcommand locate" -s i -l ignore-case -d 'Match letters in either case'
complete -c trawl -n "__fish_trawl_using_subcommand locate" -s b -l basename -d 'Match names only, not whole paths'
complete -c trawl -n "__fish_trawl_using_subcommand locate" -s w -l wholename -d 'Match whole paths (the default)'
complete -c trawl -n "__fish_trawl_using_subcommand locate" -s r -l regexp -d 'Match basic regular expressions, anywhere in the path'
complete -c trawl -n "__fish_trawl_using_subcommand locate" -l regex -d 'Match extended regular expressions, anywhere in the path'
complete -c trawl -n "__fish_trawl_using_subcommand locate" -l fuzzy -d 'Show the paths that best fit the letters of PATTERN'
complete -c trawl -n "__fish_trawl_using_subcommand locate" -s e -l existing -d 'Show only paths that exist now'
complete -c trawl -n "__fish_trawl_using_subcommand locate" -s c -l count -d 'Print the number of matches, not the matches'
complete -c trawl -n "__fish_trawl_using_subcommand locate" -s 0 -l null -d 'End each path with a NUL byte instead of a newline'
complete -c trawl -n "__fish_trawl_using_subcommand locate" -s N -l literal -d 'Print paths on a terminal without quotes'
complete -c trawl -n "__fish_trawl_using_subcommand locate" -l json -d 'Print one JSON object per line'
complete -c trawl -n "__fish_trawl_using_subcommand locate" -l csv -d 'Print comma-separated values with a header'
complete -c trawl -n "__fish_trawl_using_subcommand locate" -l arrow -d 'Write an Arrow IPC stream'
complete -c trawl -n "__fish_trawl_using_subcommand locate" -s S -l statistics -d 'List the indexed trees instead, as trawl sources does'
complete -c trawl -n "__fish_trawl_using_subcommand locate" -s A -l all -d 'Do nothing: all patterns must match anyway'
complete -c trawl -n "__fish_trawl_using_subcommand locate" -s q -l quiet -d 'Do nothing: there are no databases that could be missing'
complete -c trawl -n "__fish_trawl_using_subcommand locate" -l status -d 'Report how fresh the answer is and what could not be read'
complete -c trawl -n "__fish_trawl_using_subcommand locate" -l spreadsheet -d 'Protect --csv texts that spreadsheets take for formulas'
complete -c trawl -n "__fish_trawl_using_subcommand locate" -l no-wait -d 'Ask the index as it is, without waiting for a daemon'
complete -c trawl -n "__fish_trawl_using_subcommand locate" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c trawl -n "__fish_trawl_using_subcommand grep" -l index -d 'Use the index in DIR, as before the command' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand grep" -l profile -d 'Record how long each operation of trawl takes, and write FILE' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand grep" -s e -l regexp -d 'Search for PATTERN; may be given several times' -r
complete -c trawl -n "__fish_trawl_using_subcommand grep" -s f -l file -d 'Search for the patterns in FILE, one a line' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand grep" -s m -l max-count -d 'Stop reading a file after N selected lines' -r
complete -c trawl -n "__fish_trawl_using_subcommand grep" -s A -l after-context -d 'Print N lines after each selected line' -r
complete -c trawl -n "__fish_trawl_using_subcommand grep" -s B -l before-context -d 'Print N lines before each selected line' -r
complete -c trawl -n "__fish_trawl_using_subcommand grep" -s C -l context -d 'Print N lines before and after each selected line' -r
complete -c trawl -n "__fish_trawl_using_subcommand grep" -l encoding -d 'Decode files from this encoding, such as latin1' -r
complete -c trawl -n "__fish_trawl_using_subcommand grep" -l include -d 'Search only files whose names match GLOB' -r
complete -c trawl -n "__fish_trawl_using_subcommand grep" -l exclude -d 'Leave out files whose names match GLOB' -r
complete -c trawl -n "__fish_trawl_using_subcommand grep" -l exclude-dir -d 'Leave out directories whose names match GLOB' -r
complete -c trawl -n "__fish_trawl_using_subcommand grep" -s j -l threads -d 'Use N threads [default: one for each processor]' -r
complete -c trawl -n "__fish_trawl_using_subcommand grep" -l sort -d 'Print files in this order' -r -f -a "path\t'By path'
none\t'As files are done'"
complete -c trawl -n "__fish_trawl_using_subcommand grep" -l color -l colour -d 'Choose when to use colours' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c trawl -n "__fish_trawl_using_subcommand grep" -l at -d 'Answer from the newest snapshot that began by TIME' -r
complete -c trawl -n "__fish_trawl_using_subcommand grep" -l fresh -d 'Wait up to TIME until the index includes all earlier changes' -r
complete -c trawl -n "__fish_trawl_using_subcommand grep" -l max-age -d 'Accept answers up to AGE old, such as 30s, 5m or 1d' -r
complete -c trawl -n "__fish_trawl_using_subcommand grep" -s F -l fixed-strings -d 'Read patterns as fixed strings'
complete -c trawl -n "__fish_trawl_using_subcommand grep" -s E -l extended-regexp -d 'Accepted: patterns are always extended'
complete -c trawl -n "__fish_trawl_using_subcommand grep" -s P -l perl-regexp -d 'Refused, with the remedy'
complete -c trawl -n "__fish_trawl_using_subcommand grep" -s i -l ignore-case -d 'Ignore the case of letters'
complete -c trawl -n "__fish_trawl_using_subcommand grep" -s S -l smart-case -d 'Ignore case unless the pattern has an upper-case letter'
complete -c trawl -n "__fish_trawl_using_subcommand grep" -s w -l word-regexp -d 'Match only whole words'
complete -c trawl -n "__fish_trawl_using_subcommand grep" -s x -l line-regexp -d 'Match only whole lines'
complete -c trawl -n "__fish_trawl_using_subcommand grep" -s v -l invert-match -d 'Select the lines that do not match'
complete -c trawl -n "__fish_trawl_using_subcommand grep" -s c -l count -d 'Print the number of selected lines of each file'
complete -c trawl -n "__fish_trawl_using_subcommand grep" -s l -l files-with-matches -d 'Print the names of files with a selected line'
complete -c trawl -n "__fish_trawl_using_subcommand grep" -s L -l files-without-match -d 'Print the names of files without a selected line'
complete -c trawl -n "__fish_trawl_using_subcommand grep" -s o -l only-matching -d 'Print only the matching parts of lines'
complete -c trawl -n "__fish_trawl_using_subcommand grep" -s q -l quiet -l silent -d 'Print nothing and stop at the first selected line'
complete -c trawl -n "__fish_trawl_using_subcommand grep" -s s -l no-messages -d 'Print no messages about files that cannot be read'
complete -c trawl -n "__fish_trawl_using_subcommand grep" -s n -l line-number -d 'Print line numbers; default on a terminal'
complete -c trawl -n "__fish_trawl_using_subcommand grep" -s N -l no-line-number -d 'Print no line numbers'
complete -c trawl -n "__fish_trawl_using_subcommand grep" -l column -d 'Print the column of the first match'
complete -c trawl -n "__fish_trawl_using_subcommand grep" -s b -l byte-offset -d 'Print the byte offset of each line'
complete -c trawl -n "__fish_trawl_using_subcommand grep" -s H -l with-filename -d 'Print file names'
complete -c trawl -n "__fish_trawl_using_subcommand grep" -s h -l no-filename -d 'Print no file names'
complete -c trawl -n "__fish_trawl_using_subcommand grep" -l heading -d 'Print file names above lines; default on a terminal'
complete -c trawl -n "__fish_trawl_using_subcommand grep" -l no-heading -d 'Print file names before each line'
complete -c trawl -n "__fish_trawl_using_subcommand grep" -s 0 -l null -d 'Print a NUL byte after file names'
complete -c trawl -n "__fish_trawl_using_subcommand grep" -s z -l null-data -d 'Lines end with a NUL byte instead of a newline'
complete -c trawl -n "__fish_trawl_using_subcommand grep" -l trim -d 'Remove white space at the beginning of lines'
complete -c trawl -n "__fish_trawl_using_subcommand grep" -s a -l text -d 'Search binary files as if they were text'
complete -c trawl -n "__fish_trawl_using_subcommand grep" -s I -l no-binary -d 'Treat binary files as files without a match'
complete -c trawl -n "__fish_trawl_using_subcommand grep" -s r -l recursive -d 'Accepted: directories are always searched'
complete -c trawl -n "__fish_trawl_using_subcommand grep" -l no-text-index -d 'Read every file, whatever an index says about contents'
complete -c trawl -n "__fish_trawl_using_subcommand grep" -l stats -d 'Print counts and times at the end'
complete -c trawl -n "__fish_trawl_using_subcommand grep" -l json -d 'Print JSON messages, as ripgrep does'
complete -c trawl -n "__fish_trawl_using_subcommand grep" -l status -d 'Report how fresh the answer is and what could not be read'
complete -c trawl -n "__fish_trawl_using_subcommand grep" -l spreadsheet -d 'Protect --csv texts that spreadsheets take for formulas'
complete -c trawl -n "__fish_trawl_using_subcommand grep" -l no-wait -d 'Ask the index as it is, without waiting for a daemon'
complete -c trawl -n "__fish_trawl_using_subcommand grep" -l help -d 'Print help'
complete -c trawl -n "__fish_trawl_using_subcommand search" -s i -l index -d 'Use the index in DIR, as before the command' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand search" -l profile -d 'Record how long each operation of trawl takes, and write FILE' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand search" -l max-depth -d 'Enter at most NUMBER levels below PATH, and report deeper ones' -r
complete -c trawl -n "__fish_trawl_using_subcommand search" -l served-by -d 'Ask this source: auto, live, or index' -r -f -a "auto\t''
live\t''
index\t''"
complete -c trawl -n "__fish_trawl_using_subcommand search" -l remote -d 'Ask the server at ADDRESS, in one round trip' -r
complete -c trawl -n "__fish_trawl_using_subcommand search" -l ca -d 'With --remote tls:…, trust certificates signed by the CA in FILE' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand search" -l cert -d 'With --remote tls:…, use the client certificate in FILE' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand search" -l key -d 'With --remote tls:…, use the client key in FILE' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand search" -l color -l colour -d 'Choose when to use colours' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c trawl -n "__fish_trawl_using_subcommand search" -l at -d 'Answer from the newest snapshot that began by TIME' -r
complete -c trawl -n "__fish_trawl_using_subcommand search" -l fresh -d 'Wait up to TIME until the index includes all earlier changes' -r
complete -c trawl -n "__fish_trawl_using_subcommand search" -l max-age -d 'Accept answers up to AGE old, such as 30s, 5m or 1d' -r
complete -c trawl -n "__fish_trawl_using_subcommand search" -l paper -d 'Read PATTERN as in the paper: ? is one byte or none (the default)'
complete -c trawl -n "__fish_trawl_using_subcommand search" -l fnmatch -d 'Read PATTERN as fnmatch(3) does: ? is one byte, [...] one of a set'
complete -c trawl -n "__fish_trawl_using_subcommand search" -s f -l stop-at-first -d 'Stop at the first match, in the first PATH that has one'
complete -c trawl -n "__fish_trawl_using_subcommand search" -s m -l metadata -d 'Show stat(2) attributes of matches, following symbolic links'
complete -c trawl -n "__fish_trawl_using_subcommand search" -s P -l no-follow -d 'With --metadata, show the attributes of symbolic links themselves'
complete -c trawl -n "__fish_trawl_using_subcommand search" -s r -l include-root -d 'Print paths that begin with PATH'
complete -c trawl -n "__fish_trawl_using_subcommand search" -l readable -d 'Show only files that this user may read'
complete -c trawl -n "__fish_trawl_using_subcommand search" -l writable -d 'Show only files that this user may write'
complete -c trawl -n "__fish_trawl_using_subcommand search" -s x -l executable -d 'Show only what this user may execute (for directories: search)'
complete -c trawl -n "__fish_trawl_using_subcommand search" -l period -d 'Match a leading period only with a period in the pattern'
complete -c trawl -n "__fish_trawl_using_subcommand search" -s L -l follow -d 'Enter directories that symbolic links lead to'
complete -c trawl -n "__fish_trawl_using_subcommand search" -l xdev -d 'Do not enter other file systems'
complete -c trawl -n "__fish_trawl_using_subcommand search" -l depth16 -d 'End with an error if entries lie more than 16 levels below PATH'
complete -c trawl -n "__fish_trawl_using_subcommand search" -s 0 -l null -d 'End each path with a NUL byte instead of a newline'
complete -c trawl -n "__fish_trawl_using_subcommand search" -l json -d 'Print one JSON object per line, including errors'
complete -c trawl -n "__fish_trawl_using_subcommand search" -l status -d 'Report how fresh the answer is and what could not be read'
complete -c trawl -n "__fish_trawl_using_subcommand search" -l spreadsheet -d 'Protect --csv texts that spreadsheets take for formulas'
complete -c trawl -n "__fish_trawl_using_subcommand search" -l no-wait -d 'Ask the index as it is, without waiting for a daemon'
complete -c trawl -n "__fish_trawl_using_subcommand search" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c trawl -n "__fish_trawl_using_subcommand set" -s i -l index -d 'Use the index in DIR, as before the command' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand set" -l profile -d 'Record how long each operation of trawl takes, and write FILE' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand set" -s j -l jobs -d 'Run up to N commands at once; 0 stands for the number of processors' -r
complete -c trawl -n "__fish_trawl_using_subcommand set" -s n -l max-args -d 'Pass at most N members to a command with {} +' -r
complete -c trawl -n "__fish_trawl_using_subcommand set" -l progress -d 'Report the progress of commands in this way' -r -f -a "auto\t'A line that is rewritten on a terminal, plain lines otherwise'
json\t'One JSON object per line'
plain\t'A line every few seconds'
none\t'Nothing'"
complete -c trawl -n "__fish_trawl_using_subcommand set" -l color -l colour -d 'Choose when to use colours' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c trawl -n "__fish_trawl_using_subcommand set" -l at -d 'Answer from the newest snapshot that began by TIME' -r
complete -c trawl -n "__fish_trawl_using_subcommand set" -l fresh -d 'Wait up to TIME until the index includes all earlier changes' -r
complete -c trawl -n "__fish_trawl_using_subcommand set" -l max-age -d 'Accept answers up to AGE old, such as 30s, 5m or 1d' -r
complete -c trawl -n "__fish_trawl_using_subcommand set" -l union -d 'Combine several NAMEs: members of any (the default)'
complete -c trawl -n "__fish_trawl_using_subcommand set" -l intersect -d 'Combine several NAMEs: members that all of them have'
complete -c trawl -n "__fish_trawl_using_subcommand set" -l digest -d 'Show what is known of each member without fetching it'
complete -c trawl -n "__fish_trawl_using_subcommand set" -l size -d 'Print the number of members'
complete -c trawl -n "__fish_trawl_using_subcommand set" -l sort -d 'List or process members in order of their names'
complete -c trawl -n "__fish_trawl_using_subcommand set" -l ordered -d 'Write outputs of commands in the order in which members were found'
complete -c trawl -n "__fish_trawl_using_subcommand set" -l allow-commands -d 'Run commands in names: %command%'
complete -c trawl -n "__fish_trawl_using_subcommand set" -l stdin -d 'Pass each member on standard input instead of by its path'
complete -c trawl -n "__fish_trawl_using_subcommand set" -s q -l quiet -d 'Do not name members for which the command fails'
complete -c trawl -n "__fish_trawl_using_subcommand set" -l stats -d 'Report what fetching cost and what it saved'
complete -c trawl -n "__fish_trawl_using_subcommand set" -l explain -d 'Report the linear performance model of this run, and its prediction'
complete -c trawl -n "__fish_trawl_using_subcommand set" -l json -d 'Print one JSON object per member'
complete -c trawl -n "__fish_trawl_using_subcommand set" -l csv -d 'Print comma-separated values with a header'
complete -c trawl -n "__fish_trawl_using_subcommand set" -l arrow -d 'Write an Arrow IPC stream'
complete -c trawl -n "__fish_trawl_using_subcommand set" -s 0 -l null -d 'End each name with a NUL byte'
complete -c trawl -n "__fish_trawl_using_subcommand set" -l status -d 'Report how fresh the answer is and what could not be read'
complete -c trawl -n "__fish_trawl_using_subcommand set" -l spreadsheet -d 'Protect --csv texts that spreadsheets take for formulas'
complete -c trawl -n "__fish_trawl_using_subcommand set" -l no-wait -d 'Ask the index as it is, without waiting for a daemon'
complete -c trawl -n "__fish_trawl_using_subcommand set" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c trawl -n "__fish_trawl_using_subcommand ls" -l index -d 'Use the index in DIR, as before the command' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand ls" -l profile -d 'Record how long each operation of trawl takes, and write FILE' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand ls" -l format -d 'Use this format' -r -f -a "long\t''
single-column\t''
vertical\t''
across\t''
commas\t''"
complete -c trawl -n "__fish_trawl_using_subcommand ls" -s I -l ignore -d 'Leave out names that match PATTERN, a shell pattern' -r
complete -c trawl -n "__fish_trawl_using_subcommand ls" -l hide -d 'Leave out names that match PATTERN, unless -a or -A is given' -r
complete -c trawl -n "__fish_trawl_using_subcommand ls" -l sort -d 'Sort by this key' -r -f -a "none\t''
name\t''
size\t''
time\t''
version\t''
extension\t''
width\t''"
complete -c trawl -n "__fish_trawl_using_subcommand ls" -l time -d 'Show and sort by this time' -r -f -a "modification\t''
access\t''
status\t''
birth\t''"
complete -c trawl -n "__fish_trawl_using_subcommand ls" -l time-style -d 'Show times in this style: full-iso, long-iso, iso, locale, +FORMAT' -r
complete -c trawl -n "__fish_trawl_using_subcommand ls" -l block-size -d 'Show sizes in this unit, such as M or 512' -r
complete -c trawl -n "__fish_trawl_using_subcommand ls" -s F -l classify -d 'Append an indicator of the type to names: one of */=>@|' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c trawl -n "__fish_trawl_using_subcommand ls" -l indicator-style -d 'Append indicators: none, slash (-p), file-type, classify (-F)' -r -f -a "none\t''
slash\t''
file-type\t''
classify\t''"
complete -c trawl -n "__fish_trawl_using_subcommand ls" -l quoting-style -d 'Quote names in this style' -r
complete -c trawl -n "__fish_trawl_using_subcommand ls" -l hyperlink -d 'Print names as links that terminals can open' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c trawl -n "__fish_trawl_using_subcommand ls" -s w -l width -d 'Set the line width; 0 means no limit' -r
complete -c trawl -n "__fish_trawl_using_subcommand ls" -s T -l tabsize -d 'Set the columns between tab stops; 0 means no tabs' -r
complete -c trawl -n "__fish_trawl_using_subcommand ls" -l color -l colour -d 'Choose when to use colours' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c trawl -n "__fish_trawl_using_subcommand ls" -l at -d 'Answer from the newest snapshot that began by TIME' -r
complete -c trawl -n "__fish_trawl_using_subcommand ls" -l fresh -d 'Wait up to TIME until the index includes all earlier changes' -r
complete -c trawl -n "__fish_trawl_using_subcommand ls" -l max-age -d 'Accept answers up to AGE old, such as 30s, 5m or 1d' -r
complete -c trawl -n "__fish_trawl_using_subcommand ls" -s l -d 'Use long format: mode, links, owner, group, size, time'
complete -c trawl -n "__fish_trawl_using_subcommand ls" -s 1 -d 'List one name per line; no effect after -l'
complete -c trawl -n "__fish_trawl_using_subcommand ls" -s C -d 'List names in columns, as on a terminal'
complete -c trawl -n "__fish_trawl_using_subcommand ls" -s x -d 'List names in columns, filled from left to right'
complete -c trawl -n "__fish_trawl_using_subcommand ls" -s m -d 'List names separated by commas, as many per line as fit'
complete -c trawl -n "__fish_trawl_using_subcommand ls" -s a -l all -d 'List names that begin with a dot, too'
complete -c trawl -n "__fish_trawl_using_subcommand ls" -s A -l almost-all -d 'List names that begin with a dot, except . and ..'
complete -c trawl -n "__fish_trawl_using_subcommand ls" -s B -l ignore-backups -d 'Leave out names that end with ~'
complete -c trawl -n "__fish_trawl_using_subcommand ls" -s f -d 'List all names in the order of the index: -aU without colours'
complete -c trawl -n "__fish_trawl_using_subcommand ls" -s d -l directory -d 'List directories themselves, not their content'
complete -c trawl -n "__fish_trawl_using_subcommand ls" -s R -l recursive -d 'List subdirectories recursively'
complete -c trawl -n "__fish_trawl_using_subcommand ls" -s t -d 'Sort by time, newest first'
complete -c trawl -n "__fish_trawl_using_subcommand ls" -s S -d 'Sort by size, largest first'
complete -c trawl -n "__fish_trawl_using_subcommand ls" -s X -d 'Sort by extension, the part after the last dot'
complete -c trawl -n "__fish_trawl_using_subcommand ls" -s v -d 'Sort by numbers within names'
complete -c trawl -n "__fish_trawl_using_subcommand ls" -s U -d 'Sort as the index does, by the bytes of the name'
complete -c trawl -n "__fish_trawl_using_subcommand ls" -s r -l reverse -d 'Reverse the order'
complete -c trawl -n "__fish_trawl_using_subcommand ls" -s u -d 'Use the time of last access; sort by it without -l'
complete -c trawl -n "__fish_trawl_using_subcommand ls" -s c -d 'Use the time of last inode change; sort by it without -l'
complete -c trawl -n "__fish_trawl_using_subcommand ls" -l full-time -d 'Use long format with times to the nanosecond'
complete -c trawl -n "__fish_trawl_using_subcommand ls" -s h -l human-readable -d 'Show sizes with units, in powers of 1024'
complete -c trawl -n "__fish_trawl_using_subcommand ls" -l si -d 'Show sizes with units, in powers of 1000'
complete -c trawl -n "__fish_trawl_using_subcommand ls" -s k -l kibibytes -d 'Use blocks of 1024 bytes for -s and totals in any environment'
complete -c trawl -n "__fish_trawl_using_subcommand ls" -s n -l numeric-uid-gid -d 'Use long format with numbers instead of user and group names'
complete -c trawl -n "__fish_trawl_using_subcommand ls" -s g -d 'Use long format without the owner'
complete -c trawl -n "__fish_trawl_using_subcommand ls" -s o -d 'Use long format without the group'
complete -c trawl -n "__fish_trawl_using_subcommand ls" -s G -l no-group -d 'Leave out the group in long format'
complete -c trawl -n "__fish_trawl_using_subcommand ls" -l author -d 'Show the author in long format, which is the owner'
complete -c trawl -n "__fish_trawl_using_subcommand ls" -s i -l inode -d 'Show inode numbers'
complete -c trawl -n "__fish_trawl_using_subcommand ls" -s s -l size -d 'Show allocated blocks'
complete -c trawl -n "__fish_trawl_using_subcommand ls" -l file-type -d 'Append indicators except * for executables'
complete -c trawl -n "__fish_trawl_using_subcommand ls" -s p -d 'Append a slash to directories'
complete -c trawl -n "__fish_trawl_using_subcommand ls" -s N -l literal -d 'Print names unquoted and unescaped'
complete -c trawl -n "__fish_trawl_using_subcommand ls" -s Q -l quote-name -d 'Print names in double quotes'
complete -c trawl -n "__fish_trawl_using_subcommand ls" -s b -l escape -d 'Escape characters that cannot be printed'
complete -c trawl -n "__fish_trawl_using_subcommand ls" -s q -l hide-control-chars -d 'Print ? for unprintable characters, as on a terminal'
complete -c trawl -n "__fish_trawl_using_subcommand ls" -l show-control-chars -d 'Print unprintable characters unchanged'
complete -c trawl -n "__fish_trawl_using_subcommand ls" -l group-directories-first -d 'List directories before files'
complete -c trawl -n "__fish_trawl_using_subcommand ls" -s L -l dereference -d 'Show the targets of symbolic links instead of the links'
complete -c trawl -n "__fish_trawl_using_subcommand ls" -s H -l dereference-command-line -d 'Follow symbolic links that are arguments'
complete -c trawl -n "__fish_trawl_using_subcommand ls" -l dereference-command-line-symlink-to-dir -d 'Follow symbolic links to directories that are arguments'
complete -c trawl -n "__fish_trawl_using_subcommand ls" -s Z -l context -d 'Refuse: use trawl getfattr -n security.selinux for contexts'
complete -c trawl -n "__fish_trawl_using_subcommand ls" -s D -l dired -d 'Refuse: use ls itself for Emacs\' mode'
complete -c trawl -n "__fish_trawl_using_subcommand ls" -l json -d 'Print one JSON object per line'
complete -c trawl -n "__fish_trawl_using_subcommand ls" -l csv -d 'Print comma-separated values with a header'
complete -c trawl -n "__fish_trawl_using_subcommand ls" -l arrow -d 'Write an Arrow IPC stream'
complete -c trawl -n "__fish_trawl_using_subcommand ls" -s 0 -l zero -d 'End lines with a NUL byte; one column, no quotes'
complete -c trawl -n "__fish_trawl_using_subcommand ls" -l status -d 'Report how fresh the answer is and what could not be read'
complete -c trawl -n "__fish_trawl_using_subcommand ls" -l spreadsheet -d 'Protect --csv texts that spreadsheets take for formulas'
complete -c trawl -n "__fish_trawl_using_subcommand ls" -l no-wait -d 'Ask the index as it is, without waiting for a daemon'
complete -c trawl -n "__fish_trawl_using_subcommand ls" -l help -d 'Print help'
complete -c trawl -n "__fish_trawl_using_subcommand stat" -s i -l index -d 'Use the index in DIR, as before the command' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand stat" -l profile -d 'Record how long each operation of trawl takes, and write FILE' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand stat" -s c -l format -d 'Print FORMAT and a newline for each file' -r
complete -c trawl -n "__fish_trawl_using_subcommand stat" -l printf -d 'Print FORMAT for each file, interpreting \\n and other escapes' -r
complete -c trawl -n "__fish_trawl_using_subcommand stat" -l cached -d 'Accept always or default; an index cannot provide never' -r -f -a "default\t''
always\t''
never\t''"
complete -c trawl -n "__fish_trawl_using_subcommand stat" -l color -l colour -d 'Choose when to use colours' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c trawl -n "__fish_trawl_using_subcommand stat" -l at -d 'Answer from the newest snapshot that began by TIME' -r
complete -c trawl -n "__fish_trawl_using_subcommand stat" -l fresh -d 'Wait up to TIME until the index includes all earlier changes' -r
complete -c trawl -n "__fish_trawl_using_subcommand stat" -l max-age -d 'Accept answers up to AGE old, such as 30s, 5m or 1d' -r
complete -c trawl -n "__fish_trawl_using_subcommand stat" -s t -l terse -d 'Print one line of numbers'
complete -c trawl -n "__fish_trawl_using_subcommand stat" -s L -l dereference -d 'Show the targets of symbolic links instead of the links'
complete -c trawl -n "__fish_trawl_using_subcommand stat" -s f -l file-system -d 'Show the file systems that contain the files, as they are now'
complete -c trawl -n "__fish_trawl_using_subcommand stat" -l acl -d 'Print access control lists, as getfacl does'
complete -c trawl -n "__fish_trawl_using_subcommand stat" -s n -l numeric -d 'With --acl, print numbers of users and groups instead of names'
complete -c trawl -n "__fish_trawl_using_subcommand stat" -l json -d 'Print one JSON object per line'
complete -c trawl -n "__fish_trawl_using_subcommand stat" -l status -d 'Report how fresh the answer is and what could not be read'
complete -c trawl -n "__fish_trawl_using_subcommand stat" -l spreadsheet -d 'Protect --csv texts that spreadsheets take for formulas'
complete -c trawl -n "__fish_trawl_using_subcommand stat" -l no-wait -d 'Ask the index as it is, without waiting for a daemon'
complete -c trawl -n "__fish_trawl_using_subcommand stat" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c trawl -n "__fish_trawl_using_subcommand du" -s i -l index -d 'Use the index in DIR, as before the command' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand du" -l profile -d 'Record how long each operation of trawl takes, and write FILE' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand du" -l files0-from -d 'Sum up the NUL-terminated names in FILE (-: standard input)' -r
complete -c trawl -n "__fish_trawl_using_subcommand du" -s d -l max-depth -d 'Show nothing deeper than N levels below an argument' -r
complete -c trawl -n "__fish_trawl_using_subcommand du" -s t -l threshold -d 'Show nothing smaller than SIZE; with a minus, nothing larger' -r
complete -c trawl -n "__fish_trawl_using_subcommand du" -l exclude -d 'Leave out paths that match PATTERN, a shell pattern' -r
complete -c trawl -n "__fish_trawl_using_subcommand du" -s X -l exclude-from -d 'Leave out paths that match a line of FILE (-: standard input)' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand du" -l time -d 'Show the latest time of any entry in each directory' -r -f -a "mtime\t''
atime\t''
ctime\t''"
complete -c trawl -n "__fish_trawl_using_subcommand du" -l time-style -d 'Show times in this style: full-iso, long-iso, iso or +FORMAT' -r
complete -c trawl -n "__fish_trawl_using_subcommand du" -s B -l block-size -d 'Show sizes in this unit, such as M or 512' -r
complete -c trawl -n "__fish_trawl_using_subcommand du" -l color -l colour -d 'Choose when to use colours' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c trawl -n "__fish_trawl_using_subcommand du" -l at -d 'Answer from the newest snapshot that began by TIME' -r
complete -c trawl -n "__fish_trawl_using_subcommand du" -l fresh -d 'Wait up to TIME until the index includes all earlier changes' -r
complete -c trawl -n "__fish_trawl_using_subcommand du" -l max-age -d 'Accept answers up to AGE old, such as 30s, 5m or 1d' -r
complete -c trawl -n "__fish_trawl_using_subcommand du" -s s -l summarize -d 'Show only the sum of each argument'
complete -c trawl -n "__fish_trawl_using_subcommand du" -s a -l all -d 'Show files, too, not only directories'
complete -c trawl -n "__fish_trawl_using_subcommand du" -s c -l total -d 'Show a grand total'
complete -c trawl -n "__fish_trawl_using_subcommand du" -s S -l separate-dirs -d 'Count directories without their subdirectories'
complete -c trawl -n "__fish_trawl_using_subcommand du" -s l -l count-links -d 'Count every name of a file that has several'
complete -c trawl -n "__fish_trawl_using_subcommand du" -s x -l one-file-system -d 'Leave out other file systems'
complete -c trawl -n "__fish_trawl_using_subcommand du" -s D -s H -l dereference-args -d 'Follow symbolic links that are arguments'
complete -c trawl -n "__fish_trawl_using_subcommand du" -s L -l dereference -d 'Follow all symbolic links: count their targets'
complete -c trawl -n "__fish_trawl_using_subcommand du" -s P -l no-dereference -d 'Follow no symbolic links (the default)'
complete -c trawl -n "__fish_trawl_using_subcommand du" -s A -l apparent-size -d 'Show apparent sizes instead of allocated space'
complete -c trawl -n "__fish_trawl_using_subcommand du" -l inodes -d 'Show numbers of inodes instead of space'
complete -c trawl -n "__fish_trawl_using_subcommand du" -s b -l bytes -d 'Show apparent sizes in bytes: --apparent-size --block-size=1'
complete -c trawl -n "__fish_trawl_using_subcommand du" -s k -d 'Show sizes in blocks of 1024 bytes'
complete -c trawl -n "__fish_trawl_using_subcommand du" -s m -d 'Show sizes in blocks of 1024 × 1024 bytes'
complete -c trawl -n "__fish_trawl_using_subcommand du" -s h -l human-readable -d 'Show sizes with units, in powers of 1024'
complete -c trawl -n "__fish_trawl_using_subcommand du" -l si -d 'Show sizes with units, in powers of 1000'
complete -c trawl -n "__fish_trawl_using_subcommand du" -s 0 -l null -d 'End lines with a NUL byte'
complete -c trawl -n "__fish_trawl_using_subcommand du" -l json -d 'Print one JSON object per line'
complete -c trawl -n "__fish_trawl_using_subcommand du" -l csv -d 'Print comma-separated values with a header'
complete -c trawl -n "__fish_trawl_using_subcommand du" -l arrow -d 'Write an Arrow IPC stream'
complete -c trawl -n "__fish_trawl_using_subcommand du" -l status -d 'Report how fresh the answer is and what could not be read'
complete -c trawl -n "__fish_trawl_using_subcommand du" -l spreadsheet -d 'Protect --csv texts that spreadsheets take for formulas'
complete -c trawl -n "__fish_trawl_using_subcommand du" -l no-wait -d 'Ask the index as it is, without waiting for a daemon'
complete -c trawl -n "__fish_trawl_using_subcommand du" -l help -d 'Print help'
complete -c trawl -n "__fish_trawl_using_subcommand getfattr" -s i -l index -d 'Use the index in DIR, as before the command' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand getfattr" -l profile -d 'Record how long each operation of trawl takes, and write FILE' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand getfattr" -s n -l name -d 'Show this attribute and its value' -r
complete -c trawl -n "__fish_trawl_using_subcommand getfattr" -s e -l encoding -d 'Write values in this encoding [default: text or base64]' -r -f -a "text\t'In quotation marks'
hex\t'Hexadecimal, after `0x`'
base64\t'Base64, after `0s`'"
complete -c trawl -n "__fish_trawl_using_subcommand getfattr" -s m -l match -d 'Show attributes whose names match PATTERN; - means all' -r
complete -c trawl -n "__fish_trawl_using_subcommand getfattr" -l color -l colour -d 'Choose when to use colours' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c trawl -n "__fish_trawl_using_subcommand getfattr" -l at -d 'Answer from the newest snapshot that began by TIME' -r
complete -c trawl -n "__fish_trawl_using_subcommand getfattr" -l fresh -d 'Wait up to TIME until the index includes all earlier changes' -r
complete -c trawl -n "__fish_trawl_using_subcommand getfattr" -l max-age -d 'Accept answers up to AGE old, such as 30s, 5m or 1d' -r
complete -c trawl -n "__fish_trawl_using_subcommand getfattr" -s d -l dump -d 'Show values, too'
complete -c trawl -n "__fish_trawl_using_subcommand getfattr" -l only-values -d 'Write only the values, unencoded'
complete -c trawl -n "__fish_trawl_using_subcommand getfattr" -s h -l no-dereference -d 'Show the attributes of symbolic links, not of their targets'
complete -c trawl -n "__fish_trawl_using_subcommand getfattr" -s R -l recursive -d 'Show the attributes of everything below directories, too'
complete -c trawl -n "__fish_trawl_using_subcommand getfattr" -s L -l logical -d 'With -R, follow symbolic links to directories'
complete -c trawl -n "__fish_trawl_using_subcommand getfattr" -s P -l physical -d 'With -R, follow no symbolic links, not even arguments'
complete -c trawl -n "__fish_trawl_using_subcommand getfattr" -l absolute-names -d 'Keep the slash at the beginning of paths'
complete -c trawl -n "__fish_trawl_using_subcommand getfattr" -l json -d 'Print one JSON object per line'
complete -c trawl -n "__fish_trawl_using_subcommand getfattr" -s 0 -l null -d 'Print only the paths that have such an attribute, NUL-terminated'
complete -c trawl -n "__fish_trawl_using_subcommand getfattr" -l status -d 'Report how fresh the answer is and what could not be read'
complete -c trawl -n "__fish_trawl_using_subcommand getfattr" -l spreadsheet -d 'Protect --csv texts that spreadsheets take for formulas'
complete -c trawl -n "__fish_trawl_using_subcommand getfattr" -l no-wait -d 'Ask the index as it is, without waiting for a daemon'
complete -c trawl -n "__fish_trawl_using_subcommand getfattr" -l help -d 'Print help'
complete -c trawl -n "__fish_trawl_using_subcommand stats" -s i -l index -d 'Use the index in DIR, as before the command' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand stats" -l profile -d 'Record how long each operation of trawl takes, and write FILE' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand stats" -l by -d 'Count only by KIND; may be given several times' -r -f -a "type\t'File, directory, symbolic link, …'
extension\t'The part of a regular file\'s name after the last dot'
size\t'Size of the content of regular files'
age\t'Time since the content of regular files changed'
accessed\t'Time since regular files were read'
changed\t'Time since the inode of regular files changed'
owner\t'Owner'
group\t'Owning group'
project\t'Project'
name-length\t'Length of the name in bytes'
depth\t'Levels below the path'
fullness\t'Directories by the number of their entries'"
complete -c trawl -n "__fish_trawl_using_subcommand stats" -s n -l limit -d 'Show N rows of kinds with many values, the rest as one row' -r
complete -c trawl -n "__fish_trawl_using_subcommand stats" -l share -d 'Show shares and bars of this quantity' -r -f -a "entries\t'Number of entries'
content\t'Apparent sizes'
disk\t'Allocated space'"
complete -c trawl -n "__fish_trawl_using_subcommand stats" -l color -l colour -d 'Choose when to use colours' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c trawl -n "__fish_trawl_using_subcommand stats" -l at -d 'Answer from the newest snapshot that began by TIME' -r
complete -c trawl -n "__fish_trawl_using_subcommand stats" -l fresh -d 'Wait up to TIME until the index includes all earlier changes' -r
complete -c trawl -n "__fish_trawl_using_subcommand stats" -l max-age -d 'Accept answers up to AGE old, such as 30s, 5m or 1d' -r
complete -c trawl -n "__fish_trawl_using_subcommand stats" -l json -d 'Print one JSON object per line'
complete -c trawl -n "__fish_trawl_using_subcommand stats" -l csv -d 'Print comma-separated values with a header'
complete -c trawl -n "__fish_trawl_using_subcommand stats" -l arrow -d 'Write an Arrow IPC stream'
complete -c trawl -n "__fish_trawl_using_subcommand stats" -l status -d 'Report how fresh the answer is and what could not be read'
complete -c trawl -n "__fish_trawl_using_subcommand stats" -l spreadsheet -d 'Protect --csv texts that spreadsheets take for formulas'
complete -c trawl -n "__fish_trawl_using_subcommand stats" -l no-wait -d 'Ask the index as it is, without waiting for a daemon'
complete -c trawl -n "__fish_trawl_using_subcommand stats" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c trawl -n "__fish_trawl_using_subcommand report" -s i -l index -d 'Use the index in DIR, as before the command' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand report" -l profile -d 'Record how long each operation of trawl takes, and write FILE' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand report" -s o -l output -d 'Write the page to FILE instead of standard output' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand report" -l mail -d 'Send the report to ADDRESS; several are joined by commas' -r
complete -c trawl -n "__fish_trawl_using_subcommand report" -l sendmail -d 'Send mail with PROGRAM instead of sendmail' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand report" -l sections -d 'Write only these sections, joined by commas' -r -f -a "sources\t'What is indexed'
directories\t'Largest directories'
files\t'Largest, oldest and newest files'
owners\t'Owners and groups'
kinds\t'Types, sizes and ages'
growth\t'Growth'
changes\t'What changed'
duplicates\t'Duplicates'
cold\t'Cold data by project'"
complete -c trawl -n "__fish_trawl_using_subcommand report" -s n -l limit -d 'Show N rows in each table' -r
complete -c trawl -n "__fish_trawl_using_subcommand report" -l color -l colour -d 'Choose when to use colours' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c trawl -n "__fish_trawl_using_subcommand report" -l at -d 'Answer from the newest snapshot that began by TIME' -r
complete -c trawl -n "__fish_trawl_using_subcommand report" -l fresh -d 'Wait up to TIME until the index includes all earlier changes' -r
complete -c trawl -n "__fish_trawl_using_subcommand report" -l max-age -d 'Accept answers up to AGE old, such as 30s, 5m or 1d' -r
complete -c trawl -n "__fish_trawl_using_subcommand report" -l status -d 'Report how fresh the answer is and what could not be read'
complete -c trawl -n "__fish_trawl_using_subcommand report" -l spreadsheet -d 'Protect --csv texts that spreadsheets take for formulas'
complete -c trawl -n "__fish_trawl_using_subcommand report" -l no-wait -d 'Ask the index as it is, without waiting for a daemon'
complete -c trawl -n "__fish_trawl_using_subcommand report" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c trawl -n "__fish_trawl_using_subcommand web" -s i -l index -d 'Use the index in DIR, as before the command' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand web" -l profile -d 'Record how long each operation of trawl takes, and write FILE' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand web" -l listen -d 'Listen on this address of this machine; port 0 is any free one [default: 127.0.0.1:0]' -r
complete -c trawl -n "__fish_trawl_using_subcommand web" -l token-file -d 'Accept the token in FILE from programs; only its owner may read FILE' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand web" -l time-limit -d 'Answer a question after TIME, with what has been found so far [default: 30s]' -r
complete -c trawl -n "__fish_trawl_using_subcommand web" -s h -l help -d 'Print help'
complete -c trawl -n "__fish_trawl_using_subcommand token; and not __fish_seen_subcommand_from create list revoke" -l profile -d 'Record how long each operation of trawl takes, and write FILE' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand token; and not __fish_seen_subcommand_from create list revoke" -s h -l help -d 'Print help'
complete -c trawl -n "__fish_trawl_using_subcommand token; and not __fish_seen_subcommand_from create list revoke" -f -a "create" -d 'Make a token for a program, and print it: it is stored nowhere'
complete -c trawl -n "__fish_trawl_using_subcommand token; and not __fish_seen_subcommand_from create list revoke" -f -a "list" -d 'List tokens and sessions that have not expired'
complete -c trawl -n "__fish_trawl_using_subcommand token; and not __fish_seen_subcommand_from create list revoke" -f -a "revoke" -d 'End tokens and sessions, from the next question on'
complete -c trawl -n "__fish_trawl_using_subcommand token; and __fish_seen_subcommand_from create" -l user -d 'Ask as USER of this machine' -r
complete -c trawl -n "__fish_trawl_using_subcommand token; and __fish_seen_subcommand_from create" -l scope -d 'Allow only these questions: names (and attributes), contents, sql' -r
complete -c trawl -n "__fish_trawl_using_subcommand token; and __fish_seen_subcommand_from create" -l expires -d 'End the token after TIME, such as 12h, 90d or 1y' -r
complete -c trawl -n "__fish_trawl_using_subcommand token; and __fish_seen_subcommand_from create" -l note -d 'Show TEXT in lists, such as what the token is for' -r
complete -c trawl -n "__fish_trawl_using_subcommand token; and __fish_seen_subcommand_from create" -l directory -d 'Use the tokens of the service that keeps them in DIR (trawl serve --sessions)' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand token; and __fish_seen_subcommand_from create" -s h -l help -d 'Print help'
complete -c trawl -n "__fish_trawl_using_subcommand token; and __fish_seen_subcommand_from list" -l directory -d 'Use the tokens of the service that keeps them in DIR (trawl serve --sessions)' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand token; and __fish_seen_subcommand_from list" -l json -d 'Print one JSON object per line'
complete -c trawl -n "__fish_trawl_using_subcommand token; and __fish_seen_subcommand_from list" -s h -l help -d 'Print help'
complete -c trawl -n "__fish_trawl_using_subcommand token; and __fish_seen_subcommand_from revoke" -l all-of -d 'End all tokens and sessions of USER' -r
complete -c trawl -n "__fish_trawl_using_subcommand token; and __fish_seen_subcommand_from revoke" -l directory -d 'Use the tokens of the service that keeps them in DIR (trawl serve --sessions)' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand token; and __fish_seen_subcommand_from revoke" -s h -l help -d 'Print help'
complete -c trawl -n "__fish_trawl_using_subcommand mcp" -s i -l index -d 'Use the index in DIR, as before the command' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand mcp" -l profile -d 'Record how long each operation of trawl takes, and write FILE' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand mcp" -l time-limit -d 'Answer a call after TIME, with what has been found so far [default: 30s]' -r
complete -c trawl -n "__fish_trawl_using_subcommand mcp" -l silence -d 'Close answers that nobody has continued for TIME [default: 5m]' -r
complete -c trawl -n "__fish_trawl_using_subcommand mcp" -s h -l help -d 'Print help'
complete -c trawl -n "__fish_trawl_using_subcommand sql" -s i -l index -d 'Use the index in DIR, as before the command' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand sql" -l profile -d 'Record how long each operation of trawl takes, and write FILE' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand sql" -s f -l file -d 'Read the statements from FILE (- is standard input)' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand sql" -l format -d 'Write rows in this format [default: table]' -r -f -a "table\t'Aligned columns for people'
json\t'One JSON object per line'
csv\t'Comma-separated values with a header'
tsv\t'Tab-separated values with a header; `\\t`, `\\n` and `\\\\` are escaped'
parquet\t'A Parquet file'
arrow\t'An Arrow IPC file'"
complete -c trawl -n "__fish_trawl_using_subcommand sql" -s o -l output -d 'Write the rows to FILE, which must not exist' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand sql" -l below -d 'Ask only about DIR and everything below it' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand sql" -l table -d 'Ask the Parquet file FILE as the table NAME, instead of the index' -r
complete -c trawl -n "__fish_trawl_using_subcommand sql" -l memory-limit -d 'Use up to SIZE of memory [default: a quarter of the machine\'s]' -r
complete -c trawl -n "__fish_trawl_using_subcommand sql" -l temp-dir -d 'Create temporary files in DIR [default: TMPDIR or /tmp]' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand sql" -l timeout -d 'Stop a statement after SECONDS' -r
complete -c trawl -n "__fish_trawl_using_subcommand sql" -l threads -d 'Use N threads [default: one per processor]' -r
complete -c trawl -n "__fish_trawl_using_subcommand sql" -l color -l colour -d 'Choose when to use colours' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c trawl -n "__fish_trawl_using_subcommand sql" -l at -d 'Answer from the newest snapshot that began by TIME' -r
complete -c trawl -n "__fish_trawl_using_subcommand sql" -l fresh -d 'Wait up to TIME until the index includes all earlier changes' -r
complete -c trawl -n "__fish_trawl_using_subcommand sql" -l max-age -d 'Accept answers up to AGE old, such as 30s, 5m or 1d' -r
complete -c trawl -n "__fish_trawl_using_subcommand sql" -l json -d 'Print one JSON object per line (--format json)'
complete -c trawl -n "__fish_trawl_using_subcommand sql" -l csv -d 'Print comma-separated values with a header (--format csv)'
complete -c trawl -n "__fish_trawl_using_subcommand sql" -l arrow -d 'Write an Arrow IPC stream (--format arrow: an Arrow IPC file)'
complete -c trawl -n "__fish_trawl_using_subcommand sql" -s 0 -l null -d 'Print only the first column, each value terminated by a NUL byte'
complete -c trawl -n "__fish_trawl_using_subcommand sql" -l paths -d 'Print only paths, each terminated by a NUL byte'
complete -c trawl -n "__fish_trawl_using_subcommand sql" -l status -d 'Report how fresh the answer is and what could not be read'
complete -c trawl -n "__fish_trawl_using_subcommand sql" -l spreadsheet -d 'Protect --csv texts that spreadsheets take for formulas'
complete -c trawl -n "__fish_trawl_using_subcommand sql" -l no-wait -d 'Ask the index as it is, without waiting for a daemon'
complete -c trawl -n "__fish_trawl_using_subcommand sql" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c trawl -n "__fish_trawl_using_subcommand export" -s i -l index -d 'Use the index in DIR, as before the command' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand export" -l profile -d 'Record how long each operation of trawl takes, and write FILE' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand export" -l parquet -d 'Write Parquet files below this new directory' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand export" -l csv -d 'Write CSV files below this new directory' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand export" -l json -d 'Write files of JSON lines below this new directory' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand export" -l tables -d 'Export these tables [default: entries, dirs, xattrs, issues]' -r -f -a "entries\t'Every entry'
dirs\t'Directories with the sums of what is below them'
xattrs\t'Extended attributes'
attributes\t'Named attributes of contents; every file is read'
file-groups\t'Groups of files that belong together'
group-members\t'Files with their groups'
relations\t'Relations of files; every file is read'
issues\t'Paths that could not be read'"
complete -c trawl -n "__fish_trawl_using_subcommand export" -l part-rows -d 'Write at most N rows to each part' -r
complete -c trawl -n "__fish_trawl_using_subcommand export" -l threads -d 'Use N threads [default: one per processor]' -r
complete -c trawl -n "__fish_trawl_using_subcommand export" -l color -l colour -d 'Choose when to use colours' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c trawl -n "__fish_trawl_using_subcommand export" -l at -d 'Answer from the newest snapshot that began by TIME' -r
complete -c trawl -n "__fish_trawl_using_subcommand export" -l fresh -d 'Wait up to TIME until the index includes all earlier changes' -r
complete -c trawl -n "__fish_trawl_using_subcommand export" -l max-age -d 'Accept answers up to AGE old, such as 30s, 5m or 1d' -r
complete -c trawl -n "__fish_trawl_using_subcommand export" -l force -d 'Replace the files of an earlier export in the directory'
complete -c trawl -n "__fish_trawl_using_subcommand export" -l status -d 'Report how fresh the answer is and what could not be read'
complete -c trawl -n "__fish_trawl_using_subcommand export" -l spreadsheet -d 'Protect --csv texts that spreadsheets take for formulas'
complete -c trawl -n "__fish_trawl_using_subcommand export" -l no-wait -d 'Ask the index as it is, without waiting for a daemon'
complete -c trawl -n "__fish_trawl_using_subcommand export" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c trawl -n "__fish_trawl_using_subcommand top" -s i -l index -d 'Use the index in DIR, as before the command' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand top" -l profile -d 'Record how long each operation of trawl takes, and write FILE' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand top" -l oldest -d 'Show the files with the earliest times' -r -f -a "mtime\t'Last change of the content'
atime\t'Last access'
ctime\t'Last change of the inode'
btime\t'Creation, where it is known'"
complete -c trawl -n "__fish_trawl_using_subcommand top" -l newest -d 'Show the files with the latest times' -r -f -a "mtime\t'Last change of the content'
atime\t'Last access'
ctime\t'Last change of the inode'
btime\t'Creation, where it is known'"
complete -c trawl -n "__fish_trawl_using_subcommand top" -l by -d 'Rank by this quantity' -r -f -a "space\t'Space used'
entries\t'Number of entries'"
complete -c trawl -n "__fish_trawl_using_subcommand top" -s n -l limit -d 'Show N lines' -r
complete -c trawl -n "__fish_trawl_using_subcommand top" -l color -l colour -d 'Choose when to use colours' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c trawl -n "__fish_trawl_using_subcommand top" -l at -d 'Answer from the newest snapshot that began by TIME' -r
complete -c trawl -n "__fish_trawl_using_subcommand top" -l fresh -d 'Wait up to TIME until the index includes all earlier changes' -r
complete -c trawl -n "__fish_trawl_using_subcommand top" -l max-age -d 'Accept answers up to AGE old, such as 30s, 5m or 1d' -r
complete -c trawl -n "__fish_trawl_using_subcommand top" -l files -d 'Rank files [default]'
complete -c trawl -n "__fish_trawl_using_subcommand top" -l dirs -d 'Rank directories, including everything below them'
complete -c trawl -n "__fish_trawl_using_subcommand top" -l fullest -d 'Rank directories by the number of their own entries'
complete -c trawl -n "__fish_trawl_using_subcommand top" -l owners -d 'Rank owners'
complete -c trawl -n "__fish_trawl_using_subcommand top" -l groups -d 'Rank owning groups'
complete -c trawl -n "__fish_trawl_using_subcommand top" -l extensions -d 'Rank extensions of files'
complete -c trawl -n "__fish_trawl_using_subcommand top" -l projects -d 'Rank projects'
complete -c trawl -n "__fish_trawl_using_subcommand top" -l apparent-size -d 'Use apparent sizes, as in ls, instead of allocated space'
complete -c trawl -n "__fish_trawl_using_subcommand top" -s b -l bytes -d 'Print sizes in bytes, without units'
complete -c trawl -n "__fish_trawl_using_subcommand top" -l json -d 'Print one JSON object per line'
complete -c trawl -n "__fish_trawl_using_subcommand top" -l csv -d 'Print comma-separated values with a header'
complete -c trawl -n "__fish_trawl_using_subcommand top" -l arrow -d 'Write an Arrow IPC stream'
complete -c trawl -n "__fish_trawl_using_subcommand top" -s 0 -l null -d 'Print only paths or names, each terminated by a NUL byte'
complete -c trawl -n "__fish_trawl_using_subcommand top" -l status -d 'Report how fresh the answer is and what could not be read'
complete -c trawl -n "__fish_trawl_using_subcommand top" -l spreadsheet -d 'Protect --csv texts that spreadsheets take for formulas'
complete -c trawl -n "__fish_trawl_using_subcommand top" -l no-wait -d 'Ask the index as it is, without waiting for a daemon'
complete -c trawl -n "__fish_trawl_using_subcommand top" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c trawl -n "__fish_trawl_using_subcommand quota" -s i -l index -d 'Use the index in DIR, as before the command' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand quota" -l profile -d 'Record how long each operation of trawl takes, and write FILE' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand quota" -l color -l colour -d 'Choose when to use colours' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c trawl -n "__fish_trawl_using_subcommand quota" -l at -d 'Answer from the newest snapshot that began by TIME' -r
complete -c trawl -n "__fish_trawl_using_subcommand quota" -l fresh -d 'Wait up to TIME until the index includes all earlier changes' -r
complete -c trawl -n "__fish_trawl_using_subcommand quota" -l max-age -d 'Accept answers up to AGE old, such as 30s, 5m or 1d' -r
complete -c trawl -n "__fish_trawl_using_subcommand quota" -s b -l bytes -d 'Print sizes in bytes, without units'
complete -c trawl -n "__fish_trawl_using_subcommand quota" -l json -d 'Print one JSON object per line'
complete -c trawl -n "__fish_trawl_using_subcommand quota" -l csv -d 'Print comma-separated values with a header'
complete -c trawl -n "__fish_trawl_using_subcommand quota" -l arrow -d 'Write an Arrow IPC stream'
complete -c trawl -n "__fish_trawl_using_subcommand quota" -l status -d 'Report how fresh the answer is and what could not be read'
complete -c trawl -n "__fish_trawl_using_subcommand quota" -l spreadsheet -d 'Protect --csv texts that spreadsheets take for formulas'
complete -c trawl -n "__fish_trawl_using_subcommand quota" -l no-wait -d 'Ask the index as it is, without waiting for a daemon'
complete -c trawl -n "__fish_trawl_using_subcommand quota" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c trawl -n "__fish_trawl_using_subcommand duplicates" -s i -l index -d 'Use the index in DIR, as before the command' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand duplicates" -l profile -d 'Record how long each operation of trawl takes, and write FILE' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand duplicates" -l min-size -d 'Leave out files smaller than SIZE; units as in 10K, 1M, 2G' -r
complete -c trawl -n "__fish_trawl_using_subcommand duplicates" -s n -l limit -d 'Stop after N groups' -r
complete -c trawl -n "__fish_trawl_using_subcommand duplicates" -l color -l colour -d 'Choose when to use colours' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c trawl -n "__fish_trawl_using_subcommand duplicates" -l at -d 'Answer from the newest snapshot that began by TIME' -r
complete -c trawl -n "__fish_trawl_using_subcommand duplicates" -l fresh -d 'Wait up to TIME until the index includes all earlier changes' -r
complete -c trawl -n "__fish_trawl_using_subcommand duplicates" -l max-age -d 'Accept answers up to AGE old, such as 30s, 5m or 1d' -r
complete -c trawl -n "__fish_trawl_using_subcommand duplicates" -l name -d 'Require the same name, too'
complete -c trawl -n "__fish_trawl_using_subcommand duplicates" -l verify -d 'Read the files, and show only those with the same content now'
complete -c trawl -n "__fish_trawl_using_subcommand duplicates" -l json -d 'Print one JSON object per group'
complete -c trawl -n "__fish_trawl_using_subcommand duplicates" -l csv -d 'Print comma-separated values with a header, one file per line'
complete -c trawl -n "__fish_trawl_using_subcommand duplicates" -l arrow -d 'Write an Arrow IPC stream'
complete -c trawl -n "__fish_trawl_using_subcommand duplicates" -s 0 -l null -d 'Print only paths, each terminated by a NUL byte'
complete -c trawl -n "__fish_trawl_using_subcommand duplicates" -l status -d 'Report how fresh the answer is and what could not be read'
complete -c trawl -n "__fish_trawl_using_subcommand duplicates" -l spreadsheet -d 'Protect --csv texts that spreadsheets take for formulas'
complete -c trawl -n "__fish_trawl_using_subcommand duplicates" -l no-wait -d 'Ask the index as it is, without waiting for a daemon'
complete -c trawl -n "__fish_trawl_using_subcommand duplicates" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c trawl -n "__fish_trawl_using_subcommand diff" -s i -l index -d 'Use the index in DIR, as before the command' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand diff" -l profile -d 'Record how long each operation of trawl takes, and write FILE' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand diff" -l only -d 'Show only differences of these kinds' -r -f -a "created\t'New entries'
deleted\t'Entries that are gone'
changed\t'Entries with other attributes'
moved\t'Entries with another path'"
complete -c trawl -n "__fish_trawl_using_subcommand diff" -l ignore -d 'Ignore these attributes [default: atime,device; none compares all]' -r
complete -c trawl -n "__fish_trawl_using_subcommand diff" -l summary -d 'Count differences by directory, owner or extension instead' -r -f -a "dir\t'The directory of the entry, cut at --depth levels'
owner\t'The owner'
ext\t'The part of a regular file\'s name after the last dot'"
complete -c trawl -n "__fish_trawl_using_subcommand diff" -l depth -d 'Count --summary=dir by directories N levels deep' -r
complete -c trawl -n "__fish_trawl_using_subcommand diff" -l color -l colour -d 'Choose when to use colours' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c trawl -n "__fish_trawl_using_subcommand diff" -l at -d 'Answer from the newest snapshot that began by TIME' -r
complete -c trawl -n "__fish_trawl_using_subcommand diff" -l fresh -d 'Wait up to TIME until the index includes all earlier changes' -r
complete -c trawl -n "__fish_trawl_using_subcommand diff" -l max-age -d 'Accept answers up to AGE old, such as 30s, 5m or 1d' -r
complete -c trawl -n "__fish_trawl_using_subcommand diff" -l no-moves -d 'Show moved entries as deleted in one place and created in another'
complete -c trawl -n "__fish_trawl_using_subcommand diff" -l collapse-moves -d 'Leave out entries that moved only with their directory'
complete -c trawl -n "__fish_trawl_using_subcommand diff" -l name-only -d 'Print only paths; for moved entries the new path'
complete -c trawl -n "__fish_trawl_using_subcommand diff" -s 0 -l null -d 'Print only paths, each terminated by a NUL byte'
complete -c trawl -n "__fish_trawl_using_subcommand diff" -l json -d 'Print one JSON object per line'
complete -c trawl -n "__fish_trawl_using_subcommand diff" -l csv -d 'Print comma-separated values with a header'
complete -c trawl -n "__fish_trawl_using_subcommand diff" -l arrow -d 'Write an Arrow IPC stream'
complete -c trawl -n "__fish_trawl_using_subcommand diff" -l exit-code -d 'Exit with 1 if anything differs'
complete -c trawl -n "__fish_trawl_using_subcommand diff" -l status -d 'Report how fresh the answer is and what could not be read'
complete -c trawl -n "__fish_trawl_using_subcommand diff" -l spreadsheet -d 'Protect --csv texts that spreadsheets take for formulas'
complete -c trawl -n "__fish_trawl_using_subcommand diff" -l no-wait -d 'Ask the index as it is, without waiting for a daemon'
complete -c trawl -n "__fish_trawl_using_subcommand diff" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c trawl -n "__fish_trawl_using_subcommand history" -s i -l index -d 'Use the index in DIR, as before the command' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand history" -l profile -d 'Record how long each operation of trawl takes, and write FILE' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand history" -l color -l colour -d 'Choose when to use colours' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c trawl -n "__fish_trawl_using_subcommand history" -l at -d 'Answer from the newest snapshot that began by TIME' -r
complete -c trawl -n "__fish_trawl_using_subcommand history" -l fresh -d 'Wait up to TIME until the index includes all earlier changes' -r
complete -c trawl -n "__fish_trawl_using_subcommand history" -l max-age -d 'Accept answers up to AGE old, such as 30s, 5m or 1d' -r
complete -c trawl -n "__fish_trawl_using_subcommand history" -l all -d 'Print a line for every snapshot, even if nothing changed'
complete -c trawl -n "__fish_trawl_using_subcommand history" -l json -d 'Print one JSON object per line'
complete -c trawl -n "__fish_trawl_using_subcommand history" -l csv -d 'Print comma-separated values with a header'
complete -c trawl -n "__fish_trawl_using_subcommand history" -l arrow -d 'Write an Arrow IPC stream'
complete -c trawl -n "__fish_trawl_using_subcommand history" -l status -d 'Report how fresh the answer is and what could not be read'
complete -c trawl -n "__fish_trawl_using_subcommand history" -l spreadsheet -d 'Protect --csv texts that spreadsheets take for formulas'
complete -c trawl -n "__fish_trawl_using_subcommand history" -l no-wait -d 'Ask the index as it is, without waiting for a daemon'
complete -c trawl -n "__fish_trawl_using_subcommand history" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c trawl -n "__fish_trawl_using_subcommand growth" -s i -l index -d 'Use the index in DIR, as before the command' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand growth" -l profile -d 'Record how long each operation of trawl takes, and write FILE' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand growth" -l by -d 'Measure separately by this kind of key' -r -f -a "total\t'Everything together'
dir\t'Each directory directly below, and the entries beside them'
owner\t'Each owner'
ext\t'The part of regular files\' names after the last dot'"
complete -c trawl -n "__fish_trawl_using_subcommand growth" -l color -l colour -d 'Choose when to use colours' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c trawl -n "__fish_trawl_using_subcommand growth" -l at -d 'Answer from the newest snapshot that began by TIME' -r
complete -c trawl -n "__fish_trawl_using_subcommand growth" -l fresh -d 'Wait up to TIME until the index includes all earlier changes' -r
complete -c trawl -n "__fish_trawl_using_subcommand growth" -l max-age -d 'Accept answers up to AGE old, such as 30s, 5m or 1d' -r
complete -c trawl -n "__fish_trawl_using_subcommand growth" -l json -d 'Print one JSON object per line, for each key in each snapshot'
complete -c trawl -n "__fish_trawl_using_subcommand growth" -l csv -d 'Print comma-separated values with a header'
complete -c trawl -n "__fish_trawl_using_subcommand growth" -l arrow -d 'Write an Arrow IPC stream'
complete -c trawl -n "__fish_trawl_using_subcommand growth" -l status -d 'Report how fresh the answer is and what could not be read'
complete -c trawl -n "__fish_trawl_using_subcommand growth" -l spreadsheet -d 'Protect --csv texts that spreadsheets take for formulas'
complete -c trawl -n "__fish_trawl_using_subcommand growth" -l no-wait -d 'Ask the index as it is, without waiting for a daemon'
complete -c trawl -n "__fish_trawl_using_subcommand growth" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c trawl -n "__fish_trawl_using_subcommand groups; and not __fish_seen_subcommand_from list show explain edit rules" -l profile -d 'Record how long each operation of trawl takes, and write FILE' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand groups; and not __fish_seen_subcommand_from list show explain edit rules" -s h -l help -d 'Print help'
complete -c trawl -n "__fish_trawl_using_subcommand groups; and not __fish_seen_subcommand_from list show explain edit rules" -f -a "list" -d 'List groups, with the number and size of their files'
complete -c trawl -n "__fish_trawl_using_subcommand groups; and not __fish_seen_subcommand_from list show explain edit rules" -f -a "show" -d 'Show the files of a group'
complete -c trawl -n "__fish_trawl_using_subcommand groups; and not __fish_seen_subcommand_from list show explain edit rules" -f -a "explain" -d 'Show the groups of files, and why they belong to them'
complete -c trawl -n "__fish_trawl_using_subcommand groups; and not __fish_seen_subcommand_from list show explain edit rules" -f -a "edit" -d 'Move files to a group, or leave them to the rules again'
complete -c trawl -n "__fish_trawl_using_subcommand groups; and not __fish_seen_subcommand_from list show explain edit rules" -f -a "rules" -d 'Print the rules in effect'
complete -c trawl -n "__fish_trawl_using_subcommand groups; and __fish_seen_subcommand_from list" -l sort -d 'Sort by this quantity' -r -f -a "size\t'The largest sum of sizes first'
files\t'Most files first'
name\t'By name'"
complete -c trawl -n "__fish_trawl_using_subcommand groups; and __fish_seen_subcommand_from list" -l rule -d 'List groups of this rule only' -r
complete -c trawl -n "__fish_trawl_using_subcommand groups; and __fish_seen_subcommand_from list" -l word -d 'List groups that may have a file with WORD in its path; may be repeated' -r
complete -c trawl -n "__fish_trawl_using_subcommand groups; and __fish_seen_subcommand_from list" -l min-size -d 'List groups that have a file of at least SIZE; units as in 10K, 1M, 2G' -r
complete -c trawl -n "__fish_trawl_using_subcommand groups; and __fish_seen_subcommand_from list" -l newer -d 'List groups that have a file changed within AGE, such as 30s, 5m or 1d' -r
complete -c trawl -n "__fish_trawl_using_subcommand groups; and __fish_seen_subcommand_from list" -s i -l index -d 'Use the index in DIR' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand groups; and __fish_seen_subcommand_from list" -l rules -d 'Use the rules in FILE' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand groups; and __fish_seen_subcommand_from list" -l color -l colour -d 'Choose when to use colours' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c trawl -n "__fish_trawl_using_subcommand groups; and __fish_seen_subcommand_from list" -l at -d 'Answer from the newest snapshot that began by TIME' -r
complete -c trawl -n "__fish_trawl_using_subcommand groups; and __fish_seen_subcommand_from list" -l fresh -d 'Wait up to TIME until the index includes all earlier changes' -r
complete -c trawl -n "__fish_trawl_using_subcommand groups; and __fish_seen_subcommand_from list" -l max-age -d 'Accept answers up to AGE old, such as 30s, 5m or 1d' -r
complete -c trawl -n "__fish_trawl_using_subcommand groups; and __fish_seen_subcommand_from list" -l status -d 'Report how fresh the answer is and what could not be read'
complete -c trawl -n "__fish_trawl_using_subcommand groups; and __fish_seen_subcommand_from list" -l spreadsheet -d 'Protect --csv texts that spreadsheets take for formulas'
complete -c trawl -n "__fish_trawl_using_subcommand groups; and __fish_seen_subcommand_from list" -l no-wait -d 'Ask the index as it is, without waiting for a daemon'
complete -c trawl -n "__fish_trawl_using_subcommand groups; and __fish_seen_subcommand_from list" -l json -d 'Print one JSON object per line'
complete -c trawl -n "__fish_trawl_using_subcommand groups; and __fish_seen_subcommand_from list" -l csv -d 'Print comma-separated values with a header'
complete -c trawl -n "__fish_trawl_using_subcommand groups; and __fish_seen_subcommand_from list" -l arrow -d 'Write an Arrow IPC stream'
complete -c trawl -n "__fish_trawl_using_subcommand groups; and __fish_seen_subcommand_from list" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c trawl -n "__fish_trawl_using_subcommand groups; and __fish_seen_subcommand_from show" -s i -l index -d 'Use the index in DIR' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand groups; and __fish_seen_subcommand_from show" -l rules -d 'Use the rules in FILE' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand groups; and __fish_seen_subcommand_from show" -l color -l colour -d 'Choose when to use colours' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c trawl -n "__fish_trawl_using_subcommand groups; and __fish_seen_subcommand_from show" -l at -d 'Answer from the newest snapshot that began by TIME' -r
complete -c trawl -n "__fish_trawl_using_subcommand groups; and __fish_seen_subcommand_from show" -l fresh -d 'Wait up to TIME until the index includes all earlier changes' -r
complete -c trawl -n "__fish_trawl_using_subcommand groups; and __fish_seen_subcommand_from show" -l max-age -d 'Accept answers up to AGE old, such as 30s, 5m or 1d' -r
complete -c trawl -n "__fish_trawl_using_subcommand groups; and __fish_seen_subcommand_from show" -l status -d 'Report how fresh the answer is and what could not be read'
complete -c trawl -n "__fish_trawl_using_subcommand groups; and __fish_seen_subcommand_from show" -l spreadsheet -d 'Protect --csv texts that spreadsheets take for formulas'
complete -c trawl -n "__fish_trawl_using_subcommand groups; and __fish_seen_subcommand_from show" -l no-wait -d 'Ask the index as it is, without waiting for a daemon'
complete -c trawl -n "__fish_trawl_using_subcommand groups; and __fish_seen_subcommand_from show" -l json -d 'Print one JSON object per line'
complete -c trawl -n "__fish_trawl_using_subcommand groups; and __fish_seen_subcommand_from show" -l csv -d 'Print comma-separated values with a header'
complete -c trawl -n "__fish_trawl_using_subcommand groups; and __fish_seen_subcommand_from show" -l arrow -d 'Write an Arrow IPC stream'
complete -c trawl -n "__fish_trawl_using_subcommand groups; and __fish_seen_subcommand_from show" -s 0 -l null -d 'Print only paths, each terminated by a NUL byte'
complete -c trawl -n "__fish_trawl_using_subcommand groups; and __fish_seen_subcommand_from show" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c trawl -n "__fish_trawl_using_subcommand groups; and __fish_seen_subcommand_from explain" -s i -l index -d 'Use the index in DIR' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand groups; and __fish_seen_subcommand_from explain" -l rules -d 'Use the rules in FILE' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand groups; and __fish_seen_subcommand_from explain" -l color -l colour -d 'Choose when to use colours' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c trawl -n "__fish_trawl_using_subcommand groups; and __fish_seen_subcommand_from explain" -l at -d 'Answer from the newest snapshot that began by TIME' -r
complete -c trawl -n "__fish_trawl_using_subcommand groups; and __fish_seen_subcommand_from explain" -l fresh -d 'Wait up to TIME until the index includes all earlier changes' -r
complete -c trawl -n "__fish_trawl_using_subcommand groups; and __fish_seen_subcommand_from explain" -l max-age -d 'Accept answers up to AGE old, such as 30s, 5m or 1d' -r
complete -c trawl -n "__fish_trawl_using_subcommand groups; and __fish_seen_subcommand_from explain" -l status -d 'Report how fresh the answer is and what could not be read'
complete -c trawl -n "__fish_trawl_using_subcommand groups; and __fish_seen_subcommand_from explain" -l spreadsheet -d 'Protect --csv texts that spreadsheets take for formulas'
complete -c trawl -n "__fish_trawl_using_subcommand groups; and __fish_seen_subcommand_from explain" -l no-wait -d 'Ask the index as it is, without waiting for a daemon'
complete -c trawl -n "__fish_trawl_using_subcommand groups; and __fish_seen_subcommand_from explain" -l json -d 'Print one JSON object per line'
complete -c trawl -n "__fish_trawl_using_subcommand groups; and __fish_seen_subcommand_from explain" -l csv -d 'Print comma-separated values with a header'
complete -c trawl -n "__fish_trawl_using_subcommand groups; and __fish_seen_subcommand_from explain" -l arrow -d 'Write an Arrow IPC stream'
complete -c trawl -n "__fish_trawl_using_subcommand groups; and __fish_seen_subcommand_from explain" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c trawl -n "__fish_trawl_using_subcommand groups; and __fish_seen_subcommand_from edit" -l to -d 'Move the files to the group NAME of your own' -r
complete -c trawl -n "__fish_trawl_using_subcommand groups; and __fish_seen_subcommand_from edit" -l undo -d 'Leave the files to the rules again'
complete -c trawl -n "__fish_trawl_using_subcommand groups; and __fish_seen_subcommand_from edit" -s h -l help -d 'Print help'
complete -c trawl -n "__fish_trawl_using_subcommand groups; and __fish_seen_subcommand_from rules" -l rules -d 'Use the rules in FILE' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand groups; and __fish_seen_subcommand_from rules" -s h -l help -d 'Print help'
complete -c trawl -n "__fish_trawl_using_subcommand hooks; and not __fish_seen_subcommand_from list run" -l profile -d 'Record how long each operation of trawl takes, and write FILE' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand hooks; and not __fish_seen_subcommand_from list run" -s h -l help -d 'Print help'
complete -c trawl -n "__fish_trawl_using_subcommand hooks; and not __fish_seen_subcommand_from list run" -f -a "list" -d 'List the hooks and the files that they accept'
complete -c trawl -n "__fish_trawl_using_subcommand hooks; and not __fish_seen_subcommand_from list run" -f -a "run" -d 'Show what the hooks find in files'
complete -c trawl -n "__fish_trawl_using_subcommand hooks; and __fish_seen_subcommand_from list" -l hooks -d 'Use the hooks in DIR, too; may be repeated' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand hooks; and __fish_seen_subcommand_from list" -l json -d 'Print one JSON object per line'
complete -c trawl -n "__fish_trawl_using_subcommand hooks; and __fish_seen_subcommand_from list" -s h -l help -d 'Print help'
complete -c trawl -n "__fish_trawl_using_subcommand hooks; and __fish_seen_subcommand_from run" -l hooks -d 'Use the hooks in DIR, too; may be repeated' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand hooks; and __fish_seen_subcommand_from run" -l json -d 'Print one JSON object per line'
complete -c trawl -n "__fish_trawl_using_subcommand hooks; and __fish_seen_subcommand_from run" -s h -l help -d 'Print help'
complete -c trawl -n "__fish_trawl_using_subcommand related" -l profile -d 'Record how long each operation of trawl takes, and write FILE' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand related" -l kind -d 'Show relations of this kind; may be repeated [default: all]' -r
complete -c trawl -n "__fish_trawl_using_subcommand related" -l depth -d 'Follow relations of related files, too, up to N from FILE' -r
complete -c trawl -n "__fish_trawl_using_subcommand related" -l direction -d 'Show only relations that files have, or only those that others have to them' -r -f -a "forward\t''
backward\t''
both\t''"
complete -c trawl -n "__fish_trawl_using_subcommand related" -l in -d 'Look for copies and references below DIR; may be repeated [default: FILE\'s directory]' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand related" -l hooks -d 'Use the hooks in DIR, too; may be repeated' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand related" -l json -d 'Print one JSON object per line'
complete -c trawl -n "__fish_trawl_using_subcommand related" -l csv -d 'Print comma-separated values with a header'
complete -c trawl -n "__fish_trawl_using_subcommand related" -l arrow -d 'Write an Arrow IPC stream'
complete -c trawl -n "__fish_trawl_using_subcommand related" -s h -l help -d 'Print help'
complete -c trawl -n "__fish_trawl_using_subcommand attr; and not __fish_seen_subcommand_from set get list remove" -l profile -d 'Record how long each operation of trawl takes, and write FILE' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand attr; and not __fish_seen_subcommand_from set get list remove" -s h -l help -d 'Print help'
complete -c trawl -n "__fish_trawl_using_subcommand attr; and not __fish_seen_subcommand_from set get list remove" -f -a "set" -d 'Set attributes of a file'
complete -c trawl -n "__fish_trawl_using_subcommand attr; and not __fish_seen_subcommand_from set get list remove" -f -a "get" -d 'Print the value of an attribute'
complete -c trawl -n "__fish_trawl_using_subcommand attr; and not __fish_seen_subcommand_from set get list remove" -f -a "list" -d 'Print all attributes of files'
complete -c trawl -n "__fish_trawl_using_subcommand attr; and not __fish_seen_subcommand_from set get list remove" -f -a "remove" -d 'Remove attributes of a file'
complete -c trawl -n "__fish_trawl_using_subcommand attr; and __fish_seen_subcommand_from set" -s t -l type -d 'Take values as of this type [default: what they look like]' -r -f -a "text\t'Any text'
integer\t'A whole number'
real\t'A number such as 0.01'
time\t'A time such as 2026-01-02T03:04:05Z'"
complete -c trawl -n "__fish_trawl_using_subcommand attr; and __fish_seen_subcommand_from set" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c trawl -n "__fish_trawl_using_subcommand attr; and __fish_seen_subcommand_from get" -s h -l help -d 'Print help'
complete -c trawl -n "__fish_trawl_using_subcommand attr; and __fish_seen_subcommand_from list" -l json -d 'Print one JSON object per line'
complete -c trawl -n "__fish_trawl_using_subcommand attr; and __fish_seen_subcommand_from list" -s h -l help -d 'Print help'
complete -c trawl -n "__fish_trawl_using_subcommand attr; and __fish_seen_subcommand_from remove" -s h -l help -d 'Print help'
complete -c trawl -n "__fish_trawl_using_subcommand profile; and not __fish_seen_subcommand_from record mount report diff correlate mix watch export layers" -l profile -d 'Record how long each operation of trawl takes, and write FILE' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand profile; and not __fish_seen_subcommand_from record mount report diff correlate mix watch export layers" -s o -l output -d 'Keep the recording in FILE [default: none is kept]' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand profile; and not __fish_seen_subcommand_from record mount report diff correlate mix watch export layers" -l layer -d 'Record this layer [default: user; system-calls where that one does not work]' -r
complete -c trawl -n "__fish_trawl_using_subcommand profile; and not __fish_seen_subcommand_from record mount report diff correlate mix watch export layers" -l by -d 'Tell calls apart by WHAT: program, thread or, at the layer user, call-site' -r
complete -c trawl -n "__fish_trawl_using_subcommand profile; and not __fish_seen_subcommand_from record mount report diff correlate mix watch export layers" -s h -l help -d 'Print help'
complete -c trawl -n "__fish_trawl_using_subcommand profile; and not __fish_seen_subcommand_from record mount report diff correlate mix watch export layers" -a "record" -d 'Record a command, a process, a control group or the whole machine'
complete -c trawl -n "__fish_trawl_using_subcommand profile; and not __fish_seen_subcommand_from record mount report diff correlate mix watch export layers" -a "mount" -d 'Mount a directory at another place, and record what its users do there'
complete -c trawl -n "__fish_trawl_using_subcommand profile; and not __fish_seen_subcommand_from record mount report diff correlate mix watch export layers" -a "report" -d 'Show the operations of a recording, the greatest total latency first'
complete -c trawl -n "__fish_trawl_using_subcommand profile; and not __fish_seen_subcommand_from record mount report diff correlate mix watch export layers" -a "diff" -d 'Compare two recordings, and show the operations that differ'
complete -c trawl -n "__fish_trawl_using_subcommand profile; and not __fish_seen_subcommand_from record mount report diff correlate mix watch export layers" -a "correlate" -d 'Show which values of calls go with which latency peak'
complete -c trawl -n "__fish_trawl_using_subcommand profile; and not __fish_seen_subcommand_from record mount report diff correlate mix watch export layers" -a "mix" -d 'Show of which operations a recording consists, by phase'
complete -c trawl -n "__fish_trawl_using_subcommand profile; and not __fish_seen_subcommand_from record mount report diff correlate mix watch export layers" -a "watch" -d 'Show the operations of the last second, again and again'
complete -c trawl -n "__fish_trawl_using_subcommand profile; and not __fish_seen_subcommand_from record mount report diff correlate mix watch export layers" -a "export" -d 'Write a recording in the format of another program'
complete -c trawl -n "__fish_trawl_using_subcommand profile; and not __fish_seen_subcommand_from record mount report diff correlate mix watch export layers" -a "layers" -d 'List the layers, and what each can see on this machine'
complete -c trawl -n "__fish_trawl_using_subcommand profile; and __fish_seen_subcommand_from record" -s o -l output -d 'Write the recording to FILE' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand profile; and __fish_seen_subcommand_from record" -l pid -d 'Record this process and everything that it starts from now on' -r
complete -c trawl -n "__fish_trawl_using_subcommand profile; and __fish_seen_subcommand_from record" -l cgroup -d 'Record the processes of the control group DIR' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand profile; and __fish_seen_subcommand_from record" -s r -l resolution -d 'Use N buckets for each doubling of the latency, 1 to 8' -r
complete -c trawl -n "__fish_trawl_using_subcommand profile; and __fish_seen_subcommand_from record" -l layer -d 'Record only this layer; may be repeated [default: system-calls]' -r
complete -c trawl -n "__fish_trawl_using_subcommand profile; and __fish_seen_subcommand_from record" -l duration -d 'Stop after TIME [default: when the command or process ends, or at an interrupt]' -r
complete -c trawl -n "__fish_trawl_using_subcommand profile; and __fish_seen_subcommand_from record" -l slices -d 'Keep a timeline with a slice for each TIME' -r
complete -c trawl -n "__fish_trawl_using_subcommand profile; and __fish_seen_subcommand_from record" -l by -d 'Tell calls apart by WHAT: program, thread or, at the layer user, call-site' -r
complete -c trawl -n "__fish_trawl_using_subcommand profile; and __fish_seen_subcommand_from record" -l correlate -d 'Record a value of system calls, too: result, size or offset; may be repeated' -r
complete -c trawl -n "__fish_trawl_using_subcommand profile; and __fish_seen_subcommand_from record" -l mount -d 'Record the file system at DIR: all of it, or what COMMAND does there' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand profile; and __fish_seen_subcommand_from record" -l cache -d 'Let the kernel use names and attributes for TIME without asking again [default: 0s]' -r
complete -c trawl -n "__fish_trawl_using_subcommand profile; and __fish_seen_subcommand_from record" -l all -d 'Record the whole machine'
complete -c trawl -n "__fish_trawl_using_subcommand profile; and __fish_seen_subcommand_from record" -l passthrough -d 'Let the kernel pass on data itself, and record no reads and writes'
complete -c trawl -n "__fish_trawl_using_subcommand profile; and __fish_seen_subcommand_from record" -s q -l quiet -d 'Print no summary'
complete -c trawl -n "__fish_trawl_using_subcommand profile; and __fish_seen_subcommand_from record" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c trawl -n "__fish_trawl_using_subcommand profile; and __fish_seen_subcommand_from mount" -s o -l output -d 'Write the recording to FILE' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand profile; and __fish_seen_subcommand_from mount" -l duration -d 'Stop after TIME [default: when it is unmounted, or at an interrupt]' -r
complete -c trawl -n "__fish_trawl_using_subcommand profile; and __fish_seen_subcommand_from mount" -l slices -d 'Keep a timeline with a slice for each TIME' -r
complete -c trawl -n "__fish_trawl_using_subcommand profile; and __fish_seen_subcommand_from mount" -s r -l resolution -d 'Use N buckets for each doubling of the latency, 1 to 8' -r
complete -c trawl -n "__fish_trawl_using_subcommand profile; and __fish_seen_subcommand_from mount" -l cache -d 'Let the kernel use names and attributes for TIME without asking again [default: 0s]' -r
complete -c trawl -n "__fish_trawl_using_subcommand profile; and __fish_seen_subcommand_from mount" -l all-users -d 'Let all users use the mount, each with their own permissions (root only)'
complete -c trawl -n "__fish_trawl_using_subcommand profile; and __fish_seen_subcommand_from mount" -l passthrough -d 'Let the kernel pass on data itself, and record no reads and writes'
complete -c trawl -n "__fish_trawl_using_subcommand profile; and __fish_seen_subcommand_from mount" -s q -l quiet -d 'Print no summary'
complete -c trawl -n "__fish_trawl_using_subcommand profile; and __fish_seen_subcommand_from mount" -s h -l help -d 'Print help'
complete -c trawl -n "__fish_trawl_using_subcommand profile; and __fish_seen_subcommand_from report" -l layer -d 'Show this layer, or this part of a layer, and no others' -r
complete -c trawl -n "__fish_trawl_using_subcommand profile; and __fish_seen_subcommand_from report" -l operation -d 'Show these operations in full, and no others' -r
complete -c trawl -n "__fish_trawl_using_subcommand profile; and __fish_seen_subcommand_from report" -l least -d 'Leave out operations with less than this share of the total latency, in percent' -r
complete -c trawl -n "__fish_trawl_using_subcommand profile; and __fish_seen_subcommand_from report" -l json -d 'Print one JSON object per line'
complete -c trawl -n "__fish_trawl_using_subcommand profile; and __fish_seen_subcommand_from report" -s h -l help -d 'Print help'
complete -c trawl -n "__fish_trawl_using_subcommand profile; and __fish_seen_subcommand_from diff" -l method -d 'Rate differences by this method' -r
complete -c trawl -n "__fish_trawl_using_subcommand profile; and __fish_seen_subcommand_from diff" -l threshold -d 'Show operations that differ by more than this [default: the method\'s own threshold]' -r
complete -c trawl -n "__fish_trawl_using_subcommand profile; and __fish_seen_subcommand_from diff" -l everything -d 'Show all operations'
complete -c trawl -n "__fish_trawl_using_subcommand profile; and __fish_seen_subcommand_from diff" -l json -d 'Print one JSON object per line'
complete -c trawl -n "__fish_trawl_using_subcommand profile; and __fish_seen_subcommand_from diff" -s h -l help -d 'Print help'
complete -c trawl -n "__fish_trawl_using_subcommand profile; and __fish_seen_subcommand_from correlate" -l operation -d 'Show these operations, and no others' -r
complete -c trawl -n "__fish_trawl_using_subcommand profile; and __fish_seen_subcommand_from correlate" -l json -d 'Print one JSON object per line'
complete -c trawl -n "__fish_trawl_using_subcommand profile; and __fish_seen_subcommand_from correlate" -s h -l help -d 'Print help'
complete -c trawl -n "__fish_trawl_using_subcommand profile; and __fish_seen_subcommand_from mix" -l layer -d 'Show this layer [default: the first]' -r
complete -c trawl -n "__fish_trawl_using_subcommand profile; and __fish_seen_subcommand_from mix" -l picture -d 'Draw the mix into FILE: *.svg or *.png' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand profile; and __fish_seen_subcommand_from mix" -l json -d 'Print one JSON object per line'
complete -c trawl -n "__fish_trawl_using_subcommand profile; and __fish_seen_subcommand_from mix" -s h -l help -d 'Print help'
complete -c trawl -n "__fish_trawl_using_subcommand profile; and __fish_seen_subcommand_from watch" -l pid -d 'Record this process and everything that it starts from now on' -r
complete -c trawl -n "__fish_trawl_using_subcommand profile; and __fish_seen_subcommand_from watch" -l cgroup -d 'Record the processes of the control group DIR' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand profile; and __fish_seen_subcommand_from watch" -s r -l resolution -d 'Use N buckets for each doubling of the latency, 1 to 8' -r
complete -c trawl -n "__fish_trawl_using_subcommand profile; and __fish_seen_subcommand_from watch" -l layer -d 'Record only this layer; may be repeated [default: system-calls]' -r
complete -c trawl -n "__fish_trawl_using_subcommand profile; and __fish_seen_subcommand_from watch" -l interval -d 'Show the calls of the last TIME' -r
complete -c trawl -n "__fish_trawl_using_subcommand profile; and __fish_seen_subcommand_from watch" -l count -d 'Stop after N intervals' -r
complete -c trawl -n "__fish_trawl_using_subcommand profile; and __fish_seen_subcommand_from watch" -l all -d 'Record the whole machine'
complete -c trawl -n "__fish_trawl_using_subcommand profile; and __fish_seen_subcommand_from watch" -s h -l help -d 'Print help'
complete -c trawl -n "__fish_trawl_using_subcommand profile; and __fish_seen_subcommand_from export" -l as -d 'Write it in this format' -r -f -a "html\t'A report for browsers in one file, which works offline'
svg\t'A picture'
png\t'A picture made of pixels'
gnuplot\t'Data and scripts for gnuplot, in the directory of --output'
json\t'JSON, with the timeline'
parquet\t'Parquet, with all layers: a row for each slice, operation and bucket'
text\t'The text format of the paper\'s tools'
openmetrics\t'OpenMetrics 1.0, with a bucket for each power of two'
native\t'OpenMetrics 2.0, with native histograms'
prometheus-protobuf\t'Prometheus\' protobuf exposition format, with native histograms, as servers offer it to scrapes'
otlp\t'OTLP exponential histograms, as JSON'"
complete -c trawl -n "__fish_trawl_using_subcommand profile; and __fish_seen_subcommand_from export" -l layer -d 'Write this layer [default: the first]' -r
complete -c trawl -n "__fish_trawl_using_subcommand profile; and __fish_seen_subcommand_from export" -l operation -d 'With svg and png, draw this operation [default: all]' -r
complete -c trawl -n "__fish_trawl_using_subcommand profile; and __fish_seen_subcommand_from export" -l second -d 'With html, svg and png, show this recording beside it' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand profile; and __fish_seen_subcommand_from export" -s o -l output -d 'Write to FILE instead of standard output' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand profile; and __fish_seen_subcommand_from export" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c trawl -n "__fish_trawl_using_subcommand profile; and __fish_seen_subcommand_from layers" -l json -d 'Print one JSON object per line'
complete -c trawl -n "__fish_trawl_using_subcommand profile; and __fish_seen_subcommand_from layers" -s h -l help -d 'Print help'
complete -c trawl -n "__fish_trawl_using_subcommand help" -l profile -d 'Record how long each operation of trawl takes, and write FILE' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand help" -s h -l help -d 'Print help'
complete -c trawl -n "__fish_trawl_using_subcommand completions" -l profile -d 'Record how long each operation of trawl takes, and write FILE' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand completions" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c trawl -n "__fish_trawl_using_subcommand man" -l profile -d 'Record how long each operation of trawl takes, and write FILE' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand man" -s o -l output -d 'Write the pages of all commands into DIR instead' -r -F
complete -c trawl -n "__fish_trawl_using_subcommand man" -s h -l help -d 'Print help'
complete -c trawl -n "__fish_trawl_using_subcommand find" -l profile -d 'Record how long each operation of trawl takes, and write FILE' -r -F
complete -c trawl -n '__fish_seen_subcommand_from find' -o not -d 'is true if EXPR is false'
complete -c trawl -n '__fish_seen_subcommand_from find' -o exclude -d 'leave out entries that match EXPR and everything below them, wherever this stands; always true'
complete -c trawl -n '__fish_seen_subcommand_from find' -o and -d 'is true if both sides are; may be left out'
complete -c trawl -n '__fish_seen_subcommand_from find' -o or -d 'is true if either side is'
complete -c trawl -n '__fish_seen_subcommand_from find' -o depth -d 'process each directory\'s contents before the directory itself'
complete -c trawl -n '__fish_seen_subcommand_from find' -o files0-from -d 'read NUL-terminated starting points from FILE (- for standard input)'
complete -c trawl -n '__fish_seen_subcommand_from find' -o ignore_readdir_race -d 'report no error for files that vanish during the search'
complete -c trawl -n '__fish_seen_subcommand_from find' -o noignore_readdir_race -d 'report an error for files that vanish during the search (the default)'
complete -c trawl -n '__fish_seen_subcommand_from find' -o maxdepth -d 'descend at most N levels below the starting points'
complete -c trawl -n '__fish_seen_subcommand_from find' -o mindepth -d 'apply no tests or actions at levels less than N below the starting points'
complete -c trawl -n '__fish_seen_subcommand_from find' -o noleaf -d 'do nothing (accepted for compatibility)'
complete -c trawl -n '__fish_seen_subcommand_from find' -o xdev -d 'do not descend into directories on other file systems'
complete -c trawl -n '__fish_seen_subcommand_from find' -o mount -d 'do not descend into directories on other file systems'
complete -c trawl -n '__fish_seen_subcommand_from find' -o daystart -d 'measure times in later tests from the beginning of today, not from 24 hours ago'
complete -c trawl -n '__fish_seen_subcommand_from find' -o follow -d 'follow symbolic links, as -L does'
complete -c trawl -n '__fish_seen_subcommand_from find' -o regextype -d 'set the syntax of later regular expressions to TYPE: emacs (the default), egrep, posix-basic, …'
complete -c trawl -n '__fish_seen_subcommand_from find' -o relations -d 'let later -related-to follow only these relations, named by options of trawl related: kind=KIND (may be repeated), direction=forward|backward, depth=N'
complete -c trawl -n '__fish_seen_subcommand_from find' -o warn -d 'turn warnings on for the words that follow'
complete -c trawl -n '__fish_seen_subcommand_from find' -o nowarn -d 'turn warnings off for the words that follow'
complete -c trawl -n '__fish_seen_subcommand_from find' -o acl -d 'has an access control list beyond its mode bits, or a default one'
complete -c trawl -n '__fish_seen_subcommand_from find' -o amin -d 'was last accessed N minutes ago'
complete -c trawl -n '__fish_seen_subcommand_from find' -o anewer -d 'was last accessed after FILE was last modified'
complete -c trawl -n '__fish_seen_subcommand_from find' -o atime -d 'was last accessed N days ago'
complete -c trawl -n '__fish_seen_subcommand_from find' -o attr -d 'is a regular file whose content has the attribute NAME, with = != < <= > or >= VALUE if given'
complete -c trawl -n '__fish_seen_subcommand_from find' -o cmin -d 'had its status last changed N minutes ago'
complete -c trawl -n '__fish_seen_subcommand_from find' -o cnewer -d 'had its status last changed after FILE was last modified'
complete -c trawl -n '__fish_seen_subcommand_from find' -o context -d 'has an SELinux context that matches PATTERN (refused: contexts are not stored)'
complete -c trawl -n '__fish_seen_subcommand_from find' -o ctime -d 'had its status last changed N days ago'
complete -c trawl -n '__fish_seen_subcommand_from find' -o empty -d 'is an empty regular file or an empty directory'
complete -c trawl -n '__fish_seen_subcommand_from find' -o executable -d 'is executable, or searchable if a directory, by the current user; follows symbolic links'
complete -c trawl -n '__fish_seen_subcommand_from find' -o false -d 'is always false'
complete -c trawl -n '__fish_seen_subcommand_from find' -o fstype -d 'is on a file system of type TYPE, as mounted now'
complete -c trawl -n '__fish_seen_subcommand_from find' -o gid -d 'has numeric group ID N'
complete -c trawl -n '__fish_seen_subcommand_from find' -o group -d 'belongs to group NAME (a numeric group ID is allowed)'
complete -c trawl -n '__fish_seen_subcommand_from find' -o group-of -d 'belongs to the same group as FILE: its package, project, album, event or directory'
complete -c trawl -n '__fish_seen_subcommand_from find' -o ilname -d 'matches as -lname does, ignoring case'
complete -c trawl -n '__fish_seen_subcommand_from find' -o in-group -d 'belongs to the group with this id or name, as trawl groups lists it'
complete -c trawl -n '__fish_seen_subcommand_from find' -o iname -d 'matches as -name does, ignoring case'
complete -c trawl -n '__fish_seen_subcommand_from find' -o inum -d 'has inode number N'
complete -c trawl -n '__fish_seen_subcommand_from find' -o ipath -d 'matches as -path does, ignoring case'
complete -c trawl -n '__fish_seen_subcommand_from find' -o iwholename -d 'matches as -path does, ignoring case'
complete -c trawl -n '__fish_seen_subcommand_from find' -o iregex -d 'matches as -regex does, ignoring case'
complete -c trawl -n '__fish_seen_subcommand_from find' -o keyword -d 'is a regular file whose text has the words of QUERY, such as \'ssd (flash OR nvme) NOT tape\''
complete -c trawl -n '__fish_seen_subcommand_from find' -o links -d 'has N hard links'
complete -c trawl -n '__fish_seen_subcommand_from find' -o lname -d 'is a symbolic link whose target matches PATTERN'
complete -c trawl -n '__fish_seen_subcommand_from find' -o mmin -d 'was last modified N minutes ago'
complete -c trawl -n '__fish_seen_subcommand_from find' -o mtime -d 'was last modified N days ago'
complete -c trawl -n '__fish_seen_subcommand_from find' -o name -d 'has a base name that matches PATTERN'
complete -c trawl -n '__fish_seen_subcommand_from find' -o newer -d 'was last modified after FILE was last modified'
complete -c trawl -n '__fish_seen_subcommand_from find' -o newerXY -d 'has time X (a, B, c, m) later than time Y of FILE; if Y is t, FILE is a date'
complete -c trawl -n '__fish_seen_subcommand_from find' -o nogroup -d 'has a numeric group ID that no group has'
complete -c trawl -n '__fish_seen_subcommand_from find' -o nouser -d 'has a numeric user ID that no user has'
complete -c trawl -n '__fish_seen_subcommand_from find' -o path -d 'has a path, as spelled from the starting point, that matches PATTERN'
complete -c trawl -n '__fish_seen_subcommand_from find' -o wholename -d 'has a path, as spelled from the starting point, that matches PATTERN'
complete -c trawl -n '__fish_seen_subcommand_from find' -o perm -d 'has exactly the permission bits MODE, all of them (-MODE) or any of them (/MODE)'
complete -c trawl -n '__fish_seen_subcommand_from find' -o phrase -d 'is a regular file whose text has these words one after the other'
complete -c trawl -n '__fish_seen_subcommand_from find' -o readable -d 'is readable by the current user; follows symbolic links'
complete -c trawl -n '__fish_seen_subcommand_from find' -o regex -d 'has a path that matches the regular expression PATTERN from start to end'
complete -c trawl -n '__fish_seen_subcommand_from find' -o related-to -d 'is related to FILE as `trawl related FILE` shows: built from, opened with, includes, …'
complete -c trawl -n '__fish_seen_subcommand_from find' -o samefile -d 'refers to the same inode as FILE'
complete -c trawl -n '__fish_seen_subcommand_from find' -o size -d 'has a size of N units, rounded up: b (512 bytes, the default), c (bytes), w (2 bytes), k, M, G'
complete -c trawl -n '__fish_seen_subcommand_from find' -o true -d 'is always true'
complete -c trawl -n '__fish_seen_subcommand_from find' -o type -d 'is a regular file, directory, symbolic link, pipe, socket, block or character device'
complete -c trawl -n '__fish_seen_subcommand_from find' -o uid -d 'has numeric user ID N'
complete -c trawl -n '__fish_seen_subcommand_from find' -o unique -d 'skip files already reached under another path; remembers every file'
complete -c trawl -n '__fish_seen_subcommand_from find' -o used -d 'was last accessed N days after its status was last changed'
complete -c trawl -n '__fish_seen_subcommand_from find' -o user -d 'belongs to user NAME (a numeric user ID is allowed)'
complete -c trawl -n '__fish_seen_subcommand_from find' -o writable -d 'is writable by the current user; follows symbolic links'
complete -c trawl -n '__fish_seen_subcommand_from find' -o xattr -d 'has an extended attribute whose name matches NAME and, if given, whose readable value matches VALUE'
complete -c trawl -n '__fish_seen_subcommand_from find' -o xattrname -d 'has an extended attribute with exactly the name NAME'
complete -c trawl -n '__fish_seen_subcommand_from find' -o xtype -d 'has the type after following a symbolic link; with -L, the type of the link itself'
complete -c trawl -n '__fish_seen_subcommand_from find' -o delete -d 'delete the file or empty directory; true if that succeeded; turns on -depth'
complete -c trawl -n '__fish_seen_subcommand_from find' -o exec -d 'run COMMAND with {} replaced by the path; true if it exits with 0; with +, once for many paths, always true'
complete -c trawl -n '__fish_seen_subcommand_from find' -o execdir -d 'run COMMAND as -exec does, but in the entry\'s directory, with {} replaced by ./NAME'
complete -c trawl -n '__fish_seen_subcommand_from find' -o fls -d 'print a line to FILE, as -ls does'
complete -c trawl -n '__fish_seen_subcommand_from find' -o fprint -d 'print the path and a newline to FILE, which is created or truncated at the start'
complete -c trawl -n '__fish_seen_subcommand_from find' -o fprint0 -d 'print the path and a NUL byte to FILE'
complete -c trawl -n '__fish_seen_subcommand_from find' -o fprintf -d 'print FORMAT to FILE, as -printf does'
complete -c trawl -n '__fish_seen_subcommand_from find' -o json -d 'print the entry\'s path and attributes as a JSON object on one line'
complete -c trawl -n '__fish_seen_subcommand_from find' -o limit -d 'end the search when this is evaluated for the Nth time, as in -print -limit 10; without another action, print N paths'
complete -c trawl -n '__fish_seen_subcommand_from find' -o ls -d 'print the entry in `ls -dils` format: inode, blocks, mode, links, owner, group, size, time, path'
complete -c trawl -n '__fish_seen_subcommand_from find' -o ok -d 'run COMMAND as -exec does, but ask first; its standard input is empty'
complete -c trawl -n '__fish_seen_subcommand_from find' -o okdir -d 'run COMMAND as -execdir does, but ask first; its standard input is empty'
complete -c trawl -n '__fish_seen_subcommand_from find' -o print -d 'print the path and a newline (the default); on a terminal, with ? for control characters'
complete -c trawl -n '__fish_seen_subcommand_from find' -o print0 -d 'print the path and a NUL byte, for `xargs -0`'
complete -c trawl -n '__fish_seen_subcommand_from find' -o printf -d 'print FORMAT, interpreting %-directives and \\\\-escapes'
complete -c trawl -n '__fish_seen_subcommand_from find' -o prune -d 'do not descend into the directory (no effect with -depth); always true'
complete -c trawl -n '__fish_seen_subcommand_from find' -o quit -d 'end the search'
complete -c trawl -n '__fish_seen_subcommand_from find' -o snippets -d 'print the path, and up to 3 lines with words of all -keyword and -phrase tests'
complete -c trawl -n '__fish_seen_subcommand_from find' -o sort -d 'sort all output by these columns (-COLUMN: descending), then by path, as in -sort -size,name, or with score best matches of -keyword first; held in memory, with -limit N only the first N'
