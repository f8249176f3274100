/*
 * words.c - an example of a plugin: a tool that counts words.
 *
 *	meson setup build && ninja -C build
 *
 * and in the configuration of the gateway:
 *
 *	plugins:
 *	  text: {path: /somewhere/build/words.so}
 *
 * Agents see the tool as text__count_words.
 */

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include <holdfast.h>

static const char card[] =
    "{"
    "  \"name\": \"count_words\","
    "  \"title\": \"Count words\","
    "  \"description\": \"Count the words of a text: what stands between blanks.\","
    "  \"capability\": \"none\","
    "  \"reversibility\": \"pure\","
    "  \"input_schema\": {"
    "    \"type\": \"object\","
    "    \"properties\": {"
    "      \"text\": {\"type\": \"string\", \"description\": \"The text.\"}"
    "    },"
    "    \"required\": [\"text\"],"
    "    \"additionalProperties\": false"
    "  }"
    "}";

/*
 * The input is validated: an object whose `text` is a string. A plugin of any size would use a JSON
 * library here; to count words it is enough to know where the string begins and that an escape is
 * no blank, but for \n, \t and \r.
 */
static const char *
text_of(const char *input)
{
	const char *at = strstr(input, "\"text\"");

	at = at ? strchr(at + 6, '"') : NULL;
	return at ? at + 1 : "";
}

static unsigned
count(const char *at)
{
	unsigned words = 0;
	int inside = 0;

	for (; *at && *at != '"'; at++) {
		int blank = isspace((unsigned char)*at);
		if (*at == '\\' && at[1]) {
			at++;
			blank = *at == 'n' || *at == 't' || *at == 'r';
		}
		words += !blank && !inside;
		inside = !blank;
	}
	return words;
}

/* On a worker thread: it may take its time, and looks at hf_job_cancelled when it does. */
static int
run(void *instance, struct hf_job *job)
{
	char answer[64];

	(void)instance;
	int n = snprintf(answer, sizeof(answer), "%u words", count(text_of(hf_job_input(job))));
	hf_job_text(job, answer, (size_t)n);
	return 0;
}

HF_PLUGIN(hf)
{
	static const struct hf_tool tool = {.run = run};

	return hf_register(hf, card, &tool, NULL);
}
