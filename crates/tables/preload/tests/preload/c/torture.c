/* Threads that list, look, open, change directories, fork and are interrupted. The tree
 * has directories d0 to d19 with files f0 to f19, of as many bytes, that nobody changes. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define THREADS 6
#define ROUNDS 60
/* The locks of sanitizers do not survive the fork of a program with threads. */
#ifndef FORKS
#define FORKS 1
#endif

static atomic_int failures, interrupts;

#define CHECK(what)                                                                   \
    do {                                                                              \
        if (!(what)) {                                                                \
            char text[200];                                                           \
            int length = snprintf(text, sizeof text, "line %d: %s (errno %d)\n",      \
                                  __LINE__, #what, errno);                            \
            if (write(1, text, length) < 0)                                           \
                _exit(9);                                                             \
            failures++;                                                               \
        }                                                                             \
    } while (0)

static void look(int directory, int file)
{
    char path[64];
    struct stat of;
    snprintf(path, sizeof path, "d%d/f%d", directory, file);
    CHECK(stat(path, &of) == 0 && of.st_size == file);
    snprintf(path, sizeof path, "d%d/none%d", directory, file);
    CHECK(lstat(path, &of) == -1 && errno == ENOENT);
}

static void interrupted(int signal)
{
    (void)signal;
    int before = errno;
    struct stat of;
    CHECK(stat("d3/f5", &of) == 0 && of.st_size == 5);
    interrupts++;
    errno = before;
}

static void list(int directory)
{
    char path[64];
    snprintf(path, sizeof path, "d%d", directory);
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    CHECK(fd >= 0);
    struct stat of;
    CHECK(fstat(fd, &of) == 0 && S_ISDIR(of.st_mode));
    CHECK(fstatat(fd, "f7", &of, 0) == 0 && of.st_size == 7);
    int other = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    CHECK(other >= 0 && faccessat(other, "f3", R_OK, 0) == 0);
    DIR *dir = fdopendir(fd);
    CHECK(dir != NULL);
    int count = 0;
    struct dirent *entry;
    while ((entry = readdir(dir)))
        count += entry->d_name[0] == 'f';
    CHECK(count == 20);
    CHECK(closedir(dir) == 0 && close(other) == 0);
}

static void own(int number, int round)
{
    char path[64], new[64];
    struct stat of;
    snprintf(path, sizeof path, "own%d-%d", number, round);
    snprintf(new, sizeof new, "moved%d-%d", number, round);
    CHECK(lstat(path, &of) == -1);
    CHECK(mkdir(path, 0700) == 0 && lstat(path, &of) == 0);
    CHECK(rename(path, new) == 0 && lstat(path, &of) == -1 && lstat(new, &of) == 0);
    CHECK(rmdir(new) == 0 && lstat(new, &of) == -1);
}

static void child(int number)
{
    pid_t process = fork();
    if (process == 0) {
        look(number, number);
        list(number);
        _exit(failures != 0);
    }
    int status;
    CHECK(waitpid(process, &status, 0) == process && status == 0);
}

static void *work(void *argument)
{
    int number = (int)(long)argument;
    unsigned seed = (unsigned)number;
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < 40; i++)
            look(rand_r(&seed) % 20, rand_r(&seed) % 20);
        list(rand_r(&seed) % 20);
        if (number == 0 && round % 10 == 0)
            own(number, round);
        if (FORKS && number == 1 && round % 20 == 0)
            child(number);
        struct timespec pause = { 0, number == 2 ? 2000000 : 0 };
        nanosleep(&pause, NULL);
    }
    return NULL;
}

int main(void)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = interrupted;
    action.sa_flags = SA_RESTART;
    sigaction(SIGALRM, &action, NULL);
    struct itimerval often = { { 0, 1000 }, { 0, 1000 } };
    setitimer(ITIMER_REAL, &often, NULL);
    pthread_t threads[THREADS];
    for (long number = 0; number < THREADS; number++)
        pthread_create(&threads[number], NULL, work, (void *)number);
    for (int number = 0; number < THREADS; number++)
        pthread_join(threads[number], NULL);
    CHECK(interrupts > 0);
    return failures != 0;
}
