/*
 * st_result.c - what the tool gave back, as the agent gets it.
 *
 * Secrets are taken out. Text that is too long is kept as an artifact, and its head and tail are
 * shown with the handle. A short result is done with at once, and so is a long one that is shown
 * whole and at a glance has no secrets; others on a worker, which owns all it needs, because a disk
 * may take longer than the call has.
 */

#include <stdlib.h>

#include "artifact/envelope.h"
#include "base/log.h"
#include "call/stage.h"

#define GLANCE_BYTES (2 * MIB)
#define GLANCE_LOOKS 4096
#define GLANCE_BLOCKS 4
#define CLEAN_BYTES (SECRETS_GROWTH * LIMIT_RESULT_BYTES)

struct keeping {
	struct arena *arena; /* of its own: it may outlive the call */
	struct call *call;   /* NULL once it has left */
	struct artifacts *artifacts;
	struct tool *tool;
	char tenant[LIMIT_OWNER_NAME + 1]; /* whose it is */
	struct buf content;                /* as in struct output */
	struct json_doc *doc;
	const struct json *blocks; /* the same; NULL: content has to be parsed */
	struct buf extra;          /* the same */
	bool success;
	bool clean; /* blocks have no secrets */
	enum showing showing;
	size_t limit;    /* of the whole of it, whoever looks; 0: none, or it is not passed */
	struct buf refs; /* JSON of what was kept */
	struct work work;
	bool finished;
	int code;           /* E_NOMEM */
	struct spool spool; /* what was streamed, if that is the output */
	struct err lost;    /* why it could not be kept; code 0: it could */
};

/* ---- blocks ---- */

static struct str
text_of(const struct json *block)
{
	bool text = str_is(json_str(json_get(block, S("type"))), "text");

	return text ? json_str(json_get(block, S("text"))) : (struct str){NULL, 0};
}

static size_t
text_bytes(const struct json *blocks)
{
	size_t n = 0;

	for (struct json_iter it = json_iter(blocks); json_next(&it);)
		n += text_of(it.value).len;
	return n;
}

/* ---- a short one ---- */

/* Pictures and the like are no text, and what looks like a secret in them is none. Only where they
 * can be: many a program calls its answer "data". */
static bool
is_bytes(const struct json *object, const struct json_iter *at)
{
	struct str type = json_str(json_get(object, S("type")));

	if (!json_is(at->value, JSON_STRING))
		return false;
	if (str_is(at->key, "data"))
		return str_is(type, "image") || str_is(type, "audio");
	return str_is(at->key, "blob") && json_get(object, S("uri"));
}

/* Is there anything in its strings to be taken out? */
static bool
has_secrets(const struct json *v)
{
	if (json_is(v, JSON_STRING))
		return secrets_in(json_str(v));
	for (struct json_iter it = json_iter(v); json_next(&it);)
		if (!is_bytes(v, &it) && has_secrets(it.value))
			return true;
	return false;
}

static void
clean_value(struct jw *w, const struct json *v, struct buf *scratch)
{
	bool object = json_is(v, JSON_OBJECT);

	if (json_is(v, JSON_STRING)) {
		buf_reset(scratch);
		secrets_redact(json_str(v), scratch);
		w->out->failed = w->out->failed || buf_failed(scratch);
		jw_str(w, buf_str(scratch));
		return;
	}
	if (!object && !json_is(v, JSON_ARRAY)) {
		jw_value(w, v);
		return;
	}
	(object ? jw_object : jw_array)(w);
	for (struct json_iter it = json_iter(v); json_next(&it);) {
		if (object)
			jw_key_str(w, it.key);
		if (object && is_bytes(v, &it))
			jw_value(w, it.value);
		else
			clean_value(w, it.value, scratch);
	}
	jw_end(w);
}

static void
add_block(struct buf *out, const struct json *block, bool clean)
{
	struct buf scratch = BUF_INIT(CLEAN_BYTES);
	struct jw w = jw(out);

	if (out->len)
		buf_addc(out, ',');
	if (clean)
		clean_value(&w, block, &scratch);
	else
		jw_value(&w, block);
	buf_done(&scratch);
}

/* What is between its brackets, cleaned, replaces *part. */
static int
redact(const struct json *v, struct buf *part)
{
	struct buf out = BUF_INIT(CLEAN_BYTES), scratch = BUF_INIT(CLEAN_BYTES);
	struct jw w = jw(&out);

	clean_value(&w, v, &scratch);
	buf_done(part);
	buf_init(part, CLEAN_BYTES); /* marks are longer than short secrets */
	if (!buf_failed(&out))
		buf_add(part, (struct str){out.ptr + 1, out.len - 2});
	int code = buf_failed(&out) || buf_failed(part) ? E_NOMEM : 0;
	buf_done(&out);
	buf_done(&scratch);
	return code;
}

