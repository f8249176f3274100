/* pointer.c - JSON Pointer (RFC 6901): a path to one value inside another. */

#include "json/inside.h"

/* Takes the character that *token starts with off it: '/' for "~1", '~' for "~0". */
static bool
char_next(struct str *token, char *ret)
{
	*ret = token->ptr[0];
	*token = str_from(*token, 1);
	if (*ret != '~')
		return true;
	if (token->len == 0 || (token->ptr[0] != '0' && token->ptr[0] != '1'))
		return false;
	*ret = token->ptr[0] == '0' ? '~' : '/';
	*token = str_from(*token, 1);
	return true;
}

static bool
token_is(struct str token, struct str key)
{
	char c;

	for (size_t i = 0; i < key.len; i++)
		if (token.len == 0 || !char_next(&token, &c) || c != key.ptr[i])
			return false;
	return token.len == 0;
}

static const struct json *
member_of(const struct json *obj, struct str token)
{
	if (str_index(token, '~') < 0)
		return json_get(obj, token);
	for (struct json_iter it = json_iter(obj); json_next(&it);)
		if (token_is(token, it.key))
			return it.value;
	return NULL;
}

static const struct json *
item_of(const struct json *arr, struct str token)
{
	uint64_t i;

	if ((token.len > 1 && token.ptr[0] == '0') || !str_to_u64(token, &i))
		return NULL;
	return json_at(arr, i);
}

const struct json *
json_pointer(const struct json *root, struct str pointer)
{
	const struct json *v = root;

	while (v && pointer.len > 0) {
		if (pointer.ptr[0] != '/')
			return NULL;
		pointer = str_from(pointer, 1);
		ptrdiff_t end = str_index(pointer, '/');
		struct str token = str_upto(pointer, end < 0 ? pointer.len : (size_t)end);
		pointer = str_from(pointer, token.len);
		v = json_is(v, JSON_ARRAY) ? item_of(v, token) : member_of(v, token);
	}
	return v;
}
