/*
 * err.h - how functions say what went wrong.
 *
 * A function returns 0 or a negative code from tbl/errors.def. Details go into
 * struct err, the last parameter, written only on failure. `text` is safe to show
 * to an agent; `inside` (errno, file names of ours, SQL) is for the log alone.
 */

#ifndef BASE_ERR_H
#define BASE_ERR_H

#include "base/bug.h"
#include "base/str.h"

enum err_code {
	E_OK = 0,
	E__FIRST = -1000,
#define ERR(code, word, class, http, rpc, gateway, kernel, sentence) E_##code,
#include "../../tbl/errors.def"
#undef ERR
	E__END
};

/* The dispatcher's closed set (seed 000 section 6.1). */
enum err_class {
	CLASS_NOT_FOUND,
	CLASS_VALIDATION_ERROR,
	CLASS_PERMISSION_DENIED,
	CLASS_USER_DENIED,
	CLASS_TIMEOUT,
	CLASS_EXECUTION_ERROR,
	CLASS_CANCELLED,
	CLASS_CONFIRMATION_TIMEOUT,
};

struct err_row {
	const char *word;
	enum err_class class;
	int http;
	int rpc;
	const char *gateway;
	const char *kernel;
	const char *sentence;
};

struct err {
	int code;
	unsigned retry_after_ms; /* it is worth another try after this; 0: nothing is known */
	char text[512];
	char inside[256];
};

#define ERR_NONE ((struct err){.code = E_OK})

/* The same for memory as it is: texts are long, and where much goes well nobody reads them. */
static inline void
err_none(struct err *e)
{
	e->code = E_OK;
	e->retry_after_ms = 0;
	e->text[0] = e->inside[0] = '\0';
}

const struct err_row *err_row(int code); /* never NULL; an unknown code is E_SYSTEM's row */
const char *err_class_name(enum err_class class);

/*
 * All three give the code back, so that one can `return err_set(...)`: visibly, so that compilers
 * and analyzers know a failure when they see one. e may be NULL.
 */
void err_write(struct err *e, int code, const char *fmt, ...) PRINTF_LIKE(3, 4);
static inline int
err_same(int code)
{
	return code;
}
#define err_set(e, code, ...) (err_write(e, code, __VA_ARGS__), err_same(code))

static inline int
err_plain(struct err *e, int code) /* with the table's sentence */
{
	return err_set(e, code, "%s", err_row(code)->sentence);
}

/* Add to `inside` of an error that is already set. */
void err_inside(struct err *e, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* For what the system refused: text is the table's sentence, inside gets "what: strerror". */
static inline int
err_errno(struct err *e, int code, int errnum, const char *what)
{
	err_plain(e, code);
	err_inside(e, "%s: %s", what, strerror(errnum));
	return code;
}

const char *err_text(const struct err *e); /* never empty */

#endif
