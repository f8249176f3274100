/* era.c - results, tools and content blocks as clients of each revision know them. */

#include "mcp/era.h"
#include "base/limits.h"
#include "mcp/shape.h"

/* MCP_UNKNOWN is nobody who speaks MCP: it gets everything as it came. */
static bool
is_before(enum mcp_revision to, enum mcp_revision since)
{
	return to != MCP_UNKNOWN && to < since;
}

static bool
is_legacy(enum mcp_revision to)
{
	return is_before(to, MCP_2026_07_28);
}

/* Of an object; a peer may have sent an array in its place, whose items have no keys. */
static struct json_iter
members_of(const struct json *v)
{
	return json_iter(json_is(v, JSON_OBJECT) ? v : NULL);
}

/* ---- content blocks ---- */

/* ", WORD: VALUE", as much as fits. */
static void
say(struct buf *out, const char *word, const struct json *value)
{
	struct str text = str_utf8_upto(json_str(value), LIMIT_MCP_BLOCK_TEXT);

	if (text.len)
		buf_addf(out, "%s%s: %.*s", out->len ? ", " : "", word, STR_ARG(text));
}

static void
say_audio(struct buf *out, const struct json *block)
{
	struct str data = json_str(json_get(block, S("data")));

	say(out, "audio", json_get(block, S("mimeType")));
	buf_addf(out, "%s%zu bytes of it are left out: this client does not take audio",
		 out->len ? ", " : "audio: ", data.len / 4 * 3);
}

static void
say_link(struct buf *out, const struct json *block)
{
	static const char *const words[] = {"name", "title", "description", "mimeType"};

	say(out, "resource", json_get(block, S("uri")));
	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		say(out, words[i], json_get(block, str_of(words[i])));
	if (out->len == 0)
		buf_addz(out, "a link to a resource, which does not say to which");
}

static const struct block_row {
	const char *type;
	enum mcp_revision since;
	void (*say)(struct buf *out, const struct json *block);
} blocks[] = {
    {"audio", MCP_2025_03_26, say_audio},
    {"resource_link", MCP_2025_06_18, say_link},
};

/* NULL: it goes as it is. */
static const struct block_row *
block_row(const struct json *block, enum mcp_revision to)
{
	struct str type = json_str(json_get(block, S("type")));

	for (size_t i = 0; i < ARRAY_LEN(blocks); i++) {
		if (str_is(type, blocks[i].type) && is_before(to, blocks[i].since))
			return &blocks[i];
	}
	return NULL;
}

static void
write_as_text(struct jw *w, const struct json *block, const struct block_row *row)
{
	static const char *const kept[] = {"annotations", "_meta"};
	struct buf text = BUF_INIT(8 * LIMIT_MCP_BLOCK_TEXT);

	row->say(&text, block);
	jw_object(w);
	jw_member_z(w, "type", "text");
	jw_member(w, "text", buf_str(&text));
	for (size_t i = 0; i < ARRAY_LEN(kept); i++) {
		const struct json *v = json_get(block, str_of(kept[i]));
		if (v)
			jw_key(w, kept[i]), jw_value(w, v);
	}
	jw_end(w);
	w->out->failed |= buf_failed(&text);
	buf_done(&text);
}

void
era_write_block(struct jw *w, const struct json *block, enum mcp_revision to)
{
	const struct block_row *row = block_row(block, to);

	if (row)
		write_as_text(w, block, row);
	else
		jw_value(w, block);
}

/* One block or a list of them: prompts have one per message, tools a list. */
static void
write_content(struct jw *w, const struct json *content, enum mcp_revision to)
{
	if (!json_is(content, JSON_ARRAY)) {
		era_write_block(w, content, to);
		return;
	}
	jw_array(w);
	for (struct json_iter it = json_iter(content); json_next(&it);)
		era_write_block(w, it.value, to);
	jw_end(w);
}

/* {role, content} of a prompt. */
static void
write_message(struct jw *w, const struct json *message, enum mcp_revision to)
{
	if (!json_is(message, JSON_OBJECT)) {
		jw_value(w, message);
		return;
	}
	jw_object(w);
	for (struct json_iter it = members_of(message); json_next(&it);) {
		jw_key_str(w, it.key);
		if (str_is(it.key, "content"))
			write_content(w, it.value, to);
		else
			jw_value(w, it.value);
	}
	jw_end(w);
}

