/* http_answer.c - what an answer over HTTP means: a result, a refusal, or a doubt. */

#include <stdio.h>

#include "base/sha256.h"
#include "catalog/refusal.h"
#include "provider/http_inside.h"

#define SAID_BYTES (16 * KIB) /* of what came with a refusal, for the agent to read */
#define URI_BYTES 256

static const struct http_plan *
plan_of(const struct job *j)
{
	return j->tool->provider_data;
}

/* ---- the status ---- */

/* What statuses mean where the definition says nothing. `code` is of tbl/errors.def. */
static const struct row {
	int from, to;
	enum http_meaning meaning;
	int code;
} rows[] = {
    {200, 299, MEANS_SUCCESS, 0},
    {300, 399, MEANS_UNKNOWN, E_EXECUTION}, /* one that was not followed */
    {400, 400, MEANS_FAILED, E_VALIDATION},
    {401, 401, MEANS_FAILED, E_UNAUTHORIZED},
    {403, 403, MEANS_FAILED, E_PERMISSION},
    {408, 408, MEANS_UNKNOWN, E_TIMEOUT},
    {413, 414, MEANS_FAILED, E_TOO_LARGE},
    {422, 422, MEANS_FAILED, E_VALIDATION},
    {429, 429, MEANS_RETRY, E_RATE},
    {400, 499, MEANS_FAILED, E_EXECUTION},
    {501, 501, MEANS_FAILED, E_EXECUTION},
    {505, 505, MEANS_FAILED, E_EXECUTION},
    {500, 599, MEANS_UNKNOWN, E_EXECUTION},
    {0, 999, MEANS_UNKNOWN, E_EXECUTION},
};

static struct row
row_of(const struct http_plan *p, int status)
{
	struct row found = {0};
	int width = 1000;

	for (size_t i = 0; i < ARRAY_LEN(rows) && !found.meaning; i++)
		if (status >= rows[i].from && status <= rows[i].to)
			found = rows[i];
	/* Of the definition's the narrower one counts. */
	for (size_t i = 0; i < p->rule_count; i++) {
		const struct http_rule *r = &p->rules[i];
		if (status < r->from || status > r->to || r->to - r->from >= width)
			continue;
		width = r->to - r->from;
		found.meaning = r->meaning;
		found.code = found.code ? found.code : E_EXECUTION;
	}
	return found;
}

