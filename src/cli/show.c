/* show.c - tables, fields, content blocks and diffs. */

#include "cli/show.h"

#include <time.h>

#include "base/limits.h"
#include "cli/term.h"
#include "json/write.h"

#define CELL_BYTES (64 * KIB)
#define COLUMNS_MOST 12
#define LAST_LEAST 24 /* columns on the screen that the last one of a table gets */

struct str
short_id(struct str id)
{
	return str_from(id, id.len > SHORT_ID ? id.len - SHORT_ID : 0);
}

bool
time_parse(struct str timestamp, int64_t *ret_s)
{
	char text[32] = "";
	struct tm t = {0};

	if (timestamp.len < 20 || timestamp.len >= sizeof(text))
		return false;
	memcpy(text, timestamp.ptr, timestamp.len);
	if (!strptime(text, "%Y-%m-%dT%H:%M:%S", &t))
		return false;
	*ret_s = timegm(&t);
	return true;
}

static void
time_text(struct buf *out, struct str timestamp, bool date)
{
	char text[32];
	struct tm here;
	int64_t at;

	if (!time_parse(timestamp, &at))
		return;
	localtime_r(&(time_t){at}, &here);
	if (date && strftime(text, sizeof(text), "%Y-%m-%d ", &here) > 0)
		buf_addz(out, text);
	if (strftime(text, sizeof(text), "%H:%M:%S", &here) > 0)
		buf_addz(out, text);
}

static void
json_text(struct buf *out, const struct json *v)
{
	struct buf raw = BUF_INIT(CELL_BYTES);
	struct jw w = jw(&raw);

	jw_value(&w, v);
	text_safe(out, buf_str(&raw), SAFE_LINE);
	buf_done(&raw);
}

void
value_text(struct buf *out, const struct json *v)
{
	const char *comma = "";

	if (!v || json_is(v, JSON_NULL))
		return;
	if (json_is(v, JSON_STRING)) {
		text_safe(out, json_str(v), SAFE_LINE);
	} else if (json_is(v, JSON_ARRAY)) {
		for (struct json_iter it = json_iter(v); json_next(&it); comma = ", ") {
			buf_addz(out, comma);
			value_text(out, it.value);
		}
	} else {
		json_text(out, v);
	}
}

static void
sentence_text(struct buf *out, struct str text)
{
	size_t end = 0;

	while (end < text.len && text.ptr[end] != '\n' &&
	       !(text.ptr[end] == '.' &&
		 (end + 1 == text.len || text.ptr[end + 1] == ' ' || text.ptr[end + 1] == '\n')))
		end++;
	text_safe(out, str_upto(text, end), SAFE_LINE);
}

static void
ms_text(struct buf *out, const struct json *v)
{
	int64_t ms;

	if (!json_int(v, &ms))
		return;
	if (ms < 10000)
		buf_addf(out, "%lld ms", (long long)ms);
	else
		buf_addf(out, "%lld.%lld s", (long long)(ms / 1000), (long long)(ms % 1000 / 100));
}

static bool
is_empty(const struct json *v)
{
	return json_is(v, JSON_STRING) ? json_str(v).len == 0 : json_len(v) == 0;
}

void
what_text(struct buf *out, const struct json *row)
{
	static const char *const members[] = {"command", "command_summary",
					      "projected_modifications", "files_modified"};
	static const char *const arguments[] = {"command", "path"};
	const struct json *input = json_get(row, S("input")), *v = NULL;

	for (size_t i = 0; is_empty(v) && i < ARRAY_LEN(members); i++)
		v = json_get(row, str_of(members[i]));
	for (size_t i = 0; is_empty(v) && i < ARRAY_LEN(arguments); i++)
		v = json_get(input, str_of(arguments[i]));
	if (is_empty(v))
		v = input;
	if (is_empty(v) && !input)
		v = json_get(row, S("input_summary"));
	if (!is_empty(v))
		value_text(out, v);
}

static void
outcome_text(struct buf *out, const struct json *row)
{
	struct str state = member(row, "state");

	if (!str_is(state, "completed"))
		text_safe(out, state, SAFE_LINE);
	else
		buf_addz(out, json_bool(json_get(row, S("success"))) ? "ok" : "error");
}

static void
latency_text(struct buf *out, const struct json *v)
{
	double p50, p99;

	if (json_double(json_get(v, S("p50")), &p50) && json_double(json_get(v, S("p99")), &p99))
		buf_addf(out, "%.*f/%.*f", p50 < 10, p50, p99 < 10, p99);
}

