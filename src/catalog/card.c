/* card.c - cards are made small here, and written. */

#include "catalog/card.h"

#include <math.h>

#include "base/limits.h"
#include "text/plain.h"
#include "text/tokens.h"
#include "text/truncate.h"

#define DESCRIPTION_CHARS (8 * KIB) /* more than fits a card, whatever it is made of */
#define LINE_BYTES (64 * KIB)       /* a line before its description is cut */

/* Tags. */

struct tag {
	char text[4 * CARD_TAG];
	size_t len;
};

struct tags {
	struct tag at[CARD_TAGS + 1];
	size_t count;
};

static struct str
tag_str(const struct tag *t)
{
	return (struct str){t->text, t->len};
}

static bool
is_safety(struct str tag)
{
	return str_is(tag, "read-only") || str_is(tag, "destructive");
}

/* Which of two is kept rather: what tells about safety, then the first by its bytes. */
static int
tag_cmp(struct str a, struct str b)
{
	if (is_safety(a) != is_safety(b))
		return is_safety(a) ? -1 : 1;
	return str_cmp(a, b);
}

/* A map, a list, a quoted text or an address is no tag, however short (section 2.2). */
static bool
is_word(struct str text)
{
	for (size_t i = 0; i < text.len; i++)
		if (text.ptr[i] && strchr("{}[]\"\\", text.ptr[i]))
			return false;
	return text.len > 0 && !memmem(text.ptr, text.len, "://", 3);
}

static void
tags_keep(struct tags *tags, struct str text)
{
	size_t at = 0;

	while (at < tags->count && tag_cmp(tag_str(&tags->at[at]), text) < 0)
		at++;
	if (at < tags->count && str_eq(tag_str(&tags->at[at]), text))
		return;
	if (at == CARD_TAGS)
		return;
	memmove(tags->at + at + 1, tags->at + at, (tags->count - at) * sizeof(struct tag));
	memcpy(tags->at[at].text, text.ptr, text.len);
	tags->at[at].len = text.len;
	if (tags->count < CARD_TAGS)
		tags->count++;
}

/* In a list of tags a comma would make two of one. */
static void
tags_add(struct tags *tags, struct str text, struct buf *line)
{
	if (!is_word(text))
		return;
	buf_reset(line);
	plain_line(line, text, CARD_TAG);
	for (size_t i = 0; i < line->len; i++)
		if (line->ptr[i] == ',')
			line->ptr[i] = ' ';
	struct str tag = str_trim(buf_str(line));
	if (is_word(tag)) /* something invisible may have been in the way */
		tags_keep(tags, tag);
}

static void
tags_of(struct tags *tags, const struct card_source *from, struct buf *line)
{
	for (size_t i = 0; i < from->tag_count; i++)
		tags_add(tags, from->tags[i], line);
	if (from->read_only)
		tags_add(tags, S("read-only"), line);
	if (from->destructive)
		tags_add(tags, S("destructive"), line);
}

static int
build_tags(struct arena *a, const struct card_source *from, struct card *c, struct buf *line)
{
	struct tags tags = {.count = 0};

	tags_of(&tags, from, line);
	struct str *sorted = arena_alloc(a, (tags.count + 1) * sizeof(*sorted));
	if (!sorted)
		return E_NOMEM;
	for (size_t i = 0; i < tags.count; i++) {
		struct str tag = arena_str(a, tag_str(&tags.at[i]));
		size_t at = i;
		if (!tag.ptr)
			return E_NOMEM;
		for (; at > 0 && str_cmp(sorted[at - 1], tag) > 0; at--)
			sorted[at] = sorted[at - 1];
		sorted[at] = tag;
	}
	c->tags = sorted;
	c->tag_count = tags.count;
	return 0;
}

/* Texts. */

static int
build_plain(struct arena *a, struct str text, size_t max_chars, struct str *ret, struct buf *line)
{
	buf_reset(line);
	plain_line(line, text, max_chars);
	*ret = arena_str(a, buf_str(line));
	return ret->ptr ? 0 : E_NOMEM;
}

