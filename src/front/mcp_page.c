/* mcp_page.c - lists in pages; a cursor is the name the page before ended with, in base64url. */

#include <openssl/evp.h>

#include "base/log.h"
#include "front/mcp_offer.h"

#define TAG 2 /* "t:" before the name: whose cursor it is */

/* The standard alphabet and the one of URLs differ in two letters, and that one needs no "=". */
static void
to_url(struct buf *b)
{
	while (b->len > 0 && b->ptr[b->len - 1] == '=')
		b->len--;
	for (size_t i = 0; i < b->len; i++)
		b->ptr[i] = b->ptr[i] == '+' ? '-' : b->ptr[i] == '/' ? '_' : b->ptr[i];
}

static void
encode(struct buf *out, char list, struct str name)
{
	struct buf plain = BUF_INIT(LIMIT_MCP_URI + TAG);

	buf_addc(&plain, list);
	buf_addc(&plain, ':');
	buf_add(&plain, name);
	char *room = buf_room(out, plain.len / 3 * 4 + 5); /* with the NUL it writes */
	if (room && !buf_failed(&plain)) {
		int n = EVP_EncodeBlock((unsigned char *)room, (unsigned char *)plain.ptr,
					(int)plain.len);
		out->len += (size_t)n;
		to_url(out);
	}
	buf_done(&plain);
}

static bool
is_url_letter(char c)
{
	return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
	       c == '-' || c == '_';
}

static bool
decode(struct buf *out, struct str cursor)
{
	struct buf text = BUF_INIT(2 * LIMIT_MCP_URI);
	size_t pad = (4 - cursor.len % 4) % 4;

	for (size_t i = 0; i < cursor.len; i++) {
		char c = cursor.ptr[i];
		text.failed |= !is_url_letter(c);
		buf_addc(&text, c == '-' ? '+' : c == '_' ? '/' : c);
	}
	buf_add(&text, str_upto(S("==="), pad));
	char *room = buf_room(out, text.len);
	bool fits = room && !buf_failed(&text) && pad < 3;
	int n =
	    fits ? EVP_DecodeBlock((unsigned char *)room, (unsigned char *)text.ptr, (int)text.len)
		 : -1;
	if (n >= (int)pad)
		out->len += (size_t)n - pad;
	buf_done(&text);
	return n >= (int)pad;
}

/* Only what we would write ourselves is a cursor. */
static bool
is_ours(struct mcp_page *p, struct str cursor)
{
	struct buf again = BUF_INIT(2 * LIMIT_MCP_URI);

	if (cursor.len > 2 * LIMIT_MCP_URI || !decode(&p->decoded, cursor))
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
