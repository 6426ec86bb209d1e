/* A library behind ours that returns another name. */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <string.h>

struct dirent *readdir(DIR *dir)
{
    struct dirent *(*next)(DIR *) = (struct dirent *(*)(DIR *))dlsym(RTLD_NEXT, "readdir");
    struct dirent *entry = next(dir);
    if (entry && strcmp(entry->d_name, "old") == 0)
        strcpy(entry->d_name, "new");
    return entry;
}