/* ---- a long one ---- */

/* All text, a newline between two blocks. */
static void
join(const struct json *blocks, bool clean, struct buf *out)
{
	struct secrets s;
	const char *between = "";

	secrets_begin(&s);
	for (struct json_iter it = json_iter(blocks); json_next(&it);) {
		struct str text = text_of(it.value);
		if (!text.ptr)
			continue;
		if (clean) {
			secrets_feed(&s, str_of(between), out);
			secrets_feed(&s, text, out);
		} else {
			buf_addz(out, between);
			buf_add(out, text);
		}
		between = "\n";
	}
	secrets_end(&s, out);
}

/* Something that is no text, or has other members than its text. */
static bool
is_mixed(const struct keeping *k, const struct json *blocks)
{
	for (struct json_iter it = json_iter(blocks); json_next(&it);)
		if (!text_of(it.value).ptr)
			return true;
	return k->extra.len > 0;
}

/* All of it as it came, as one document. */
static int
keep_whole(struct keeping *k, const struct json *blocks, struct artifact *ret, struct err *e)
{
	struct artifact_note note = {str_of(k->tenant), k->tool->name, S("application/json"),
				     S("result")};
	struct buf whole = BUF_INIT(CLEAN_BYTES);
	struct artifact_writer *w;
	struct jw out = jw(&whole);

	buf_addz(&whole, "{\"content\":");
	jw_value(&out, blocks);
	buf_addf(&whole, "%s%.*s}", k->extra.len ? "," : "", STR_ARG(buf_str(&k->extra)));
	int code =
	    buf_failed(&whole) ? err_plain(e, E_NOMEM) : artifact_begin(k->artifacts, &note, &w, e);
	if (code == 0 && (code = artifact_feed(w, buf_str(&whole), e)) < 0)
		artifact_drop(&w);
	else if (code == 0)
		code = artifact_finish(&w, ret, e);
	buf_done(&whole);
	return code;
}

/* What was streamed is the output as it was; otherwise the text is all there is. */
static int
keep(struct keeping *k, const struct json *blocks, struct artifact *ret, struct err *e)
{
	struct artifact_note note = {str_of(k->tenant), k->tool->name, S("text/plain"),
				     S("result")};
	struct artifact_writer *w;
	bool first = true;
	int code;

	if (k->spool.err.code < 0) {
		*e = k->spool.err;
		return e->code;
	}
	if (k->spool.writer)
		return artifact_finish(&k->spool.writer, ret, e);
	if (k->limit && is_mixed(k, blocks))
		return keep_whole(k, blocks, ret, e);
	if ((code = artifact_begin(k->artifacts, &note, &w, e)) < 0)
		return code;
	for (struct json_iter it = json_iter(blocks); code == 0 && json_next(&it);) {
		struct str text = text_of(it.value);
		if (text.ptr && !first)
			code = artifact_feed(w, S("\n"), e);
		if (text.ptr && code == 0)
			code = artifact_feed(w, text, e);
		first = first && !text.ptr;
	}
	if (code == 0)
		return artifact_finish(&w, ret, e);
	artifact_drop(&w);
	return code;
}

/* All of a streamed output is in the spool; its content may be cut in the middle already. */
static bool
spooled(const struct spool *s)
{
	return s->writer || s->err.code < 0;
}

/* The ends stay clear of that cut: a secret that it went through is recognised by nobody. */
static size_t
ends_of(const struct keeping *k)
{
	size_t ends = (k->limit ? k->limit : artifacts_shown(k->artifacts)) / 4;
	bool less = spooled(&k->spool) && ends > LIMIT_SHELL_OUTPUT / 4;

	return less ? LIMIT_SHELL_OUTPUT / 4 : ends;
}

/* One text and nothing else, long enough to stay in the memory it came in. Who is shown an envelope
 * has to see the blocks once more. */
static bool
show_in_place(struct keeping *k)
{
	const struct json *block = json_len(k->blocks) == 1 ? json_at(k->blocks, 0) : NULL;
	bool bare = k->showing == SHOW_WHOLE && k->content.len == 0 && text_of(block).ptr &&
		    json_len(block) == 2;

	if (!bare || !json_text_take(&k->doc, json_get(block, S("text")), &k->content))
		return false;
	k->blocks = NULL;
	buf_add_front(&k->content, S("{\"type\":\"text\",\"text\":\""));
	buf_addz(&k->content, "\"}");
	return true;
}

