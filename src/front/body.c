/* body.c - what every handler with a body checks in the same way. */

#include "front/visit.h"

int
body_parse(const struct http_request *r, struct json_doc **ret, struct err *e)
{
	if (r->body.len == 0)
		return err_set(e, E_BAD_REQUEST, "a JSON body is needed here");
	return json_parse(r->body, &json_door, ret, e);
}

bool
name_fits(struct str s)
{
	if (s.len == 0 || s.len > LIMIT_NAME_BYTES)
		return false;
	for (size_t i = 0; i < s.len; i++)
		if ((unsigned char)s.ptr[i] < 0x20 || s.ptr[i] == 0x7f)
			return false;
	return true;
}

int
path_absolute(struct str s, char out[static LIMIT_PATH], struct err *e)
{
	if (s.len == 0 || s.ptr[0] != '/' || s.len >= LIMIT_PATH || memchr(s.ptr, 0, s.len))
		return err_set(e, E_BAD_REQUEST, "workspace: must be an absolute path");
	memcpy(out, s.ptr, s.len);
	out[s.len] = '\0';
	return 0;
}