static void
tool_text(struct buf *out, const struct json *row)
{
	if (json_bool(json_get(row, S("changed"))))
		buf_addz(out, "[changed: see `holdfast pins`] ");
	sentence_text(out, member(row, "description"));
}

static void
undo_text(struct buf *out, const struct json *row)
{
	bool undone = member(row, "undone_by").ptr;

	buf_addz(out, undone ? "undone" : json_bool(json_get(row, S("undoable"))) ? "yes" : "no");
}

static void
moved_text(struct buf *out, const struct json *row)
{
	if (member(row, "old_path").ptr) {
		text_safe(out, member(row, "old_path"), SAFE_LINE);
		buf_addz(out, " -> ");
	}
	text_safe(out, member(row, "path"), SAFE_LINE);
}

void
offered_text(struct buf *out, const struct json *server, bool word)
{
	int64_t all = member_int(server, "tools"), offered = all;

	json_int(json_get(server, S("offered")), &offered);
	if (offered != all)
		buf_addf(out, "%lld of ", (long long)offered);
	buf_addf(out, "%lld", (long long)all);
	if (word)
		buf_addz(out, all == 1 ? " tool" : " tools");
}

void
cell_text(struct buf *out, const struct json *row, const struct column *c)
{
	const struct json *v = c->key ? json_get(row, str_of(c->key)) : NULL;

	switch (c->as) {
	case SHOW_TEXT: value_text(out, v); break;
	case SHOW_ID: text_safe(out, short_id(json_str(v)), SAFE_LINE); break;
	case SHOW_TIME: time_text(out, json_str(v), true); break;
	case SHOW_CLOCK: time_text(out, json_str(v), false); break;
	case SHOW_MS: ms_text(out, v); break;
	case SHOW_WHAT: what_text(out, row); break;
	case SHOW_TOOL: tool_text(out, row); break;
	case SHOW_LATENCY: latency_text(out, v); break;
	case SHOW_OFFERED: offered_text(out, row, false); break;
	case SHOW_OUTCOME: outcome_text(out, row); break;
	case SHOW_UNDO: undo_text(out, row); break;
	case SHOW_MOVED: moved_text(out, row); break;
	}
}

static struct str
cell(struct buf *out, const struct json *row, const struct column *c)
{
	buf_reset(out);
	cell_text(out, row, c);
	return buf_str(out);
}

/* A table being printed; columns that are left out have no width. */
struct table {
	const struct column *columns;
	size_t count;
	unsigned width[COLUMNS_MOST];
	unsigned line; /* 0: as long as it takes */
	unsigned room; /* for the last column, 0: as much as it takes */
};

static void
table_measure(struct table *t, const struct json *rows)
{
	struct buf text = BUF_INIT(CELL_BYTES * 4);

	for (size_t i = 0; i < t->count; i++) {
		t->width[i] = text_columns(str_of(t->columns[i].title));
		for (struct json_iter it = json_iter(rows); json_next(&it);) {
			unsigned n = text_columns(cell(&text, it.value, &t->columns[i]));
			t->width[i] = n > t->width[i] ? n : t->width[i];
		}
	}
	buf_done(&text);
}

/* What stands before the last column. */
static unsigned
table_taken(const struct table *t)
{
	unsigned taken = 0;

	for (size_t i = 0; i + 1 < t->count; i++)
		taken += t->width[i] ? t->width[i] + 2 : 0;
	return taken;
}

static void
table_fit(struct table *t)
{
	unsigned last = t->width[t->count - 1], least = last < LAST_LEAST ? last : LAST_LEAST;

	if (!t->line)
		return;
	for (unsigned drop = 1; drop <= COLUMNS_MOST; drop++)
		for (size_t i = 0; i + 1 < t->count; i++)
			if (t->columns[i].drop == drop && table_taken(t) + least > t->line)
				t->width[i] = 0;
	unsigned taken = table_taken(t);
	t->room = taken < t->line ? t->line - taken : 1;
}

/* What does not fit ends with a sign that it does not. */
static void
table_print_last(const struct table *t, struct str text)
{
	if (!t->room || text_columns(text) <= t->room)
		printf("%.*s", STR_ARG(text));
	else
		printf("%.*s…", STR_ARG(text_upto(text, t->room - 1)));
}