static const struct {
	int status;
	const char *words;
} phrases[] = {
    {301, "Moved Permanently"},
    {302, "Found"},
    {303, "See Other"},
    {307, "Temporary Redirect"},
    {308, "Permanent Redirect"},
    {400, "Bad Request"},
    {401, "Unauthorized"},
    {402, "Payment Required"},
    {403, "Forbidden"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {406, "Not Acceptable"},
    {408, "Request Timeout"},
    {409, "Conflict"},
    {410, "Gone"},
    {412, "Precondition Failed"},
    {413, "Content Too Large"},
    {415, "Unsupported Media Type"},
    {422, "Unprocessable Content"},
    {423, "Locked"},
    {429, "Too Many Requests"},
    {500, "Internal Server Error"},
    {501, "Not Implemented"},
    {502, "Bad Gateway"},
    {503, "Service Unavailable"},
    {504, "Gateway Timeout"},
};

static const char *
phrase(int status)
{
	for (size_t i = 0; i < ARRAY_LEN(phrases); i++)
		if (phrases[i].status == status)
			return phrases[i].words;
	return "";
}

/* ---- what kind of content ---- */

static struct str
type_of(struct str header)
{
	ptrdiff_t end = str_index(header, ';');

	return str_trim(end < 0 ? header : str_upto(header, (size_t)end));
}

static bool
ends_nocase(struct str s, struct str suffix)
{
	return s.len >= suffix.len && str_eq_nocase(str_from(s, s.len - suffix.len), suffix);
}

static bool
is_json(struct str type)
{
	return str_eq_nocase(type, S("application/json")) || ends_nocase(type, S("+json")) ||
	       str_eq_nocase(type, S("text/json"));
}

static bool
is_text(struct str type)
{
	static const struct str others[] = {
	    S("application/xml"),      S("application/javascript"),
	    S("application/x-ndjson"), S("application/yaml"),
	    S("application/x-yaml"),   S("application/toml"),
	    S("application/graphql"),  S("application/jsonl"),
	    S("application/csv"),      S("application/x-www-form-urlencoded")};

	if (str_eq_nocase(str_upto(type, 5), S("text/")) || ends_nocase(type, S("+xml")))
		return true;
	for (size_t i = 0; i < ARRAY_LEN(others); i++)
		if (str_eq_nocase(type, others[i]))
			return true;
	return false;
}

/* ---- refusals ---- */

/* Where those who answer in JSON say what is wrong. */
static struct str
reason_in(const struct json *body)
{
	static const char *const places[] = {
	    "/error/message",    "/error_description", "/message",     "/detail", "/error",
	    "/errors/0/message", "/errors/0/detail",   "/errors/0",    "/title",  "/reason",
	    "/detail/0/msg",     "/fault/faultstring", "/description",
	};

	for (size_t i = 0; i < ARRAY_LEN(places); i++) {
		struct str s = json_str(json_pointer(body, str_of(places[i])));
		if (str_trim(s).len)
			return s;
	}
	return (struct str){NULL, 0};
}

static void
add_reason(struct buf *out, const struct http_answer *a)
{
	struct json_doc *doc = NULL;
	struct str type = type_of(a->type);

	if (is_json(type) && json_parse(a->body, &json_door, &doc, NULL) == 0) {
		struct str reason = reason_in(json_root(doc));
		refusal_text(out, reason.ptr ? reason : a->body);
	} else if ((is_text(type) || !type.len) && str_is_utf8(a->body) &&
		   !str_eq_nocase(type, S("text/html"))) {
		refusal_text(out, a->body);
	}
	json_doc_unref(doc);
}

static void
explain(struct job *j, const struct http_answer *a, const struct row *row)
{
	struct buf reason = BUF_INIT(8 * REFUSAL_CHARS);
	struct str host = str_utf8_upto(plan_of(j)->host, 100);
	const char *words = phrase(a->status);
	bool doubt = row->meaning == MEANS_UNKNOWN && j->reversibility > REV_IDEMPOTENT;

	add_reason(&reason, a);
	err_set(&j->out.err, row->code, "%.*s answered %d%s%s%s%.*s%s", STR_ARG(host), a->status,
		*words ? " " : "", words, reason.len ? ": " : "", STR_ARG(buf_str(&reason)),
		doubt ? " (it may have been done)" : "");
	buf_done(&reason);
}

/* ---- results ---- */

static void
add_text_block(struct output *o, struct str text)
{
	size_t most = text.len;

	/* What is escaped grows: halved until it fits, and that is told. */
	output_text(o, text);
	while (buf_failed(&o->content) && most > KIB) {
		char note[96];
		buf_reset(&o->content);
		most /= 2;
		output_text(o, str_utf8_upto(text, most));
		snprintf(note, sizeof(note), "[cut: %zu of %zu bytes are shown]", most, text.len);
		output_text(o, str_of(note));
	}
}

static void
add_blob(struct job *j, const struct http_answer *a, struct str type)
{
	struct buf data = BUF_INIT(LIMIT_RESULT_BYTES);
	struct output *o = &j->out;
	struct jw w = jw(&o->content);
	char uri[URI_BYTES];
	bool image = str_eq_nocase(str_upto(type, 6), S("image/"));
	bool sound = str_eq_nocase(str_upto(type, 6), S("audio/"));

	base64_add(&data, a->body);
	if (buf_failed(&data)) {
		output_textf(o, "%zu bytes of %.*s came, which are too many to be shown.",
			     a->body.len, STR_ARG(str_utf8_upto(type, 80)));
		buf_done(&data);
		return;
	}
	snprintf(uri, sizeof(uri), "holdfast://http/%.*s/%.*s", STR_ARG(j->tool->name),
		 STR_ARG(str_utf8_upto(j->context.call, 64)));
	jw_object(&w);
	jw_member_z(&w, "type", image ? "image" : sound ? "audio" : "resource");
	if (!image && !sound) {
		jw_key(&w, "resource");
		jw_object(&w);
		jw_member_z(&w, "uri", uri);
	}
	jw_member(&w, image || sound ? "data" : "blob", buf_str(&data));
	jw_member(&w, "mimeType", type.len ? type : S("application/octet-stream"));
	if (!image && !sound)
		jw_end(&w);
	jw_end(&w);
	buf_done(&data);
	if (buf_failed(&o->content)) {
		buf_reset(&o->content);
		output_textf(o, "%zu bytes of %.*s came, which are too many to be shown.",
			     a->body.len, STR_ARG(str_utf8_upto(type, 80)));
	}
}

/* An object as it is, all else as its "result": structured content is an object. */
static void
add_structured(struct output *o, const struct json *v)
{
	struct jw w = jw(&o->extra);
	bool object = json_is(v, JSON_OBJECT);

	buf_addz(&o->extra, "\"structuredContent\":");
	if (!object)
		buf_addz(&o->extra, "{\"result\":");
	jw_value(&w, v);
	if (!object)
		buf_addc(&o->extra, '}');
	if (buf_failed(&o->extra))
		buf_reset(&o->extra); /* the text has it */
}

static void
add_metadata(struct output *o, const struct http_answer *a)
{
	buf_addf(&o->metadata, "\"http_status\":%d,\"content_type\":", a->status);
	json_quote(&o->metadata, str_utf8_upto(a->type, 200));
}

static void
take_content(struct job *j, const struct http_answer *a)
{
	struct str type = type_of(a->type);
	struct json_doc *doc = NULL;
	struct output *o = &j->out;

	if (a->body.len == 0) {
		output_textf(o, "HTTP %d, without content%s%.*s", a->status,
			     a->type.len ? "; " : "", STR_ARG(str_utf8_upto(a->type, 200)));
	} else if (is_json(type) && !a->cut && json_parse(a->body, &json_door, &doc, NULL) == 0) {
		add_text_block(o, a->body);
		add_structured(o, json_root(doc));
	} else if (str_is_utf8(a->body) && (is_json(type) || is_text(type) || !type.len)) {
		add_text_block(o, a->body);
	} else if (a->cut) {
		output_textf(o, "More than %zu bytes of %.*s came.", a->body.len,
			     STR_ARG(str_utf8_upto(type, 80)));
	} else {
		add_blob(j, a, type);
	}
	if (a->cut)
		output_textf(o,
			     "[the answer is longer than %zu bytes, and the rest of it was not "
			     "read; the request itself was carried out: HTTP %d]",
			     plan_of(j)->max_bytes, a->status);
	json_doc_unref(doc);
}

/* What came with a refusal may say more than one line can. */
static void
take_said(struct job *j, const struct http_answer *a)
{
	struct str type = type_of(a->type);

	if (a->body.len && (is_json(type) || is_text(type)) && str_is_utf8(a->body))
		output_text(&j->out, str_utf8_upto(a->body, SAID_BYTES));
}

bool
http_judge(struct job *j, const struct http_answer *a)
{
	struct row row = row_of(plan_of(j), a->status);

	add_metadata(&j->out, a);
	if (row.meaning == MEANS_SUCCESS)
		return true;
	explain(j, a, &row);
	j->out.refused = row.meaning == MEANS_FAILED || row.meaning == MEANS_RETRY;
	j->out.unknown = row.meaning == MEANS_UNKNOWN;
	j->out.broke = row.meaning == MEANS_RETRY ||
		       (row.meaning == MEANS_UNKNOWN && (a->status >= 500 || a->status == 408));
	j->out.err.retry_after_ms = a->retry_after_ms;
	return false;
}

void
http_read(struct job *j, const struct http_answer *a)
{
	if (http_judge(j, a))
		take_content(j, a);
	else
		take_said(j, a);
}
