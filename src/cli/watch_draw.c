/*
 * watch_draw.c - the screen, drawn from what is known.
 *
 *	 holdfast  2 running  1 question                      bar
 *	write_file wants to write in /home/me/work    4:58    the question, its text behind a margin
 *	│ -port 8080
 *	│ +port 9090
 *	█████░░░░░  50% files__copy  12s  copying             calls
 *	files started   git failed: it exited                 servers
 *	12:00:01 ok     read_file                             recent calls, where there is room
 *	! git failed: it exited                               toasts
 *	a allow  s session  d deny  Tab next  ? help          keys, or a note
 */

#include <inttypes.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/limits.h"
#include "cli/ask.h"
#include "cli/show.h"
#include "cli/watch.h"
#include "json/write.h"

#include <curses.h>

#define MARGIN "│ "
#define MARGIN_CELLS 2
#define LINE_BYTES (64 * KIB)
#define BAR_CELLS 10
#define TOOL_CELLS 24
#define QUESTION_LEAST 3 /* rows: fewer show nothing that could be said yes to */

/* One line being put together: foreign text is added by line_add_*, ours by buf_*. */
struct line {
	struct buf text;
};

static attr_t
attributes(enum ink ink)
{
	switch (ink) {
	case INK_BOLD: return A_BOLD;
	case INK_DIM: return A_DIM;
	case INK_BAR: return A_REVERSE;
	case INK_RED:
	case INK_GREEN:
	case INK_YELLOW:
	case INK_CYAN: return screen_coloured() ? (attr_t)COLOR_PAIR(ink) : A_NORMAL;
	case INK_PLAIN: break;
	}
	return A_NORMAL;
}

/* Printable text, cut at the edge of the screen. The cells it took. */
static unsigned
put(int row, int column, enum ink ink, struct str text)
{
	if (row < 0 || row >= LINES || column >= COLS)
		return 0;
	text = cells_upto(text, (unsigned)(COLS - column));
	attrset(attributes(ink));
	mvaddnstr(row, column, text.len ? text.ptr : "", (int)text.len);
	attrset(A_NORMAL);
	return cells_count(text);
}

/* A whole row in one ink, blank to the edge; done with the text then. */
static void
put_line(int row, enum ink ink, struct line *l)
{
	unsigned taken = put(row, 0, ink, buf_str(&l->text));

	attrset(attributes(ink));
	for (int x = (int)taken; ink == INK_BAR && x < COLS; x++)
		mvaddch(row, x, ' ');
	attrset(A_NORMAL);
	buf_done(&l->text);
}

static struct line
line_new(void)
{
	return (struct line){BUF_INIT(LINE_BYTES)};
}

static void
line_add(struct line *l, struct str foreign)
{
	cells_safe(&l->text, str_utf8_upto(foreign, 4 * KIB), SAFE_LINE);
}

/* In a column of so many cells, and a blank. */
static void
line_column(struct line *l, struct str foreign, unsigned cells)
{
	struct buf safe = BUF_INIT(LINE_BYTES);

	cells_safe(&safe, str_utf8_upto(foreign, 4 * KIB), SAFE_LINE);
	struct str part = cells_upto(buf_str(&safe), cells);
	buf_add(&l->text, part);
	for (unsigned n = cells_count(part); n <= cells; n++)
		buf_addc(&l->text, ' ');
	buf_done(&safe);
}

/* Seconds until (or since) a time of the gateway's; 0 when it is past, or none. */
static int64_t
seconds_until(struct str time, bool since)
{
	int64_t at, now = clock_wall_us() / 1000000;

	if (!time_parse(time, &at))
		return 0;
	at = since ? now - at : at - now;
	return at < 0 ? 0 : at;
}

static void
line_span(struct line *l, int64_t seconds)
{
	char text[32];

	if (seconds < 120)
		snprintf(text, sizeof(text), "%" PRId64 "s", seconds);
	else
		snprintf(text, sizeof(text), "%" PRId64 "m%02" PRId64 "s", seconds / 60,
			 seconds % 60);
	buf_addf(&l->text, "%-6s ", text);
}

