/* crash.h - the last words of a program that foreign code brought down. */

#ifndef CLI_CRASH_H
#define CLI_CRASH_H

#define CRASH_MARK "holdfast: crashed: " /* before them, on standard error, in one line */

/* From now on a fatal signal is told with the functions it happened in, then takes its course. */
void crash_watch(void);

#endif
