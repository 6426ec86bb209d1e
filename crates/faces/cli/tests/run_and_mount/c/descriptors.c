/* Opens the directory `$1` again and again and makes one call with each descriptor. What the calls
   say is printed, and is the same whether the descriptor is the kernel's or, if `$2` is "virtual", a
   number that the kernel has not given out. */
#define _GNU_SOURCE
#include <aio.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/sendfile.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

enum { PATIENCE_S = 60 };

static const char *top;
static int is_virtual;
/* The kernel gives out the smallest number that is free; virtual ones are the last below the limit. */
static int least;

static int directory(void)
{
    struct timespec pause = { 0, 5000000 };
    time_t until = time(NULL) + PATIENCE_S;
    for (;;) {
        int fd = open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (fd < 0 || !is_virtual || fd >= least)
            return fd;
        close(fd);
        if (time(NULL) > until) {
            printf("no virtual descriptor\n");
            exit(1);
        }
        nanosleep(&pause, NULL);
    }
}

static void said(const char *what, long result, int error)
{
    printf("%s: %ld %s\n", what, result < 0 ? -1 : result, result < 0 ? strerror(error) : "");
}

/* Numbers and addresses differ from run to run: only whether there is one is printed. */
#define THERE(expression)                                                             \
    do {                                                                              \
        int fd = directory();                                                         \
        errno = 0;                                                                    \
        long result = (long)(expression);                                             \
        said(#expression, result < 0 ? -1 : 0, errno);                                \
        close(fd);                                                                    \
    } while (0)

#define SAME(expression)                                                              \
    do {                                                                              \
        int fd = directory();                                                         \
        errno = 0;                                                                    \
        long result = (long)(expression);                                             \
        said(#expression, result, errno);                                             \
        close(fd);                                                                    \
    } while (0)

static char room[1 << 16];
static struct iovec part = { room, 100 };

static long set(int fd, int which)
{
    fd_set all[3];
    struct timeval none = { 0, 0 };
    for (int at = 0; at < 3; at++)
        FD_ZERO(&all[at]);
    FD_SET(fd, &all[which]);
    return select(fd + 1, &all[0], &all[1], &all[2], &none);
}

static long waits(int fd)
{
    fd_set all;
    struct timespec none = { 0, 0 };
    FD_ZERO(&all);
    FD_SET(fd, &all);
    return pselect(fd + 1, &all, NULL, NULL, &none, NULL);
}

static long polls(int fd, int with_mask)
{
    struct timespec none = { 0, 0 };
    struct pollfd one = { fd, POLLIN | POLLOUT, 0 };
    int count = with_mask ? ppoll(&one, 1, &none, NULL) : poll(&one, 1, 0);
    return count * 1000 + one.revents;
}

static long watches(int fd)
{
    struct epoll_event event = { EPOLLIN, { 0 } };
    int group = epoll_create1(EPOLL_CLOEXEC);
    int code = epoll_ctl(group, EPOLL_CTL_ADD, fd, &event), error = errno;
    close(group);
    errno = error;
    return code;
}

/* Sends a descriptor to itself, and says whether what comes is this directory. */
static long passes(int fd)
{
    int ends[2], got = -1;
    union { struct cmsghdr head; char bytes[CMSG_SPACE(sizeof(int))]; } control;
    char byte = 'x';
    struct iovec one = { &byte, 1 };
    struct msghdr message = { .msg_iov = &one, .msg_iovlen = 1, .msg_control = &control,
                              .msg_controllen = sizeof control };
    struct stat of, other;
    memset(&control, 0, sizeof control);
    control.head.cmsg_level = SOL_SOCKET;
    control.head.cmsg_type = SCM_RIGHTS;
    control.head.cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(&control.head), &fd, sizeof fd);
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0 || sendmsg(ends[0], &message, 0) != 1)
        return -1;
    if (recvmsg(ends[1], &message, 0) == 1)
        memcpy(&got, CMSG_DATA(&control.head), sizeof got);
    int is_same = fstat(got, &of) == 0 && stat(top, &other) == 0 && of.st_ino == other.st_ino;
    close(got), close(ends[0]), close(ends[1]);
    return is_same;
}