/* ---- the top ---- */

static void
draw_top(const struct watch *w)
{
	struct line l = line_new();
	size_t calls = watch_call_count(w), questions = json_len(watch_rows(w, PART_QUESTIONS));

	buf_addz(&l.text, " holdfast  ");
	if (!w->stream)
		buf_addz(&l.text, "gateway stopped; waiting for it");
	else
		buf_addf(&l.text, "%zu call%s  %zu question%s", calls, calls == 1 ? "" : "s",
			 questions, questions == 1 ? "" : "s");
	put_line(0, INK_BAR, &l);
}

/* ---- the question ---- */

static void
page_add_input(struct page *p, const struct json *q)
{
	struct buf input = BUF_INIT(LIMIT_CLIENT_ANSWER);
	struct jw w = jw(&input);

	jw_value(&w, json_get(q, S("input")));
	page_add(p, INK_PLAIN, buf_str(&input));
	p->cut = p->cut || buf_failed(&input);
	buf_done(&input);
}

static void
page_add_labelled(struct page *p, const char *label, const struct json *v)
{
	struct buf line = BUF_INIT(LINE_BYTES);

	buf_addz(&line, label);
	value_text(&line, v); /* on one line, and safe */
	if (line.len > strlen(label))
		page_add(p, INK_DIM, buf_str(&line));
	buf_done(&line);
}

/* What it would do, in full: a person who sees a part of it cannot say yes to all of it. */
static void
page_fill(struct page *p, const struct json *q, unsigned width)
{
	struct str command = member(q, "command"), diff = member(q, "diff");
	struct str prompt = member(q, "confirmation_prompt");
	bool cut = json_bool(json_get(q, S("diff_cut")));

	page_begin(p, width);
	if (json_bool(json_get(q, S("asked_again"))))
		page_add(p, INK_YELLOW, S("asked again: something has changed since it was shown"));
	if (prompt.len)
		page_add(p, INK_BOLD, prompt);
	if (command.len)
		page_add(p, INK_PLAIN, command);
	else if (diff.len)
		page_add_diff(p, diff);
	if (cut)
		page_add(p, INK_YELLOW, S("the diff does not show all; the whole input:"));
	if (cut || (!command.len && !diff.len))
		page_add_input(p, q);
	page_add_labelled(p, "changes  ", json_get(q, S("projected_modifications")));
	page_add_labelled(p, "not trusted  the server ", json_get(q, S("untrusted_server")));
	page_add_labelled(p, "asked by rule  ", json_get(q, S("rule")));
	if (p->cut)
		page_add(p, INK_YELLOW, S("(too long to be shown whole)"));
}

/* The text is laid out once, and again for another width. */
static void
page_update(struct watch *w, const struct json *q)
{
	unsigned width = COLS > MARGIN_CELLS ? (unsigned)(COLS - MARGIN_CELLS) : 1;

	if (strcmp(w->page_of, w->question) == 0 && w->page.width == (width > 4 ? width : 4))
		return;
	if (strcmp(w->page_of, w->question) != 0)
		w->scroll = 0;
	page_fill(&w->page, q, width);
	memcpy(w->page_of, w->question, sizeof(w->page_of));
}

static void
draw_question_head(const struct watch *w, const struct json *q, int row, size_t at, size_t count)
{
	int64_t left = seconds_until(member(q, "expires_at"), false);
	struct line l = line_new();
	char side[96];
	int n = snprintf(side, sizeof(side), " %zu-%zu/%zu  %" PRId64 ":%02" PRId64, w->scroll + 1,
			 w->scroll + w->rows < w->page.count ? w->scroll + w->rows : w->page.count,
			 w->page.count, left / 60, left % 60);

	if (count > 1)
		buf_addf(&l.text, "(%zu/%zu) ", at + 1, count);
	line_add(&l, member(q, "tool_name"));
	buf_addz(&l.text, " wants to ");
	line_add(&l, effect_words(member(q, "side_effects")));
	buf_addz(&l.text, " in ");
	line_add(&l, member(q, "workspace_path"));
	put_line(row, INK_BOLD, &l);
	/* Which part is seen, and for how long it is asked, stand there whatever the names are. */
	if (n > 0 && n < COLS)
		put(row, COLS - n, INK_YELLOW, str_of(side));
}

