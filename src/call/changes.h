/*
 * changes.h - what the jobs of a call do to files: looked at before, kept, told afterwards.
 *
 *	dispatch: changes_begin --.--> the job's witness --about--> is it still what a person was
 *	                          |         (a worker)               shown? what is there is kept
 *	                          |                       --made---> noted
 *	record:   changes_tell  <-'    an event for each, on the loop
 *
 * Counted: a job that was left behind still keeps what it overwrites. What it changes then is in
 * the history, and no event tells of it.
 */

#ifndef CALL_CHANGES_H
#define CALL_CHANGES_H

#include "call/call.h"

/*
 * For the attempt that begins, in c->changes; what an earlier one did is told. The reference for
 * the job, whose it is from now on; NULL: its tool changes no files (or there is no memory: then
 * nothing is kept, and that is told).
 */
struct witness *changes_begin(struct call *c);

/* The file was no longer what a person had been shown, so nothing was done to it. */
bool changes_outdated(const struct call *c);

void changes_tell(struct call *c); /* file.changed for each that was not told yet */
void changes_drop(struct call *c); /* no-op without */

#endif
