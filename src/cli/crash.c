/*
 * crash.c - where it happened, in one line on standard error.
 *
 * The line is short on purpose: whoever reads it keeps it beside the call that failed. A handler
 * may not allocate, so everything is written into one buffer; looking up names is not promised to
 * be safe there, but this process is dying, and its owner knows how to end one that hangs.
 */

#include "cli/crash.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

#define FRAMES 16
#define LINE 190 /* as much as is kept of it */
#define NAME 48

static const struct {
	int number;
	const char *name;
} fatal[] = {
    {SIGSEGV, "SIGSEGV"}, {SIGBUS, "SIGBUS"},   {SIGFPE, "SIGFPE"},
    {SIGILL, "SIGILL"},   {SIGABRT, "SIGABRT"}, {SIGSYS, "SIGSYS"},
};
#define FATAL (sizeof(fatal) / sizeof(fatal[0]))

static const char *
signal_name(int number)
{
	for (size_t i = 0; i < FATAL; i++)
		if (fatal[i].number == number)
			return fatal[i].name;
	return "a signal";
}

/* "function+0x12", or "file.so+0x1234" of one that has no name outside its file. */
static int
frame_write(char out[static NAME], void *at)
{
	Dl_info where = {0};
	bool known = dladdr(at, &where) && where.dli_fname;
	const char *slash = known ? strrchr(where.dli_fname, '/') : NULL;
	const char *name = where.dli_sname ? where.dli_sname : slash ? slash + 1 : "?";
	const char *from = where.dli_sname ? where.dli_saddr : where.dli_fbase;

	return snprintf(out, NAME, "%.30s+0x%zx", name, (size_t)((const char *)at - from));
}

/* The frame it happened in: those before it are the handler's. */
static int
first_frame(void *const *frames, int count, const ucontext_t *at)
{
	uintptr_t pc = 0;

#if defined(__x86_64__)
	pc = (uintptr_t)at->uc_mcontext.gregs[REG_RIP];
#elif defined(__aarch64__)
	pc = (uintptr_t)at->uc_mcontext.pc;
#endif
	for (int i = 0; i < count; i++)
		if ((uintptr_t)frames[i] == pc)
			return i;
	return 0;
}

static void
on_fatal(int number, siginfo_t *info, void *context)
{
	void *frames[FRAMES];
	char line[LINE + NAME];
	int count = backtrace(frames, FRAMES);
	int first = first_frame(frames, count, context);
	int n = snprintf(line, sizeof(line), CRASH_MARK "%s", signal_name(number));

	if (number == SIGSEGV || number == SIGBUS)
		n += snprintf(line + n, sizeof(line) - (size_t)n, " at %p", info->si_addr);
	for (int i = first; i < count && n < LINE - NAME; i++) {
		n += snprintf(line + n, sizeof(line) - (size_t)n, i == first ? " in " : " < ");
		n += frame_write(line + n, frames[i]);
	}
	line[n++] = '\n';
	if (write(STDERR_FILENO, line, (size_t)n) < 0)
		_exit(126);
	signal(number, SIG_DFL);
	raise(number);
}

void
crash_watch(void)
{
	struct sigaction action = {.sa_sigaction = on_fatal,
				   .sa_flags = SA_SIGINFO | (int)SA_RESETHAND};
	void *frame;

	backtrace(&frame, 1); /* loads what it needs now, and not in a handler */
	sigemptyset(&action.sa_mask);
	for (size_t i = 0; i < FATAL; i++)
		sigaction(fatal[i].number, &action, NULL);
}
