/* sse.c - writing and reading server-sent events, after the HTML standard, section 9.2. */

#include "net/sse.h"

#include "base/err.h"

/* One field of one line: whatever would end the line is left out. */
static void
field_write(struct buf *out, const char *name, struct str value)
{
	if (!value.ptr)
		return;
	buf_addz(out, name);
	for (size_t i = 0; i < value.len; i++)
		if (value.ptr[i] != '\r' && value.ptr[i] != '\n' && value.ptr[i] != '\0')
			buf_addc(out, value.ptr[i]);
	buf_addc(out, '\n');
}

/* Take a line off the front of *rest; false after the last. */
static bool
line_take(struct str *rest, struct str *ret)
{
	size_t n = 0;

	if (!rest->ptr)
		return false;
	while (n < rest->len && rest->ptr[n] != '\r' && rest->ptr[n] != '\n')
		n++;
	*ret = str_upto(*rest, n);
	if (n == rest->len) {
		*rest = (struct str){0};
		return true;
	}
	bool pair = rest->ptr[n] == '\r' && n + 1 < rest->len && rest->ptr[n + 1] == '\n';
	*rest = (struct str){rest->ptr + n + 1 + pair, rest->len - n - 1 - pair};
	return true;
}

void
sse_write(struct buf *out, struct str id, struct str type, struct str text)
{
	struct str rest = text.ptr ? text : S("");
	struct str line;

	field_write(out, "id: ", id);
	field_write(out, "event: ", type);
	while (line_take(&rest, &line)) {
		buf_addz(out, "data: ");
		buf_add(out, line);
		buf_addc(out, '\n');
	}
	buf_addc(out, '\n');
}

/* Reading */

void
sse_reader_init(struct sse_reader *r, size_t max_event_bytes)
{
	*r = (struct sse_reader){0};
	buf_init(&r->line, max_event_bytes);
	buf_init(&r->id, max_event_bytes);
	buf_init(&r->type, max_event_bytes);
	buf_init(&r->text, max_event_bytes);
}

void
sse_reader_done(struct sse_reader *r)
{
	buf_done(&r->line);
	buf_done(&r->id);
	buf_done(&r->type);
	buf_done(&r->text);
}

static void
event_forget(struct sse_reader *r)
{
	buf_reset(&r->type);
	buf_reset(&r->text);
	r->has_text = false;
	r->has_id = false;
	r->complete = false;
}

static void
field_read(struct sse_reader *r, struct str name, struct str value)
{
	uint64_t ms;

	if (str_is(name, "data")) {
		if (r->has_text)
			buf_addc(&r->text, '\n');
		buf_add(&r->text, value);
		r->has_text = true;
	} else if (str_is(name, "event")) {
		buf_reset(&r->type);
		buf_add(&r->type, value);
	} else if (str_is(name, "id") && str_index(value, '\0') < 0) {
		buf_reset(&r->id);
		buf_add(&r->id, value);
		r->has_id = true;
	} else if (str_is(name, "retry") && str_to_u64(value, &ms)) {
		r->retry_ms = ms;
	}
}

static void
line_read(struct sse_reader *r, struct str line)
{
	ptrdiff_t colon = str_index(line, ':');

	if (line.len == 0) {
		if (r->has_text || r->has_id)
			r->complete = true;
		else
			event_forget(r);
	} else if (colon < 0) {
		field_read(r, line, S(""));
	} else if (colon > 0) { /* at the very front it begins a comment */
		struct str value = str_from(line, (size_t)colon + 1);

		if (value.len && value.ptr[0] == ' ')
			value = str_from(value, 1);
		field_read(r, str_upto(line, (size_t)colon), value);
	}
}

static struct str
without_mark(struct sse_reader *r)
{
	struct str line = buf_str(&r->line);
	bool marked = !r->begun && str_starts(line, S("\xEF\xBB\xBF"));

	r->begun = true;
	return marked ? str_from(line, 3) : line;
}

static bool
reader_failed(const struct sse_reader *r)
{
	return buf_failed(&r->line) || buf_failed(&r->id) || buf_failed(&r->type) ||
	       buf_failed(&r->text);
}

int
sse_reader_feed(struct sse_reader *r, struct str bytes, size_t *ret_used, bool *ret_event)
{
	size_t i = 0;

	if (r->complete)
		event_forget(r);
	while (i < bytes.len && !r->complete) {
		if (r->skip_lf && bytes.ptr[i] == '\n') {
			r->skip_lf = false;
			i++;
			continue;
		}
		r->skip_lf = false;
		size_t start = i;
		while (i < bytes.len && bytes.ptr[i] != '\r' && bytes.ptr[i] != '\n')
			i++;
		buf_add(&r->line, (struct str){bytes.ptr + start, i - start});
		if (i == bytes.len)
			break;
		r->skip_lf = bytes.ptr[i++] == '\r';
		line_read(r, without_mark(r));
		buf_reset(&r->line);
		if (reader_failed(r))
			return E_TOO_LARGE;
	}
	*ret_used = i;
	*ret_event = r->complete;
	return reader_failed(r) ? E_TOO_LARGE : 0;
}
