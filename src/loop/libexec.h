/* libexec.h - where the programs are that belong to this one. */

#ifndef LOOP_LIBEXEC_H
#define LOOP_LIBEXEC_H

#include <stdbool.h>

#include "base/limits.h"

/* Beside the running program, in the build directory, or where they are installed. False: nowhere.
 */
bool libexec_find(const char *name, char path[static LIMIT_PATH]);

#endif
