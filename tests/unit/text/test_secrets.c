/* test_secrets.c - secrets are taken out wherever the stream is cut; program text stays as it is.
 */

#include "unit.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/limits.h"
#include "json/json.h"
#include "testdata.h"
#include "text/secrets.h"

#define M SECRET_MARK

static void
redact_in_pieces(struct str text, size_t piece, struct buf *out)
{
	struct secrets s;

	secrets_begin(&s);
	for (; text.len; text = str_from(text, piece))
		secrets_feed(&s, str_upto(text, piece), out);
	secrets_end(&s, out);
}

/* Seen at a glance too, wherever in a stretch of bytes it stands. */
static void
expect_seen(struct str text)
{
	struct buf moved = BUF_INIT(MIB), out = BUF_INIT(MIB);

	for (size_t pad = 0; pad < 70; pad++) {
		assert_int_equal(secrets_in(buf_str(&moved)), false);
		buf_add(&moved, text);
		buf_addz(&moved, " and some more words, so that there is something behind it");
		bool any = secrets_redact(buf_str(&moved), &out) > 0;
		assert_int_equal(secrets_in(buf_str(&moved)), any);
		buf_reset(&moved);
		buf_reset(&out);
		for (size_t i = 0; i <= pad; i++)
			buf_addc(&moved, ' ');
	}
	buf_done(&moved);
	buf_done(&out);
}

/* Whole, and cut at every place in turn, and byte by byte. */
static void
expect(const char *text, const char *redacted)
{
	struct str whole = str_of(text);
	struct buf out = BUF_INIT(MIB);

	size_t found = secrets_redact(whole, &out);
	assert_string_equal(buf_z(&out), redacted);
	assert_int_equal(secrets_in(whole), found > 0);
	expect_seen(whole);
	for (size_t cut = 1; cut < whole.len; cut++) {
		struct secrets s;
		buf_reset(&out);
		secrets_begin(&s);
		secrets_feed(&s, str_upto(whole, cut), &out);
		secrets_feed(&s, str_from(whole, cut), &out);
		secrets_end(&s, &out);
		assert_string_equal(buf_z(&out), redacted);
	}
	buf_reset(&out);
	redact_in_pieces(whole, 1, &out);
	assert_string_equal(buf_z(&out), redacted);
	buf_done(&out);
}

static void
unchanged(const char *text)
{
	expect(text, text);
}

static void
the_vectors_are_redacted_to_the_letter(void **state)
{
	char path[256];
	struct json_doc *doc = NULL;
	struct err e = ERR_NONE;

	(void)state;
	TESTDATA_OR_SKIP("vectors/cw_secrets.json", path);
	struct str text = testdata_read(path);
	assert_int_equal(json_parse(text, &json_door, &doc, &e), 0);
	assert_true(json_len(json_root(doc)) > 10);
	for (struct json_iter it = json_iter(json_root(doc)); json_next(&it);)
		expect(json_str(json_get(it.value, S("in"))).ptr,
		       json_str(json_get(it.value, S("out"))).ptr);
	json_doc_unref(doc);
	free((char *)text.ptr);
}

#define ALNUM20 "a1B2c3D4e5F6g7H8i9J0"
#define ALNUM40 ALNUM20 ALNUM20
#define UPPER16 "ABCDEFGH12345678"

