/* term.c - what a terminal can do, and text that cannot harm it. */

#include "cli/term.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/limits.h"

static bool colours;
static bool dumb;

void
term_signals(sigset_t *set)
{
	sigemptyset(set);
	sigaddset(set, SIGINT);
	sigaddset(set, SIGTERM);
	sigaddset(set, SIGHUP);
}

void
term_init(void)
{
	const char *kind = getenv("TERM"), *no_colour = getenv("NO_COLOR");

	dumb = !kind || !kind[0] || strcmp(kind, "dumb") == 0;
	colours = !dumb && !(no_colour && no_colour[0]);
}

bool
term_is(FILE *f)
{
	return isatty(fileno(f));
}

const char *
paint(FILE *f, enum paint p)
{
	static const char *const codes[] = {
	    [PLAIN] = "\033[0m",  [BOLD] = "\033[1m",    [DIM] = "\033[2m",   [RED] = "\033[31m",
	    [GREEN] = "\033[32m", [YELLOW] = "\033[33m", [CYAN] = "\033[36m",
	};
	return colours && term_is(f) ? codes[p] : "";
}

unsigned
term_width(void)
{
	struct winsize size;
	static const int streams[] = {STDOUT_FILENO, STDERR_FILENO, STDIN_FILENO};

	for (size_t i = 0; i < ARRAY_LEN(streams); i++)
		if (ioctl(streams[i], TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
			return size.ws_col;
	return 80;
}

bool
term_can_redraw(void)
{
	return !dumb && term_is(stderr);
}

/* Characters that change how others look, or cannot be seen. */
static const struct {
	uint32_t first, last;
} hidden[] = {
    {0x00, 0x1f},     {0x7f, 0x9f},     {0xad, 0xad},       {0x61c, 0x61c},
    {0x180e, 0x180e}, {0x200b, 0x200f}, {0x2028, 0x202e},   {0x2060, 0x206f},
    {0xfeff, 0xfeff}, {0xfff9, 0xfffb}, {0xe0000, 0xe0fff},
};

static bool
is_hidden(uint32_t c)
{
	for (size_t i = 0; i < ARRAY_LEN(hidden); i++)
		if (c >= hidden[i].first && c <= hidden[i].last)
			return true;
	return false;
}

static void
add_escaped(struct buf *out, uint32_t c)
{
	switch (c) {
	case '\n': buf_addz(out, "\\n"); break;
	case '\t': buf_addz(out, "\\t"); break;
	case '\r': buf_addz(out, "\\r"); break;
	case 0x1b: buf_addz(out, "\\e"); break;
	default: buf_addf(out, c < 0x80 ? "\\x%02x" : "\\u{%x}", c); break;
	}
}

/* In JSON these can only stand inside a string. */
static void
add_escaped_json(struct buf *out, uint32_t c)
{
	if (c < 0x10000)
		buf_addf(out, "\\u%04x", c);
	else
		buf_addf(out, "\\u%04x\\u%04x", 0xd800 + ((c - 0x10000) >> 10),
			 0xdc00 + (c & 0x3ff));
}

void
text_safe(struct buf *out, struct str text, enum safe how)
{
	while (text.len > 0) {
		uint32_t c;
		size_t n = str_utf8_char(text, &c);
		if (n == 0 && how == SAFE_JSON)
			add_escaped_json(out, 0xfffd), n = 1;
		else if (n == 0)
			buf_addf(out, "\\x%02x", (unsigned char)text.ptr[0]), n = 1;
		else if (how != SAFE_LINE && (c == '\n' || c == '\t'))
			buf_addc(out, (char)c);
		else if (is_hidden(c) && how == SAFE_JSON)
			add_escaped_json(out, c);
		else if (is_hidden(c))
			add_escaped(out, c);
		else
			buf_add(out, str_upto(text, n));
		text = str_from(text, n);
	}
}

static void
print(FILE *f, struct str text, enum safe how)
{
	struct buf safe = BUF_INIT(LIMIT_CLIENT_ANSWER * 4);

	if (term_is(f)) {
		text_safe(&safe, text, how);
		text = buf_str(&safe);
	}
	fwrite(text.ptr, 1, text.len, f);
	buf_done(&safe);
}

void
text_print(FILE *f, struct str text)
{
	print(f, text, SAFE_LINES);
}

void
text_print_json(FILE *f, struct str json)
{
	print(f, json, SAFE_JSON);
	if (!str_ends(json, S("\n")))
		fputc('\n', f);
}

/* Near enough without the tables of a locale: East Asian scripts and pictures take two. */
static unsigned
columns_of(uint32_t c)
{
	static const struct {
		uint32_t first, last;
	} wide[] = {{0x1100, 0x115f}, {0x2e80, 0xa4cf},   {0xac00, 0xd7a3},
		    {0xf900, 0xfaff}, {0xfe30, 0xfe6f},   {0xff00, 0xff60},
		    {0xffe0, 0xffe6}, {0x1f300, 0x1faff}, {0x20000, 0x3fffd}};

	if (c >= 0x300 && c <= 0x36f)
		return 0; /* combining marks */
	for (size_t i = 0; i < ARRAY_LEN(wide); i++)
		if (c >= wide[i].first && c <= wide[i].last)
			return 2;
	return 1;
}

struct str
text_upto(struct str text, unsigned columns)
{
	size_t at = 0;

	while (at < text.len) {
		uint32_t c;
		size_t n = str_utf8_char(str_from(text, at), &c);
		unsigned takes = n ? columns_of(c) : 1;
		if (takes > columns)
			break;
		columns -= takes;
		at += n ? n : 1;
	}
	return str_upto(text, at);
}

unsigned
text_columns(struct str text)
{
	unsigned total = 0;

	while (text.len > 0) {
		uint32_t c;
		size_t n = str_utf8_char(text, &c);
		total += n ? columns_of(c) : 1;
		text = str_from(text, n ? n : 1);
	}
	return total;
}

static void
block_line(FILE *f, const char *margin, struct str line)
{
	unsigned width = term_width(), taken = text_columns(str_of(margin));
	unsigned room = width > taken + 20 ? width - taken : 20;

	do {
		struct str part = term_is(f) ? text_upto(line, room) : line;
		if (part.len == 0)
			part = line; /* cannot be: room is larger than any character */
		fprintf(f, "%s%.*s\n", margin, STR_ARG(part));
		line = str_from(line, part.len);
	} while (line.len > 0);
}

/* Tabs to the next stop of eight, so that columns can be counted. */
static void
expand_tabs(struct buf *out, struct str line)
{
	struct str part;
	unsigned column = 0;

	while (str_split(&line, '\t', &part)) {
		buf_add(out, part);
		column += text_columns(part);
		if (!line.ptr)
			break;
		do
			buf_addc(out, ' ');
		while (++column % 8 != 0);
	}
}

void
text_block(FILE *f, const char *margin, struct str text)
{
	struct buf safe = BUF_INIT(LIMIT_JSON_BYTES * 8), flat = BUF_INIT(LIMIT_JSON_BYTES * 8);
	struct str line;

	if (str_ends(text, S("\n")))
		text = str_upto(text, text.len - 1);
	text_safe(&safe, text, SAFE_LINES);
	for (struct str rest = buf_str(&safe); str_split(&rest, '\n', &line);) {
		buf_reset(&flat);
		expand_tabs(&flat, line);
		block_line(f, margin, buf_str(&flat));
	}
	if (buf_failed(&safe) || buf_failed(&flat))
		fprintf(f, "%s(too long to be shown whole)\n", margin);
	buf_done(&safe);
	buf_done(&flat);
}

void
progress_draw(struct progress *p, const char *what, struct str detail)
{
	static const char *const frames[] = {"⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"};
	struct buf line = BUF_INIT(8 * KIB);
	uint64_t now = clock_mono_ms();

	if (!p->started_ms)
		p->started_ms = now;
	if (!term_can_redraw() || now - p->started_ms < 1000)
		return;
	buf_addf(&line, "%s  %llu s", what, (unsigned long long)((now - p->started_ms) / 1000));
	if (detail.len)
		buf_addz(&line, "  ");
	text_safe(&line, str_utf8_upto(detail, KIB), SAFE_LINE);
	struct str shown = text_upto(buf_str(&line), term_width() > 4 ? term_width() - 4 : 1);
	fprintf(stderr, "\r\033[K%s%s%s %.*s", paint(stderr, CYAN),
		frames[p->frame++ % ARRAY_LEN(frames)], paint(stderr, PLAIN), STR_ARG(shown));
	fflush(stderr);
	p->shown = true;
	buf_done(&line);
}

void
progress_erase(struct progress *p)
{
	if (p->shown)
		fputs("\r\033[K", stderr), fflush(stderr);
	p->shown = false;
}

FILE *
term_person(void)
{
	if (!isatty(STDIN_FILENO) && !isatty(STDOUT_FILENO) && !isatty(STDERR_FILENO))
		return NULL;
	int fd = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
	if (fd < 0)
		return NULL;
	/* In the background nobody would be typing to us. */
	FILE *f = tcgetpgrp(fd) == getpgrp() ? fdopen(fd, "w") : NULL;
	if (!f)
		close(fd);
	return f;
}
