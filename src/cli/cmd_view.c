/* cmd_view.c - a kept result, whole or in part. */

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/limits.h"
#include "cli/args.h"
#include "cli/show.h"
#include "cli/term.h"
#include "json/write.h"

/* Options that name a part; each writes its selector. E_BAD_REQUEST: the value makes no sense. */
static int
add_number(struct jw *w, const char *key, const char *text)
{
	char *end;

	errno = 0;
	long long n = strtoll(text, &end, 10);
	if (end == text || *end || errno)
		return E_BAD_REQUEST;
	jw_member_int(w, key, n);
	return 0;
}

/* A:B, A:, :B, or A alone for one line; negative ones count from the end. */
static int
select_lines(struct jw *w, const char *text)
{
	char first[32] = "";
	const char *colon = strchr(text, ':');
	size_t len = colon ? (size_t)(colon - text) : strlen(text);
	int code = 0;

	if (len >= sizeof(first) || !text[0])
		return E_BAD_REQUEST;
	snprintf(first, sizeof(first), "%.*s", (int)len, text);
	if (first[0])
		code = add_number(w, "start", first);
	if (code == 0 && colon && colon[1])
		code = add_number(w, "end", colon + 1);
	long long one = strtoll(first, NULL, 10);
	if (code == 0 && !colon && one != -1 && one < LLONG_MAX)
		jw_member_int(w, "end", one + 1);
	return code;
}

static int
select_chars(struct jw *w, const char *text)
{
	return text[0] == '-' ? E_BAD_REQUEST : add_number(w, "chars", text);
}

static int
select_pattern(struct jw *w, const char *text)
{
	jw_member_z(w, "pattern", text);
	return 0;
}

static int
select_pointer(struct jw *w, const char *text)
{
	jw_member_z(w, "pointer", text);
	return 0;
}

static const struct part {
	const char *option; /* and selector */
	int (*select)(struct jw *w, const char *text);
	const char *form; /* for what is wrong */
} parts[] = {
    {"lines", select_lines, "A:B, two line numbers from 0 of which either may be missing"},
    {"grep", select_pattern, "a regular expression"},
    {"pointer", select_pointer, "a JSON Pointer"},
    {"head", select_chars, "a number of characters"},
    {"tail", select_chars, "a number of characters"},
};

/* The part that was asked for, NULL for all of it. */
static int
part_of(const struct args *a, const struct part **ret)
{
	*ret = NULL;
	for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
		if (!args_given(a, parts[i].option))
			continue;
		if (*ret)
			return usage_error(a, "--%s and --%s are two different parts",
					   (*ret)->option, parts[i].option);
		*ret = &parts[i];
	}
	if (args_given(a, "context") && (!*ret || strcmp((*ret)->option, "grep") != 0))
		return usage_error(a, "--context goes with --grep");
	return EXIT_FINE;
}

/* Where the next page begins. */
struct page_at {
	int64_t offset; /* in the part */
	int64_t start;  /* of grep: the line it looks from */
};

static int
selector_write(const struct args *a, const struct part *part, const struct page_at *from,
	       struct buf *out)
{
	struct jw w = jw(out);
	const char *context = args_given(a, "context") ? args_value(a, "context") : NULL;

	buf_reset(out);
	jw_object(&w);
	jw_member_z(&w, "type", part->option);
	jw_member_int(&w, "offset", from->offset);
	if (strcmp(part->option, "grep") == 0) {
		jw_member_int(&w, "start", from->start);
		jw_member_int(&w, "max", LIMIT_VIEW_HITS);
	}
	if (part->select(&w, args_value(a, part->option)) < 0)
		return usage_error(a, "--%s: must be %s", part->option, part->form);
	if (context && add_number(&w, "context", context) < 0)
		return usage_error(a, "--context: must be a number of lines");
	jw_end(&w);
	return buf_failed(out) ? usage_error(a, "that is too long") : EXIT_FINE;
}

