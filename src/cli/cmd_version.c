/* cmd_version.c - which program this is. */

#include <stdio.h>

#include "cli/args.h"
#include "holdfast.h"

int
cmd_version(const struct args *a)
{
	(void)a;
	printf("holdfast %s\n", hf_version());
	return EXIT_FINE;
}
