/*
 * fuzz_openapi.c - a document of a stranger, JSON or YAML: whatever comes of it are definitions
 * with short, different names whose requests go to the one host that was given, the same the second
 * time; and all of it is freed.
 */

#include "catalog/openapi.h"
#include "fuzz.h"

#define BASE "https://api.example"

static void
check_name(struct str name)
{
	CHECK(name.len > 0 && name.len <= ALIAS_MAX && str_starts(name, S("fuzz__")));
	for (size_t i = 0; i < name.len; i++) {
		char c = name.ptr[i];
		CHECK((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
		      c == '_' || c == '-');
	}
}

static void
check_definition(struct definition *d)
{
	struct str url = json_str(json_get(d->gateway_config, S("url"))), none = {NULL, 0};
	struct tool *t = NULL;
	struct err e = ERR_NONE;

	check_name(d->name);
	CHECK(str_is(d->gateway, "http"));
	CHECK(str_starts(url, S(BASE "/")));
	/* Its schema may be none; then that is said. */
	int code = definition_tool(d, none, none, &t, &e);
	CHECK(code == 0 || e.text[0]);
	if (code == 0)
		tool_unref(t);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct openapi_options options = {.name = S("fuzz"), .base_url = S(BASE)};
	struct str text = {(const char *)data, size};
	struct openapi found, again;
	struct err e = ERR_NONE;

	if (size > 256 * KIB)
		return 0;
	int code = openapi_import(text, &options, &found, &e);
	CHECK(code == 0 || e.text[0]);
	CHECK(openapi_import(text, &options, &again, NULL) == code);
	CHECK(found.count == again.count && found.problem_count == again.problem_count);
	for (size_t i = 0; code == 0 && i < found.count && i < 64; i++) {
		check_definition(found.definitions[i]);
		CHECK(strcmp(found.definitions[i]->digest, again.definitions[i]->digest) == 0);
	}
	openapi_done(&found);
	openapi_done(&again);
	return 0;
}
