/*
 * test_suite.c - the JSON Schema Test Suite, file by file.
 *
 * Each file is one test, named after what came of it. The required ones pass, all of them; of
 * the optional ones those in the table below do not, each for a reason, and must stay so: a row
 * whose case passes is as wrong as a case that fails without one.
 */

#include "unit.h"

#include <dirent.h>
#include <sys/stat.h>

#include "schema/schemas.h"
#include "testdata.h"

#define SUITE "batteries/json-schema"

static struct folder {
	const char *path; /* in the suite's tests/ */
	unsigned draft;   /* options.draft */
	bool formats;     /* options.assert_formats */
	size_t required;  /* how many cases must pass; 0: they are optional */
	size_t total, passed;
} folders[] = {
    {"draft2020-12", 0, .required = 1299},
    {"draft7", 7, .required = 927},
    {"draft2020-12/optional", 0},
    {"draft2020-12/optional/format", 0, .formats = true},
    {"draft7/optional", 7},
    {"draft7/optional/format", 7, .formats = true},
};

#define WHY_CONTENT "content keywords are remarks, as in 2020-12"

/* What is not passed, and why. No case: the group's schema is refused. */
static struct exception {
	const char *file, *group, *test;
	const char *reason;
	bool met;
} exceptions[] = {
    {"draft2020-12/optional cross-draft",
     "refs to historic drafts are processed as historic drafts", "first item not a string is valid",
     "2019-09 is neither of the two drafts"},
    {"draft7/optional content", "validation of string-encoded content based on media type",
     "an invalid JSON document", WHY_CONTENT},
    {"draft7/optional content", "validation of binary string-encoding",
     "an invalid base64 string (% is not a valid character)", WHY_CONTENT},
    {"draft7/optional content", "validation of binary-encoded media type documents",
     "a validly-encoded invalid JSON document", WHY_CONTENT},
    {"draft7/optional content", "validation of binary-encoded media type documents",
     "an invalid base64 string that is valid JSON", WHY_CONTENT},
    {NULL},
};

struct file {
	struct folder *folder;
	char path[1024];
	char name[128]; /* "draft7 ref", and when it has run "draft7 ref: 79 of 79" */
	size_t total, passed;
	char problem[1024]; /* the first case that is not as it should be */
};

static char suite[512];
static struct schema_registry *remotes;

static bool
wanted(const char *expected, struct str actual)
{
	return expected && str_is(actual, expected);
}

static struct exception *
exception_find(const struct file *f, struct str group, struct str test)
{
	for (struct exception *x = exceptions; x->file; x++)
		if (strcmp(x->file, f->name) == 0 && wanted(x->group, group) &&
		    (wanted(x->test, test) || (!x->test && !test.ptr)))
			return x;
	return NULL;
}

/* Counts cases; says what is not as it should be. */
static void
judge(struct file *f, struct str group, struct str test, size_t cases, const char *problem)
{
	struct exception *x = exception_find(f, group, test);
	char line[1024];

	f->total += cases;
	f->passed += problem ? 0 : cases;
	if (x)
		x->met = true;
	if (!problem == !x)
		return;
	snprintf(line, sizeof(line), "%s / %.*s / %.*s: %s%s", f->name, STR_ARG(group),
		 STR_ARG(test), problem ? problem : "passes, though ", problem ? "" : x->reason);
	print_error("%s\n", line);
	if (!f->problem[0])
		memcpy(f->problem, line, sizeof(line));
}

static const char *
run_case(const struct schema *s, const struct json *test)
{
	const struct json *value = json_get(test, S("data"));
	bool valid = json_bool(json_get(test, S("valid")));
	struct buf errors = BUF_INIT(64 * KIB);

	bool fits = schema_fits(s, value);
	bool same = fits == (schema_validate(s, value, SCHEMA_LINES, &errors) == 0);
	bool silent = errors.len == 0;
	buf_done(&errors);
	if (!same || silent != fits)
		return "schema_fits and schema_validate disagree";
	if (fits != valid)
		return valid ? "expected valid" : "expected invalid";
	return NULL;
}

static void
run_group(struct file *f, struct json_doc *doc, const struct json *group)
{
	struct schema_options options = {remotes, f->folder->draft, f->folder->formats};
	struct str title = json_str(json_get(group, S("description")));
	const struct json *tests = json_get(group, S("tests"));
	struct schema *s = NULL;
	struct err e = ERR_NONE;

	if (schema_compile(doc, json_get(group, S("schema")), &options, &s, &e) < 0) {
		judge(f, title, (struct str){NULL, 0}, json_len(tests), e.text);
		return;
	}
	for (struct json_iter it = json_iter(tests); json_next(&it);)
		judge(f, title, json_str(json_get(it.value, S("description"))), 1,
		      run_case(s, it.value));
	schema_free(s);
}

