/* log.c - putting a line together and giving it to the sink. */

#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"

#define LINE_MAX_BYTES ((size_t)16 * 1024)
#define LINE_END_BYTES ((size_t)32)        /* kept free, so that a line always ends as it should */
#define VALUE_MAX_BYTES ((size_t)2 * 1024) /* of text or one value; six times that escaped */

static enum log_level threshold = LOG_INFO;
static bool line_calls;
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

void
log_set_calls(bool on)
{
	line_calls = on;
}

bool
log_calls(void)
{
	return line_calls;
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

/* With control characters and broken UTF-8 made harmless; inside quotes when quote is set. */
static void
add_text(struct buf *b, const char *z, bool quote)
{
	struct str s = str_utf8_upto(str_of(z), VALUE_MAX_BYTES);
	bool clean = str_is_utf8(s);

	if (quote)
		buf_addc(b, '"');
	for (size_t i = 0; i < s.len; i++) {
		unsigned char c = (unsigned char)s.ptr[i];
		if (quote && (c == '"' || c == '\\'))
			buf_addf(b, "\\%c", c);
		else if (c == '\n')
			buf_addz(b, "\\n");
		else if (c < 0x20 || c == 0x7f)
			buf_addf(b, "\\u%04x", c);
		else
			buf_addc(b, c >= 0x80 && !clean ? '?' : (char)c);
	}
	if (quote)
		buf_addc(b, '"');
}

static void
add_head(struct buf *b, enum log_level level, const char *text, bool json)
{
	char when[CLOCK_TEXT];

	clock_text(clock_wall_us(), when);
	if (json)
		buf_addf(b, "{\"time\":\"%s\",\"level\":\"%s\",\"text\":", when,
			 level_names[level]);
	else
		buf_addf(b, "%.8s %-5s ", when + 11, level_names[level]);
	add_text(b, text, json);
}

/* A pair that does not fit is left out whole: half of one would break the line. */
static void
add_pair(struct buf *b, const char *key, const char *value, bool json)
{
	size_t before = b->len;

	buf_addz(b, json ? "," : " ");
	add_text(b, key, json);
	buf_addc(b, json ? ':' : '=');
	add_text(b, value ? value : "", true);
	if (buf_failed(b))
		b->len = before;
}

void
log_line(enum log_level level, const char *text, ...)
{
	if (level < threshold)
		return;

	bool json =
	    line_form == LOG_FORM_JSON || (line_form == LOG_FORM_AUTO && !isatty(STDERR_FILENO));
	struct buf b = BUF_INIT(LINE_MAX_BYTES - LINE_END_BYTES);
	va_list ap;

	add_head(&b, level, text, json);
	va_start(ap, text);
	for (const char *key; !buf_failed(&b) && (key = va_arg(ap, const char *));)
		add_pair(&b, key, va_arg(ap, const char *), json);
	va_end(ap);
	bool cut = buf_failed(&b);
	b.failed = false;
	b.max = LINE_MAX_BYTES;
	if (cut)
		buf_addz(&b, json ? ",\"cut\":true" : " (cut)");
	buf_addz(&b, json ? "}\n" : "\n");
	if (line_sink) {
		line_sink(b.ptr ? b.ptr : "", b.len, line_sink_arg);
	} else if (b.len) {
		ssize_t n = write(STDERR_FILENO, b.ptr, b.len);
		(void)n; /* nobody to tell */
	}
	buf_done(&b);
}
