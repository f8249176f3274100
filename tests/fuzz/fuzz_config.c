/*
 * fuzz_config.c - any text as a configuration file: it is taken or refused with a reason, and a
 * server that is added to it is there afterwards and can be taken out again.
 */

#include "fuzz.h"

#include "cli/edit.c" /* NOLINT: the command line is a program, not a library */
#include "daemon/config.h"

#define NAME S("a new one")
#define ENTRY "{\"command\":\"x\",\"env\":{\"K\":\"v\"}}"

static void
check_config(struct str text)
{
	struct err e = ERR_NONE;
	struct config c;
	int code = config_read(text, "/w", &c, &e);

	CHECK(code == 0 || (code < 0 && e.text[0]));
	for (size_t i = 0; code == 0 && i < c.server_count; i++) {
		const struct upstream_spec *s = &c.servers[i];
		bool usable = !s->problem.len;
		CHECK(s->name.len && str_eq(c.settings[i].server, s->name));
		CHECK(!usable || (s->kind == UPSTREAM_HTTP ? s->url && s->headers
							   : s->argv && s->argv[0] && s->env));
	}
	config_done(&c);
}

/* YAML has more ends of a line than we count; files with those are left to people. */
static bool
has_plain_lines(struct str text)
{
	for (size_t i = 0; i < text.len; i++)
		if ((unsigned char)text.ptr[i] >= 0x80 || text.ptr[i] == '\r')
			return false;
	return true;
}

static void
check_edit(struct str text)
{
	struct buf with = BUF_INIT(LIMIT_CONFIG_BYTES), without = BUF_INIT(LIMIT_CONFIG_BYTES);
	struct err e = ERR_NONE;
	int code = edit_add(text, NULL, NAME, S(ENTRY), false, &with, &e);

	if (code == 0 && has_plain_lines(text))
		CHECK(edit_remove(buf_str(&with), NAME, &without, &e) == 0);
	CHECK(code == 0 || e.text[0]);
	buf_done(&with);
	buf_done(&without);
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct str text = {(const char *)bytes, size};

	if (size > 16 * KIB)
		return 0;
	check_config(text);
	check_edit(text);
	return 0;
}