/* Of `height` rows from `row` on; false when it could not be shown. */
static bool
draw_question(struct watch *w, int row, int height)
{
	size_t at, count;
	const struct json *q = watch_question(w, &at, &count);

	if (!q || height < QUESTION_LEAST)
		return false;
	page_update(w, q);
	w->rows = (size_t)height - 1;
	if (w->scroll + w->rows > w->page.count)
		w->scroll = w->page.count > w->rows ? w->page.count - w->rows : 0;
	draw_question_head(w, q, row, at, count);
	for (size_t i = 0; i < w->rows && w->scroll + i < w->page.count; i++) {
		const struct page_line *line = &w->page.lines[w->scroll + i];
		put(row + 1 + (int)i, 0, INK_DIM, S(MARGIN));
		put(row + 1 + (int)i, MARGIN_CELLS, line->ink,
		    str_upto(str_from(buf_str(&w->page.text), line->at), line->len));
	}
	return true;
}

/* ---- calls ---- */

static void
line_bar(struct line *l, const struct json *progress, const char *state)
{
	static const char *const frames[] = {"⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"};
	double percent = 0, current = 0, total = 0;
	char side[32] = "";

	if (!json_double(json_get(progress, S("percent")), &percent)) {
		bool runs = strcmp(state, "running") == 0 || strcmp(state, "ending") == 0;
		buf_addf(&l->text, "%s %-*s ", runs ? frames[clock_mono_ms() / 200 % 10] : "·",
			 BAR_CELLS + 3, state);
		return;
	}
	int full = (int)(percent * BAR_CELLS);
	for (int i = 0; i < BAR_CELLS; i++)
		buf_addz(&l->text, i < full ? "█" : "░");
	json_double(json_get(progress, S("current")), &current);
	json_double(json_get(progress, S("total")), &total);
	if (str_is(member(progress, "kind"), "steps"))
		snprintf(side, sizeof(side), "%.0f/%.0f", current < 999 ? current : 999, total);
	else
		snprintf(side, sizeof(side), "%3d%%", (int)(percent * 100));
	buf_addf(&l->text, " %-5s ", side);
}

static void
line_whose(struct line *l, const struct json *call)
{
	buf_addz(&l->text, "  [");
	if (member(call, "client").len)
		line_add(l, member(call, "client"));
	else
		line_add(l, short_id(member(call, "session_id")));
	buf_addz(&l->text, "]");
}

static void
draw_call(const struct watch *w, int row, const struct json *call)
{
	const struct json *progress = json_get(call, S("progress"));
	struct str label = member(progress, "label"), started = member(progress, "started_at");
	struct buf state = BUF_INIT(64);
	struct line l = line_new();
	bool chosen = str_is(member(call, "call_id"), w->call);

	cells_safe(&state, str_utf8_upto(member(call, "state"), 12), SAFE_LINE);
	line_bar(&l, progress, buf_z(&state) ? state.ptr : "");
	line_column(&l, member(call, "tool_name"), COLS < 70 ? TOOL_CELLS / 2 : TOOL_CELLS);
	line_span(&l, seconds_until(started.len ? started : member(call, "opened_at"), true));
	line_add(&l, label.len ? label : member(call, "input_summary"));
	line_whose(&l, call);
	put_line(row, chosen ? INK_BAR : INK_PLAIN, &l);
	buf_done(&state);
}

static void
draw_calls(const struct watch *w, int row, int height)
{
	size_t count = watch_call_count(w), chosen = watch_call_find(w, w->call), first = 0;

	/* The chosen one is among those that are shown. */
	if (chosen < count && chosen >= (size_t)height)
		first = chosen - (size_t)height + 1;
	for (int i = 0; i < height && first + (size_t)i < count; i++)
		draw_call(w, row + i, watch_call_at(w, first + (size_t)i));
}

/* ---- servers ---- */