/* All of it, without secrets; what has not been written yet is written here. */
static int
show(struct keeping *k, const struct json *blocks)
{
	if (artifacts_redact(k->artifacts) && !k->clean && has_secrets(blocks))
		return redact(blocks, &k->content);
	if (show_in_place(k))
		return buf_failed(&k->content) ? E_TOO_LARGE : 0;
	for (struct json_iter it = json_iter(k->blocks); json_next(&it);) {
		struct jw w = jw(&k->content);
		if (k->content.len)
			buf_addc(&k->content, ',');
		jw_value(&w, it.value);
	}
	return buf_failed(&k->content) ? E_TOO_LARGE : 0;
}

/* One text block with the ends of all text, then what is no text; beyond the tool's own limit that
 * stays in the artifact, too. */
static int
shorten(struct keeping *k, const struct json *blocks)
{
	struct buf all = BUF_INIT(CLEAN_BYTES), ends = BUF_INIT(CLEAN_BYTES);
	struct buf out = BUF_INIT(CLEAN_BYTES);
	size_t most = ends_of(k);
	struct jw w = jw(&out), refs = jw(&k->refs);
	struct artifact kept;

	bool stored = keep(k, blocks, &kept, &k->lost) == 0;
	if (!stored && k->limit)
		return show(k, blocks); /* a wish to see less is no leave to lose it */
	if (stored)
		artifact_write(&refs, &kept);
	join(blocks, artifacts_redact(k->artifacts), &all);
	preview_write(&ends, buf_str(&all), most, stored ? &kept : NULL);
	jw_object(&w);
	jw_member_z(&w, "type", "text");
	jw_member(&w, "text", buf_str(&ends));
	jw_end(&w);
	for (struct json_iter it = json_iter(blocks); !k->limit && json_next(&it);)
		if (!text_of(it.value).ptr)
			add_block(&out, it.value, artifacts_redact(k->artifacts));
	if (k->limit)
		buf_reset(&k->extra);
	int code = buf_failed(&all) || buf_failed(&ends) || buf_failed(&out) ? E_NOMEM : 0;
	if (code == 0) {
		buf_done(&k->content);
		k->content = buf_take(&out);
	}
	buf_done(&all);
	buf_done(&ends);
	buf_done(&out);
	return code;
}

/* The parts of a result are kept without their brackets. */
static int
parse_part(const char *open, const struct buf *part, const char *close, struct json_doc **ret)
{
	struct buf text = BUF_INIT(2 * LIMIT_RESULT_BYTES + 64);

	buf_addz(&text, open);
	buf_add(&text, buf_str(part));
	buf_addz(&text, close);
	int code = buf_failed(&text) ? E_NOMEM : json_parse(buf_str(&text), &json_door, ret, NULL);
	buf_done(&text);
	return code;
}

static const char *
protocol_of(const struct tool *t)
{
	if (t->gateway.ptr)
		return t->inner ? "native" : "http";
	return t->server.ptr ? "mcp" : "native";
}

/* What the gateway surface shows: the envelope, and beside it what only eyes can take in. */
static int
wrap(struct keeping *k, const struct json *blocks)
{
	struct buf whole = BUF_INIT(2 * LIMIT_RESULT_BYTES + 64), out = BUF_INIT(CLEAN_BYTES);
	struct buf envelope = BUF_INIT(CLEAN_BYTES);
	struct json_doc *doc = NULL;
	struct jw w = jw(&envelope), block = jw(&out);
	struct envelope_spec spec = {
	    .artifacts = k->artifacts,
	    .tenant = str_of(k->tenant),
	    .tool = k->tool->upstream_name.ptr ? k->tool->upstream_name : k->tool->name,
	    .tool_id = k->tool->id,
	    .protocol = protocol_of(k->tool),
	    .whole = true,
	};

	buf_addf(&whole, "{\"content\":[%.*s],\"isError\":%s%s%.*s}", STR_ARG(buf_str(&k->content)),
		 k->success ? "false" : "true", k->extra.len ? "," : "",
		 STR_ARG(buf_str(&k->extra)));
	int code =
	    buf_failed(&whole) ? E_NOMEM : json_parse(buf_str(&whole), &json_door, &doc, NULL);
	if (code == 0)
		code = envelope_write(&w, &spec, json_root(doc), &k->lost);
	jw_object(&block);
	jw_member_z(&block, "type", "text");
	jw_member(&block, "text", buf_str(&envelope));
	jw_end(&block);
	for (struct json_iter it = json_iter(blocks); !k->limit && json_next(&it);)
		if (str_is(json_str(json_get(it.value, S("type"))), "image"))
			add_block(&out, it.value, artifacts_redact(k->artifacts));
	if (code == 0 && !buf_failed(&out)) {
		buf_done(&k->content);
		k->content = buf_take(&out);
		buf_reset(&k->extra);
		buf_addf(&k->extra, "\"structuredContent\":%.*s", STR_ARG(buf_str(&envelope)));
	}
	json_doc_unref(doc);
	buf_done(&whole);
	buf_done(&out);
	buf_done(&envelope);
	return code;
}

