/* show.h - answers of the gateway, made readable. */

#ifndef CLI_SHOW_H
#define CLI_SHOW_H

#include <stdio.h>

#include "cli/api.h"

enum show_as {
	SHOW_TEXT,    /* strings, numbers, lists: whatever it is, on one line */
	SHOW_ID,      /* the last characters of an identifier: enough to name it */
	SHOW_TIME,    /* date and time here */
	SHOW_CLOCK,   /* only the time */
	SHOW_MS,      /* a duration */
	SHOW_WHAT,    /* of the whole row: see what_text */
	SHOW_TOOL,    /* of a tool's row: its first sentence, and whether it has changed */
	SHOW_LATENCY, /* {p50, p99} in milliseconds */
	SHOW_OFFERED, /* of a server's row: see offered_text */
	SHOW_OUTCOME, /* of a journal's row: ok, error (the tool said so), failed, or its state */
	SHOW_UNDO,    /* of a change: can it be undone? yes, no, or it is */
	SHOW_MOVED,   /* of a change: its path, behind the one it had */
};

struct column {
	const char *title;
	const char *key;
	enum show_as as;
	unsigned drop; /* where the line is too short: 1 goes first, then 2; 0 stays */
};

/* One cell, added to out. */
void cell_text(struct buf *out, const struct json *row, const struct column *c);

/* What a call is about, of a question, an event or a journal's row: the command, the files, or the
 * arguments. */
void what_text(struct buf *out, const struct json *row);

/* Of a server: its tools, and how many of them can be used where that is not all: "4 of 21"; with
 * the word behind them if wanted. */
void offered_text(struct buf *out, const struct json *server, bool word);

/* Rows of objects as a table; on a terminal it fits: columns are left out, the last one is cut. */
void show_table(const struct json *rows, const struct column *columns, size_t count);
/* One object, a line for each member that has a value. */
void show_fields(const struct json *object, const struct column *columns, size_t count);
/* The answer as it came, and a newline; on a terminal with nothing in it that could harm. */
void show_json(const struct reply *r);
/* The same of one value, on a line. */
void show_json_value(const struct json *v);

/* Content blocks of a result, from the given one on: text as it is, others by a line. */
void show_content(const struct json *content, size_t from);

/* A diff, every line behind the margin. */
void show_diff(FILE *f, const char *margin, struct str diff);

/* An event in a line: time, session, type, gist. What a person is asked for is never cut. */
void show_event(const struct json *event);

/* The end of an identifier. */
#define SHORT_ID 8
struct str short_id(struct str id);

/* A timestamp of the gateway as seconds since 1970; false when it is none. */
bool time_parse(struct str timestamp, int64_t *ret_s);

/* A value as safe text of one line; nothing for null. */
void value_text(struct buf *out, const struct json *v);

#endif
