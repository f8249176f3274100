/* test_sha256.c - digests against the examples of their standards, in one piece and in many. */

#include "unit.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/sha256.h"

static void
hex_of(const unsigned char *raw, char out[static 2 * SHA256_BYTES + 1])
{
	for (size_t i = 0; i < SHA256_BYTES; i++)
		snprintf(out + 2 * i, 3, "%02x", raw[i]);
}

static void
digest(struct str text, size_t piece, char out[static 2 * SHA256_BYTES + 1])
{
	unsigned char raw[SHA256_BYTES];
	struct sha256 s;

	sha256_begin(&s);
	while (text.len > 0) {
		sha256_add(&s, str_upto(text, piece));
		text = str_from(text, str_upto(text, piece).len);
	}
	sha256_end(&s, raw);
	hex_of(raw, out);
}

/* FIPS 180-4, the examples of NIST. */
static void
examples_in_pieces_of_any_size(void **state)
{
	static const struct {
		const char *text, *digest;
	} rows[] = {
	    {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
	    {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
	    {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
	     "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
	    {"abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmn"
	     "opqrlmnopqrsmnopqrstnopqrstu",
	     "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1"},
	};
	char hex[2 * SHA256_BYTES + 1];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		for (size_t piece = 1; piece < 130; piece += 7) {
			sha256__plain = !sha256__plain;
			digest(str_of(rows[i].text), piece, hex);
			assert_string_equal(hex, rows[i].digest);
		}
}

static void
a_million_letters(void **state)
{
	char *as = malloc(1000000), hex[2 * SHA256_BYTES + 1];

	(void)state;
	assert_non_null(as);
	memset(as, 'a', 1000000);
	for (size_t piece = 63; piece <= 1000000; piece = piece * 9 + 1) {
		sha256__plain = !sha256__plain;
		digest((struct str){as, 1000000}, piece, hex);
		assert_string_equal(
		    hex, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
	}
	free(as);
}

/* RFC 4231, cases 1, 2 and 6. */
static void
macs_of_the_standard(void **state)
{
	char key[131], hex[2 * SHA256_BYTES + 1];
	unsigned char raw[SHA256_BYTES];

	(void)state;
	memset(key, 0x0b, 20);
	sha256_mac((struct str){key, 20}, S("Hi There"), raw);
	hex_of(raw, hex);
	assert_string_equal(hex,
			    "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
	sha256_mac(S("Jefe"), S("what do ya want for nothing?"), raw);
	hex_of(raw, hex);
	assert_string_equal(hex,
			    "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
	memset(key, 0xaa, 131);
	sha256_mac((struct str){key, 131},
		   S("Test Using Larger Than Block-Size Key - Hash Key First"), raw);
	hex_of(raw, hex);
	assert_string_equal(hex,
			    "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
	assert_true(sha256_mac_eq(S("abc"), S("abc")));
	assert_false(sha256_mac_eq(S("abc"), S("abd")));
	assert_false(sha256_mac_eq(S("abc"), S("ab")));
}

/* RFC 4648 section 10, without padding, and what is no base64url. */
static void
base64url_there_and_back(void **state)
{
	static const char *const rows[][2] = {{"", ""},           {"f", "Zg"},
					      {"fo", "Zm8"},      {"foo", "Zm9v"},
					      {"foob", "Zm9vYg"}, {"fooba", "Zm9vYmE"},
					      {"\xfb\xff", "-_8"}};
	static const char *const bad[] = {"Z", "Zh", "Zm9", "Zg==", "Zm 8", "+/8", "Zm9vY"};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct buf text = BUF_INIT(64), bytes = BUF_INIT(64);
		base64url_add(&text, str_of(rows[i][0]));
		assert_string_equal(buf_z(&text), rows[i][1]);
		assert_true(base64url_read(&bytes, buf_str(&text)));
		assert_string_equal(buf_z(&bytes), rows[i][0]);
		buf_done(&text);
		buf_done(&bytes);
	}
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct buf bytes = BUF_INIT(64);
		assert_false(base64url_read(&bytes, str_of(bad[i])));
		buf_done(&bytes);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(examples_in_pieces_of_any_size),
	    cmocka_unit_test(a_million_letters),
	    cmocka_unit_test(macs_of_the_standard),
	    cmocka_unit_test(base64url_there_and_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
