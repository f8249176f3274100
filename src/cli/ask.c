/* ask.c - showing a question, and giving its answer. */

#include "cli/ask.h"

#include "base/clock.h"
#include "base/limits.h"
#include "cli/args.h"
#include "cli/show.h"
#include "cli/term.h"
#include "json/write.h"

#define MARGIN "  │ "

static const struct ask_choice choices[] = {
    {"y", "yes", "once", "yes, this once", true, false},
    {"n", "no", "once", "no (Enter alone is no, too)", false, false},
    {"a", "always", "workspace", "always: allow {tool} in this workspace from now on", true, false},
    {"p", "prefix", "workspace_prefix",
     "allow commands that begin with \"{prefix}\" in this workspace from now on", true, true},
    {"N", "never", "workspace", "never: refuse {tool} in this workspace from now on", false, false},
};

static bool
applies(const struct ask_choice *c, const struct json *question)
{
	return !c->prefix || member(question, "prefix").len > 0;
}

const struct ask_choice *
ask_choice(const struct json *question, struct str typed)
{
	typed = str_trim(typed);
	if (typed.len == 0)
		typed = S("n");
	for (size_t i = 0; i < ARRAY_LEN(choices); i++)
		if (applies(&choices[i], question) &&
		    (str_is(typed, choices[i].key) || str_is(typed, choices[i].word)))
			return &choices[i];
	return NULL;
}

static void
safe_line(FILE *f, const char *before, struct str text, const char *after)
{
	struct buf safe = BUF_INIT(64 * KIB);

	text_safe(&safe, str_utf8_upto(text, 8 * KIB), SAFE_LINE);
	fprintf(f, "%s%.*s%s", before, STR_ARG(buf_str(&safe)), after);
	buf_done(&safe);
}

static void
show_input(FILE *f, const struct json *question, bool diff_cut)
{
	struct buf input = BUF_INIT(LIMIT_CLIENT_ANSWER);
	struct jw w = jw(&input);

	jw_value(&w, json_get(question, S("input")));
	if (diff_cut)
		fprintf(f, "  the diff does not show all; the whole input (%zu bytes):\n",
			input.len);
	text_block(f, MARGIN, buf_str(&input));
	if (buf_failed(&input))
		fputs("  (too long to be shown whole)\n", f);
	buf_done(&input);
}

/* What it would do, in full: a person who sees a part of it cannot say yes to all of it. */
static void
show_effect(FILE *f, const struct json *question)
{
	struct str command = member(question, "command"), diff = member(question, "diff");
	bool cut = json_bool(json_get(question, S("diff_cut")));

	if (command.len)
		text_block(f, MARGIN, command);
	else if (diff.len)
		show_diff(f, MARGIN, diff);
	if (cut || (!command.len && !diff.len))
		show_input(f, question, cut);
}

struct str
effect_words(struct str effect)
{
	return str_is(effect, "network") ? S("reach the network") : effect;
}

void
ask_show(FILE *f, const struct json *question)
{
	struct str prompt = member(question, "confirmation_prompt");
	struct buf files = BUF_INIT(64 * KIB);

	fputc('\n', f);
	fputs(paint(f, BOLD), f);
	safe_line(f, "", member(question, "tool_name"), "");
	fputs(paint(f, PLAIN), f);
	safe_line(f, " wants to ", effect_words(member(question, "side_effects")), "");
	safe_line(f, " in ", member(question, "workspace_path"), "\n");
	if (prompt.len)
		text_block(f, MARGIN, prompt);
	value_text(&files, json_get(question, S("projected_modifications")));
	if (files.len)
		fprintf(f, "  changes  %.*s\n", STR_ARG(buf_str(&files)));
	if (member(question, "untrusted_server").len)
		safe_line(f, "  not trusted    ", member(question, "untrusted_server"),
			  ": what its tools do is not known, so they may reach the network\n");
	safe_line(f, "  asked by rule  ", member(question, "rule"), "\n");
	show_effect(f, question);
	buf_done(&files);
}

static void
print_sentence(FILE *f, const char *sentence, const struct json *question)
{
	struct str rest = str_of(sentence), part;
	bool inside = false;

	for (; str_split(&rest, inside ? '}' : '{', &part); inside = !inside)
		if (inside)
			safe_line(f, "",
				  member(question, str_is(part, "tool") ? "tool_name" : "prefix"),
				  "");
		else
			fprintf(f, "%.*s", STR_ARG(part));
}

void
ask_keys(FILE *f, const struct json *question)
{
	for (size_t i = 0; i < ARRAY_LEN(choices); i++) {
		if (!applies(&choices[i], question))
			continue;
		fprintf(f, "  %s%s%s  ", paint(f, BOLD), choices[i].key, paint(f, PLAIN));
		print_sentence(f, choices[i].sentence, question);
		fputc('\n', f);
	}
}

void
ask_prompt(FILE *f, const struct json *question, bool again)
{
	const char *slash = "";
	int64_t until, left = 0;

	if (time_parse(member(question, "expires_at"), &until))
		left = until - clock_wall_us() / 1000000;
	if (left < 0)
		left = 0;
	if (again) /* what was typed behind it stays: the line keeps its length */
		fputs("\0337\r", f);
	fputs("Allow? [", f);
	for (size_t i = 0; i < ARRAY_LEN(choices); i++) {
		if (!applies(&choices[i], question))
			continue;
		fprintf(f, "%s%s", slash, choices[i].key);
		slash = "/";
	}
	fprintf(f, "] (%2lld:%02lld left) ", (long long)(left / 60), (long long)(left % 60));
	if (again)
		fputs("\0338", f);
	fflush(f);
}

void
ask_write(struct buf *out, const struct ask_answer *a)
{
	struct jw w = jw(out);

	jw_object(&w);
	jw_member_z(&w, "decision", a->allow ? "allow" : "deny");
	jw_member_z(&w, "scope", a->scope);
	if (a->prefix)
		jw_member_z(&w, "prefix", a->prefix);
	jw_member_z(&w, "by", a->by);
	jw_end(&w);
}

bool
ask_answer(struct api *api, struct str request, const struct ask_answer *a, int *ret_code)
{
	struct buf body = BUF_INIT(64 * KIB), target = BUF_INIT(KIB);
	struct reply reply;

	buf_addz(&target, "/confirmations/");
	url_add(&target, request);
	ask_write(&body, a);
	if (!buf_z(&target))
		*ret_code = refuse("no question has an id this long");
	else
		*ret_code = api_ask(api, "POST", target.ptr, buf_str(&body), &reply);
	if (*ret_code == EXIT_FINE)
		api_done(&reply);
	buf_done(&body);
	buf_done(&target);
	return *ret_code == EXIT_FINE;
}