static unsigned
measure(const struct card *c, struct buf *line)
{
	buf_reset(line);
	card_render(line, c, 1, 1);
	return (unsigned)tokens_upto(buf_str(line), LINE_BYTES);
}

/* Section 2.3: the description gets what the rest of the line leaves, one token at least. */
static int
cut_description(struct arena *a, struct card *c, struct buf *line)
{
	struct str whole = c->description;

	c->description = S("");
	c->tokens = measure(c, line);
	buf_reset(line);
	truncate_tokens(line, whole, c->tokens < CARD_TARGET ? CARD_TARGET - c->tokens : 1);
	c->description = arena_str(a, buf_str(line));
	c->tokens = measure(c, line);
	return c->description.ptr ? 0 : E_NOMEM;
}

static int
build(struct arena *a, const struct card_source *from, struct card *c, struct buf *line)
{
	int rc;

	*c = (struct card){
	    .id = arena_str(a, from->id),
	    .ns = arena_str(a, from->ns),
	    .kind = from->kind ? from->kind : "tool",
	    .has_schema = from->has_schema,
	    .side_effects = from->side_effects,
	    .cost_hint = isfinite(from->cost_hint) && from->cost_hint > 0 ? from->cost_hint : 0,
	};
	if (!c->id.ptr || !c->ns.ptr)
		return E_NOMEM;
	if ((rc = build_plain(a, from->name, CARD_NAME, &c->name, line)) < 0 ||
	    (rc = build_plain(a, from->description, DESCRIPTION_CHARS, &c->description, line)) <
		0 ||
	    (rc = build_tags(a, from, c, line)) < 0)
		return rc;
	c->tokens = measure(c, line);
	if (c->tokens > CARD_TARGET)
		rc = cut_description(a, c, line);
	return buf_failed(line) ? E_NOMEM : rc;
}

int
card_build(struct arena *a, const struct card_source *from, struct card *ret, struct err *e)
{
	struct buf line = BUF_INIT(LINE_BYTES);
	struct card c;
	int rc = build(a, from, &c, &line);

	buf_done(&line);
	if (rc < 0)
		return err_plain(e, rc);
	if (c.tokens > CARD_CAP)
		return err_set(e, E_TOO_LARGE, "%.*s: its card has %u tokens, and %d are the most",
			       STR_ARG(str_utf8_upto(from->id, 240)), c.tokens, CARD_CAP);
	*ret = c;
	return 0;
}

int
card_by_id(const void *a, const void *b)
{
	return str_cmp(((const struct card *)a)->id, ((const struct card *)b)->id);
}

/* Writing. */

void
card_render(struct buf *out, const struct card *c, size_t i, size_t n)
{
	const char *before = " [";

	if (n > 0)
		buf_addf(out, "[%zu/%zu] ", i, n);
	else
		buf_addf(out, "[%zu] ", i);
	buf_add(out, c->id);
	buf_addf(out, " (%s) \xe2\x80\x94 ", c->kind);
	buf_add(out, c->description);
	for (size_t t = 0; t < c->tag_count; t++, before = ", ") {
		buf_addz(out, before);
		buf_add(out, c->tags[t]);
	}
	if (c->tag_count > 0)
		buf_addc(out, ']');
}

void
card_write(struct jw *w, const struct card *c)
{
	jw_object(w);
	jw_member(w, "id", c->id);
	jw_member(w, "name", c->name);
	jw_member(w, "description", c->description);
	jw_key(w, "tags");
	jw_array(w);
	for (size_t i = 0; i < c->tag_count; i++)
		jw_str(w, c->tags[i]);
	jw_end(w);
	jw_member_z(w, "kind", c->kind);
	jw_member(w, "namespace", c->ns);
	jw_member_bool(w, "has_schema", c->has_schema);
	jw_key(w, "cost_hint"), jw_double(w, c->cost_hint);
	jw_member_bool(w, "side_effects", c->side_effects);
	if (c->has_score)
		jw_key(w, "score"), jw_double(w, c->score);
	jw_end(w);
}