static void
every_token_with_a_prefix_is_known(void **state)
{
	static const char *const tokens[] = {
	    "AKIA" UPPER16,
	    "ASIA" UPPER16,
	    "ABIA" UPPER16,
	    "AIza" ALNUM40,
	    "AGE-SECRET-KEY-1" UPPER16 UPPER16 UPPER16 UPPER16,
	    "GOCSPX-" ALNUM20,
	    "SG." ALNUM20 "." ALNUM20,
	    "dapi" ALNUM40,
	    "dop_v1_" ALNUM40,
	    "eyJ" ALNUM20 ".eyJ" ALNUM20 "." ALNUM20,
	    "ghp_" ALNUM40,
	    "gho_" ALNUM40,
	    "ghu_" ALNUM40,
	    "ghs_" ALNUM40,
	    "ghr_" ALNUM40,
	    "github_pat_" ALNUM40,
	    "glpat-" ALNUM20,
	    "hf_" ALNUM40,
	    "hvs." ALNUM40,
	    "npm_" ALNUM40,
	    "pypi-AgE" ALNUM40,
	    "rk_live_" ALNUM20,
	    "shpat_" ALNUM40,
	    "sk-ant-api03-" ALNUM40,
	    "sk-proj-" ALNUM40,
	    "sk-svcacct-" ALNUM40,
	    "sk-" ALNUM40,
	    "sk_live_" ALNUM20,
	    "sk_test_" ALNUM20,
	    "whsec_" ALNUM40,
	    "xapp-1-" ALNUM20,
	    "xoxa-" ALNUM20,
	    "xoxb-" ALNUM20,
	    "xoxp-" ALNUM20,
	    "xoxr-" ALNUM20,
	    "xoxs-" ALNUM20,
	    "ya29." ALNUM40,
	};
	char text[256], redacted[256];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(tokens); i++) {
		snprintf(text, sizeof(text), "x (%s), %s\n", tokens[i], tokens[i]);
		snprintf(redacted, sizeof(redacted), "x (%s), %s\n", M, M);
		expect(text, redacted);
		/* The middle of a word is no beginning. */
		snprintf(text, sizeof(text), "q%s", tokens[i]);
		unchanged(text);
	}
}

static void
a_value_given_to_a_secret_name_is_taken_in_every_notation(void **state)
{
	(void)state;
	expect("DB_PASSWORD=hunter2hunter2\nX=1", "DB_PASSWORD=" M "\nX=1");
	expect("{\"clientSecret\": \"abcdefghij\", \"n\": 1}",
	       "{\"clientSecret\": \"" M "\", \"n\": 1}");
	expect("{\\\"api_key\\\":\\\"abcdefghij\\\"}", "{\\\"api_key\\\":\\\"" M "\\\"}");
	expect("'passwd' => 'open sesame1'; 'secret' => 'opensesame'",
	       "'passwd' => 'open sesame1'; 'secret' => '" M "'");
	expect("token := abc12345; go", "token := " M "; go");
	expect("?access_token=abc12345&page=2", "?access_token=" M "&page=2");
	expect("x-api-key: 0123456789", "x-api-key: " M);
	expect("DB_PASS=hunter2hunter2", "DB_PASS=" M);
	expect("AccountName=a;AccountKey=abcdEFGH1234==;X=1", "AccountName=a;AccountKey=" M ";X=1");
	expect("SECRET_KEY_BASE=0123abcd0123abcd", "SECRET_KEY_BASE=" M);
	expect("> Authorization: Basic dXNlcjpwYXNzd29yZA==", "> Authorization: Basic " M);
	expect("{\"Authorization\": \"Basic dXNlcjpwYXNzd29yZA==\"}",
	       "{\"Authorization\": \"Basic " M "\"}");
	/* One that looks like a path. */
	expect("aws_secret_access_key = /JalrXUtnFEMIK7MDENG/bPxRfiCYEXAMPLEKEYx",
	       "aws_secret_access_key = " M);
	expect("aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCY",
	       "aws_secret_access_key = " M);
}

static void
a_value_in_quotes_ends_at_its_own_quote(void **state)
{
	(void)state;
	expect("\"password\": \"aB3<x>9!k`Q\", 1", "\"password\": \"" M "\", 1");
	expect("\"password\": \"pa'ss1234\", 1", "\"password\": \"" M "\", 1");
	expect("password='pa\"ss1234'; x", "password='" M "'; x");
	expect("\"password\": \"ab\\\"cd\\\\ef\", 1", "\"password\": \"" M "\", 1");
	expect("\\\\\"secret\\\\\": \\\\\"abcdefghij\\\\\"",
	       "\\\\\"secret\\\\\": \\\\\"" M "\\\\\"");
	expect("password=\"abcdefgh\\", "password=\"" M);
	unchanged("\"password\": \"<your-password-here>\"");
}