/* row: NULL for the titles. */
static void
table_print_line(const struct table *t, const struct json *row)
{
	struct buf text = BUF_INIT(CELL_BYTES * 4);

	for (size_t i = 0; i < t->count; i++) {
		struct str it =
		    row ? cell(&text, row, &t->columns[i]) : str_of(t->columns[i].title);
		if (i + 1 == t->count)
			table_print_last(t, it);
		else if (t->width[i])
			printf("%.*s%*s", STR_ARG(it), (int)(t->width[i] - text_columns(it)) + 2,
			       "");
	}
	buf_done(&text);
}

void
show_table(const struct json *rows, const struct column *columns, size_t count)
{
	struct table t = {columns, count, .line = term_is(stdout) ? term_width() : 0};

	CHECK(count > 0 && count <= COLUMNS_MOST);
	table_measure(&t, rows);
	table_fit(&t);
	printf("%s", paint(stdout, BOLD));
	table_print_line(&t, NULL);
	printf("%s\n", paint(stdout, PLAIN));
	for (struct json_iter it = json_iter(rows); json_next(&it);) {
		table_print_line(&t, it.value);
		putchar('\n');
	}
}

void
show_fields(const struct json *object, const struct column *columns, size_t count)
{
	struct buf text = BUF_INIT(CELL_BYTES * 4);

	for (size_t i = 0; i < count; i++) {
		struct str value = cell(&text, object, &columns[i]);
		if (value.len)
			printf("%s%-14s%s %.*s\n", paint(stdout, BOLD), columns[i].title,
			       paint(stdout, PLAIN), STR_ARG(value));
	}
	buf_done(&text);
}

void
show_json(const struct reply *r)
{
	text_print_json(stdout, buf_str(&r->body));
}

void
show_json_value(const struct json *v)
{
	struct buf line = BUF_INIT(LIMIT_CLIENT_ANSWER * 2);
	struct jw w = jw(&line);

	jw_value(&w, v);
	text_print_json(stdout, buf_str(&line));
	buf_done(&line);
}

static void
show_block(const struct json *block)
{
	struct str text = member(block, "text"), type = member(block, "type");

	if (str_is(type, "text")) {
		text_print(stdout, text);
		return;
	}
	const struct json *source = json_get(block, S("source"));
	struct str kind = member(source, "media_type"), bytes = member(source, "data");
	if (!kind.len)
		kind = member(block, "mimeType"), bytes = member(block, "data");
	struct buf line = BUF_INIT(4 * KIB);
	buf_addc(&line, '[');
	text_safe(&line, type, SAFE_LINE);
	if (kind.len)
		buf_addc(&line, ' ');
	text_safe(&line, kind, SAFE_LINE);
	if (bytes.len) /* base64 */
		buf_addf(&line, " %zu bytes",
			 bytes.len / 4 * 3 - str_ends(bytes, S("=")) - str_ends(bytes, S("==")));
	buf_addz(&line, "]\n");
	printf("%.*s", STR_ARG(buf_str(&line)));
	buf_done(&line);
}

void
show_content(const struct json *content, size_t from)
{
	struct str last = {NULL, 0};
	size_t i = 0;

	for (struct json_iter it = json_iter(content); json_next(&it); i++) {
		if (i < from)
			continue;
		if (last.len && !str_ends(last, S("\n")))
			putchar('\n');
		show_block(it.value);
		last = member(it.value, "text");
	}
	/* A file stays the same bytes in a pipe; on a terminal the prompt wants a line of its own.
	 */
	if (term_is(stdout) && last.len && !str_ends(last, S("\n")))
		putchar('\n');
}

static enum paint
diff_paint(struct str line)
{
	static const struct {
		const char *start;
		enum paint paint;
	} rows[] = {{"+++", BOLD}, {"---", BOLD}, {"@@", CYAN}, {"+", GREEN}, {"-", RED}};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (str_starts(line, str_of(rows[i].start)))
			return rows[i].paint;
	return PLAIN;
}

void
show_diff(FILE *f, const char *margin, struct str diff)
{
	struct str line;

	if (str_ends(diff, S("\n")))
		diff = str_upto(diff, diff.len - 1);
	while (str_split(&diff, '\n', &line)) {
		fputs(paint(f, diff_paint(line)), f);
		text_block(f, margin, line);
		fputs(paint(f, PLAIN), f);
	}
}
