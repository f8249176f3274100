/* log.c - putting a line together and giving it to the sink. */

#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"

#define LINE_MAX_BYTES ((size_t)16 * 1024)

static enum log_level threshold = LOG_INFO;
static enum log_form line_form = LOG_FORM_AUTO;
static void (*line_sink)(const char *line, size_t len, void *arg);
static void *line_sink_arg;

static const char *const level_names[] = {
    [LOG_DEBUG] = "debug",
    [LOG_INFO] = "info",
    [LOG_WARN] = "warn",
    [LOG_ERROR] = "error",
};

void
log_set_level(enum log_level level)
{
	threshold = level;
}

enum log_level
log_level_get(void)
{
	return threshold;
}

bool
log_level_parse(const char *name, enum log_level *ret)
{
	for (size_t i = 0; i < ARRAY_LEN(level_names); i++)
		if (strcmp(name, level_names[i]) == 0) {
			*ret = (enum log_level)i;
			return true;
		}
	return false;
}

void
log_set_form(enum log_form form)
{
	line_form = form;
}

void
log_set_sink(void (*sink)(const char *line, size_t len, void *arg), void *arg)
{
	line_sink = sink;
	line_sink_arg = arg;
}

/* Quoted as JSON, which a person can read too; broken UTF-8 becomes '?'. */
static void
add_quoted(struct buf *b, const char *z)
{
	bool clean = str_is_utf8(str_of(z));

	buf_addc(b, '"');
	for (; *z; z++) {
		unsigned char c = (unsigned char)*z;
		if (c == '"' || c == '\\')
			buf_addf(b, "\\%c", c);
		else if (c == '\n')
			buf_addz(b, "\\n");
		else if (c < 0x20 || c == 0x7f)
			buf_addf(b, "\\u%04x", c);
		else
			buf_addc(b, c >= 0x80 && !clean ? '?' : (char)c);
	}
	buf_addc(b, '"');
}

void
log_line(enum log_level level, const char *text, ...)
{
	if (level < threshold)
		return;

	bool json =
	    line_form == LOG_FORM_JSON || (line_form == LOG_FORM_AUTO && !isatty(STDERR_FILENO));
	struct buf b = BUF_INIT(LINE_MAX_BYTES);
	char when[CLOCK_TEXT];
	va_list ap;

	clock_text(clock_wall_us(), when);
	if (json) {
		buf_addf(&b, "{\"time\":\"%s\",\"level\":\"%s\",\"text\":", when,
			 level_names[level]);
		add_quoted(&b, text);
	} else {
		buf_addf(&b, "%.8s %-5s %s", when + 11, level_names[level], text);
	}
	va_start(ap, text);
	for (const char *key; (key = va_arg(ap, const char *));) {
		const char *value = va_arg(ap, const char *);
		buf_addf(&b, json ? ",\"%s\":" : " %s=", key);
		add_quoted(&b, value ? value : "");
	}
	va_end(ap);
	buf_addz(&b, json ? "}\n" : "\n");
	if (line_sink) {
		line_sink(b.ptr ? b.ptr : "", b.len, line_sink_arg);
	} else if (b.len) {
		ssize_t n = write(STDERR_FILENO, b.ptr, b.len);
		(void)n; /* nobody to tell */
	}
	buf_done(&b);
}
