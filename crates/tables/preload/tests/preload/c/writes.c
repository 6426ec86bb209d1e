/* Makes changes and looks at once; each look was warmed up, so that a table could answer it. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>
#include <utime.h>

extern char **environ;

static int failures;

#define CHECK(what)                                                                   \
    do {                                                                              \
        if (!(what)) {                                                                \
            printf("line %d: %s (errno %d)\n", __LINE__, #what, errno);               \
            failures++;                                                               \
        }                                                                             \
    } while (0)

/* Lets the run settle, then looks until tables are there. */
static void warm(void)
{
    struct timespec pause = { 0, 30000000 };
    struct stat of;
    nanosleep(&pause, NULL);
    for (int i = 0; i < 12; i++) {
        DIR *dir = opendir(".");
        if (!dir)
            exit(3);
        struct dirent *entry;
        while ((entry = readdir(dir)))
            lstat(entry->d_name, &of);
        closedir(dir);
    }
}

static int exists(const char *path)
{
    struct stat of;
    return lstat(path, &of) == 0;
}

static long size(const char *path)
{
    struct stat of;
    return stat(path, &of) == 0 ? (long)of.st_size : -1;
}

static int listed(const char *name)
{
    DIR *dir = opendir(".");
    int found = 0;
    struct dirent *entry;
    while ((entry = readdir(dir)))
        found |= strcmp(entry->d_name, name) == 0;
    closedir(dir);
    return found;
}

static int mode(const char *path)
{
    struct stat of;
    return stat(path, &of) == 0 ? (int)(of.st_mode & 07777) : -1;
}