/* Their last letter is no part of the word behind them. */
static void
an_escape_or_a_colour_hides_nothing(void **state)
{
	(void)state;
	expect("{\"a\":\"x\\nAKIA" UPPER16 "\\r\\nghp_" ALNUM40 "\"}",
	       "{\"a\":\"x\\n" M "\\r\\n" M "\"}");
	expect("\\u0026ghp_" ALNUM40 " \\x3dghp_" ALNUM40, "\\u0026" M " \\x3d" M);
	expect("a%3DAKIA" UPPER16, "a%3D" M);
	expect("\033[01;31m\033[KAKIA" UPPER16 "\033[m\033[K",
	       "\033[01;31m\033[K" M "\033[m\033[K");
	expect("\\u001b[31mAKIA" UPPER16, "\\u001b[31m" M);
	/* grep --color password, and jq -C. */
	expect("\033[01;31m\033[Kpassword\033[m\033[K=hunter2hunter2",
	       "\033[01;31m\033[Kpassword\033[m\033[K=" M);
	expect("\033[34;1m\"token\"\033[0m\033[1;39m:\033[0m \033[0;32m\"abcdefghij\"\033[0m",
	       "\033[34;1m\"token\"\033[0m\033[1;39m:\033[0m \033[0;32m\"" M "\"\033[0m");
	unchanged("xnAKIA" UPPER16 " [0]AKIA 100%");
}

static void
program_text_and_placeholders_stay_readable(void **state)
{
	(void)state;
	unchanged("password = get_password2(user)");
	unchanged("password = settings.database_password");
	unchanged("secret: my-application-secret");
	unchanged("api_key=${API_KEY_1}");
	unchanged("token = $TOKEN_123");
	unchanged("password: <your password 1>");
	unchanged("private_key: /etc/ssl/private/key1.pem");
	unchanged("PWD=/srv/project1");
	/* Issue 5: the same in an environment that is shown as JSON, or as JSON in a string. */
	unchanged("\"PWD\": \"/home/user/project1\", \"OLDPWD\": \"/home/user/project2\"");
	unchanged("{\\\"PWD\\\":\\\"/home/user/project1\\\"}");
	expect("\"PWD\": \"hunter2hunter2\"", "\"PWD\": \"" M "\"");
	expect("\"DB_PWD\": \"/hunter2/hunter2\"", "\"DB_PWD\": \"" M "\"");
	unchanged("max_tokens: 12345678");
	unchanged("\"nextPageToken\": \"CAUQAA1234567890\"");
	unchanged("\"password\": \"Password 1 is required\"");
	unchanged("password = \"********\"");
	unchanged("if (token == token_end)");
	unchanged("https://localhost:8421/a@b");
	unchanged("git@github.com:owner/name.git");
	unchanged("postgres://user:${PASSWORD}@host/db");
	unchanged("the bearer authentication scheme");
	unchanged("-----BEGIN PUBLIC KEY-----\nMII\n-----END PUBLIC KEY-----");
	unchanged("class sk-folding-cube-of-spinners");
	unchanged("desk-ant-farm eyJ.eyJ AKIA SG.. ghp_");
}

static void
a_private_key_goes_whole_and_what_follows_stays(void **state)
{
	(void)state;
	expect("a\n-----BEGIN PRIVATE KEY-----\nMIIE+/=\nabc\n-----END PRIVATE KEY-----\nb: c",
	       "a\n" M "\nb: c");
	expect("{\"k\":\"-----BEGIN EC PRIVATE KEY-----\\nMII\\n-----END EC PRIVATE KEY-----\\n\"}",
	       "{\"k\":\"" M "\\n\"}");
	/* In base64, as clusters keep it; a certificate is none. */
	expect("client-key-data: LS0tLS1CRUdJTiBSU0EgUFJJVkFURSBLRVktLS0tLQpNSUlFcEFJQkFB\nx: y",
	       "client-key-data: " M "\nx: y");
	expect(
	    "LS0tLS1CRUdJTiBPUEVOU1NIIFBSSVZBVEUgS0VZLS0tLS0K\nb3BlbnNzaC1rZXktdjEAAAAABG5v\nend",
	    M "\n" M "\nend");
	unchanged("ca-data: LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCk1JSUJkekNDQVIyZ0F3SUJBZ0lC");
	/* What a log or a diff puts before each line does not end it. */
	expect("w | -----BEGIN PRIVATE KEY-----\nw | " ALNUM40 "\nw | " ALNUM40 "\nw | end",
	       "w | " M "| " M "\nw | " M "\nw | end");
	expect("\"-----BEGIN PRIVATE KEY-----\",\n\"" ALNUM40 "\",", "\"" M "\",\n\"" M "\",");
	/* One that is cut off ends where it can be a key no longer. */
	expect("-----BEGIN RSA PRIVATE KEY-----\nMIIE\n[cut]", M "[cut]");
}

