/*
 * limits.h - every maximum in one place.
 *
 * A buffer, queue, list or arena is made with its maximum. Reaching one fails
 * the call that reached it, never the daemon.
 */

#ifndef BASE_LIMITS_H
#define BASE_LIMITS_H

#define KIB ((size_t)1024)
#define MIB (KIB * 1024)

/* JSON at the door */
#define LIMIT_JSON_BYTES (8 * MIB) /* one document */
#define LIMIT_JSON_DEPTH 64
#define LIMIT_CONFIG_BYTES (1 * MIB)

/* HTTP */
#define LIMIT_HTTP_BODY (8 * MIB)
#define LIMIT_HTTP_HEADERS 100             /* fields */
#define LIMIT_HTTP_HEADER_BYTES (32 * KIB) /* all of them, with the request line */
#define LIMIT_HTTP_FIELD (8 * KIB)         /* one name or value, or the request target */
#define LIMIT_HTTP_CONNECTIONS 1024
#define LIMIT_HTTP_HEADER_MS 10000 /* from the first byte to the end of the headers */
#define LIMIT_HTTP_BODY_MS 60000
#define LIMIT_HTTP_IDLE_MS 60000  /* keep-alive */
#define LIMIT_HTTP_STALL_MS 30000 /* a peer that reads nothing */
#define LIMIT_HTTP_QUEUED                                                                          \
	(4 * MIB) /* written, not yet taken by the peer; streams stop at 1/4 of it */
#define LIMIT_LINE_BYTES (8 * MIB) /* one line of MCP over stdio */

/* Calls */
#define LIMIT_CALL_ARENA (1 * MIB) /* what a call keeps beside its input and result */
#define LIMIT_CALLS 10000          /* alive at once */
#define LIMIT_CALLS_PER_TURN 64
#define LIMIT_SESSIONS 4096
#define LIMIT_SESSION_SLOTS 4 /* running together in one session (seed 000 section 4.1) */
#define LIMIT_TOOLS 100000
#define LIMIT_TURNS_KEPT 64 /* ended turns per session whose results can still be fetched */
#define LIMIT_RESULT_BYTES (4 * MIB) /* content of one result */

/* Times */
#define LIMIT_CALL_MS 60000
#define LIMIT_CALL_SLOW_MS 600000 /* execute and network */
#define LIMIT_CONFIRM_MS 300000
#define LIMIT_ABANDON_MS 30000   /* a tool that ignores cancel */
#define LIMIT_KILL_GRACE_MS 5000 /* SIGTERM to SIGKILL */

/* Questions and remembered answers */
#define LIMIT_QUESTIONS 1024 /* open */
#define LIMIT_QUESTIONS_PER_SESSION 64
#define LIMIT_ANSWERS_KEPT 4096 /* answered ones that still say 409 with the outcome */
#define LIMIT_GRANTS 4096
#define LIMIT_DIFF_BYTES (256 * KIB)
#define LIMIT_DIFF_LINES 20000
#define LIMIT_SUMMARY_CHARS 200

/* Events */
#define LIMIT_EVENT_RING 10000 /* kept in memory for readers */
#define LIMIT_EVENT_RING_BYTES (16 * MIB)
#define LIMIT_EVENT_BYTES (512 * KIB) /* one event */
#define LIMIT_EVENT_PAGE 1000
#define LIMIT_FEEDS 256          /* event streams open at once */
#define LIMIT_STORE_QUEUE 100000 /* rows on their way to the disk */

/* The workspace */
#define LIMIT_PATH 4096
#define LIMIT_FILE_READ (16 * MIB)
#define LIMIT_FILE_WRITE (16 * MIB)
#define LIMIT_FILE_PATCH (16 * MIB)
#define LIMIT_DIR_ENTRIES 10000
#define LIMIT_READ_TEXT (256 * KIB) /* what read_file gives in one call */

/* Shell */
#define LIMIT_SHELL_OUTPUT (256 * KIB) /* head and tail kept, half each */
#define LIMIT_SHELL_DELTA (16 * KIB)   /* one tool.output_delta event */
#define LIMIT_SHELL_DELTAS_BYTES                                                                   \
	(4 * MIB)                       /* all of one call; then only the result has the rest      \
					 */
#define LIMIT_COMMAND_BYTES (128 * KIB) /* the kernel takes no longer argument */

/* Schemas */
#define LIMIT_SCHEMA_BYTES (64 * KIB)
#define LIMIT_SCHEMA_DEPTH 32
#define LIMIT_SCHEMA_ERRORS 16 /* reported at once */

#endif