static const char *
target(struct buf *out, const char *handle, const char *what)
{
	buf_reset(out);
	buf_addz(out, "/artifacts/");
	url_add(out, str_of(handle));
	buf_addz(out, what);
	return buf_z(out);
}

/* ---- a part ---- */

/* False: that was the last. */
static bool
page_next(const struct json *page, struct page_at *ret)
{
	if (json_int(json_get(page, S("next_offset")), &ret->offset))
		return true;
	ret->offset = 0;
	return json_int(json_get(page, S("next_line")), &ret->start);
}

static void
page_print(struct str text, const struct page_at *from, bool *newline)
{
	/* Lines of grep go on as if there were no pages. */
	if (text.len && from->start > 0 && from->offset == 0)
		printf(strtoll(text.ptr, NULL, 10) > from->start ? "\n--\n" : "\n");
	text_print(stdout, text);
	*newline = text.len ? text.ptr[text.len - 1] == '\n' : *newline;
}

/* Page by page: a part may be as long as the whole. */
static int
print_part(struct api *api, const struct args *a, const struct part *part)
{
	struct buf at = BUF_INIT(LIMIT_HTTP_FIELD), selector = BUF_INIT(64 * KIB);
	const char *z = target(&at, a->words[0], "/view");
	struct page_at from = {0};
	bool more = true, newline = true;
	int code = z ? EXIT_FINE : usage_error(a, "that is too long");

	while (more && code == EXIT_FINE) {
		struct reply page;
		if ((code = selector_write(a, part, &from, &selector)) != EXIT_FINE ||
		    (code = api_ask(api, "POST", z, buf_str(&selector), &page)) != EXIT_FINE)
			break;
		struct str text = member(page.root, "text");
		if (args_given(a, "json"))
			show_json(&page);
		else
			page_print(text, &from, &newline);
		more = page_next(page.root, &from);
		api_done(&page);
	}
	if (code == EXIT_FINE && !newline && !args_given(a, "json"))
		putchar('\n');
	buf_done(&at);
	buf_done(&selector);
	return code;
}

/* ---- all of it ---- */

static int
print_all(struct api *api, const struct args *a, int64_t bytes)
{
	struct buf at = BUF_INIT(LIMIT_HTTP_FIELD);
	int code = EXIT_FINE;

	for (int64_t offset = 0; offset < bytes && code == EXIT_FINE;) {
		struct reply page = {0};
		struct err e;
		char range[48];
		snprintf(range, sizeof(range), "?offset=%lld", (long long)offset);
		const char *z = target(&at, a->words[0], range);
		if (!z || api_request(api, "GET", z, (struct str){NULL, 0}, &page, &e) < 0) {
			refuse("%s", z ? err_text(&e) : "that is too long");
			code = EXIT_NO_GATEWAY;
		} else if (page.status != 200 && page.status != 206) {
			code = api_refuse(&page);
		} else if (page.body.len == 0) {
			code = refuse("the gateway's answer cannot be read");
		} else {
			text_print(stdout, buf_str(&page.body));
			offset += (int64_t)page.body.len;
		}
		api_done(&page);
	}
	buf_done(&at);
	return code;
}

static int
print_whole(struct api *api, const struct args *a)
{
	struct buf at = BUF_INIT(LIMIT_HTTP_FIELD);
	const char *z = target(&at, a->words[0], "/about");
	struct reply about = {0};
	int code = z ? api_ask(api, "GET", z, (struct str){NULL, 0}, &about)
		     : usage_error(a, "that is too long");

	if (code == EXIT_FINE) {
		if (args_given(a, "json"))
			show_json(&about);
		else
			code = print_all(api, a, member_int(about.root, "size_bytes"));
		api_done(&about);
	}
	buf_done(&at);
	return code;
}

int
cmd_view(const struct args *a)
{
	const struct part *part;
	struct api *api;
	int code = part_of(a, &part);

	if (code != EXIT_FINE)
		return code;
	if ((code = api_enter(API_ANY, &api)) != EXIT_FINE)
		return code;
	code = part ? print_part(api, a, part) : print_whole(api, a);
	api_close(api);
	return code;
}