static void
a_long_secret_needs_no_long_memory(void **state)
{
	struct buf text = BUF_INIT(MIB), out = BUF_INIT(MIB);

	(void)state;
	buf_addz(&text, "ghp_");
	for (int i = 0; i < 100000; i++)
		buf_addc(&text, 'a');
	buf_addz(&text, " end");
	redact_in_pieces(buf_str(&text), 1000, &out);
	assert_string_equal(buf_z(&out), M " end");
	buf_done(&text);
	buf_done(&out);
}

static void
each_kind_is_counted(void **state)
{
	struct buf out = BUF_INIT(MIB);
	struct secrets s;

	(void)state;
	secrets_begin(&s);
	secrets_feed(&s, S("AKIA" UPPER16 " ghp_" ALNUM40 " ghp_" ALNUM40 " password=abc12345"),
		     &out);
	secrets_end(&s, &out);
	assert_int_equal(s.found[SECRET_AWS_KEY], 1);
	assert_int_equal(s.found[SECRET_GITHUB], 2);
	assert_int_equal(s.found[SECRET_ASSIGNED], 1);
	assert_int_equal(secrets_total(&s), 4);
	for (int k = 0; k < SECRET__COUNT; k++)
		assert_non_null(secret_kind_name((enum secret_kind)k));
	buf_done(&out);
}

static void
the_output_has_a_known_size(void **state)
{
	struct buf text = BUF_INIT(MIB), out = BUF_INIT(SECRETS_GROWTH * MIB);

	(void)state;
	while (text.len < MIB - 7)
		buf_addz(&text, "a://:b@");
	assert_int_equal(secrets_redact(buf_str(&text), &out), text.len / 7);
	assert_false(buf_failed(&out));
	buf_done(&text);
	buf_done(&out);
}

/* What would make a naive scanner slow: beginnings of secrets, over and over. */
static void
hostile_text_passes_in_one_go(void **state)
{
	static const char *const pieces[] = {"-----BEGIN ", "eyJaaaa.", "://",
					     "password=",   "x://a:",   "SG.aaaaaaaaaaaaaaaaaaaa",
					     ":::::::"};
	struct buf text = BUF_INIT(4 * MIB), out = BUF_INIT(8 * MIB);

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(pieces); i++) {
		buf_reset(&text);
		buf_reset(&out);
		while (text.len < MIB)
			buf_addz(&text, pieces[i]);
		secrets_redact(buf_str(&text), &out);
		assert_false(buf_failed(&out));
	}
	buf_done(&text);
	buf_done(&out);
}

static void
a_glance_ends_after_so_many_looks(void **state)
{
	struct buf text = BUF_INIT(MIB);

	(void)state;
	for (int i = 0; i < 1000; i++)
		buf_addz(&text, "a = b; ");
	assert_int_equal(secrets_glance(buf_str(&text), 1000), SECRETS_NONE);
	assert_int_equal(secrets_glance(buf_str(&text), 999), SECRETS_UNSURE);
	buf_addz(&text, "ghp_0123456789abcdefghijklmnopqrstuvwxyz");
	assert_int_equal(secrets_glance(buf_str(&text), 1001), SECRETS_SOME);
	buf_done(&text);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(the_vectors_are_redacted_to_the_letter),
	    cmocka_unit_test(every_token_with_a_prefix_is_known),
	    cmocka_unit_test(a_value_given_to_a_secret_name_is_taken_in_every_notation),
	    cmocka_unit_test(a_value_in_quotes_ends_at_its_own_quote),
	    cmocka_unit_test(an_escape_or_a_colour_hides_nothing),
	    cmocka_unit_test(program_text_and_placeholders_stay_readable),
	    cmocka_unit_test(a_private_key_goes_whole_and_what_follows_stays),
	    cmocka_unit_test(a_long_secret_needs_no_long_memory),
	    cmocka_unit_test(each_kind_is_counted),
	    cmocka_unit_test(the_output_has_a_known_size),
	    cmocka_unit_test(hostile_text_passes_in_one_go),
	    cmocka_unit_test(a_glance_ends_after_so_many_looks),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
