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
#define LIMIT_JSON_DEPTH 64        /* what anything here can hold */
#define LIMIT_JSON_DOOR_DEPTH 56   /* what is let in: room for the envelopes it is shown in */
#define LIMIT_CONFIG_BYTES (1 * MIB)

/* HTTP */
#define LIMIT_HTTP_BODY (8 * MIB)
#define LIMIT_HTTP_HEADERS 100             /* fields */
#define LIMIT_HTTP_HEADER_BYTES (32 * KIB) /* all of them, with the request line */
#define LIMIT_HTTP_FIELD (8 * KIB)         /* one name or value, or the request target */
#define LIMIT_HTTP_CONNECTIONS 512         /* TCP; a process has often 1024 descriptors in all */
#define LIMIT_HTTP_LOCAL 128               /* more, which TCP cannot take */
#define LIMIT_HTTP_HEADER_MS 10000         /* from the first byte to the end of the headers */
#define LIMIT_HTTP_BODY_MS 60000
#define LIMIT_HTTP_IDLE_MS 60000      /* keep-alive */
#define LIMIT_HTTP_STALL_MS 30000     /* a peer that reads nothing */
#define LIMIT_HTTP_LINGER_MS 2000     /* for the peer to read the last answer before the end */
#define LIMIT_HTTP_PENDING (64 * KIB) /* read ahead while a request is being answered */
#define LIMIT_HTTP_QUEUED                                                                          \
	(4 * MIB) /* written, not yet taken by the peer; streams stop at 1/4 of it */
#define LIMIT_CLIENT_ANSWER (32 * MIB) /* one answer, read whole by the command line */
#define LIMIT_LINE_BYTES (8 * MIB)     /* one line of MCP over stdio */

#define LIMIT_ANSWER_BYTES (512 * MIB) /* one answer of REST; a turn's results fit */
#define LIMIT_PROBLEM_BYTES (16 * KIB) /* an error, or another short answer */
#define LIMIT_NAME_BYTES 256           /* a tool's name, a client's id of a call */
#define LIMIT_HOST_BYTES 256
#define LIMIT_FRONT_HOSTS 4         /* names taken beside the loopback ones */
#define LIMIT_FEED_BATCH (64 * KIB) /* events written together; the last may be over it */
#define LIMIT_FEED_PAGE 500         /* events replayed together */
#define LIMIT_FEED_TYPES 1024       /* the text of its event_types */
#define LIMIT_FEED_QUIET_MS 15000   /* then a sign of life */
#define LIMIT_MCP_CALLS 256         /* of one client, unanswered */

/* Calls */
#define LIMIT_CALL_ARENA (1 * MIB) /* what a call keeps beside its input and result */
#define LIMIT_CALLS 10000          /* alive at once */
#define LIMIT_CALLS_PER_TURN 64
#define LIMIT_SESSIONS 4096
#define LIMIT_SESSION_IDLE_MS 86400000 /* a session whose client went away without a word */
#define LIMIT_SESSION_SLOTS 4          /* running together in one session (seed 000 section 4.1) */
#define LIMIT_TOOLS 100000
#define LIMIT_TURNS_KEPT 64 /* ended turns per session whose results can still be fetched */
#define LIMIT_RESULT_BYTES (4 * MIB)  /* content of one result */
#define LIMIT_TURN_BYTES (24 * MIB)   /* results of one message; the command line can read them */
#define LIMIT_TURNS_BYTES (32 * MIB)  /* ended turns of one session; the last one always fits */
#define LIMIT_TURNS_TOTAL (256 * MIB) /* turns of all sessions */

/* Times */
#define LIMIT_CALL_MS 60000
#define LIMIT_CALL_SLOW_MS 600000 /* execute and network */
#define LIMIT_CONFIRM_MS 300000
#define LIMIT_ABANDON_MS 30000   /* a tool that ignores cancel (seed 000 section 8) */
#define LIMIT_KILL_GRACE_MS 5000 /* SIGTERM to SIGKILL */
#define LIMIT_EXCHANGE_MS                                                                          \
	1200000 /* the command line waits for one answer: a question and a slow call */

