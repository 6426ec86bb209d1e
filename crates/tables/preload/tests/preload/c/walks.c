/* Walks by functions of the C library that call others within it.
 *
 * walks DIRECTORY: prints the results of ftw, nftw, scandir, scandirat and glob, and how they end.
 * walks DIRECTORY nftw: prints the number of entries of one nftw; with "there" it changes the
 * working directory.
 * walks DIRECTORY damage: nftw of directories in it that are moved, removed and replaced meanwhile. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static long told, stop_at = -1;
static const char *top;

static void print(const char *path, const struct stat *of, int kind)
{
	told++;
	printf("%d %s", kind, path);
	if (kind != FTW_NS)
		printf(" %o %lu %lu %lu %ld", of->st_mode, of->st_ino, of->st_dev,
		       (unsigned long)of->st_nlink, S_ISDIR(of->st_mode) ? 0 : (long)of->st_size);
}

static int old(const char *path, const struct stat *of, int kind)
{
	print(path, of, kind);
	putchar('\n');
	return told == stop_at ? 7 : 0;
}

static int new(const char *path, const struct stat *of, int kind, struct FTW *at)
{
	print(path, of, kind);
	printf(" %d %d %s\n", at->base, at->level, path + at->base);
	return told == stop_at ? 7 : 0;
}

/* Reports an entry, with FTW_CHDIR in the directory that holds it. */
static int there(const char *path, const struct stat *of, int kind, struct FTW *at)
{
	struct stat now;
	print(path, of, kind);
	if (lstat(path + at->base, &now) != 0)
		printf(" %s\n", strerror(errno));
	else
		printf(" %lu", now.st_ino);
	char here[8192];
	printf(" in %s\n", getcwd(here, sizeof here) == NULL ? strerror(errno) : here);
	return told == stop_at ? 7 : 0;
}

/* Changes the working directory, and looks at entries there. */
static int astray(const char *path, const struct stat *of, int kind, struct FTW *at)
{
	int result = there(path, of, kind, at);
	struct stat now;
	if (chdir("/") != 0 || (told % 2 && chdir(top) != 0))
		return 97;
	printf("flat %d, plain %d\n", lstat("flat", &now), lstat("plain", &now));
	return result;
}

static void run(const char *command)
{
	fflush(stdout);
	if (system(command) != 0)
		printf("failed: %s\n", command);
}

static const char *damage_what, *damage_where;
static int damage_when, home;

/* Inode numbers differ from run to run. */
static int damaging(const char *path, const struct stat *of, int kind, struct FTW *at)
{
	struct stat now;
	told++;
	printf("%d %s %o %s\n", kind, path, of->st_mode & S_IFMT,
	       lstat(path + at->base, &now) == 0 ? "is there" : strerror(errno));
	if (damage_what != NULL && kind == damage_when && strcmp(path + at->base, damage_where) == 0) {
		int there = open(".", O_RDONLY | O_DIRECTORY);
		if (there < 0 || fchdir(home) != 0)
			return 98;
		run(damage_what);
		damage_what = NULL;
		if (fchdir(there) != 0)
			return 99;
		close(there);
	}
	return 0;
}

static int with_actions(const char *path, const struct stat *of, int kind, struct FTW *at)
{
	new(path, of, kind, at);
	size_t length = strlen(path);
	switch (path[length - 1]) {
	case '1': return FTW_SKIP_SUBTREE;
	case '2': return FTW_SKIP_SIBLINGS;
	case '9': return told > 40 ? FTW_STOP : FTW_CONTINUE;
	default: return FTW_CONTINUE;
	}
}

static int count(const char *path, const struct stat *of, int kind, struct FTW *at)
{
	(void)path, (void)of, (void)kind, (void)at;
	told++;
	return 0;
}

static void ended(const char *what, int result)
{
	printf("%s: %d %ld %s\n", what, result, told, result < 0 ? strerror(errno) : "");
	told = 0;
}

static int is_wanted(const struct dirent *entry)
{
	errno = EIO;
	return entry->d_name[0] != '.' || entry->d_name[1] == 'h';
}

static void scanned(const char *what, int result, struct dirent ***entries)
{
	for (int at = 0; at < result; at++) {
		struct dirent *entry = (*entries)[at];
		printf("%s %lu %d %d\n", entry->d_name, entry->d_ino, entry->d_type,
		       entry->d_reclen);
		free(entry);
		told++;
	}
	if (result >= 0)
		free(*entries);
	ended(what, result);
}

static void scan(const char *path)
{
	struct dirent **entries = NULL;
	scanned("scandir", scandir(path, &entries, NULL, NULL), &entries);
	scanned("sorted", scandir(path, &entries, NULL, alphasort), &entries);
	scanned("filtered", scandir(path, &entries, is_wanted, versionsort), &entries);
	int top = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	scanned("at", scandirat(top, ".", &entries, NULL, alphasort), &entries);
	scanned("at nothing", scandirat(top, "no such", &entries, NULL, alphasort), &entries);
	scanned("at empty", scandirat(top, "", &entries, NULL, alphasort), &entries);
	if (top >= 0)
		close(top);
}