static long asks(int fd)
{
    struct aiocb request = { .aio_fildes = fd, .aio_buf = room, .aio_nbytes = 10 };
    const struct aiocb *all[] = { &request };
    if (aio_read(&request) != 0)
        return -1;
    while (aio_error(&request) == EINPROGRESS)
        aio_suspend(all, 1, NULL);
    return aio_error(&request);
}

static long locks(int fd)
{
    struct flock lock = { .l_type = F_RDLCK, .l_whence = SEEK_SET };
    return fcntl(fd, F_SETLK, &lock);
}

static void calls(void)
{
    off_t offset = 0;
    off64_t other = 0;
    struct statfs system;
    struct statvfs vsystem;
    struct termios terminal;
    struct itimerspec timer;
    struct sockaddr_storage address;
    socklen_t length = sizeof address;
    sigset_t signals;
    int output = open("/dev/null", O_WRONLY), pipes[2];
    if (pipe(pipes) != 0)
        exit(2);
    sigemptyset(&signals);
    SAME(read(fd, room, 10));
    SAME(pread(fd, room, 10, 0));
    SAME(pread64(fd, room, 10, 0));
    SAME(readv(fd, &part, 1));
    SAME(preadv(fd, &part, 1, 0));
    SAME(preadv2(fd, &part, 1, 0, 0));
    SAME(write(fd, room, 1));
    SAME(pwrite(fd, room, 1, 0));
    SAME(dprintf(fd, "x"));
    SAME(ftruncate(fd, 0));
    SAME(fallocate(fd, 0, 0, 1));
    SAME(posix_fallocate(fd, 0, 1));
    SAME(posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL));
    SAME(readahead(fd, 0, 10));
    SAME(sync_file_range(fd, 0, 0, 0));
    THERE(getdents64(fd, room, sizeof room));
    THERE(mmap(NULL, 10, PROT_READ, MAP_PRIVATE, fd, 0) == MAP_FAILED ? -1 : 0);
    SAME(sendfile(output, fd, &offset, 10));
    SAME(sendfile(fd, output, NULL, 10));
    SAME(copy_file_range(fd, &other, output, NULL, 10, 0));
    SAME(splice(fd, &other, pipes[1], NULL, 10, 0));
    SAME(tee(fd, pipes[1], 10, 0));
    SAME(vmsplice(fd, &part, 1, 0));
    SAME(set(fd, 0));
    SAME(set(fd, 1));
    SAME(set(fd, 2));
    SAME(waits(fd));
    SAME(polls(fd, 0));
    SAME(polls(fd, 1));
    SAME(watches(fd));
    SAME(epoll_wait(fd, &(struct epoll_event){ 0 }, 1, 0));
    SAME(passes(fd));
    SAME(asks(fd));
    SAME(locks(fd));
    SAME(lockf(fd, F_TEST, 0));
    SAME(flock(fd, LOCK_SH | LOCK_NB));
    SAME(fsync(fd));
    SAME(fdatasync(fd));
    SAME(fstatfs(fd, &system));
    SAME(fstatvfs(fd, &vsystem));
    SAME(fpathconf(fd, _PC_NAME_MAX));
    SAME(isatty(fd));
    SAME(ttyname_r(fd, room, 100));
    SAME(tcgetattr(fd, &terminal));
    SAME(tcgetpgrp(fd));
    SAME(ptsname_r(fd, room, 100));
    SAME(accept(fd, NULL, NULL));
    SAME(listen(fd, 1));
    SAME(shutdown(fd, SHUT_RD));
    SAME(getsockname(fd, (void *)&address, &length));
    SAME(send(fd, "x", 1, 0));
    SAME(recv(fd, room, 1, 0));
    SAME(recvfrom(fd, room, 1, 0, NULL, NULL));
    SAME(sendto(fd, "x", 1, 0, NULL, 0));
    SAME(timerfd_gettime(fd, &timer));
    SAME(signalfd(fd, &signals, 0));
    SAME(inotify_rm_watch(fd, 1));
    SAME(inotify_add_watch(fd, "/", IN_CREATE));
    SAME(flistxattr(fd, room, 0));
    SAME(fgetxattr(fd, "user.none", room, 10));
    SAME(faccessat(fd, "one", R_OK, 0));
    SAME(syscall(SYS_fchdir, fd));
    SAME(syscall(SYS_pread64, fd, room, 10L, 0L));
    SAME(ioctl(fd, FIONREAD, room));
    THERE(fcntl(fd, F_DUPFD, 0));
    THERE(fcntl(fd, F_DUPFD_CLOEXEC, 100));
    THERE(dup(fd));
    THERE(dup2(fd, 150));
    SAME(fcntl(fd, F_GETFD));
    SAME(fcntl(fd, F_SETFD, 0));
    THERE(openat(fd, "one", O_RDONLY));
    THERE(openat(fd, ".", O_PATH));
    close(output), close(pipes[0]), close(pipes[1]);
}

