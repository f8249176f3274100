/* envelope.c - one pass over a result's blocks: text to the gist and the spool, the rest to
 * artifacts. */

#include "artifact/envelope.h"

#include <stdio.h>
#include <stdlib.h>

#include "artifact/gist.h"

#define CANON_BYTES (8 * LIMIT_JSON_BYTES) /* every letter may need an escape */

struct building {
	const struct envelope_spec *spec;
	struct gist gist;
	struct spool text;
	bool any_text;
	bool partial;          /* something could not be read or kept */
	struct buf refs;       /* JSON, comma-separated */
	struct artifact whole; /* the text, if it was kept */
	struct buf all;        /* and if it was not, and is wanted */
};

/* ---- text ---- */

static void
add_piece(struct building *b, struct str piece)
{
	gist_feed(&b->gist, piece);
	spool_feed(&b->text, piece);
}

static void
add_text(struct building *b, struct str text)
{
	if (b->any_text)
		add_piece(b, S("\n"));
	b->any_text = true;
	add_piece(b, text);
}

/* ---- artifacts ---- */

static void
add_ref(struct jw *w, const struct artifact *a)
{
	jw_object(w);
	jw_member_z(w, "handle", a->handle);
	jw_member_z(w, "media_type", a->media_type);
	jw_member_int(w, "size_bytes", (int64_t)a->bytes);
	jw_member_z(w, "label", a->label);
	jw_member_z(w, "content_hash", a->sha256);
	jw_end(w);
}

static void
keep_ref(struct building *b, const struct artifact *a)
{
	struct jw w = jw(&b->refs);

	if (b->refs.len)
		buf_addc(&b->refs, ',');
	add_ref(&w, a);
	b->partial = b->partial || a->lost;
}

/* A part of the result that is not shown, kept as it is. One that cannot be is no failure. */
struct part {
	struct artifact_writer *writer;
	struct err err;
};

static struct part
part_begin(struct building *b, struct str media_type, struct str label)
{
	struct artifact_note note = {b->spec->tenant, b->spec->tool, media_type, label};
	struct part p = {.err = ERR_NONE};

	artifact_begin(b->spec->artifacts, &note, &p.writer, &p.err);
	return p;
}

static void
part_feed(struct part *p, struct str bytes)
{
	if (p->err.code == 0)
		artifact_feed(p->writer, bytes, &p->err);
}

static void
part_end(struct building *b, struct part *p)
{
	struct artifact a;

	if (p->err.code == 0 && artifact_finish(&p->writer, &a, &p->err) == 0)
		keep_ref(b, &a);
	artifact_drop(&p->writer);
	b->partial = b->partial || p->err.code < 0;
}

static void
keep_part(struct building *b, struct str bytes, struct str media_type, struct str label)
{
	struct part p = part_begin(b, media_type, label);

	part_feed(&p, bytes);
	part_end(b, &p);
}

/* -1: no letter of base64, of either alphabet. */
static int
sextet(char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	return c == '+' || c == '-' ? 62 : c == '/' || c == '_' ? 63 : -1;
}

/* Decoded in small pieces; false for what is no base64. */
static bool
part_feed_base64(struct part *p, struct str text)
{
	unsigned bits = 0, held = 0;
	char out[3072];
	size_t n = 0;

	while (text.len && text.ptr[text.len - 1] == '=')
		text.len--;
	for (size_t i = 0; i < text.len; i++) {
		int six = sextet(text.ptr[i]);
		if (six < 0)
			return false;
		bits = bits << 6 | (unsigned)six;
		held += 6;
		if (held >= 8) {
			held -= 8;
			out[n++] = (char)(bits >> held & 0xff);
		}
		if (n == sizeof(out)) {
			part_feed(p, (struct str){out, n});
			n = 0;
		}
	}
	part_feed(p, (struct str){out, n});
	return held < 6;
}

static void
keep_base64(struct building *b, struct str text, struct str media_type, struct str label)
{
	struct part p = part_begin(b, media_type, label);

	if (!part_feed_base64(&p, text))
		err_plain(&p.err, E_VALIDATION);
	part_end(b, &p);
}

/* ---- blocks ---- */

static struct str
or_else(struct str given, const char *usual)
{
	return given.ptr ? given : str_of(usual);
}

