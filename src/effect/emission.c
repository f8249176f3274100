/* emission.c - parts side by side, and apart again. */

#include "effect/emission.h"

#define HEAD "{\"parts\":["

static const struct {
	const char *before;
	size_t at; /* in struct emission */
} parts[] = {
    {"],\"content\":[", offsetof(struct emission, content)},
    {"],\"extra\":{", offsetof(struct emission, extra)},
    {"},\"modified\":[", offsetof(struct emission, modified)},
    {"],\"artifacts\":[", offsetof(struct emission, artifacts)},
};
#define TAIL "]}"
#define TAIL_ERROR "],\"error\":"

static struct str
part_of(const struct emission *m, size_t i)
{
	struct str s;

	memcpy(&s, (const char *)m + parts[i].at, sizeof(s));
	return s;
}

void
emission_write(struct buf *out, const struct emission *m)
{
	buf_addz(out, HEAD);
	for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
		buf_addz(out, i ? "," : "");
		buf_add_u64(out, part_of(m, i).len);
	}
	for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
		buf_addz(out, parts[i].before);
		buf_add(out, part_of(m, i));
	}
	if (!m->error.ptr) {
		buf_addz(out, TAIL);
		return;
	}
	buf_addz(out, TAIL_ERROR);
	buf_add(out, m->error);
	buf_addc(out, '}');
}

static bool
skip(struct str *rest, const char *z)
{
	if (!str_starts(*rest, str_of(z)))
		return false;
	*rest = str_from(*rest, strlen(z));
	return true;
}

/* What is behind the parts. */
static bool
tail_read(struct str text, struct str *ret_error)
{
	*ret_error = (struct str){NULL, 0};
	if (str_is(text, TAIL))
		return true;
	if (!skip(&text, TAIL_ERROR) || !str_starts(text, S("{")) || !str_ends(text, S("}}")))
		return false;
	*ret_error = str_upto(text, text.len - 1);
	return true;
}

bool
emission_read(struct str text, struct emission *ret)
{
	uint64_t lens[ARRAY_LEN(parts)];
	struct str numbers, one;

	if (!skip(&text, HEAD))
		return false;
	ptrdiff_t end = str_index(text, ']');
	if (end < 0)
		return false;
	numbers = str_upto(text, (size_t)end);
	text = str_from(text, (size_t)end);
	for (size_t i = 0; i < ARRAY_LEN(parts); i++)
		if (!str_split(&numbers, ',', &one) || !str_to_u64(one, &lens[i]))
			return false;
	for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
		if (!skip(&text, parts[i].before) || lens[i] > text.len)
			return false;
		one = str_upto(text, lens[i]);
		memcpy((char *)ret + parts[i].at, &one, sizeof(one));
		text = str_from(text, lens[i]);
	}
	return tail_read(text, &ret->error);
}