static void find(const char *pattern, int flags)
{
	glob_t found;
	int result = glob(pattern, flags, NULL, &found);
	for (size_t at = 0; result == 0 && at < found.gl_pathc; at++)
		printf("%s\n", found.gl_pathv[at]);
	printf("glob %s %x: %d\n", pattern, flags, result);
	if (result == 0)
		globfree(&found);
}

static int damage(void)
{
	static const char *const where[] = { "a", "m", "n", "leaf" };
	static const char *const what[] = {
		"mv a/m/n elsewhere", "mv a/m elsewhere", "mv a elsewhere", "rm -r a/m/n", "rm -r a/m",
		"mv a/m elsewhere && mkdir a/m && touch a/m/other", "mv a/m/n n && ln -s ../../n a/m/n",
		"mv a/m elsewhere && ln -s ../elsewhere a/m", "mv a/m/n n && touch a/m/n", "mv a/m/n a/n",
	};
	static const int flags[] = {
		FTW_CHDIR | FTW_PHYS, FTW_CHDIR | FTW_PHYS | FTW_DEPTH, FTW_CHDIR,
	};
	home = open(".", O_RDONLY | O_DIRECTORY);
	for (size_t kind = 0; kind < sizeof what / sizeof *what; kind++)
		for (size_t place = 0; place < 4; place++)
			for (size_t flag = 0; flag < sizeof flags / sizeof *flags; flag++)
				for (int most = 1; most < 9; most += 4) {
					/* One name per directory, so that the order is fixed. */
					run("rm -rf a elsewhere n; mkdir -p a/m/n/leaf; touch a/m/n/leaf/f");
					damage_what = what[kind], damage_where = where[place];
					damage_when = flags[flag] & FTW_DEPTH ? FTW_DP : FTW_D;
					/* After a change the library waits before it asks for a table. */
					usleep(30000);
					printf("-- %s, at %s, %x, %d\n", what[kind], where[place], flags[flag], most);
					ended("nftw", nftw("a", damaging, most, flags[flag]));
					printf("a is there: %d\n", access("a", F_OK));
				}
	return 0;
}

int main(int words, char **word)
{
	static const int flags[] = {
		0, FTW_PHYS, FTW_DEPTH, FTW_PHYS | FTW_DEPTH, FTW_MOUNT, FTW_PHYS | FTW_MOUNT,
		FTW_CHDIR | FTW_PHYS, FTW_CHDIR, FTW_CHDIR | FTW_PHYS | FTW_DEPTH, FTW_CHDIR | FTW_MOUNT,
	};
	char path[8192];
	if (words == 3 && strcmp(word[2], "damage") == 0)
		return chdir(word[1]) != 0 ? 2 : damage();
	if (words == 3) {
		int more = strcmp(word[2], "there") == 0 ? FTW_CHDIR : 0;
		ended("nftw", nftw(word[1], count, 20, FTW_PHYS | more));
		return 0;
	}
	if (words != 2)
		return 2;
	top = word[1];
	static const char *const ends[] = { "", "/", "//", "/.", "/no such", "/flat", "/loop" };
	for (size_t end = 0; end < sizeof ends / sizeof *ends; end++) {
		snprintf(path, sizeof path, "%s%s", word[1], ends[end]);
		for (int most = -1; most < 12; most += 3) {
			ended("ftw", ftw(path, old, most));
			for (size_t at = 0; at < sizeof flags / sizeof *flags; at++)
				ended("nftw", nftw(path, new, most, flags[at]));
			ended("nftw there", nftw(path, there, most, FTW_CHDIR | FTW_PHYS));
			ended("nftw there", nftw(path, there, most, FTW_CHDIR | FTW_DEPTH));
			ended("nftw astray", nftw(path, astray, most, FTW_CHDIR | FTW_PHYS));
			struct stat here;
			if (lstat("flat", &here) == 0)
				printf("flat %lu\n", here.st_ino);
		}
		ended("actions", nftw(path, with_actions, 5, FTW_PHYS | FTW_ACTIONRETVAL));
		ended("actions", nftw(path, with_actions, 2, FTW_ACTIONRETVAL));
		ended("actions", nftw(path, with_actions, 3, FTW_CHDIR | FTW_PHYS | FTW_ACTIONRETVAL));
		scan(path);
	}
	stop_at = 20;
	ended("astray", nftw(word[1], astray, 5, FTW_CHDIR));
	ended("ftw", ftw(word[1], old, 5));
	ended("nftw", nftw(word[1], new, 5, FTW_DEPTH));
	ended("empty", nftw("", new, 5, 0));
	ended("flags", nftw(word[1], new, 5, 1 << 20));
	if (chdir(word[1]) != 0)
		return 3;
	static const char *const patterns[] = {
		"*", "*/*", ".*", "*/*/*", "flat/*1*", "no such*", "{flat,odd}/*", "[f-r]*/",
		"flat/file*/", "*/../flat/file 1",
	};
	for (size_t at = 0; at < sizeof patterns / sizeof *patterns; at++) {
		find(patterns[at], 0);
		find(patterns[at], GLOB_MARK | GLOB_BRACE);
		find(patterns[at], GLOB_ONLYDIR | GLOB_PERIOD | GLOB_NOCHECK);
	}
	ended("here", nftw(".", new, 3, 0));
	return 0;
}