static struct str
member(const struct json *block, const char *name)
{
	return json_str(json_get(block, str_of(name)));
}

static void
block_text(struct building *b, const struct json *block)
{
	add_text(b, or_else(member(block, "text"), ""));
}

/* image and audio */
static void
block_media(struct building *b, const struct json *block)
{
	char label[LIMIT_ARTIFACT_TEXT];

	snprintf(label, sizeof(label), "%.*s from %.*s", STR_ARG(member(block, "type")),
		 STR_ARG(str_utf8_upto(b->spec->tool, 200)));
	keep_base64(b, or_else(member(block, "data"), ""),
		    or_else(member(block, "mimeType"), "application/octet-stream"), str_of(label));
}

static void
block_resource(struct building *b, const struct json *block)
{
	const struct json *resource = json_get(block, S("resource"));
	struct str text = member(resource, "text"), blob = member(resource, "blob");
	struct str type = or_else(member(resource, "mimeType"), "application/octet-stream");
	struct str uri = or_else(member(resource, "uri"), "");

	if (text.ptr) {
		add_text(b, text);
		keep_part(b, text, type, uri);
	} else if (blob.ptr) {
		keep_base64(b, blob, type, uri);
	}
}

static void
block_link(struct building *b, const struct json *block)
{
	struct str uri = or_else(member(block, "uri"), "");

	keep_part(b, uri, or_else(member(block, "mimeType"), "application/octet-stream"),
		  member(block, "name").ptr ? member(block, "name") : uri);
}

static const struct {
	const char *type;
	void (*add)(struct building *b, const struct json *block);
} blocks[] = {
    {"text", block_text},         {"image", block_media},        {"audio", block_media},
    {"resource", block_resource}, {"resource_link", block_link},
};

static void
add_block(struct building *b, const struct json *block)
{
	for (size_t i = 0; i < ARRAY_LEN(blocks); i++)
		if (str_is(member(block, "type"), blocks[i].type)) {
			blocks[i].add(b, block);
			return;
		}
	b->partial = true; /* of a kind that is not known here */
}

/* "key: value" for what is short; strings as they are, all else as JSON. */
static void
add_member(struct building *b, struct str key, const struct json *value)
{
	struct buf line = BUF_INIT(4 * LIMIT_NAME_BYTES + 4 * LIMIT_FACT_CHARS);
	size_t before;

	buf_add(&line, str_utf8_upto(key, LIMIT_NAME_BYTES));
	buf_addz(&line, ": ");
	before = line.len;
	if (json_is(value, JSON_STRING))
		buf_add(&line, json_str(value));
	else
		canon_write(&line, value, CANON_SPACED);
	if (!buf_failed(&line) && chars_count(str_from(buf_str(&line), before)) < LIMIT_FACT_CHARS)
		add_text(b, buf_str(&line));
	buf_done(&line);
}

static void
add_structured(struct building *b, const struct json *v)
{
	struct buf text = BUF_INIT(CANON_BYTES);
	char label[LIMIT_ARTIFACT_TEXT];

	for (struct json_iter it = json_iter(v); json_is(v, JSON_OBJECT) && json_next(&it);)
		add_member(b, it.key, it.value);
	snprintf(label, sizeof(label), "structured content from %.*s",
		 STR_ARG(str_utf8_upto(b->spec->tool, 200)));
	canon_write(&text, v, CANON_SPACED);
	if (buf_failed(&text))
		b->partial = true;
	else
		keep_part(b, buf_str(&text), S("application/json"), str_of(label));
	buf_done(&text);
}

/* ---- the envelope ---- */

static void
write_view(struct jw *w, const struct building *b, const char *type, const char *label)
{
	jw_object(w);
	jw_member_z(w, "view_id", type);
	jw_member_z(w, "label", label);
	jw_key(w, "selector");
	jw_object(w);
	jw_member_z(w, "type", type);
	jw_end(w);
	jw_key(w, "artifact_ref");
	add_ref(w, &b->whole);
	jw_end(w);
}

static void
write_views(struct jw *w, const struct building *b)
{
	jw_key(w, "views");
	jw_array(w);
	if (b->whole.handle[0]) {
		write_view(w, b, "head", "the first characters");
		write_view(w, b, "tail", "the last characters");
		write_view(w, b, "lines", "a slice of the lines");
	}
	jw_end(w);
}

