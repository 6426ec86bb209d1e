/* Makes one call in each place where recording is delicate: a constructor, a thread-specific
 * destructor, an exit handler, a destructor of the program; and after closing all descriptors. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static pthread_key_t key;

static void call(void)
{
    lseek(-1, 0, SEEK_CUR);
}

__attribute__((constructor)) static void begin(void)
{
    call();
}

__attribute__((destructor)) static void end(void)
{
    call();
}

static void thread_ends(void *value)
{
    (void)value;
    call();
}

static void *thread(void *value)
{
    call();
    pthread_setspecific(key, value);
    return NULL;
}

int main(void)
{
    pthread_t one;
    pthread_key_create(&key, thread_ends);
    atexit(call);
    for (int fd = 3; fd < 1024; fd++)
        syscall(SYS_close, fd);
    call();
    if (pthread_create(&one, NULL, thread, &key) != 0)
        return 1;
    pthread_join(one, NULL);
    return 0;
}
