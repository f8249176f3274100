/* ulid.c - making ids that only go up. */

#include "base/ulid.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/random.h>

#include "base/bug.h"
#include "base/clock.h"

static const char alphabet[] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned char last[16]; /* the last id given, big-endian */

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

static void
encode(const unsigned char bin[static 16], char out[static ULID_LEN + 1])
{
	/* 128 bits in 26 letters of 5 bits: the first letter has 3. */
	unsigned acc = 0, bits = 2;
	size_t o = 0;
	for (size_t i = 0; i < 16; i++) {
		acc = acc << 8 | bin[i];
		bits += 8;
		while (bits >= 5) {
			bits -= 5;
			out[o++] = alphabet[acc >> bits & 31];
		}
	}
	out[o] = '\0';
}

static void
increment(unsigned char bin[static 16])
{
	for (size_t i = 16; i-- > 0;)
		if (++bin[i])
			return;
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
	unsigned char now[16];

	put_time(clock_wall_us(), now);
	pthread_mutex_lock(&lock);
	if (memcmp(now, last, 6) > 0) {
		fresh_chance(now + 6);
		memcpy(last, now, sizeof(last));
	} else {
		increment(last);
	}
	encode(last, out);
	pthread_mutex_unlock(&lock);
}

struct id
id_new(const char *prefix)
{
	struct id id;
	char ulid[ULID_LEN + 1];

	ulid_new(ulid);
	snprintf(id.text, sizeof(id.text), "%.8s%s", prefix, ulid);
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
	if (memcmp(bin, last, sizeof(last)) > 0)
		memcpy(last, bin, sizeof(last));
	pthread_mutex_unlock(&lock);
}
