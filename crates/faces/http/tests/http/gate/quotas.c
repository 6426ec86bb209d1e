/* Prints what quotactl(2) tells the user who runs this: a line for each quota that is not empty, with
   its kind, its id and eight numbers; and how many were refused. Arguments: a device, and ids. */

#include <errno.h>
#include <linux/quota.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	static const char *const kinds[] = {"user", "group", "project"};
	int refused = 0;

	for (int kind = 0; kind < 3; kind++) {
		for (int at = 2; at < argc; at++) {
			unsigned id = strtoul(argv[at], NULL, 10);
			struct if_dqblk quota;

			memset(&quota, 0, sizeof quota);
			if (syscall(SYS_quotactl, QCMD(Q_GETQUOTA, kind), argv[1], id, &quota)) {
				if (errno != EPERM) {
					perror("quotactl");
					return 1;
				}
				refused++;
				continue;
			}
			unsigned long long numbers[] = {
				quota.dqb_curspace,  quota.dqb_bsoftlimit * 1024,
				quota.dqb_bhardlimit * 1024, quota.dqb_btime,
				quota.dqb_curinodes, quota.dqb_isoftlimit,
				quota.dqb_ihardlimit, quota.dqb_itime,
			};
			unsigned long long any = 0;

			for (int number = 0; number < 8; number++)
				any |= numbers[number];
			if (!any)
				continue;
			printf("%s %u", kinds[kind], id);
			for (int number = 0; number < 8; number++)
				printf(" %llu", numbers[number]);
			putchar('\n');
		}
	}
	printf("refused %d\n", refused);
	return 0;
}
