/* Walks by fts(3).
 *
 * fts DIRECTORY: prints the results of walks with all kinds of options, and how they end.
 * fts DIRECTORY count: prints the number of entries of one walk; with "there" it changes the
 * working directory.
 * fts DIRECTORY damage: walks directories in it that are moved, removed and replaced meanwhile. */
#define _GNU_SOURCE
#include <errno.h>
#include <fts.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
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
	printf(" %s", lstat(at->fts_accpath, &now) == 0 ? "is there" : "is not there");
	/* By the kernel, and by the cached working directory. */
	char here[8192];
	if (!(options & FTS_NOCHDIR))
		printf(" in %s", getcwd(here, sizeof here) == NULL ? strerror(errno) : here);
	if (stat(".", &now) == 0)
		printf(" %lu", now.st_ino);
	putchar('\n');
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
		/* Changes the working directory and returns, as is allowed. */
		int here = what == 5 ? open(".", O_RDONLY | O_DIRECTORY) : -1;
		if (here >= 0) {
			struct stat now;
			if (chdir("/") != 0)
				return;
			printf("flat %d\n", lstat("flat", &now));
			if (fchdir(here) != 0)
				return;
			close(here);
		}
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
	struct stat now;
	printf("in %lu, %d\n", stat(".", &now) == 0 ? now.st_ino : 0, access("flat", F_OK));
}

static void run(const char *command)
{
	fflush(stdout);
	if (system(command) != 0)
		printf("failed: %s\n", command);
}

/* Changes of a directory while it is walked. Inode numbers differ from run to run. */
static const char *const damages[] = {
	"mv a/m/n elsewhere", "mv a/m elsewhere", "mv a elsewhere", "rm -r a/m/n", "rm -r a/m",
	"mv a/m elsewhere && mkdir a/m && touch a/m/other", "mv a/m/n n && ln -s ../../n a/m/n",
	"mv a/m elsewhere && ln -s ../elsewhere a/m", "mv a/m m && ln -s $PWD/m a/m",
	/* Not removed: its inode number would be reused. */
	"mv a/m/n n && touch a/m/n", "mv a/m/n a/n",
};

static int damage(void)
{
	static const char *const where[] = { "a", "m", "n", "leaf" };
	size_t kinds = sizeof damages / sizeof *damages;
	for (size_t at = 0; at < kinds * 4 * 4; at++) {
		int when = at / kinds % 4, how = at / kinds / 4;
		run("rm -rf a elsewhere m n; mkdir -p a/b a/m/n/leaf/x a/m/o a/z; touch a/m/n/leaf/f a/m/g");
		/* After a change the library waits before it asks for a table. */
		usleep(30000);
		printf("-- %s, at %s, %d\n", damages[at % kinds], where[when], how);
		int home = open(".", O_RDONLY | O_DIRECTORY);
		char *const paths[] = { "a", NULL };
		FTS *stream = fts_open(paths, FTS_PHYSICAL, by_name);
		FTSENT *entry;
		int is_done = 0;
		while (errno = 0, (entry = fts_read(stream)) != NULL) {
			struct stat now;
			printf("%d %d %s %d %s\n", entry->fts_info, entry->fts_level, entry->fts_path,
			       entry->fts_errno, lstat(entry->fts_accpath, &now) == 0 ? "is there" : "is not there");
			int is_time = entry->fts_info == (how & 1 ? FTS_DP : FTS_D);
			if (is_time && how & 2 && entry->fts_info == FTS_D)
				for (FTSENT *one = fts_children(stream, 0); one != NULL; one = one->fts_link)
					printf("  %s %d\n", one->fts_name, one->fts_info);
			if (is_time && !is_done && strcmp(entry->fts_name, where[when]) == 0) {
				is_done = 1;
				int there = open(".", O_RDONLY | O_DIRECTORY);
				if (there < 0 || fchdir(home) != 0)
					return 3;
				run(damages[at % kinds]);
				if (fchdir(there) != 0)
					return 4;
				close(there);
			}
		}
		printf("errno %d\n", errno);
		printf("a from there: %d\n", access("a", F_OK));
		printf("closed %d\n", fts_close(stream));
		printf("a: %d\n", access("a", F_OK));
		close(home);
	}
	return 0;
}

int main(int words, char **word)
{
	static const int options[] = {
		FTS_PHYSICAL, FTS_PHYSICAL | FTS_NOCHDIR, FTS_LOGICAL, FTS_LOGICAL | FTS_NOCHDIR,
		FTS_NOCHDIR, FTS_PHYSICAL | FTS_NOCHDIR | FTS_COMFOLLOW,
		FTS_PHYSICAL | FTS_NOCHDIR | FTS_NOSTAT, FTS_LOGICAL | FTS_NOSTAT,
		FTS_PHYSICAL | FTS_NOCHDIR | FTS_SEEDOT, FTS_LOGICAL | FTS_SEEDOT | FTS_XDEV,
		FTS_PHYSICAL | FTS_NOCHDIR | FTS_NOSTAT | FTS_SEEDOT, 0, FTS_PHYSICAL | FTS_COMFOLLOW,
		FTS_PHYSICAL | FTS_NOSTAT, FTS_PHYSICAL | FTS_SEEDOT,
		FTS_PHYSICAL | FTS_NOSTAT | FTS_SEEDOT, 1 << 12,
	};
	if (words == 3 && strcmp(word[2], "damage") == 0)
		return chdir(word[1]) != 0 ? 2 : damage();
	if (words == 3) {
		char *const paths[] = { word[1], NULL };
		int more = strcmp(word[2], "there") == 0 ? 0 : FTS_NOCHDIR;
		FTS *stream = fts_open(paths, FTS_PHYSICAL | more, NULL);
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
			/* Walks of ".." are kept short. The C library crashes on an empty list of paths. */
			if (all[at][0] == NULL && option < sizeof options / sizeof *options - 1)
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
