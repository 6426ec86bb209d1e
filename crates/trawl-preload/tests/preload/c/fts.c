/* Walks by fts(3).
 *
 * fts DIRECTORY: prints what walks with all kinds of options tell of it, and how they end.
 * fts DIRECTORY count: one walk, and how many entries it told of. */
#define _GNU_SOURCE
#include <errno.h>
#include <fts.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int by_name(const FTSENT **a, const FTSENT **b)
{
	return strcmp((*a)->fts_name, (*b)->fts_name);
}

static int backwards(const FTSENT **a, const FTSENT **b)
{
	return by_name(b, a);
}

static void print(const FTSENT *at, int options)
{
	printf("%d %d %s [%s] %u %u", at->fts_info, at->fts_level, at->fts_path, at->fts_name,
	       at->fts_pathlen, at->fts_namelen);
	if (at->fts_info == FTS_NS || at->fts_info == FTS_DNR || at->fts_info == FTS_ERR)
		printf(" errno %d", at->fts_errno);
	if (at->fts_info == FTS_DC)
		printf(" cycle %s", at->fts_cycle->fts_name);
	if (at->fts_info == FTS_D || at->fts_info == FTS_DP)
		printf(" %lu %lu %lu", at->fts_ino, at->fts_dev, (unsigned long)at->fts_nlink);
	if (!(options & FTS_NOSTAT) && at->fts_info != FTS_NS && at->fts_info != FTS_NSOK)
		printf(" %o %lu %lu %ld", at->fts_statp->st_mode, at->fts_statp->st_ino,
		       at->fts_statp->st_dev,
		       S_ISDIR(at->fts_statp->st_mode) ? 0 : (long)at->fts_statp->st_size);
	struct stat now;
	printf(" %s\n", lstat(at->fts_accpath, &now) == 0 ? "is there" : "is not there");
}

/* `what` has bits: 1 asks for children, 2 for their names, 4 gives instructions. */
static void walk(char *const *paths, int options, int (*order)(const FTSENT **, const FTSENT **),
		 int what, long most)
{
	printf("-- %x %d\n", options, what);
	errno = 0;
	FTS *stream = fts_open(paths, options, order);
	if (stream == NULL) {
		printf("not opened: %s\n", strerror(errno));
		return;
	}
	FTSENT *at;
	if (what & 1)
		for (at = fts_children(stream, 0); at != NULL; at = at->fts_link)
			printf("root %s %d\n", at->fts_name, at->fts_info);
	long told = 0;
	while (told < most && (errno = 0, at = fts_read(stream)) != NULL) {
		print(at, options);
		told++;
		if (what & 3 && at->fts_info == FTS_D) {
			errno = 0;
			FTSENT *child = fts_children(stream, what & 2 ? FTS_NAMEONLY : 0);
			printf("children %d\n", errno);
			for (; child != NULL; child = child->fts_link) {
				printf("  %s %d %d\n", child->fts_name, child->fts_info,
				       child->fts_namelen);
				if (what & 4 && child->fts_namelen % 5 == 0)
					fts_set(stream, child, FTS_SKIP);
				if (what & 4 && child->fts_info == FTS_SL)
					fts_set(stream, child, FTS_FOLLOW);
			}
		}
		if (what & 4 && at->fts_number++ == 0) {
			if (at->fts_info == FTS_SL)
				fts_set(stream, at, FTS_FOLLOW);
			else if (at->fts_namelen % 7 == 0)
				fts_set(stream, at, FTS_AGAIN);
			else if (at->fts_namelen % 3 == 0)
				fts_set(stream, at, FTS_SKIP);
		}
	}
	printf("told %ld, errno %d\n", told, errno);
	printf("set %d\n", at == NULL ? 0 : fts_set(stream, at, 77));
	errno = 0;
	printf("children %d", fts_children(stream, 3) == NULL);
	printf(" errno %d\n", errno);
	printf("closed %d\n", fts_close(stream));
}

int main(int words, char **word)
{
	static const int options[] = {
		FTS_PHYSICAL, FTS_PHYSICAL | FTS_NOCHDIR, FTS_LOGICAL, FTS_LOGICAL | FTS_NOCHDIR,
		FTS_NOCHDIR, FTS_PHYSICAL | FTS_NOCHDIR | FTS_COMFOLLOW,
		FTS_PHYSICAL | FTS_NOCHDIR | FTS_NOSTAT, FTS_LOGICAL | FTS_NOSTAT,
		FTS_PHYSICAL | FTS_NOCHDIR | FTS_SEEDOT, FTS_LOGICAL | FTS_SEEDOT | FTS_XDEV,
		FTS_PHYSICAL | FTS_NOCHDIR | FTS_NOSTAT | FTS_SEEDOT, 1 << 12,
	};
	if (words == 3) {
		char *const paths[] = { word[1], NULL };
		FTS *stream = fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
		long told = 0;
		while (stream != NULL && fts_read(stream) != NULL)
			told++;
		printf("%ld\n", told);
		return stream == NULL || fts_close(stream) != 0;
	}
	if (words != 2 || chdir(word[1]) != 0)
		return 2;
	char up[8192];
	snprintf(up, sizeof up, "%s/flat", word[1]);
	char *const all[][6] = {
		{ ".", NULL }, { word[1], NULL }, { "flat/", "plain", "no such", "flat/up", up, NULL },
		{ "loop", "flat/link", "flat/dangling", "..", "flat/file 1", NULL },
		{ "flat//", "./plain//", "flat/link/", NULL }, { "", NULL }, { "flat", "", NULL },
		{ NULL },
	};
	for (size_t at = 0; at < sizeof all / sizeof *all; at++)
		for (size_t option = 0; option < sizeof options / sizeof *options; option++) {
			/* What is above is not for long walks; nothing is the C library's to crash on. */
			if (all[at][0] == NULL && option < 11)
				continue;
			long most = at == 3 ? 30 : 3000;
			walk(all[at], options[option], NULL, 0, most);
			walk(all[at], options[option], by_name, 1, most);
			walk(all[at], options[option], backwards, 2, most);
			walk(all[at], options[option], NULL, 5, most);
			walk(all[at], options[option], by_name, 6, most);
			walk(all[at], options[option], by_name, 4, 17);
		}
	return 0;
}