static enum ink
server_ink(const struct json *server)
{
	struct str state = member(server, "state");

	if (str_is(state, "failed") || str_is(state, "quarantined"))
		return INK_RED;
	return str_is(state, "started") ? INK_GREEN : INK_DIM;
}

/* Those in trouble first: they are who is looked for. */
static const struct json *
server_at(const struct json *rows, size_t wanted)
{
	for (int pass = 0; pass < 2; pass++)
		for (struct json_iter it = json_iter(rows); json_next(&it);)
			if ((server_ink(it.value) == INK_RED) == (pass == 0) && wanted-- == 0)
				return it.value;
	return NULL;
}

static void
draw_servers(const struct watch *w, int row, int height)
{
	const struct json *rows = watch_rows(w, PART_SERVERS), *server;
	size_t count = json_len(rows), shown = (size_t)height;

	if (count > shown && shown > 0) {
		struct line l = line_new();
		buf_addf(&l.text, "and %zu more (holdfast servers)", count - --shown);
		put_line(row + (int)shown, INK_DIM, &l);
	}
	for (int i = 0; i < (int)shown && (server = server_at(rows, (size_t)i)); i++) {
		struct line l = line_new();
		buf_addz(&l.text, "server ");
		line_column(&l, member(server, "name"), TOOL_CELLS);
		line_column(&l, member(server, "state"), 12);
		offered_text(&l.text, server, true);
		if (member_int(server, "changed"))
			buf_addf(&l.text, ", %" PRId64 " changed (holdfast pins)",
				 member_int(server, "changed"));
		if (member(server, "problem").len)
			buf_addz(&l.text, "  ");
		line_add(&l, member(server, "problem"));
		put_line(row + i, server_ink(server), &l);
	}
}

/* ---- what is over ---- */

static bool
is_over(const struct json *call)
{
	return !str_is(member(call, "state"), "running"); /* those stand above */
}

/* The newest ones, the newest last. */
static void
draw_recent(const struct watch *w, int row, int height)
{
	static const struct column columns[] = {{"", "opened_at", SHOW_CLOCK},
						{"", NULL, SHOW_OUTCOME},
						{"", "tool_name", SHOW_TEXT},
						{"", NULL, SHOW_WHAT}};
	static const unsigned cells[] = {8, 7, TOOL_CELLS, 0};
	const struct json *rows = watch_rows(w, PART_RECENT);
	int over = 0, shown = 0;

	for (struct json_iter it = json_iter(rows); json_next(&it);)
		over += is_over(it.value);
	for (struct json_iter it = json_iter(rows); json_next(&it);) {
		if (!is_over(it.value) || over-- > height)
			continue;
		struct line l = line_new();
		bool failed = false;
		for (size_t i = 0; i < ARRAY_LEN(columns); i++) {
			struct buf cell = BUF_INIT(LINE_BYTES);
			cell_text(&cell, it.value, &columns[i]);
			failed = failed || (i == 1 && !str_is(buf_str(&cell), "ok"));
			if (cells[i])
				line_column(&l, buf_str(&cell), cells[i]);
			else
				line_add(&l, buf_str(&cell));
			buf_done(&cell);
		}
		put_line(row + shown++, failed ? INK_RED : INK_DIM, &l);
	}
}

/* ---- toasts ---- */

static enum ink
level_ink(struct str level)
{
	static const struct {
		const char *level;
		enum ink ink;
	} inks[] = {{"error", INK_RED}, {"warning", INK_YELLOW}, {"success", INK_GREEN}};

	for (size_t i = 0; i < ARRAY_LEN(inks); i++)
		if (str_is(level, inks[i].level))
			return inks[i].ink;
	return INK_CYAN;
}

/* The newest ones, the newest last. */
static void
draw_toasts(const struct watch *w, int row, int height)
{
	const struct json *rows = watch_rows(w, PART_TOASTS);
	size_t count = json_len(rows), first = count > (size_t)height ? count - (size_t)height : 0;

	for (size_t i = first; i < count; i++) {
		const struct json *toast = json_at(rows, i);
		struct line l = line_new();
		buf_addz(&l.text, "! ");
		line_add(&l, member(toast, "title"));
		if (member_int(toast, "count") > 1)
			buf_addf(&l.text, " (%" PRId64 " times)", member_int(toast, "count"));
		if (member(toast, "message").len)
			buf_addz(&l.text, ": ");
		line_add(&l, member(toast, "message"));
		put_line(row + (int)(i - first), level_ink(member(toast, "level")), &l);
	}
}