static void
write_provenance(struct jw *w, const struct envelope_spec *spec)
{
	jw_key(w, "provenance");
	jw_object(w);
	jw_member(w, "tool", spec->tool);
	jw_member_z(w, "protocol", spec->protocol);
	if (spec->tool_id.ptr)
		jw_member(w, "tool_id", spec->tool_id);
	jw_end(w);
}

static void
write_stats(struct jw *w, const struct building *b, struct str summary)
{
	jw_key(w, "firewall_stats");
	jw_object(w);
	jw_member_bool(w, "triggered", true);
	jw_member_z(w, "strategy", "summary");
	jw_member_int(w, "threshold_chars", (int64_t)artifacts_shown(b->spec->artifacts));
	jw_member_int(w, "original_chars", (int64_t)b->gist.chars);
	jw_member_int(w, "summary_chars", (int64_t)chars_count(summary));
	jw_member_z(w, "artifact_ref", b->whole.handle);
	jw_member_bool(w, "summarized_by_llm", false);
	jw_end(w);
}

static void
write_envelope(struct jw *w, const struct building *b, bool is_error)
{
	struct buf summary = BUF_INIT(16 * LIMIT_GIST_CHARS);

	gist_summary(&b->gist, b->whole.handle[0], &summary);
	if (b->all.len) {
		buf_done(&summary);
		summary = b->all;
	}
	jw_object(w);
	jw_member_z(w, "status", is_error ? "error" : b->partial ? "partial" : "ok");
	jw_member(w, "summary", buf_str(&summary));
	jw_key(w, "facts");
	jw_array(w);
	for (size_t i = 0; i < b->gist.fact_count; i++)
		jw_str(w, buf_str(&b->gist.facts[i]));
	jw_end(w);
	jw_key(w, "artifacts");
	jw_array(w);
	if (b->refs.len)
		jw_raw(w, buf_str(&b->refs));
	jw_end(w);
	write_views(w, b);
	write_provenance(w, b->spec);
	if (b->whole.handle[0])
		write_stats(w, b, buf_str(&summary));
	jw_end(w);
	if (!b->all.len)
		buf_done(&summary);
}

static void
show_all(struct building *b)
{
	const struct spool *s = &b->text;

	buf_init(&b->all, SECRETS_GROWTH * LIMIT_SHELL_OUTPUT);
	if (!b->spec->whole || s->writer || s->err.code < 0)
		return;
	if (artifacts_redact(b->spec->artifacts))
		secrets_redact(buf_str(&s->held), &b->all);
	else
		buf_add(&b->all, buf_str(&s->held));
}

static void
keep_text(struct building *b)
{
	struct spool *s = &b->text;

	show_all(b);
	if (s->writer && artifact_finish(&s->writer, &b->whole, &s->err) == 0)
		keep_ref(b, &b->whole);
	b->partial = b->partial || s->err.code < 0;
	spool_done(s);
}

int
envelope_write(struct jw *w, const struct envelope_spec *spec, const struct json *result,
	       struct err *e)
{
	struct building *b = calloc(1, sizeof(*b));
	struct artifact_note note = {spec->tenant, spec->tool, S("text/plain"), S("text")};
	const struct json *structured = json_get(result, S("structuredContent"));

	if (!b)
		return err_plain(e, E_NOMEM);
	b->spec = spec;
	b->refs = BUF_INIT(LIMIT_RESULT_BYTES);
	gist_init(&b->gist, artifacts_redact(spec->artifacts));
	spool_init(&b->text, spec->artifacts, &note);
	for (struct json_iter it = json_iter(json_get(result, S("content"))); json_next(&it);)
		add_block(b, it.value);
	if (structured && !json_is(structured, JSON_NULL))
		add_structured(b, structured);
	gist_end(&b->gist);
	keep_text(b);
	write_envelope(w, b, json_bool(json_get(result, S("isError"))));
	gist_done(&b->gist);
	buf_done(&b->refs);
	buf_done(&b->all);
	free(b);
	return buf_failed(w->out) ? err_plain(e, E_NOMEM) : 0;
}