static void
passes(void **state)
{
	struct file *f = *state;
	struct str text = testdata_read(f->path);
	struct json_doc *doc = parsed(text);

	free((char *)text.ptr);
	for (struct json_iter it = json_iter(json_root(doc)); json_next(&it);)
		run_group(f, doc, it.value);
	json_doc_unref(doc);
	f->folder->total += f->total;
	f->folder->passed += f->passed;
	size_t len = strlen(f->name);
	snprintf(f->name + len, sizeof(f->name) - len, ": %zu of %zu", f->passed, f->total);
	assert_true(f->total > 0);
	assert_string_equal(f->problem, "");
}

static void
passed_every_required_case(void **state)
{
	size_t passed = 0, total = 0;

	(void)state;
	for (struct folder *in = folders; in < folders + ARRAY_LEN(folders); in++) {
		if (in->passed < in->required)
			fail_msg("%s: %zu cases passed, there are %zu", in->path, in->passed,
				 in->required);
		passed += in->required ? 0 : in->passed;
		total += in->required ? 0 : in->total;
	}
	print_message("note: JSON Schema Test Suite: all required cases pass, and %zu of %zu "
		      "optional ones\n",
		      passed, total);
}

static void
met_every_exception(void **state)
{
	(void)state;
	for (struct exception *x = exceptions; x->file; x++)
		if (!x->met)
			fail_msg("%s / %s / %s: no such case", x->file, x->group,
				 x->test ? x->test : "");
}

static void
needs_the_suite(void **state)
{
	(void)state;
	print_message("skipped: suite not found\n");
	skip();
}

/* ---- what there is ---- */

static int
is_json(const struct dirent *d)
{
	return str_ends(str_of(d->d_name), S(".json"));
}

static int
is_visible(const struct dirent *d)
{
	return d->d_name[0] != '.';
}

/* remotes/draft7/name.json stands for http://localhost:1234/draft7/name.json. */
static void
add_remote(const char *path, const char *below)
{
	char uri[512];
	struct str text = testdata_read(path);
	struct json_doc *doc = parsed(text);
	struct err e = ERR_NONE;

	snprintf(uri, sizeof(uri), "http://localhost:1234/%s", below);
	if (schema_registry_add(remotes, str_of(uri), doc, &e) < 0)
		fail_msg("%s: %s", uri, e.text);
	json_doc_unref(doc);
	free((char *)text.ptr);
}

static void
add_remotes(const char *folder, size_t root)
{
	struct dirent **found;
	struct stat st;
	int count = scandir(folder, &found, is_visible, alphasort);

	assert_true(count > 0);
	for (int i = 0; i < count; i++) {
		char path[1024];
		snprintf(path, sizeof(path), "%s/%s", folder, found[i]->d_name);
		if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
			add_remotes(path, root);
		else
			add_remote(path, path + root);
		free(found[i]);
	}
	free(found);
}

static int
load_remotes(void **state)
{
	char folder[600];

	(void)state;
	snprintf(folder, sizeof(folder), "%s/remotes", suite);
	remotes = schema_registry_new();
	add_remotes(folder, strlen(folder) + 1);
	return 0;
}

static int
free_remotes(void **state)
{
	(void)state;
	schema_registry_free(remotes);
	return 0;
}

#define MAX_FILES 256
static struct file files[MAX_FILES];
static struct CMUnitTest tests[MAX_FILES + 2];
static size_t file_count;

static void
add_files(struct folder *in)
{
	char path[600];
	struct dirent **found;

	snprintf(path, sizeof(path), "%s/tests/%s", suite, in->path);
	int count = scandir(path, &found, is_json, alphasort);
	CHECK(count > 0 && file_count + (size_t)count <= MAX_FILES);
	for (int i = 0; i < count; i++) {
		struct file *f = &files[file_count];
		int stem = (int)strlen(found[i]->d_name) - (int)strlen(".json");

		f->folder = in;
		snprintf(f->path, sizeof(f->path), "%s/%s", path, found[i]->d_name);
		snprintf(f->name, sizeof(f->name), "%s %.*s", in->path, stem, found[i]->d_name);
		tests[file_count++] = (struct CMUnitTest){f->name, passes, .initial_state = f};
		free(found[i]);
	}
	free(found);
}

int
main(void)
{
	const struct CMUnitTest absent[] = {{"suite not found", needs_the_suite}};
	const struct CMUnitTest whole[] = {
	    cmocka_unit_test(passed_every_required_case),
	    cmocka_unit_test(met_every_exception),
	};

	if (!testdata_find(SUITE, suite, sizeof(suite)))
		return cmocka_run_group_tests(absent, NULL, NULL);
	for (size_t i = 0; i < ARRAY_LEN(folders); i++)
		add_files(&folders[i]);
	memcpy(tests + file_count, whole, sizeof(whole));
	return _cmocka_run_group_tests("suite", tests, file_count + ARRAY_LEN(whole), load_remotes,
				       free_remotes);
}