static char path[PATH_MAX];

/* The path of a descriptor, by one of the ways to it. */
static const char *named(int fd, int way)
{
    static const char *const WAYS[] = { "/proc/self/fd/%d", "/dev/fd/%d", "/proc/thread-self/fd/%d",
                                        "/proc//self/./fd/%d/.", "fd/%d" };
    if (way < 5)
        snprintf(path, sizeof path, WAYS[way], fd);
    else if (way == 5)
        snprintf(path, sizeof path, "/proc/%d/fd/%d", getpid(), fd);
    else
        snprintf(path, sizeof path, "/proc/self/task/%d/fd/%d", gettid(), fd);
    return path;
}

static const char *below(int fd, int way, const char *name)
{
    named(fd, way);
    return strncat(strcat(path, "/"), name, 100);
}

static long link_is_right(int fd, int way)
{
    char where[PATH_MAX] = "";
    return readlink(named(fd, way), where, sizeof where - 1) > 0 && strcmp(where, top) == 0;
}

static long real_path_is_right(int fd, int way)
{
    char where[PATH_MAX];
    return realpath(named(fd, way), where) && strcmp(where, top) == 0;
}

static long names(const char *where)
{
    DIR *all = opendir(where);
    long count = 0;
    if (!all)
        return -1;
    while (readdir(all))
        count++;
    closedir(all);
    return count;
}

static long binds(int fd, int way)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    int end = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (strlen(below(fd, way, "one")) >= sizeof address.sun_path)
        return -2;
    strcpy(address.sun_path, path);
    int code = connect(end, (void *)&address, sizeof address), error = errno;
    close(end);
    errno = error;
    return code;
}

static long executes(int fd, int way)
{
    char *const words[] = { "run", NULL };
    pid_t child = fork();
    int status = -1;
    if (child == 0) {
        execv(below(fd, way, "run"), words);
        _exit(100 + errno);
    }
    waitpid(child, &status, 0);
    return WEXITSTATUS(status);
}