/* ---- the bottom, and help ---- */

static void
draw_bottom(struct watch *w, bool asked)
{
	struct line l = line_new();
	const struct json *q = asked ? watch_question(w, NULL, NULL) : NULL;

	if (w->note[0] && clock_mono_ms() >= w->note_until)
		w->note[0] = '\0';
	if (w->note[0])
		buf_addf(&l.text, " %s", w->note);
	else if (q && json_bool(json_get(q, S("once_only"))))
		buf_addz(&l.text, " a allow once  d deny  j/k scroll  Tab next  ? help  q quit");
	else if (q)
		buf_addz(&l.text, " a allow  d deny  s session  W workspace  j/k scroll  Tab next  "
				  "? help  q quit");
	else if (json_len(watch_rows(w, PART_QUESTIONS)) > 0)
		buf_addz(&l.text, " too small for the question that is open");
	else
		buf_addz(&l.text, " ? help  x cancel a call  t dismiss  q quit");
	put_line(LINES - 1, INK_BAR, &l);
}

static void
draw_help(void)
{
	static const char *const lines[] = {
	    "a          allow the question that is shown, this once",
	    "s          allow its tool for the rest of the session",
	    "W          allow its tool in this workspace from now on",
	    "d          deny it",
	    "Tab        the next question",
	    "j k        scroll its text; Space b PgUp PgDn g G",
	    "Up Down    mark a call",
	    "x          cancel the marked call",
	    "t          put the oldest note away",
	    "q Ctrl-C   leave; nothing is answered by that",
	    "",
	    "any key closes this",
	};

	for (size_t i = 0; i < ARRAY_LEN(lines); i++)
		put(1 + (int)i, 1, INK_PLAIN, str_of(lines[i]));
}

/* ---- the whole ---- */

static int
least(int a, int b)
{
	return a < b ? a : b;
}

static int
rows_of(const struct watch *w, enum watch_part part)
{
	size_t n = part == PART_CALLS ? watch_call_count(w) : json_len(watch_rows(w, part));

	return n > 1000 ? 1000 : (int)n;
}

/* Who gets how many rows: a question most of them, then calls; recent calls what is left. True when
 * the question is on the screen. */
static bool
draw_parts(struct watch *w)
{
	int row = 1, room = LINES - 2;
	bool asked = rows_of(w, PART_QUESTIONS) > 0, shown = false;
	int toasts = least(rows_of(w, PART_TOASTS), room >= 12 ? room / 6 : 1);

	room -= toasts;
	int calls = least(rows_of(w, PART_CALLS), asked ? (room >= 8 ? room / 4 : 1) : room / 2);
	int servers = least(rows_of(w, PART_SERVERS), room >= 12 ? room / 5 : 0);
	room -= calls + servers;
	if (asked) {
		shown = draw_question(w, row, room);
		row += room;
		room = 0;
	}
	draw_calls(w, row, calls);
	draw_servers(w, row + calls, servers);
	draw_recent(w, row + calls + servers, room);
	draw_toasts(w, LINES - 1 - toasts, toasts);
	return shown;
}

/* From here on, and not before, the question can be answered. */
static void
question_shown(struct watch *w, const char *id)
{
	if (strcmp(w->drawn, id) == 0)
		return;
	flushinp(); /* it was typed at something else */
	snprintf(w->drawn, sizeof(w->drawn), "%s", id);
	w->drawn_ms = clock_mono_ms();
}

void
watch_draw(struct watch *w)
{
	bool shown = false;

	erase();
	draw_top(w);
	if (w->help)
		draw_help();
	else if (w->stream)
		shown = draw_parts(w);
	draw_bottom(w, shown);
	refresh();
	question_shown(w, shown ? w->question : "");
	w->dirty = false;
}
