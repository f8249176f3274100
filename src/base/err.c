/* err.c - the table of errors, and writing into struct err. */

#include "base/err.h"

#include <stdarg.h>
#include <stdio.h>

static const struct err_row rows[] = {
#define ERR(code, word, class, http, rpc, gateway, kernel, sentence)                               \
	{word, CLASS_##class, http, rpc, gateway, kernel, sentence},
#include "../../tbl/errors.def"
#undef ERR
};

static const char *const class_names[] = {
    [CLASS_NOT_FOUND] = "not_found",
    [CLASS_VALIDATION_ERROR] = "validation_error",
    [CLASS_PERMISSION_DENIED] = "permission_denied",
    [CLASS_USER_DENIED] = "user_denied",
    [CLASS_TIMEOUT] = "timeout",
    [CLASS_EXECUTION_ERROR] = "execution_error",
    [CLASS_CANCELLED] = "cancelled",
    [CLASS_CONFIRMATION_TIMEOUT] = "confirmation_timeout",
};

const struct err_row *
err_row(int code)
{
	if (code <= E__FIRST || code >= E__END)
		code = E_SYSTEM;
	return &rows[code - E__FIRST - 1];
}

const char *err_class_name(enum err_class class)
{
	CHECK((size_t) class < ARRAY_LEN(class_names));
	return class_names[class];
}

void
err_write(struct err *e, int code, const char *fmt, ...)
{
	va_list ap;

	if (!e)
		return;
	e->code = code;
	e->retry_after_ms = 0;
	e->inside[0] = '\0';
	va_start(ap, fmt);
	vsnprintf(e->text, sizeof(e->text), fmt, ap);
	va_end(ap);
	/* The cut may have split a character; the text goes into JSON. */
	size_t len = strlen(e->text);
	while (len > 0 && !str_is_utf8((struct str){e->text, len}) && len + 4 > sizeof(e->text) - 1)
		e->text[--len] = '\0';
}

void
err_inside(struct err *e, const char *fmt, ...)
{
	va_list ap;

	if (!e)
		return;
	size_t used = strlen(e->inside);
	if (used && used + 3 < sizeof(e->inside))
		used += (size_t)snprintf(e->inside + used, sizeof(e->inside) - used, "; ");
	va_start(ap, fmt);
	vsnprintf(e->inside + used, sizeof(e->inside) - used, fmt, ap);
	va_end(ap);
}

const char *
err_text(const struct err *e)
{
	return e->text[0] ? e->text : err_row(e->code)->sentence;
}
