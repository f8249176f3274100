/* tool_lens.c - statements and outputs looked at word by word: the same words, the same answer. */

#include "kernel/tool.h"

#define EDGES 10
#define WORD_BYTES 64 /* of a word that are looked at */
#define TERMS 64      /* of an aim that are looked for */

/* ASCII letters are made small; everything beyond ASCII is part of words. */
static bool
is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '\'' || (unsigned char)c >= 0x80;
}

/* From where the next word begins. */
static struct str
word_begin(struct str text)
{
	size_t i = 0;

	while (i < text.len && !is_letter(text.ptr[i]))
		i++;
	return str_from(text, i);
}

/* The next word of *rest in `room`, cut to what it holds; false at the end. */
static bool
word_next(struct str *rest, char room[static WORD_BYTES], struct str *ret)
{
	size_t i = 0, len = 0;

	*rest = word_begin(*rest);
	for (; i < rest->len && is_letter(rest->ptr[i]); i++)
		if (len < WORD_BYTES) {
			char c = rest->ptr[i];
			room[len++] = (char)(c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c);
		}
	*rest = str_from(*rest, i);
	*ret = str_utf8_whole((struct str){room, len});
	return len > 0;
}

/* ---- lens.edge ---- */

/* Words after which a statement has an edge, and the question that finds it. */
static const struct edge {
	const char *words; /* with blanks around each */
	const char *question;
} edges[] = {
    {" always every all everyone everything entirely completely ",
     "names no exception: which single case would break it?"},
    {" never none nobody nothing no not cannot can't won't don't doesn't ",
     "rules something out: what would it look like if it happened?"},
    {" must should only required have ", "demands: who is bound by it, and what if they do not?"},
    {" but however although though yet except despite ",
     "turns against itself: which side holds when both cannot?"},
    {" if unless when until provided ", "depends on a condition: what holds where that does not?"},
    {" because since therefore thus so ", "gives a reason: would it stand without that reason?"},
    {" many most some often usually sometimes rarely few several ",
     "counts without a number: how many is that?"},
    {" better worse more less faster slower best worst larger smaller ",
     "compares: with what, and measured how?"},
    {" or either ", "offers a choice: can both be so, or neither?"},
    {" maybe perhaps might could probably likely ", "is not sure: what would settle it?"},
};

static bool
listed(const char *words, struct str word)
{
	char padded[WORD_BYTES + 3] = {' '};

	memcpy(padded + 1, word.ptr, word.len);
	padded[word.len + 1] = ' ';
	return strstr(words, padded) != NULL;
}

static void
write_edge(struct jw *w, struct str topic, struct str word, const char *question)
{
	struct buf b = BUF_INIT(4 * KIB);

	if (topic.len)
		buf_addf(&b, "%.*s: ", STR_ARG(topic));
	if (word.len)
		buf_addf(&b, "\"%.*s\" ", STR_ARG(word));
	buf_addz(&b, question);
	jw_str(w, chars_upto(buf_str(&b), 2000));
	buf_done(&b);
}

void
tool_lens_edge(struct tool_run *t)
{
	struct str rest = json_str(json_get(t->payload, S("statement")));
	struct str topic = json_str(json_get(t->payload, S("topic"))), word;
	bool told[ARRAY_LEN(edges)] = {0};
	char room[WORD_BYTES];
	size_t count = 0;

	jw_key(t->w, "edges");
	jw_array(t->w);
	while (count < EDGES && word_next(&rest, room, &word))
		for (size_t i = 0; i < ARRAY_LEN(edges); i++) {
			if (told[i] || !listed(edges[i].words, word))
				continue;
			told[i] = true;
			count++;
			write_edge(t->w, topic, word, edges[i].question);
			break;
		}
	if (count == 0)
		write_edge(t->w, topic, S(""), "no edge in its words: what would make it false?");
	jw_end(t->w);
}

/* ---- move.align_scan ---- */

static const char fillers[] =
    " a an and are as at be been but by can could did do does for from had has have how if in into "
    "is it its may might more most must no not of on or our should so such than that the their "
    "them then there these they this those to too was we were what when where which who why will "
    "with would you your ";

static bool
has_word(struct str text, struct str wanted)
{
	char room[WORD_BYTES];
	struct str word;

	while (word_next(&text, room, &word))
		if (str_eq(word, wanted))
			return true;
	return false;
}

/* Words of the aim that the output has not, each once. */
static size_t
missing_terms(struct str aim, struct str output, struct buf *out, size_t *ret_total)
{
	struct str rest = aim, word;
	char room[WORD_BYTES];
	size_t missing = 0, total = 0;

	while (total < TERMS) {
		struct str before = str_upto(aim, aim.len - word_begin(rest).len);
		if (!word_next(&rest, room, &word))
			break;
		if (listed(fillers, word) || has_word(before, word))
			continue;
		total++;
		if (has_word(output, word))
			continue;
		buf_addf(out, "%s%.*s", missing++ ? ", " : "", STR_ARG(word));
	}
	*ret_total = total;
	return missing;
}

void
tool_move_align_scan(struct tool_run *t)
{
	struct str aim = json_str(json_get(t->payload, S("aim")));
	struct str output = json_str(json_get(t->payload, S("last_output")));
	struct buf terms = BUF_INIT(8 * KIB), b = BUF_INIT(16 * KIB);
	size_t total, missing = missing_terms(aim, output, &terms, &total);

	if (total == 0)
		buf_addz(&b, "the aim has no words to look for");
	else if (missing == 0)
		buf_addf(&b, "none: all %zu words of the aim are in the output", total);
	else
		buf_addf(&b, "%zu of %zu words of the aim are not in the output: %.*s", missing,
			 total, STR_ARG(buf_str(&terms)));
	tool_line(t->w, "misalignment", buf_str(&b), 2000);
	buf_reset(&b);
	if (total == 0)
		buf_addz(&b, "say what is aimed at");
	else if (missing == 0)
		buf_addz(&b, "go on");
	else
		buf_addf(&b, "speak of %.*s, or change the aim", STR_ARG(buf_str(&terms)));
	tool_line(t->w, "suggestion", buf_str(&b), 2000);

	struct str kept = chars_upto(aim, 256);
	t->fx->scanned = true;
	memcpy(t->fx->aim, kept.len ? kept.ptr : "", kept.len);
	t->fx->aim[kept.len] = '\0';
	/* Less than half is left of it: no drift any more, but another thing. */
	t->fx->drift = missing == 0          ? DRIFT_NONE
		       : missing * 2 > total ? DRIFT_EVOLUTION
					     : DRIFT_DRIFT;
	buf_done(&b);
	buf_done(&terms);
}
