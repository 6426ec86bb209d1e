/* Waits for a file that another program makes. */
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>

int main(void)
{
    struct stat of;
    struct timespec pause = { 0, 5000000 };
    for (int i = 0; i < 20; i++)
        if (stat("awaited", &of) == 0)
            return 2;
    puts("absent");
    fflush(stdout);
    for (int i = 0; i < 12000; i++) {
        if (stat("awaited", &of) == 0)
            return 0;
        nanosleep(&pause, NULL);
    }
    return 1;
}
