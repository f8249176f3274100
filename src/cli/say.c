/* say.c - sentences on standard error. */

#include <stdarg.h>

#include "base/limits.h"
#include "cli/args.h"
#include "cli/term.h"

/* The sentence may hold what an agent or a tool wrote. */
PRINTF_LIKE(1, 0) static void say(const char *fmt, va_list ap)
{
	struct buf text = BUF_INIT(64 * KIB);

	buf_vaddf(&text, fmt, ap);
	text_print(stderr, buf_str(&text));
	fputc('\n', stderr);
	buf_done(&text);
}

int
refuse(const char *fmt, ...)
{
	va_list ap;

	fflush(stdout); /* what was printed before comes before */
	fputs("holdfast: ", stderr);
	va_start(ap, fmt);
	say(fmt, ap);
	va_end(ap);
	return EXIT_REFUSED;
}

int
usage_error(const struct args *a, const char *fmt, ...)
{
	va_list ap;

	fprintf(stderr, "holdfast %s: ", a->command->name);
	va_start(ap, fmt);
	say(fmt, ap);
	va_end(ap);
	fprintf(stderr, "Try: holdfast help %s\n", a->command->name);
	return EXIT_USAGE;
}
