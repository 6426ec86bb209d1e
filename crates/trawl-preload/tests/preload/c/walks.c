/* Walks by functions of the C library that call others within it.
 *
 * walks DIRECTORY: prints what ftw, nftw, scandir, scandirat and glob tell of it, and how they end.
 * walks DIRECTORY nftw: one nftw, and how many entries it told of. */
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

/* With FTW_CHDIR, in the directory that has the entry. */
static int there(const char *path, const struct stat *of, int kind, struct FTW *at)
{
	struct stat now;
	print(path, of, kind);
	if (lstat(path + at->base, &now) != 0)
		printf(" %s\n", strerror(errno));
	else
		printf(" %lu\n", now.st_ino);
	return told == stop_at ? 7 : 0;
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

int main(int words, char **word)
{
	static const int flags[] = {
		0, FTW_PHYS, FTW_DEPTH, FTW_PHYS | FTW_DEPTH, FTW_MOUNT, FTW_PHYS | FTW_MOUNT,
		FTW_CHDIR | FTW_PHYS, FTW_CHDIR,
	};
	char path[8192];
	if (words == 3) {
		ended("nftw", nftw(word[1], count, 20, FTW_PHYS));
		return 0;
	}
	if (words != 2)
		return 2;
	static const char *const ends[] = { "", "/", "//", "/.", "/no such", "/flat", "/loop" };
	for (size_t end = 0; end < sizeof ends / sizeof *ends; end++) {
		snprintf(path, sizeof path, "%s%s", word[1], ends[end]);
		for (int most = -1; most < 12; most += 3) {
			ended("ftw", ftw(path, old, most));
			for (size_t at = 0; at < sizeof flags / sizeof *flags; at++)
				ended("nftw", nftw(path, new, most, flags[at]));
			ended("nftw there", nftw(path, there, most, FTW_CHDIR | FTW_PHYS));
			struct stat here;
			if (lstat("flat", &here) == 0)
				printf("flat %lu\n", here.st_ino);
		}
		ended("actions", nftw(path, with_actions, 5, FTW_PHYS | FTW_ACTIONRETVAL));
		ended("actions", nftw(path, with_actions, 2, FTW_ACTIONRETVAL));
		scan(path);
	}
	stop_at = 20;
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
