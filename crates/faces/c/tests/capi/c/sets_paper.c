/*
 * The paper's program, as Figure 1 and section 3.1 have it:
 *
 *     handle = setOpen(argv[1]);
 *     while ( (fd = setIterate(handle)) != -1 ) {
 *         process(fd);
 *         close(fd);
 *     }
 *     setClose(handle);
 *
 * Here process() copies the file to standard output.
 */
#include <stdio.h>
#include <trawl/setcall.h>
#include <unistd.h>

static void process(int fd) {
    char buffer[4096];
    ssize_t bytes;
    while ((bytes = read(fd, buffer, sizeof buffer)) > 0)
        fwrite(buffer, 1, (size_t)bytes, stdout);
}

int main(int argc, char **argv) {
    setHandle handle;
    fileDesc fd;
    if (argc != 2)
        return 2;
    handle = setOpen(argv[1]);
    if (handle == NULL) {
        fprintf(stderr, "%s\n", trawl_set_strerror(NULL));
        return 2;
    }
    while ((fd = setIterate(handle)) != -1) {
        process(fd);
        close(fd);
    }
    fflush(stdout);
    return setClose(handle) == 0 ? 0 : 1;
}