static void ways(int way)
{
    struct stat of;
    struct statx more;
    struct statfs system;
    int events = inotify_init1(IN_CLOEXEC);
    printf("way %d\n", way);
    THERE(open(named(fd, way), O_RDONLY));
    THERE(open(named(fd, way), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    THERE(open(below(fd, way, "one"), O_RDONLY));
    THERE(openat(AT_FDCWD, named(fd, way), O_PATH));
    SAME(stat(named(fd, way), &of) == 0 ? (long)of.st_ino : -1);
    SAME(lstat(named(fd, way), &of) == 0 ? (long)(of.st_mode & S_IFMT) : -1);
    SAME(fstatat(AT_FDCWD, named(fd, way), &of, 0) == 0 ? (long)of.st_ino : -1);
    SAME(statx(AT_FDCWD, named(fd, way), 0, STATX_INO, &more) == 0 ? (long)more.stx_ino : -1);
    SAME(stat(below(fd, way, "one"), &of) == 0 ? of.st_size : -1);
    SAME(access(named(fd, way), R_OK));
    SAME(faccessat(AT_FDCWD, named(fd, way), R_OK, 0));
    SAME(link_is_right(fd, way));
    SAME(real_path_is_right(fd, way));
    SAME(names(named(fd, way)));
    SAME(statfs(named(fd, way), &system));
    SAME(pathconf(named(fd, way), _PC_NAME_MAX));
    SAME(listxattr(named(fd, way), room, 0));
    SAME(getxattr(named(fd, way), "system.posix_acl_access", room, 10));
    THERE(inotify_add_watch(events, named(fd, way), IN_CREATE));
    SAME(fopen(below(fd, way, "one"), "r") ? 0 : -1);
    SAME(chmod(named(fd, way), 0755));
    SAME(mkdir(below(fd, way, "new"), 0700));
    SAME(rmdir(below(fd, way, "new")));
    SAME(binds(fd, way));
    SAME(executes(fd, way));
    THERE(open(below(fd, way, "made"), O_RDWR | O_CREAT, 0600));
    SAME(unlink(below(fd, way, "made")));
    close(events);
}

static int lists(DIR *all, int fd)
{
    char number[16];
    int is_there = 0;
    struct dirent *entry;
    snprintf(number, sizeof number, "%d", fd);
    while ((entry = readdir(all)))
        is_there |= strcmp(entry->d_name, number) == 0;
    return is_there;
}

enum { AFTER, BEFORE, HERE };

/* Whether a descriptor is in a list that is opened after it, or before it and read then, or that is
   the working directory. Who has opened the list gets no virtual ones any more. */
static int is_listed(const char *where, int when)
{
    DIR *all = when == BEFORE ? opendir(where) : NULL;
    if (when == HERE && chdir(where) != 0)
        return -1;
    int fd = when == AFTER ? directory() : open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (when == BEFORE)
        rewinddir(all);
    else
        all = opendir(when == HERE ? "." : where);
    return all ? lists(all, fd) : -1;
}

static void in_child(const char *where, int when)
{
    int status;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        if (chdir("/proc/self") != 0)
            exit(2);
        printf("%s, %d: %d\n", where, when, is_listed(where, when));
        exit(0);
    }
    waitpid(child, &status, 0);
}

static long reads(int fd)
{
    return read(fd, room, 1) < 0 ? errno : 0;
}

int main(int count, char **words)
{
    static const char *const LISTS[] = { "/proc/self/fd", "/dev/fd", "/proc/self/fdinfo",
                                         "/proc/self/fd/.", "fd" };
    struct rlimit limit;
    if (count < 3 || !(top = realpath(words[1], NULL)) || getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return 2;
    is_virtual = strcmp(words[2], "virtual") == 0;
    least = (limit.rlim_cur < 1024 ? (int)limit.rlim_cur : 1024) - 64;
    calls();
    if (chdir("/proc/self") != 0)
        return 2;
    for (int way = 0; way < 7; way++)
        ways(way);
    for (int at = 0; at < 5; at++)
        for (int when = AFTER; when <= HERE; when++)
            in_child(LISTS[at], when);
    int fd = directory();
    limit.rlim_cur = (rlim_t)least;
    setrlimit(RLIMIT_NOFILE, &limit);
    printf("above the limit: %ld\n", reads(fd));
    fd = open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    printf("below the limit: %ld\n", reads(fd));
    return 0;
}
