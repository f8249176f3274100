/*
 * st_result.c - what the tool gave back, as the agent gets it.
 *
 * Secrets are taken out. Text that is too long is kept as an artifact, and its head and tail are
 * shown with the handle. A short result is done with at once; a long one on a worker, which owns
 * all it needs, because a disk may take longer than the call has.
 */

#include <stdlib.h>

#include "artifact/envelope.h"
#include "base/log.h"
#include "call/stage.h"

#define CLEAN_BYTES (SECRETS_GROWTH * LIMIT_RESULT_BYTES)

struct keeping {
	struct call *call; /* NULL once it has left */
	struct artifacts *artifacts;
	struct tool *tool;
	struct buf content; /* as in struct output */
	struct spool spool; /* what was streamed, if that is the output */
	struct buf refs;    /* JSON of what was kept */
	struct work work;
	bool finished;
	int code;        /* E_NOMEM */
	struct err lost; /* why it could not be kept; code 0: it could */
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

static void
add_block(struct buf *out, const struct json *block, struct str text)
{
	struct jw w = jw(out);

	if (out->len)
		buf_addc(out, ',');
	jw_object(&w);
	for (struct json_iter it = json_iter(block); json_next(&it);) {
		jw_key_str(&w, it.key);
		if (str_is(it.key, "text") && text.ptr)
			jw_str(&w, text);
		else
			jw_value(&w, it.value);
	}
	jw_end(&w);
}

/* ---- a short one ---- */

/* The blocks without secrets; they stay as they are where there is none. */
static int
redact(struct keeping *k, const struct json *blocks)
{
	struct buf out = BUF_INIT(CLEAN_BYTES), text = BUF_INIT(CLEAN_BYTES);
	size_t found = 0;

	for (struct json_iter it = json_iter(blocks); found == 0 && json_next(&it);) {
		buf_reset(&text);
		found = secrets_redact(text_of(it.value), &text);
	}
	for (struct json_iter it = json_iter(blocks); found > 0 && json_next(&it);) {
		struct str was = text_of(it.value);
		buf_reset(&text);
		secrets_redact(was, &text);
		add_block(&out, it.value, was.ptr ? buf_str(&text) : was);
	}
	int code = buf_failed(&out) || buf_failed(&text) ? E_NOMEM : 0;
	if (found > 0 && code == 0) {
		buf_done(&k->content);
		k->content = buf_take(&out);
	}
	buf_done(&out);
	buf_done(&text);
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

/* What was streamed is the output as it was; otherwise the text is all there is. */
static int
keep(struct keeping *k, const struct json *blocks, struct artifact *ret, struct err *e)
{
	struct artifact_note note = {ARTIFACT_TENANT, k->tool->name, S("text/plain"), S("result")};
	struct artifact_writer *w;
	bool first = true;
	int code;

	if (k->spool.err.code < 0) {
		*e = k->spool.err;
		return e->code;
	}
	if (k->spool.writer)
		return artifact_finish(&k->spool.writer, ret, e);
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
	size_t ends = artifacts_shown(k->artifacts) / 4;
	bool less = spooled(&k->spool) && ends > LIMIT_SHELL_OUTPUT / 4;

	return less ? LIMIT_SHELL_OUTPUT / 4 : ends;
}

/* One text block with the ends of all text, then what is no text. */
static int
shorten(struct keeping *k, const struct json *blocks)
{
	struct buf all = BUF_INIT(CLEAN_BYTES), ends = BUF_INIT(CLEAN_BYTES);
	struct buf out = BUF_INIT(CLEAN_BYTES);
	size_t most = ends_of(k);
	struct jw w = jw(&out), refs = jw(&k->refs);
	struct artifact kept;

	bool stored = keep(k, blocks, &kept, &k->lost) == 0;
	if (stored)
		artifact_write(&refs, &kept);
	join(blocks, artifacts_redact(k->artifacts), &all);
	preview_write(&ends, buf_str(&all), most, stored ? &kept : NULL);
	jw_object(&w);
	jw_member_z(&w, "type", "text");
	jw_member(&w, "text", buf_str(&ends));
	jw_end(&w);
	for (struct json_iter it = json_iter(blocks); json_next(&it);)
		if (!text_of(it.value).ptr)
			add_block(&out, it.value, (struct str){NULL, 0});
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

static int
render(struct keeping *k)
{
	struct buf text = BUF_INIT(LIMIT_RESULT_BYTES + 2);
	struct json_doc *doc = NULL;

	buf_addc(&text, '[');
	buf_add(&text, buf_str(&k->content));
	buf_addc(&text, ']');
	int code = buf_failed(&text) ? E_NOMEM : json_parse(buf_str(&text), &json_door, &doc, NULL);
	buf_done(&text);
	if (code < 0)
		return code;
	if (text_bytes(json_root(doc)) > artifacts_shown(k->artifacts) || spooled(&k->spool))
		code = shorten(k, json_root(doc));
	else if (artifacts_redact(k->artifacts))
		code = redact(k, json_root(doc));
	json_doc_unref(doc);
	return code;
}

/* ---- the stage ---- */

static void
keeping_free(struct keeping *k)
{
	spool_done(&k->spool);
	buf_done(&k->content);
	buf_done(&k->refs);
	tool_unref(k->tool);
	free(k);
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

	if (secrets_redact(str_of(e->text), &text) > 0 && !buf_failed(&text))
		err_set(e, e->code, "%.*s", STR_ARG(buf_str(&text)));
	buf_done(&text);
}

/* The result is here; with an error it is what there was of it. */
static enum verdict
settle(struct call *c)
{
	struct keeping *k = c->keeping;

	if (k->code < 0)
		return call_fail(c, E_NOMEM, "%.*s is done, but there is no memory for its result",
				 STR_ARG(c->tool->name));
	if (k->lost.code < 0)
		log_line(LOG_ERROR, "a result could not be kept", "call", c->id.text, "error",
			 err_text(&k->lost), "inside", k->lost.inside, NULL);
	c->out.content = buf_take(&k->content);
	buf_add(&c->artifacts, buf_str(&k->refs));
	if (c->out.err.code < 0 && artifacts_redact(c->gw->artifacts))
		redact_err(&c->out.err);
	return c->out.err.code < 0 ? call_fail_with(c, &c->out.err) : NEXT;
}

enum verdict
result_enter(struct call *c)
{
	struct keeping *k = calloc(1, sizeof(*k));

	if (c->out.err.code == 0 && (buf_failed(&c->out.content) || buf_failed(&c->out.modified))) {
		free(k);
		buf_done(&c->out.content); /* what was touched stays known */
		return call_fail(c, E_EXECUTION,
				 "the result of %.*s is larger than the limit of %zu bytes",
				 STR_ARG(c->tool->name), LIMIT_RESULT_BYTES);
	}
	if (!k)
		return call_fail(c, E_NOMEM, "out of memory");
	*k = (struct keeping){
	    .call = c,
	    .artifacts = c->gw->artifacts,
	    .tool = tool_ref(c->tool),
	    .content = buf_take(&c->out.content),
	    .refs = BUF_INIT(8 * KIB),
	};
	c->keeping = k;
	if (c->out.streamed) {
		k->spool = c->spool;
		c->spool = (struct spool){0};
	}
	if (k->content.len <= artifacts_shown(k->artifacts) && !spooled(&k->spool)) {
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
