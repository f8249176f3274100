/* uuid.c - UUIDs: made by chance, made of names, read. */

#include "base/uuid.h"

#include "base/sha256.h"
#include "base/ulid.h"

static bool
is_dash(size_t at)
{
	return at == 8 || at == 13 || at == 18 || at == 23;
}

/* Version and variant go where they belong. */
static struct uuid
uuid_text(unsigned char bytes[static 16], unsigned version)
{
	static const char digits[] = "0123456789abcdef";
	struct uuid u;
	size_t nibble = 0;

	bytes[6] = (unsigned char)((bytes[6] & 0x0f) | version << 4);
	bytes[8] = (unsigned char)((bytes[8] & 0x3f) | 0x80);
	for (size_t at = 0; at < UUID_LEN; at++) {
		if (is_dash(at)) {
			u.text[at] = '-';
			continue;
		}
		unsigned shift = nibble % 2 ? 0 : 4;
		u.text[at] = digits[bytes[nibble++ / 2] >> shift & 0xf];
	}
	u.text[UUID_LEN] = '\0';
	return u;
}

struct uuid
uuid_new(void)
{
	unsigned char bytes[16];

	random_bytes(bytes, sizeof(bytes));
	return uuid_text(bytes, 4);
}

struct uuid
uuid_of(struct str kind, struct str a, struct str b)
{
	const struct str parts[] = {S("holdfast"), kind, a, b};
	unsigned char digest[SHA256_BYTES];
	struct sha256 s;

	sha256_begin(&s);
	for (size_t i = 0; i < ARRAY_LEN(parts) && parts[i].ptr; i++) {
		sha256_add(&s, parts[i]);
		sha256_add(&s, (struct str){"", 1});
	}
	sha256_end(&s, digest);
	return uuid_text(digest, 8);
}

bool
uuid_read(struct str text, struct uuid *ret)
{
	struct uuid u = {{0}};

	if (text.len != UUID_LEN)
		return false;
	for (size_t at = 0; at < UUID_LEN; at++) {
		char c = text.ptr[at];
		if (c >= 'A' && c <= 'F')
			c = (char)(c - 'A' + 'a');
		bool hex = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
		if (is_dash(at) ? c != '-' : !hex)
			return false;
		u.text[at] = c;
	}
	*ret = u;
	return true;
}
