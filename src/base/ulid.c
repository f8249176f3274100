/* ulid.c - making ids that only go up. */

#include "base/ulid.h"

#include <endian.h>
#include <errno.h>
#include <pthread.h>
#include <sys/random.h>

#include "base/bug.h"
#include "base/clock.h"

#define PREFIX_MAX 8

static const char alphabet[] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned char last[16];       /* the last id given, big-endian */
static char last_text[ULID_LEN + 1]; /* the same; no last letter: it has to be written first */

void
random_bytes(void *out, size_t len)
{
	char *p = out;

	while (len > 0) {
		ssize_t n = getrandom(p, len, 0);
		if (n < 0 && errno == EINTR) /* more than 256 bytes may be interrupted */
			continue;
		if (n < 0)
			BUG("the kernel gives no random bytes");
		p += n;
		len -= (size_t)n;
	}
}

/* 128 bits, the first byte the highest. */
struct halves {
	uint64_t high, low;
};

static struct halves
halves_of(const unsigned char bin[static 16])
{
	struct halves h;

	memcpy(&h, bin, sizeof(h));
	return (struct halves){be64toh(h.high), be64toh(h.low)};
}

/* In 26 letters of 5 bits: the first letter has 3, the 14th stands in both halves. */
static void
encode(const unsigned char bin[static 16], char out[static ULID_LEN + 1])
{
	struct halves h = halves_of(bin);

	for (unsigned i = 0; i < 13; i++)
		out[i] = alphabet[h.high >> (61 - 5 * i) & 31];
	out[13] = alphabet[(h.high << 4 | h.low >> 60) & 31];
	for (unsigned i = 0; i < 12; i++)
		out[14 + i] = alphabet[h.low >> (55 - 5 * i) & 31];
	out[ULID_LEN] = '\0';
}

static void
increment(unsigned char bin[static 16])
{
	for (size_t i = 16; i-- > 0;)
		if (++bin[i])
			return;
}

/* Within a millisecond mostly the last letter alone changes. False: it was the last of them. */
static bool
text_increment(char text[static ULID_LEN + 1])
{
	static const char after[128] = {
	    ['0'] = '1', ['1'] = '2', ['2'] = '3', ['3'] = '4', ['4'] = '5', ['5'] = '6',
	    ['6'] = '7', ['7'] = '8', ['8'] = '9', ['9'] = 'A', ['A'] = 'B', ['B'] = 'C',
	    ['C'] = 'D', ['D'] = 'E', ['E'] = 'F', ['F'] = 'G', ['G'] = 'H', ['H'] = 'J',
	    ['J'] = 'K', ['K'] = 'M', ['M'] = 'N', ['N'] = 'P', ['P'] = 'Q', ['Q'] = 'R',
	    ['R'] = 'S', ['S'] = 'T', ['T'] = 'V', ['V'] = 'W', ['W'] = 'X', ['X'] = 'Y',
	    ['Y'] = 'Z'};
	char next = after[(unsigned char)text[ULID_LEN - 1]];

	if (next)
		text[ULID_LEN - 1] = next;
	return next != '\0';
}

/*
 * Random bits come in batches: a system call for each id would cost more than
 * all the rest of it.
 */
static void
fresh_chance(unsigned char out[static 10])
{
	static unsigned char pool[640];
	static size_t used = sizeof(pool);

	if (used == sizeof(pool)) {
		random_bytes(pool, sizeof(pool));
		used = 0;
	}
	memcpy(out, pool + used, 10);
	used += 10;
}

static void
put_time(int64_t wall_us, unsigned char out[static 16])
{
	uint64_t ms = wall_us > 0 ? (uint64_t)wall_us / 1000 : 0;

	for (size_t i = 0; i < 6; i++)
		out[i] = (unsigned char)(ms >> (40 - 8 * i));
}

void
ulid_at(int64_t wall_us, char out[static ULID_LEN + 1])
{
	unsigned char bin[16] = {0};

	put_time(wall_us, bin);
	encode(bin, out);
}

void
ulid_new(char out[static ULID_LEN + 1])
{
	ulid_now(clock_wall_ms() * 1000, out);
}

void
ulid_now(int64_t wall_us, char out[static ULID_LEN + 1])
{
	unsigned char now[16];

	put_time(wall_us, now);
	pthread_mutex_lock(&lock);
	if (memcmp(now, last, 6) > 0) {
		fresh_chance(now + 6);
		memcpy(last, now, sizeof(last));
		encode(last, last_text);
	} else {
		increment(last);
		if (!text_increment(last_text))
			encode(last, last_text);
	}
	memcpy(out, last_text, ULID_LEN + 1);
	pthread_mutex_unlock(&lock);
}

struct id
id_new(const char *prefix)
{
	size_t len = strnlen(prefix, PREFIX_MAX);
	struct id id = {""};

	memcpy(id.text, prefix, len);
	ulid_new(id.text + len);
	return id;
}

static bool
decode(struct str s, unsigned char out[static 16])
{
	unsigned acc = 0, bits = 0;
	size_t o = 0;

	if (s.len != ULID_LEN || s.ptr[0] > '7')
		return false;
	for (size_t i = 0; i < s.len; i++) {
		const char *at = s.ptr[i] ? strchr(alphabet, s.ptr[i]) : NULL;
		if (!at)
			return false;
		acc = acc << 5 | (unsigned)(at - alphabet);
		bits += i == 0 ? 3 : 5;
		if (bits >= 8) {
			bits -= 8;
			out[o++] = (unsigned char)(acc >> bits);
		}
	}
	return true;
}

bool
ulid_valid(struct str s)
{
	unsigned char bin[16];

	return decode(s, bin);
}

void
ulid_advance(struct str s)
{
	unsigned char bin[16];

	if (!decode(s, bin))
		return;
	pthread_mutex_lock(&lock);
	if (memcmp(bin, last, sizeof(last)) > 0) {
		memcpy(last, bin, sizeof(last));
		last_text[ULID_LEN - 1] = '\0';
	}
	pthread_mutex_unlock(&lock);
}
