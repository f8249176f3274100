/* version.c - the one place that knows the version the build gave. */

#include "holdfast.h"

const char *
hf_version(void)
{
	return HOLDFAST_VERSION;
}
