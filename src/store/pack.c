/* pack.c - LZ4, loaded with the first that is packed; the length stands before it in 4 bytes. */

#include "store/pack.h"

#include <endian.h>
#include <limits.h>
#include <pthread.h>

#include "base/library.h"

#define HEAD sizeof(uint32_t)
#define HASTE 8 /* a quarter less time for a twentieth more bytes */

static struct lz4 {
	int (*compress)(const char *from, char *to, int len, int room, int haste);
	int (*decompress)(const char *from, char *to, int len, int room);
} lz4;
static struct err lz4_missing;

static const struct library_function functions[] = {
    {"LZ4_compress_fast", offsetof(struct lz4, compress)},
    {"LZ4_decompress_safe", offsetof(struct lz4, decompress)},
};

static void
lz4_load(void)
{
	static const char *const names[] = {"liblz4.so.1", "liblz4.so", NULL};

	(void)library_load(names, functions, ARRAY_LEN(functions), &lz4, &lz4_missing);
}

static bool
has_lz4(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, lz4_load);
	return lz4.compress != NULL;
}

bool
pack(struct str text, struct buf *out)
{
	uint32_t head = htole32((uint32_t)text.len);

	buf_reset(out);
	if (text.len <= HEAD || text.len > INT_MAX || !has_lz4())
		return false;
	char *p = buf_room(out, text.len);
	int room = (int)(text.len - HEAD);
	int len = p ? lz4.compress(text.ptr, p + HEAD, (int)text.len, room, HASTE) : 0;
	out->failed = false;
	if (len <= 0)
		return false;
	memcpy(p, &head, HEAD);
	out->len = HEAD + (size_t)len;
	return true;
}

int
unpack(struct str packed, size_t most, struct buf *out, struct err *e)
{
	uint32_t head = 0;

	buf_reset(out);
	if (!has_lz4()) {
		*e = lz4_missing;
		return e->code = E_STORE;
	}
	if (packed.len > HEAD)
		memcpy(&head, packed.ptr, HEAD);
	size_t len = le32toh(head);
	if (len == 0 || len > most || len > INT_MAX || packed.len > INT_MAX)
		return err_set(e, E_STORE, "these bytes are not packed records");
	char *p = buf_room(out, len);
	if (!p)
		return err_plain(e, E_NOMEM);
	if (lz4.decompress(packed.ptr + HEAD, p, (int)(packed.len - HEAD), (int)len) != (int)len)
		return err_set(e, E_STORE, "packed records are damaged");
	out->len = len;
	return 0;
}