/* ---- results ---- */

bool
era_drops_member(struct str key)
{
	static const char *const dropped[] = {"resultType", "ttlMs", "cacheScope"};

	for (size_t i = 0; i < ARRAY_LEN(dropped); i++) {
		if (str_is(key, dropped[i]))
			return true;
	}
	return false;
}

bool
era_takes_structured(const struct json *value, enum mcp_revision to)
{
	return value && (json_is(value, JSON_OBJECT) || !is_legacy(to));
}

void
era_write_meta(struct jw *w, const struct json *meta)
{
	for (struct json_iter it = members_of(meta); json_next(&it);) {
		if (mcp_meta_is_hop(it.key))
			continue;
		jw_key_str(w, it.key), jw_value(w, it.value);
	}
}

static bool
has_meta(const struct json *meta)
{
	for (struct json_iter it = members_of(meta); json_next(&it);) {
		if (!mcp_meta_is_hop(it.key))
			return true;
	}
	return false;
}

static void
member_meta(struct jw *w, const struct json *value, enum mcp_revision to)
{
	if (to >= MCP_2026_07_28 || !has_meta(value))
		return;
	jw_key(w, "_meta"), jw_object(w);
	era_write_meta(w, value);
	jw_end(w);
}

static void
member_structured(struct jw *w, const struct json *value, enum mcp_revision to)
{
	if (era_takes_structured(value, to))
		jw_key(w, "structuredContent"), jw_value(w, value);
}

static void
member_content(struct jw *w, const struct json *value, enum mcp_revision to)
{
	jw_key(w, "content"), write_content(w, value, to);
}

static void
member_messages(struct jw *w, const struct json *value, enum mcp_revision to)
{
	jw_key(w, "messages");
	if (!json_is(value, JSON_ARRAY)) {
		jw_value(w, value);
		return;
	}
	jw_array(w);
	for (struct json_iter it = json_iter(value); json_next(&it);)
		write_message(w, it.value, to);
	jw_end(w);
}

static const struct {
	const char *key;
	void (*write)(struct jw *w, const struct json *value, enum mcp_revision to);
} members[] = {
    {"_meta", member_meta},
    {"content", member_content},
    {"structuredContent", member_structured},
    {"messages", member_messages},
};

static void
write_member(struct jw *w, struct str key, const struct json *value, enum mcp_revision to)
{
	for (size_t i = 0; i < ARRAY_LEN(members); i++) {
		if (str_is(key, members[i].key)) {
			members[i].write(w, value, to);
			return;
		}
	}
	jw_key_str(w, key), jw_value(w, value);
}

void
era_write_result(struct jw *w, const struct json *result, enum mcp_revision to)
{
	for (struct json_iter it = members_of(result); json_next(&it);) {
		if (!era_drops_member(it.key))
			write_member(w, it.key, it.value, to);
	}
}

/* ---- tools ---- */

static bool
is_of_object(const struct json *schema)
{
	return str_is(json_str(json_get(schema, S("type"))), "object");
}

static bool
takes_tool_member(struct str key, const struct json *value, enum mcp_revision to)
{
	if (str_is(key, "name"))
		return false; /* it is written before */
	if (str_is(key, "outputSchema"))
		return !is_legacy(to) || is_of_object(value);
	return !str_is(key, "execution") || is_legacy(to) || to == MCP_UNKNOWN;
}

bool
era_tool_differs(const struct json *definition, enum mcp_revision to)
{
	for (struct json_iter it = members_of(definition); json_next(&it);)
		if (!str_is(it.key, "name") && !takes_tool_member(it.key, it.value, to))
			return true;
	return false;
}

void
era_write_tool(struct jw *w, const struct json *definition, struct str name, enum mcp_revision to)
{
	jw_object(w);
	jw_member(w, "name", name);
	for (struct json_iter it = members_of(definition); json_next(&it);) {
		if (takes_tool_member(it.key, it.value, to))
			shape_write_member(w, SHAPE_TOOL, it.key, it.value);
	}
	jw_end(w);
}