/* What an agent would get of it. */
static size_t
whole_bytes(const struct keeping *k)
{
	struct buf other = BUF_INIT(CLEAN_BYTES);
	size_t n = k->content.len + k->extra.len + text_bytes(k->blocks);

	for (struct json_iter it = json_iter(k->blocks); json_next(&it);)
		if (!text_of(it.value).ptr)
			add_block(&other, it.value, false);
	n += buf_failed(&other) ? LIMIT_RESULT_BYTES : other.len;
	buf_done(&other);
	return n;
}

static int
render(struct keeping *k)
{
	struct json_doc *extra = NULL;
	int code = k->blocks ? 0 : parse_part("[", &k->content, "]", &k->doc);
	const struct json *blocks = k->blocks ? k->blocks : code == 0 ? json_root(k->doc) : NULL;
	bool cut = spooled(&k->spool) || k->limit;

	if (code < 0)
		return code;
	cut =
	    cut || (k->showing == SHOW_ENDS && text_bytes(blocks) > artifacts_shown(k->artifacts));
	if (cut)
		code = shorten(k, blocks);
	else
		code = show(k, blocks);
	if (code == 0 && k->extra.len && artifacts_redact(k->artifacts) &&
	    (code = parse_part("{", &k->extra, "}", &extra)) == 0 && has_secrets(json_root(extra)))
		code = redact(json_root(extra), &k->extra);
	if (code == 0 && k->showing == SHOW_ENVELOPE)
		code = wrap(k, blocks);
	json_doc_unref(extra);
	return code;
}

/* Blocks of text and nothing else: no picture, which is long, or has to be kept. */
static bool
is_plain(const struct json *blocks)
{
	for (struct json_iter it = json_iter(blocks); json_next(&it);)
		if (!text_of(it.value).ptr)
			return false;
	return true;
}

/* Not all of it is text that was looked at: an annotation may have anything in it. */
static bool
is_clean(const struct json *blocks)
{
	for (struct json_iter it = json_iter(blocks); json_next(&it);)
		if (json_len(it.value) != 2 ||
		    secrets_glance(text_of(it.value), GLANCE_LOOKS) != SECRETS_NONE)
			return false;
	return true;
}

/* May it be done on the loop: is it short, or soon looked through; and nothing goes to a disk? */
static bool
is_quick(struct keeping *k)
{
	size_t text = k->blocks ? text_bytes(k->blocks) : k->content.len;
	size_t shown = artifacts_shown(k->artifacts);

	if (spooled(&k->spool) || k->limit || (k->showing == SHOW_ENVELOPE && k->extra.len) ||
	    k->extra.len > shown || !is_plain(k->blocks))
		return false;
	if (text + k->extra.len <= shown)
		return true;
	if (k->showing != SHOW_WHOLE || !k->blocks || text > GLANCE_BYTES ||
	    json_len(k->blocks) > GLANCE_BLOCKS)
		return false;
	k->clean = is_clean(k->blocks);
	return k->clean;
}

/* ---- the stage ---- */

static void
keeping_free(struct keeping *k)
{
	spool_done(&k->spool);
	json_doc_unref(k->doc);
	buf_done(&k->content);
	buf_done(&k->extra);
	buf_done(&k->refs);
	tool_unref(k->tool);
	arena_free(k->arena);
}

static void
keep_there(void *arg)
{
	struct keeping *k = arg;

	k->code = render(k);
}

static void
kept(void *arg)
{
	struct keeping *k = arg;

	k->finished = true;
	if (k->call)
		call_wake(k->call);
	else
		keeping_free(k);
}

static void
redact_err(struct err *e)
{
	struct buf text = BUF_INIT(32 * sizeof(e->text));
	unsigned retry_after_ms = e->retry_after_ms;

	if (secrets_redact(str_of(e->text), &text) > 0 && !buf_failed(&text))
		err_set(e, e->code, "%.*s", STR_ARG(buf_str(&text)));
	e->retry_after_ms = retry_after_ms;
	buf_done(&text);
}