static void files(void)
{
    warm();
    int fd = open("a", O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    CHECK(exists("a") && listed("a") && size("a") == 0);
    warm();
    CHECK(write(fd, "12345", 5) == 5);
    CHECK(size("a") == 5);
    warm();
    int copy = dup(fd);
    close(fd);
    CHECK(write(copy, "67", 2) == 2);
    CHECK(size("a") == 7);
    warm();
    CHECK(ftruncate(copy, 3) == 0 && size("a") == 3);
    close(copy);
    warm();
    CHECK(truncate("a", 1) == 0 && size("a") == 1);
    warm();
    FILE *stream = fopen("a", "a");
    fputs("abc", stream);
    fflush(stream);
    CHECK(size("a") == 4);
    fclose(stream);
    warm();
    CHECK(chmod("a", 0640) == 0 && mode("a") == 0640);
    warm();
    fd = open("a", O_RDONLY);
    CHECK(fchmod(fd, 0604) == 0 && mode("a") == 0604);
    close(fd);
    char name[] = "XXXXXX";
    warm();
    fd = mkstemp(name);
    CHECK(fd >= 0 && exists(name) && listed(name));
    close(fd);
    warm();
    CHECK(remove(name) == 0 && !exists(name));
}

static void names(void)
{
    warm();
    CHECK(rename("a", "b") == 0 && !exists("a") && exists("b") && !listed("a") && listed("b"));
    warm();
    CHECK(link("b", "c") == 0 && exists("c"));
    warm();
    CHECK(symlink("b", "s") == 0 && exists("s"));
    char target[9] = "";
    warm();
    CHECK(readlink("s", target, 8) == 1 && target[0] == 'b');
    CHECK(unlink("s") == 0 && symlink("elsewhere", "s") == 0);
    CHECK(readlink("s", target, 8) == 8 && memcmp(target, "elsewher", 8) == 0);
    warm();
    CHECK(access("s", F_OK) == -1 && errno == ENOENT);
    CHECK(access("b", F_OK) == 0);
    CHECK(unlink("c") == 0 && !exists("c") && access("c", F_OK) == -1);
    warm();
    CHECK(mkdir("d", 0700) == 0 && exists("d") && exists("d/.") && !exists("d/x"));
    warm();
    CHECK(mkfifo("d/p", 0600) == 0 && exists("d/p"));
    warm();
    CHECK(rmdir("d") == -1 && unlink("d/p") == 0 && rmdir("d") == 0 && !exists("d"));
    warm();
    struct timeval times[2] = { { 1, 0 }, { 2, 0 } };
    struct stat of;
    CHECK(utimes("b", times) == 0 && stat("b", &of) == 0 && of.st_mtime == 2);
    warm();
    if (setxattr("b", "user.x", "y", 1, 0) == 0) {
        char value[2];
        CHECK(getxattr("b", "user.x", value, 2) == 1);
    }
    glob_t found;
    warm();
    CHECK(glob("*", 0, NULL, &found) == 0 && (found.gl_flags & GLOB_ALTDIRFUNC) == 0);
    size_t before = found.gl_pathc;
    globfree(&found);
    close(creat("zzz", 0600));
    CHECK(glob("*", 0, NULL, &found) == 0 && found.gl_pathc == before + 1);
    globfree(&found);
}

/* Open directories, whose descriptors may be virtual. */
static void directories(void)
{
    mkdir("x", 0700);
    mkdir("x/y", 0700);
    mkdir("x/z", 0700);
    warm();
    for (int i = 0; i < 4; i++)
        closedir(opendir("x"));
    int fd = open("x", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct stat of, other;
    CHECK(fstat(fd, &of) == 0 && stat("x", &other) == 0 && of.st_ino == other.st_ino);
    CHECK(fcntl(fd, F_GETFD) == FD_CLOEXEC);
    CHECK((fcntl(fd, F_GETFL) & O_DIRECTORY) != 0);
    int again = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    DIR *dir = fdopendir(again);
    CHECK(dir != NULL && dirfd(dir) == again);
    int count = 0;
    while (readdir(dir))
        count++;
    CHECK(count == 4);
    CHECK(mkdirat(fd, "w", 0700) == 0);
    rewinddir(dir);
    for (count = 0; readdir(dir);)
        count++;
    CHECK(count == 5);
    CHECK(closedir(dir) == 0 && fcntl(again, F_GETFD) == -1);
    CHECK(fchdir(fd) == 0 && exists("w") && exists("../x"));
    CHECK(chdir("..") == 0 && !exists("w"));
    warm();
    CHECK(rename("x", "v") == 0);
    CHECK(fstatat(fd, "y", &of, 0) == 0 && of.st_mode == other.st_mode);
    CHECK(unlinkat(fd, "w", AT_REMOVEDIR) == 0 && !exists("v/w"));
    CHECK(close(fd) == 0 && close(fd) == -1 && errno == EBADF);
    warm();
    fd = open("v", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int low = dup(fd);
    CHECK(low >= 0 && fcntl(low, F_GETFD) == 0 && dup2(fd, low) == low);
    CHECK(fchdir(low) == 0 && chdir("..") == 0);
    /* A child gets it by dup2(2). */
    pid_t child = fork();
    if (child == 0) {
        dup2(fd, 0);
        execlp("sh", "sh", "-c", "test -d /proc/self/fd/0/y", (char *)NULL);
        _exit(9);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    close(fd);
    close(low);
    /* Positions. */
    dir = opendir("v");
    readdir(dir);
    long place = telldir(dir);
    char name[256];
    strcpy(name, readdir(dir)->d_name);
    seekdir(dir, place);
    CHECK(strcmp(readdir(dir)->d_name, name) == 0);
    struct dirent space, *next;
    rewinddir(dir);
    for (count = 0; readdir_r(dir, &space, &next) == 0 && next;)
        count++;
    CHECK(count == 4);
    closedir(dir);
}

static void run(const char *script)
{
    char *words[] = { "sh", "-c", (char *)script, NULL };
    pid_t child;
    int status;
    CHECK(posix_spawnp(&child, "sh", NULL, NULL, words, environ) == 0);
    CHECK(waitpid(child, &status, 0) == child && status == 0);
}

static void children(void)
{
    warm();
    run("echo 12 > k; mkdir m; test -e k && test -d m && test ! -e n");
    CHECK(exists("k") && size("k") == 3 && exists("m") && listed("m"));
    warm();
    CHECK(system("rm k") == 0 && !exists("k"));
    warm();
    /* This program does not load the library. */
    run("unset LD_PRELOAD; exec env -i PATH=\"$PATH\" sh -c 'echo > q'");
    CHECK(exists("q"));
    warm();
    mkdir("deep", 0700);
    close(creat("deep/inner", 0600));
    warm();
    pid_t child = vfork();
    if (child == 0) {
        /* Its own working directory, in this process's memory. */
        if (chdir("deep") != 0)
            _exit(1);
        execlp("sh", "sh", "-c", "test -e inner", (char *)NULL);
        _exit(2);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    CHECK(exists("q") && !exists("inner") && exists("deep/inner"));
    warm();
    child = fork();
    if (child == 0) {
        int ok = exists("q") && unlink("q") == 0 && !exists("q") && chdir("deep") == 0;
        _exit(ok && exists("inner") ? 0 : 1);
    }
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    CHECK(!exists("q") && exists("deep"));
}

int main(void)
{
    files();
    names();
    directories();
    children();
    return failures != 0;
}
