/* Makes ROUNDS calls of many kinds and says how many: one line "name count" for each. Between them it
 * checks that a successful call leaves errno alone and that a failing one sets it. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/uio.h>
#include <sys/xattr.h>
#include <unistd.h>

#define KINDS                                                                                          \
    KIND(open) KIND(openat) KIND(creat) KIND(close) KIND(read) KIND(pread) KIND(readv) KIND(preadv)    \
    KIND(preadv2) KIND(write) KIND(pwrite) KIND(writev) KIND(pwritev) KIND(lseek) KIND(stat)           \
    KIND(lstat) KIND(fstat) KIND(fstatat) KIND(statx) KIND(access) KIND(faccessat) KIND(opendir)       \
    KIND(fdopendir) KIND(readdir) KIND(closedir) KIND(getdents64) KIND(mkdir) KIND(rmdir) KIND(unlink) \
    KIND(unlinkat) KIND(rename) KIND(renameat2) KIND(link) KIND(symlink) KIND(readlink) KIND(chmod)    \
    KIND(fchmod) KIND(fchown) KIND(truncate) KIND(ftruncate) KIND(fsync) KIND(fdatasync) KIND(mmap)    \
    KIND(msync) KIND(munmap) KIND(fopen) KIND(fwrite) KIND(fflush) KIND(fread) KIND(fgets)             \
    KIND(fseek) KIND(fclose) KIND(fallocate) KIND(posix_fadvise) KIND(copy_file_range) KIND(sendfile)  \
    KIND(getxattr) KIND(listxattr) KIND(getcwd) KIND(chdir) KIND(fchdir) KIND(utimensat) KIND(statfs)  \
    KIND(fcntl) KIND(flock)

#define KIND(name) static int made_##name;
KINDS
#undef KIND

static void fail(const char *what)
{
    dprintf(2, "%s: %s\n", what, strerror(errno));
    _exit(3);
}

/* Makes a call, which must succeed and leave errno alone. */
#define OK(name, call)                                   \
    ({                                                   \
        made_##name++;                                   \
        errno = 77;                                      \
        __typeof__(call) result = (call);                \
        if ((long)result == -1 || errno != 77)           \
            fail(#call);                                 \
        result;                                          \
    })

/* Makes a call, which must fail with this error. */
#define FAILS(name, error, call)                         \
    do {                                                 \
        made_##name++;                                   \
        errno = 77;                                      \
        if ((long)(call) != -1 || errno != (error))      \
            fail(#call);                                 \
    } while (0)

static void round_of_descriptors(void)
{
    char bytes[64];
    struct iovec part = {bytes, sizeof bytes};
    struct stat status;
    struct statx extended;
    struct statfs system;
    int fd = OK(open, open("file", O_RDWR | O_CREAT | O_TRUNC, 0600));
    int other = OK(openat, openat(AT_FDCWD, "file", O_RDONLY));
    memset(bytes, 'x', sizeof bytes);
    if (OK(write, write(fd, bytes, 40)) != 40 || OK(pwrite, pwrite(fd, bytes, 8, 40)) != 8)
        fail("write");
    OK(writev, writev(fd, &part, 1));
    OK(pwritev, pwritev(fd, &part, 1, 0));
    if (OK(lseek, lseek(fd, 5, SEEK_SET)) != 5)
        fail("lseek");
    FAILS(lseek, EBADF, lseek(-1, 0, SEEK_CUR));
    if (OK(read, read(fd, bytes, 3)) != 3 || OK(pread, pread(fd, bytes, 3, 7)) != 3)
        fail("read");
    FAILS(read, EBADF, read(-1, bytes, 1));
    OK(readv, readv(fd, &part, 1));
    OK(preadv, preadv(fd, &part, 1, 0));
    OK(preadv2, preadv2(fd, &part, 1, 0, 0));
    OK(fstat, fstat(fd, &status));
    OK(stat, stat("file", &status));
    OK(lstat, lstat("file", &status));
    FAILS(lstat, ENOENT, lstat("missing", &status));
    OK(fstatat, fstatat(AT_FDCWD, "file", &status, 0));
    OK(statx, statx(AT_FDCWD, "file", 0, STATX_BASIC_STATS, &extended));
    OK(statfs, statfs(".", &system));
    OK(fchmod, fchmod(fd, 0640));
    OK(fchown, fchown(fd, -1, -1));
    OK(ftruncate, ftruncate(fd, 4096));
    OK(truncate, truncate("file", 8192));
    OK(fsync, fsync(fd));
    OK(fdatasync, fdatasync(fd));
    char *map = OK(mmap, mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
    map[0] = 'm';
    OK(msync, msync(map, 4096, MS_ASYNC));
    OK(munmap, munmap(map, 4096));
    made_fallocate++;
    fallocate(fd, 0, 0, 100);
    OK(posix_fadvise, posix_fadvise(fd, 0, 0, POSIX_FADV_NORMAL));
    int copy = OK(creat, creat("copy", 0600));
    made_copy_file_range++;
    copy_file_range(other, NULL, copy, NULL, 10, 0);
    off_t from = 0;
    OK(sendfile, sendfile(copy, other, &from, 10));
    made_getxattr++;
    getxattr("file", "user.none", bytes, sizeof bytes);
    made_listxattr++;
    listxattr("file", bytes, sizeof bytes);
    OK(utimensat, utimensat(AT_FDCWD, "file", NULL, 0));
    if (OK(fcntl, fcntl(fd, F_GETFL)) == 0)
        fail("fcntl");
    OK(fcntl, fcntl(fd, F_SETFD, FD_CLOEXEC));
    if (OK(fcntl, fcntl(fd, F_GETFD)) != FD_CLOEXEC)
        fail("fcntl");
    OK(flock, flock(fd, LOCK_EX));
    OK(close, close(copy));
    OK(close, close(other));
    OK(close, close(fd));
    FAILS(close, EBADF, close(-1));
}

static void round_of_names(void)
{
    char bytes[4096];
    OK(access, access("file", R_OK));
    FAILS(access, ENOENT, access("missing", R_OK));
    OK(faccessat, faccessat(AT_FDCWD, "file", R_OK, 0));
    OK(mkdir, mkdir("directory", 0700));
    OK(link, link("file", "directory/link"));
    OK(symlink, symlink("file", "directory/symbolic"));
    if (OK(readlink, readlink("directory/symbolic", bytes, sizeof bytes)) != 4)
        fail("readlink");
    OK(chmod, chmod("directory/link", 0600));
    DIR *stream = opendir("directory");
    made_opendir++;
    while (made_readdir++, readdir(stream) != NULL)
        ;
    OK(closedir, closedir(stream));
    int fd = OK(open, open("directory", O_RDONLY | O_DIRECTORY));
    if (OK(getdents64, getdents64(fd, bytes, sizeof bytes)) <= 0)
        fail("getdents64");
    stream = fdopendir(fd);
    made_fdopendir++;
    OK(closedir, closedir(stream));
    OK(rename, rename("directory/link", "directory/renamed"));
    OK(renameat2, renameat2(AT_FDCWD, "directory/renamed", AT_FDCWD, "directory/link", RENAME_NOREPLACE));
    OK(unlink, unlink("directory/link"));
    OK(unlinkat, unlinkat(AT_FDCWD, "directory/symbolic", 0));
    int here = OK(open, open(".", O_PATH));
    OK(chdir, chdir("directory"));
    made_getcwd++;
    if (getcwd(bytes, sizeof bytes) != bytes)
        fail("getcwd");
    OK(fchdir, fchdir(here));
    OK(close, close(here));
    OK(rmdir, rmdir("directory"));
}

static void round_of_streams(void)
{
    char bytes[64];
    FILE *stream = fopen("stream", "w+");
    made_fopen++;
    if (OK(fwrite, fwrite("line\nrest", 1, 9, stream)) != 9)
        fail("fwrite");
    OK(fflush, fflush(stream));
    OK(fseek, fseek(stream, 0, SEEK_SET));
    made_fgets++;
    if (fgets(bytes, sizeof bytes, stream) != bytes || strcmp(bytes, "line\n") != 0)
        fail("fgets");
    if (OK(fread, fread(bytes, 1, sizeof bytes, stream)) != 4)
        fail("fread");
    OK(fclose, fclose(stream));
}

int main(int count, char **arguments)
{
    int rounds = count > 1 ? atoi(arguments[1]) : 1;
    for (int i = 0; i < rounds; i++) {
        round_of_descriptors();
        round_of_names();
        round_of_streams();
    }
#define KIND(name) dprintf(1, "%s %d\n", #name, made_##name);
    KINDS
    return 0;
}
