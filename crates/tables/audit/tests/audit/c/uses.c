/* A program that is linked with it. */
#include <stdio.h>

int answer(void);

int main(void)
{
	return printf("%d\n", answer()) != 3;
}