/* Questions and remembered answers */
#define LIMIT_QUESTIONS 1024 /* open */
#define LIMIT_QUESTIONS_PER_SESSION 64
#define LIMIT_QUESTIONS_BYTES (64 * MIB) /* text of all that are open */
#define LIMIT_ANSWERS_KEPT 4096          /* answered ones that still say 409 with the outcome */
#define LIMIT_GRANTS 4096
#define LIMIT_DIFF_BYTES (256 * KIB)
#define LIMIT_DIFF_LINES 20000
#define LIMIT_SUMMARY_CHARS 200

/* Events */
#define LIMIT_EVENT_RING 10000 /* kept in memory for readers */
#define LIMIT_EVENT_RING_BYTES (16 * MIB)
#define LIMIT_EVENT_BYTES (512 * KIB) /* one event */
#define LIMIT_EVENT_TEXT (32 * KIB)   /* one long text inside one: six times that when escaped */
#define LIMIT_EVENT_PAGE 1000
#define LIMIT_FEEDS 256          /* event streams open at once */
#define LIMIT_STORE_QUEUE 100000 /* rows on their way to the disk */
#define LIMIT_STORE_QUEUE_BYTES (64 * MIB)
#define LIMIT_STORE_WAITERS 10000            /* who wait for a commit */
#define LIMIT_STORE_READS 1024               /* asked for, not yet answered */
#define LIMIT_STORE_PAGE_BYTES (16 * MIB)    /* one answer */
#define LIMIT_JOURNAL_INPUT_BYTES (64 * KIB) /* of a call's input, in its journal row */

/* Kept results */
#define LIMIT_RESULT_SHOWN (32 * KIB)     /* text of a result; of a longer one its ends are shown */
#define LIMIT_ARTIFACT_BYTES (1024 * MIB) /* one; what comes behind is not kept */
#define LIMIT_ARTIFACTS_BYTES (4096 * MIB) /* all of them; the oldest go first */
#define LIMIT_ARTIFACTS_MEMORY (64 * MIB)  /* the same, where nothing is kept on disk */
#define LIMIT_ARTIFACT_HOURS 168           /* then it is forgotten */
#define LIMIT_ARTIFACT_TEXT 256            /* its label, its tool, its media type */
#define LIMIT_ARTIFACT_PAGE (8 * MIB)      /* bytes of one answer of REST */
#define LIMIT_VIEW_BYTES (256 * KIB)       /* one part of one */
#define LIMIT_VIEW_HITS 1000               /* lines that match, in one part */
#define LIMIT_VIEW_AROUND 100              /* lines before and after each */
#define LIMIT_VIEW_LINE (16 * KIB)         /* of a line, looked at and shown */
#define LIMIT_VIEW_STEPS 100000            /* of a pattern on one line */
#define LIMIT_VIEW_CPU_MS 10000            /* on all of them */
#define LIMIT_FACTS 20                     /* of a result envelope */
#define LIMIT_FACT_CHARS 200
#define LIMIT_GIST_CHARS 500

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

/* Children */
#define LIMIT_CHILD_START (2 * MIB) /* arguments and environment; the kernel takes no more */
#define LIMIT_CHILD_DRAIN_MS 2000   /* for the ends of its streams, when nothing of it is alive */
#define LIMIT_CHILD_MINDER_MS 10000 /* for the minder to kill, before it is killed itself */

/* Schemas */
#define LIMIT_SCHEMA_BYTES (64 * KIB) /* of a native tool */
#define LIMIT_CARD_BYTES                                                                           \
	(2 * LIMIT_SCHEMA_BYTES)    /* a tool's card, with its schema and examples                 \
				     */
