/*
 * log.h - structured lines for the operator.
 *
 * One line per event, to one sink: readable on a terminal, JSON lines otherwise.
 * Library code returns errors; whoever finally handles one logs it, once.
 * Control characters never reach the line raw.
 */

#ifndef BASE_LOG_H
#define BASE_LOG_H

#include <stdbool.h>

#include "base/bug.h"

enum log_level { LOG_DEBUG, LOG_INFO, LOG_WARN, LOG_ERROR };

/* Pairs of strings follow, ended by NULL: log_line(LOG_WARN, "tool ignored cancel", "call", id,
 * NULL) */
void log_line(enum log_level level, const char *text, ...) __attribute__((sentinel));

void log_set_level(enum log_level level);
enum log_level log_level_get(void);
/*
 * Lines of each call, two of them: only where somebody asked for a level that has them. The level
 * that holds when nobody does is for what happens now and then.
 */
void log_set_calls(bool on);
bool log_calls(void);
bool log_level_parse(const char *name, enum log_level *ret);

enum log_form { LOG_FORM_AUTO, LOG_FORM_TEXT, LOG_FORM_JSON };
void log_set_form(enum log_form form);

/* Where lines go; NULL is standard error again. Called with whole lines, newline included. */
void log_set_sink(void (*sink)(const char *line, size_t len, void *arg), void *arg);

#endif
