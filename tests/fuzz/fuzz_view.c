/*
 * fuzz_view.c - any bytes under any selector: a part or a sentence why not, and pages that join to
 * the whole. The first line is the selector, the rest is the artifact.
 */

#include <stdlib.h>

#include "artifact/view.h"
#include "fuzz.h"

/* Kept without a disk, and as it is: redaction has a harness of its own. */
static struct artifact_reader *
store(struct artifacts *set, struct str raw)
{
	struct artifact_note note = {ARTIFACT_TENANT, S("t"), S("text/plain"), S("l")};
	struct artifact_writer *w;
	struct artifact a;
	struct artifact_reader *r;
	struct err e;

	CHECK(artifact_begin(set, &note, &w, &e) == 0);
	CHECK(artifact_feed(w, raw, &e) == 0);
	CHECK(artifact_finish(&w, &a, &e) == 0);
	CHECK(artifact_open(set, ARTIFACT_TENANT, str_of(a.handle), &r, &e) == 0);
	return r;
}

/* The selector again, with the offset. */
static struct json_doc *
at_offset(const struct json *selector, uint64_t offset)
{
	struct buf text = BUF_INIT(LIMIT_JSON_BYTES);
	struct jw w = jw(&text);

	jw_object(&w);
	for (struct json_iter it = json_iter(selector); json_next(&it);) {
		if (str_is(it.key, "offset"))
			continue;
		jw_key_str(&w, it.key);
		jw_value(&w, it.value);
	}
	jw_member_int(&w, "offset", (int64_t)offset);
	jw_end(&w);
	struct json_doc *doc = fuzz_parse(buf_str(&text));
	buf_done(&text);
	return doc;
}

static void
check_pages(struct artifact_reader *r, const struct json *selector, struct str whole)
{
	uint64_t offset = 0;
	bool more = true;

	for (int guard = 0; more && guard < 64; guard++) {
		struct json_doc *doc = at_offset(selector, offset);
		struct view page = {0};
		struct err e;
		CHECK(view_select(r, json_root(doc), 64, &page, &e) == 0);
		CHECK(page.text.len <= 64 && (!page.more || page.text.len >= 60));
		CHECK(str_eq(str_upto(str_from(whole, (size_t)offset), page.text.len),
			     buf_str(&page.text)));
		more = page.more;
		offset = more ? page.next_offset : offset + page.text.len;
		view_done(&page);
		json_doc_unref(doc);
	}
	CHECK(more || offset == whole.len);
}

static void
look(struct artifact_reader *r, const struct json *selector)
{
	struct json_doc *first = json_is(selector, JSON_OBJECT) ? at_offset(selector, 0) : NULL;
	struct view v = {0};
	struct err e = ERR_NONE;
	int code = view_select(r, first ? json_root(first) : selector, LIMIT_VIEW_BYTES, &v, &e);

	CHECK(code == 0 || (code == E_VIEW && e.code == code && e.text[0]));
	if (code == 0 && !v.more)
		check_pages(r, selector, buf_str(&v.text));
	view_done(&v);
	json_doc_unref(first);
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct str raw = {(const char *)bytes, size}, line;
	struct artifacts *set;
	struct err e;

	if (size > 64 * KIB || !str_split(&raw, '\n', &line))
		return 0;
	struct json_doc *doc = fuzz_parse(line);
	if (!doc)
		return 0;
	struct artifacts_spec spec = {.keep_secrets = true};
	CHECK(artifacts_open(&spec, &set, &e) == 0);
	struct artifact_reader *r = store(set, raw.ptr ? raw : S(""));
	look(r, json_root(doc));
	artifact_close(r);
	artifacts_free(set);
	json_doc_unref(doc);
	return 0;
}