/* The result is here; with an error it is what there was of it. */
static enum verdict
settle(struct call *c)
{
	struct keeping *k = c->keeping;

	if (k->code == E_TOO_LARGE)
		return call_fail(c, E_EXECUTION,
				 "the result of %.*s is larger than the limit of %zu bytes",
				 STR_ARG(c->tool->name), LIMIT_RESULT_BYTES);
	if (k->code < 0)
		return call_fail(c, E_NOMEM, "%.*s is done, but there is no memory for its result",
				 STR_ARG(c->tool->name));
	if (k->lost.code < 0)
		log_line(LOG_ERROR, "a result could not be kept", "call", c->id.text, "error",
			 err_text(&k->lost), "inside", k->lost.inside, NULL);
	c->out.content = buf_take(&k->content);
	c->out.extra = buf_take(&k->extra);
	buf_add(&c->artifacts, buf_str(&k->refs));
	if (c->out.err.code < 0 && artifacts_redact(c->gw->artifacts))
		redact_err(&c->out.err);
	return c->out.err.code < 0 ? call_fail_with(c, &c->out.err) : NEXT;
}

/* Everything of the output moves over. */
static struct keeping *
keeping_new(struct call *c)
{
	struct arena *arena = arena_new(16 * KIB);
	struct keeping *k = arena ? ARENA_NEW_UPTO(arena, struct keeping, spool.err) : NULL;

	if (!k) {
		arena_free(arena);
		return NULL;
	}
	err_none(&k->spool.err);
	err_none(&k->lost);
	k->arena = arena;
	k->call = c;
	k->artifacts = c->gw->artifacts;
	k->tool = tool_ref(c->tool);
	memcpy(k->tenant, c->session->tenant, sizeof(k->tenant));
	k->content = buf_take(&c->out.content);
	k->extra = buf_take(&c->out.extra);
	k->doc = c->out.doc;
	k->blocks = c->out.blocks;
	k->success = c->out.success;
	/* A failure is told in words; what there was of a result comes behind them. */
	k->showing = c->out.err.code < 0 && c->showing == SHOW_ENVELOPE ? SHOW_ENDS : c->showing;
	buf_init(&k->refs, 8 * KIB);
	k->limit = c->tuning->max_result_bytes;
	if (k->limit && whole_bytes(k) <= k->limit)
		k->limit = 0;
	c->out.doc = NULL;
	c->out.blocks = NULL;
	if (c->out.streamed && c->spool) {
		k->spool = *c->spool;
		c->spool = NULL;
	}
	return k;
}

enum verdict
result_enter(struct call *c)
{
	if (c->out.err.code == 0 && (buf_failed(&c->out.content) || buf_failed(&c->out.modified) ||
				     buf_failed(&c->out.extra))) {
		buf_done(&c->out.extra);
		buf_done(&c->out.content); /* what was touched stays known */
		return call_fail(c, E_EXECUTION,
				 "the result of %.*s is larger than the limit of %zu bytes",
				 STR_ARG(c->tool->name), LIMIT_RESULT_BYTES);
	}
	struct keeping *k = c->keeping = keeping_new(c);
	if (!k) { /* nobody has looked for secrets in it */
		buf_done(&c->out.extra);
		buf_done(&c->out.content);
		return call_fail(c, E_NOMEM, "out of memory");
	}
	if (is_quick(k)) {
		k->code = render(k);
		k->finished = true;
		return settle(c);
	}
	if (call_alarm(c, LIMIT_CALL_MS) < 0 ||
	    work_start(c->gw->loop, &k->work, keep_there, kept, k) < 0) {
		k->finished = true;
		return call_fail(c, E_SYSTEM, "the system refused an operation");
	}
	call_move(c, PLACE_KEEPING);
	return WAIT;
}

/* The tool is done: being cancelled now changes nothing. */
enum verdict
result_wake(struct call *c)
{
	if (!c->keeping->finished && !c->overdue)
		return WAIT;
	call_move(c, PLACE_MOVING);
	call_calm(c);
	if (!c->keeping->finished)
		return call_fail(
		    c, E_EXECUTION,
		    "%.*s is done, but its result could not be stored within %d seconds",
		    STR_ARG(c->tool->name), LIMIT_CALL_MS / 1000);
	return settle(c);
}

void
result_leave(struct call *c)
{
	struct keeping *k = c->keeping;

	call_calm(c);
	c->keeping = NULL;
	if (k && k->finished)
		keeping_free(k);
	else if (k)
		k->call = NULL;
}
