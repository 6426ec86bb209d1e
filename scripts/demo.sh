#!/usr/bin/env bash
# Indexes a real tree and runs five searches; shows their wall times and those of the live tools.
# The answers are compared line by line: every difference is shown. `make demo` sets:
#   TRAWL  the program        TREE  the tree to index        INDEX  the index directory
set -euo pipefail
: "${TRAWL:?the program, as make demo sets it}" "${INDEX:?the index directory, as make demo sets it}"
tree=${TREE:-/usr}
export LC_ALL=C.UTF-8
unset POSIXLY_CORRECT BLOCKSIZE BLOCK_SIZE DU_BLOCK_SIZE TIME_STYLE

if [ ! -d "$tree" ]; then
    echo "TREE=$tree is not a directory: name one, as in make demo TREE=/usr" >&2
    exit 2
fi
tree=$(cd "$tree" && pwd -P)

work=$(mktemp -d)
trap 'rm -rf -- "$work"' EXIT
different=0

now_us() { echo "${EPOCHREALTIME/[.,]/}"; }

# Runs a command with its output in a file; sets elapsed_us to its wall time. For find and for trawl,
# exit code 1 only means that some directory could not be read.
elapsed_us=0
run_into() {
    local out=$1 start status=0
    shift
    start=$(now_us)
    "$@" >"$out" 2>"$out.errors" || status=$?
    elapsed_us=$(($(now_us) - start))
    if [ "$status" -gt 1 ]; then
        echo "failed with exit code $status: $*" >&2
        head -n 5 "$out.errors" >&2
        exit 2
    fi
}

as_ms() { printf '%d.%d' "$(($1 / 1000))" "$(($1 % 1000 / 100))"; }

# Prints one row: the verdict, and both wall times.
row() {
    local label=$1 ours_us=$2 theirs_us=$3 verdict=$4
    local tenths=$((theirs_us * 10 / (ours_us > 0 ? ours_us : 1)))
    printf '  %-30s %9s ms %9s ms %6d.%d x   %s\n' "$label" "$(as_ms "$ours_us")" "$(as_ms "$theirs_us")" \
        "$((tenths / 10))" "$((tenths % 10))" "$verdict"
}

# Puts the same question to both and compares the answers as sorted lines.
compare() {
    local label=$1 ours_us theirs_us verdict lines apart
    run_into "$work/theirs" "${live[@]}"
    theirs_us=$elapsed_us
    run_into "$work/ours" "${indexed[@]}"
    ours_us=$elapsed_us
    sort -o "$work/ours" "$work/ours"
    sort -o "$work/theirs" "$work/theirs"
    lines=$(wc -l <"$work/ours")
    if cmp -s "$work/ours" "$work/theirs"; then
        verdict="same answer, lines: $lines"
    else
        apart=$(comm -3 "$work/ours" "$work/theirs" | wc -l)
        verdict="DIFFERENT: $lines lines against $(wc -l <"$work/theirs"), $apart not in both"
        comm -3 "$work/ours" "$work/theirs" | head -n 3 >>"$work/different"
        different=$((different + 1))
    fi
    row "$label" "$ours_us" "$theirs_us" "$verdict"
}

count_by_type() { find "$tree" -xdev -printf '%y %s\n' | awk '{ n[$1]++; b[$1] += $2 } END { for (t in n) print t, n[t], b[t] }'; }

echo "indexing $tree into $INDEX"
rm -rf -- "$INDEX"
mkdir -p -- "$(dirname -- "$INDEX")"
start=$(now_us)
status=0
"$TRAWL" -i "$INDEX" index --private "$tree" || status=$?
index_us=$(($(now_us) - start))
if [ "$status" -gt 1 ]; then exit "$status"; fi
entries=$("$TRAWL" -i "$INDEX" find "$tree" -print0 | tr -dc '\0' | wc -c)
bytes=$(du -sb -- "$INDEX" | cut -f1)
echo "$entries entries, $(as_ms "$index_us") ms, $((bytes / (entries > 0 ? entries : 1))) bytes per entry"
echo

printf '  %-30s %12s %12s %10s   %s\n' "search (everything warm)" trawl "live tool" faster answer
finds() { indexed=("$TRAWL" -i "$INDEX" find "$tree" "$@") live=(find "$tree" -xdev "$@"); }
finds -name '*.so*';      compare "find -name '*.so*'"
finds -size +1M -type f;  compare "find -size +1M -type f"
finds -mtime -30;         compare "find -mtime -30"
indexed=("$TRAWL" -i "$INDEX" du -s "$tree")
live=(du -sx "$tree");    compare "du -s"
run_into "$work/theirs" count_by_type
theirs_us=$elapsed_us
run_into "$work/stats" "$TRAWL" -i "$INDEX" stats "$tree"
row "stats (live: types only)" "$elapsed_us" "$theirs_us" "below"
echo
head -n 12 "$work/stats" | cut -c 1-110

if [ "$different" -gt 0 ]; then
    echo
    echo "$different answers differ; a file may have changed since the index was made. First lines that are in one answer only:"
    cat "$work/different"
fi
echo
echo "largest files, and names that contain readme:"
"$TRAWL" -i "$INDEX" top -n 5 "$tree"
"$TRAWL" -i "$INDEX" locate -b -i -n 3 readme || true
echo
echo "try it: $TRAWL -i $INDEX find $tree -name 'lib*' -size +10M -ls"
echo "SQL:    make build-sql (compiles an SQL engine, which takes a while), then"
echo "        $TRAWL -i $INDEX sql \"SELECT ext(name) AS ext, count(*) AS files FROM entries GROUP BY 1 ORDER BY 2 DESC LIMIT 9\""
