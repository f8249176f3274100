/*
 * fuzz_toolid.c - any name, server, version and schema: there is an id and an alias, both in their
 * grammars, the id's parts make the id again; and any text as an id is either refused or comes
 * back.
 *
 * The input is four texts with newlines between; the last one is the schema.
 */

#include "catalog/toolid.h"
#include "fuzz.h"

static void
check_parse(struct str id)
{
	struct buf again = BUF_INIT(TOOLID_MAX);
	struct toolid parts;
	struct err e = ERR_NONE;

	if (toolid_parse(id, &parts, &e) == 0) {
		toolid_format(&again, &parts);
		CHECK(str_eq(buf_str(&again), id));
	} else {
		CHECK(e.code == E_VALIDATION && e.text[0]);
	}
	buf_done(&again);
}

static void
check_derive(struct str name, struct str server, struct str version, const struct json *schema)
{
	struct buf id = BUF_INIT(TOOLID_MAX), alias = BUF_INIT(ALIAS_MAX);
	struct toolid parts;

	toolid_derive(&id, name, server, version, schema);
	CHECK(!buf_failed(&id));
	CHECK(toolid_parse(buf_str(&id), &parts, NULL) == 0);
	CHECK((version.len == 0) == (parts.hash8.ptr != NULL));
	check_parse(buf_str(&id));
	toolid_alias(&alias, server, name, buf_str(&id));
	CHECK(!buf_failed(&alias) && alias.len > 0);
	for (size_t i = 0; i < alias.len; i++)
		CHECK(strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-",
			     alias.ptr[i]) &&
		      alias.ptr[i]);
	buf_done(&id);
	buf_done(&alias);
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct str rest = {(const char *)bytes, size}, part[3] = {{"", 0}, {"", 0}, {"", 0}};
	struct json_doc *schema = NULL;

	check_parse(rest);
	for (size_t i = 0; i < 3 && str_split(&rest, '\n', &part[i]); i++)
		check_parse(part[i]);
	if (rest.ptr)
		schema = fuzz_parse(rest);
	check_derive(part[0], part[1], part[2], schema ? json_root(schema) : NULL);
	json_doc_unref(schema);
	return 0;
}
