/* verbs.c - kinds of verbs: whoever asks to "fetch" may mean a tool that says "get". */

#include "search/inside.h"

/* Stems; each kind is ended by NULL. */
static const char *const kinds[][16] = {
    {"get", "list", "show", "find", "search", "fetch", "retriev", "read", "view", "display",
     "queri", "lookup", "check", "brows"},
    {"creat", "add", "new", "make", "insert", "generat", "build", "regist"},
    {"delet", "remov", "drop", "eras", "clear", "destroy", "purg"},
    {"updat", "edit", "set", "modifi", "chang", "patch", "renam", "adjust"},
    {"send", "post", "publish", "share", "submit", "notifi"},
    {"run", "execut", "start", "launch", "invok", "trigger"},
    {"stop", "cancel", "abort", "termin", "end", "kill", "paus"},
    {"upload", "import", "ingest"},
    {"download", "export", "save"},
    {"convert", "translat", "transform", "format", "encod", "decod"},
    {"calcul", "comput", "evalu", "estim", "measur", "count"},
};

uint16_t
verb_kinds(struct str stem)
{
	uint16_t bits = 0;

	CHECK(stem.len > 0);
	for (unsigned kind = 0; kind < ARRAY_LEN(kinds); kind++)
		for (const char *const *verb = kinds[kind]; *verb; verb++)
			if (**verb == stem.ptr[0] && str_is(stem, *verb))
				bits |= (uint16_t)(1u << kind);
	return bits;
}