#define LIMIT_SCHEMA_DEPTH 32       /* of a native tool's */
#define LIMIT_SCHEMA_RULES 32768    /* schemas inside a schema and what it refers to */
#define LIMIT_SCHEMA_RESOURCES 1024 /* with a URI of their own */
#define LIMIT_SCHEMA_URI (8 * KIB)
#define LIMIT_SCHEMA_NAMES 2048 /* properties of one object, or values of an enum */
#define LIMIT_SCHEMA_ALL_NAMES 65536
#define LIMIT_SCHEMA_DYNAMICS 64     /* names of dynamic anchors */
#define LIMIT_SCHEMA_NESTING 512     /* rules being held against a value at once */
#define LIMIT_SCHEMA_WORK 4000000    /* steps of one validation: some tens of milliseconds */
#define LIMIT_SCHEMA_ERRORS 16       /* reported at once */
#define LIMIT_SCHEMA_NEAR 4096       /* names compared with misspelt ones */
#define LIMIT_SCHEMA_SEARCH 20000000 /* members passed on the way to what is referred to */
#define LIMIT_SCHEMA_SHOWN 200       /* bytes of a value in an error */
#define LIMIT_SCHEMA_TEXT (64 * KIB) /* of all errors */
#define LIMIT_PATTERN_BYTES (4 * KIB)
#define LIMIT_PATTERN_ALL_BYTES (512 * KIB) /* of the compiled ones of a schema */
#define LIMIT_PATTERN_JIT_BYTES (16 * KIB)  /* of a compiled one that is worth machine code */
#define LIMIT_PATTERN_GROUPS 250            /* inside each other; what PCRE2 takes */
#define LIMIT_PATTERN_NAMES 64      /* named groups, and references to them, of one pattern */
#define LIMIT_PATTERN_EASY 2000     /* steps of one match before its time is taken */
#define LIMIT_PATTERN_STEPS 4000000 /* steps of one match */
#define LIMIT_PATTERN_SCAN 30000    /* bytes one match looks at before its time is taken */
#define LIMIT_PATTERN_NS 10         /* of processor time: one unit of LIMIT_SCHEMA_WORK */
#define LIMIT_PATTERN_DEPTH 1000000
#define LIMIT_PATTERN_HEAP_KIB 32768 /* of a match that needs so much */

/* Repairs of an input */
#define LIMIT_REPAIR_MEMBERS 1024      /* with more it is left alone */
#define LIMIT_REPAIR_TEXT (4 * KIB)    /* of a number or another scalar in a string */
#define LIMIT_REPAIRS_BYTES (16 * KIB) /* the report of one */

/* Tokens */
#define LIMIT_TOKENS_TEXT (256 * MIB) /* whose ids are listed; counting has no limit */

/* Search */
#define LIMIT_SEARCH_WORD 64                 /* bytes; the rest of a longer one is not heard */
#define LIMIT_SEARCH_QUERY (8 * KIB)         /* nor of a longer query */
#define LIMIT_SEARCH_TOOLS (2 * LIMIT_TOOLS) /* old and new ones, while they are exchanged */
#define LIMIT_SEARCH_STEMS 0x1000000         /* different ones, of all tools */
#define LIMIT_LEARNED_TOOLS 4096             /* there is evidence for, of one tenant */
#define LIMIT_LEARNED_WORDS 64               /* that speak for one tool */
#define LIMIT_LEARNED_PIECES 65536           /* of evidence, of one tenant */

/* Browsing */
#define LIMIT_LEARNED_BYTES (16 * MIB)    /* of all of it as JSON */
#define LIMIT_ASKED_BYTES 512             /* of a query that is remembered for a while */
#define LIMIT_BROWSE_CARDS 1000           /* of one path */
#define LIMIT_BROWSE_BYTES (16 * MIB)     /* one reply, while it is made */
#define LIMIT_BROWSE_SEEN 1024            /* cards a session is shown unchanged; a power of two */
#define LIMIT_BROWSE_SEEN_BYTES (1 * MIB) /* of all of them */

#endif
