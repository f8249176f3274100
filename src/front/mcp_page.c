/* mcp_page.c - lists in pages; a cursor is the name the page before ended with, in base64url. */

#include "base/log.h"
#include "base/sha256.h"
#include "front/mcp_offer.h"

#define TAG 2 /* "t:" before the name: whose cursor it is */

static void
encode(struct buf *out, char list, struct str name)
{
	struct buf plain = BUF_INIT(LIMIT_MCP_URI + TAG);

	buf_addc(&plain, list);
	buf_addc(&plain, ':');
	buf_add(&plain, name);
	base64url_add(out, buf_str(&plain));
	out->failed = out->failed || buf_failed(&plain);
	buf_done(&plain);
}

/* Only what we would write ourselves is a cursor. */
static bool
is_ours(struct mcp_page *p, struct str cursor)
{
	struct buf again = BUF_INIT(2 * LIMIT_MCP_URI);

	if (cursor.len > 2 * LIMIT_MCP_URI || !base64url_read(&p->decoded, cursor))
		return false;
	struct str plain = buf_str(&p->decoded);
	bool ours = plain.len >= TAG && plain.ptr[0] == p->list && plain.ptr[1] == ':';
	if (ours)
		encode(&again, p->list, str_from(plain, TAG));
	ours = ours && str_eq(buf_str(&again), cursor);
	buf_done(&again);
	return ours;
}

int
mcp_page_begin(struct mcp_page *p, char list, const struct json *params, struct err *e)
{
	const struct json *given = json_get(params, S("cursor"));
	struct str cursor = json_str(given);

	*p = (struct mcp_page){.list = list,
			       .first = cursor.len == 0,
			       .left = LIMIT_MCP_PAGE,
			       .decoded = BUF_INIT(2 * LIMIT_MCP_URI)};
	bool none = !given || json_is(given, JSON_NULL);
	if ((!none && !cursor.ptr) || (!p->first && !is_ours(p, cursor))) {
		buf_done(&p->decoded);
		return err_set(e, E_VALIDATION,
			       "cursor: it was not given out for this list; begin without one");
	}
	p->after = p->first ? S("") : str_from(buf_str(&p->decoded), TAG);
	return 0;
}

bool
mcp_page_take(struct mcp_page *p, struct jw *w, struct str name)
{
	p->more = p->left == 0 || w->out->len > LIMIT_MCP_PAGE_BYTES;
	if (p->more)
		return false;
	p->left--;
	p->last = name;
	p->mark = *w;
	p->mark_len = w->out->len;
	return true;
}

void
mcp_page_taken(struct mcp_page *p, struct jw *w)
{
	struct buf *out = w->out;

	if (!buf_failed(out) && out->len - p->mark_len <= LIMIT_MCP_ENTRY)
		return;
	log_line(LOG_WARN, "an entry of a list is too long, and left out", "list",
		 (char[]){p->list, '\0'}, NULL);
	*w = p->mark;
	out->len = p->mark_len;
	out->failed = false;
}

void
mcp_page_end(struct mcp_page *p, struct jw *w)
{
	struct buf cursor = BUF_INIT(2 * LIMIT_MCP_URI);

	if (p->more) {
		encode(&cursor, p->list, p->last);
		jw_member(w, "nextCursor", buf_str(&cursor));
	}
	w->out->failed |= buf_failed(&cursor);
	buf_done(&cursor);
	buf_done(&p->decoded);
}
