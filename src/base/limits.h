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

/* Configuration */
#define LIMIT_SERVERS 256                /* MCP servers; so says data/config.schema.json too */
#define LIMIT_SERVER_ENV 1024            /* variables of one */
#define LIMIT_SERVER_SECRETS 512         /* values of one that are not told, line by line */
#define LIMIT_SECRET_LEAST 6             /* bytes of such a line */
#define LIMIT_VARIABLES_BYTES (64 * KIB) /* of one text, its variables filled in */
#define LIMIT_CONFIG_ARENA (16 * MIB)    /* all of what was read */
#define LIMIT_CONFIG_WARNINGS 64

/* Whose calls, and which of them belong together */
#define LIMIT_OWNER_NAME 64 /* of a tenant or an agent */
#define LIMIT_TENANTS 1024
#define LIMIT_AGENTS 1024         /* of one tenant */
#define LIMIT_ACTIVATIONS 1024    /* of one agent */
#define LIMIT_TOOL_PATTERNS 1024  /* of one list */
#define LIMIT_TOOL_PATTERN 128    /* a tool's name, or a pattern of names */
#define LIMIT_OVERRIDES (8 * KIB) /* policy_overrides of one activation */
#define LIMIT_STANDINGS 4096      /* tools of which an agent's standing is remembered */
#define LIMIT_TOOLBOX_BATCH 10    /* tools of one batch, unless the configuration says more */
#define LIMIT_TOOLBOX_MOST 100    /* whatever it says */
#define LIMIT_TURN_GROUP 64       /* a turn_group_id */
#define LIMIT_IDEMPOTENCY_KEY 256 /* one the caller gave */

/* Definitions and imports of tools */
#define LIMIT_DEFINITION_LIST 256       /* categories, key fields, arguments of a compensation */
#define LIMIT_DEFINITIONS 10000         /* of one configuration, those of imports beside */
#define LIMIT_MADE_DEFINITIONS 2048     /* those that people make while the gateway runs */
#define LIMIT_IMPORTS 64                /* documents of OpenAPI */
#define LIMIT_IMPORT_BYTES (32 * MIB)   /* one of them */
#define LIMIT_IMPORT_TOOLS 5000         /* operations of one */
#define LIMIT_IMPORT_SCHEMA (512 * KIB) /* what one operation takes, with all it refers to */
#define LIMIT_IMPORT_DEFS 1000          /* schemas one operation refers to; others are left open */

/* Tools over HTTP */
#define LIMIT_HTTP_TOOL_MS 30000           /* where nothing is said */
#define LIMIT_HTTP_TOOL_ANSWER (4 * MIB)   /* read of an answer, where nothing is said... */
#define LIMIT_HTTP_TOOL_MOST (64 * MIB)    /* ...and whatever is */
#define LIMIT_HTTP_TOOL_HOPS 5             /* redirects that are followed */
#define LIMIT_HTTP_TOOL_URL (16 * KIB)     /* with its arguments filled in */
#define LIMIT_HTTP_TOOL_HEADERS (64 * KIB) /* all of one request */
#define LIMIT_HTTP_TOOL_PARTS 256          /* arguments and texts of one template */
#define LIMIT_GUARD_ALLOWED 256            /* networks and hosts that are let through */

/* Figures of calls */
#define LIMIT_METRIC_SERIES 1000       /* sets of labels of each kind; the rest is "other" */
#define LIMIT_METRICS_BYTES (16 * MIB) /* all of it, written down */

/* Messages of the user */
#define LIMIT_MESSAGE_BYTES (64 * KIB)
#define LIMIT_MESSAGE_ID 64
#define LIMIT_MESSAGES 64         /* of one session, that no turn has yet */
#define LIMIT_DECIDE_MS 5000      /* for whoever runs the agent to say what becomes of a turn */
#define LIMIT_COMPENSATE_MS 30000 /* for one effect to be taken back */

/* Effects */
#define LIMIT_EFFECT_KEY 1024           /* the text of one; a longer part is a digest there */
#define LIMIT_EFFECT_ARGS (64 * KIB)    /* arguments kept in the ledger; others by digest */
#define LIMIT_EFFECT_RESULT (12 * MIB)  /* a result kept there: the longest with all its parts */
#define LIMIT_EFFECT_UNKEYED (16 * KIB) /* the same, of what is never given again */
#define LIMIT_EFFECT_GIVEN (256 * KIB)  /* what a tool gave, for whoever takes it back */
#define LIMIT_EFFECT_FOUND (13 * MIB)   /* what is told of one that stands under a key */
#define LIMIT_EFFECT_NOTE 1024          /* what a person says of one */
#define LIMIT_EFFECT_PAGE 1000          /* rows of one list */
#define LIMIT_EFFECTS_TOLD 64           /* unknown ones that wait to be told to their agents */
#define LIMIT_EFFECT_KEEP_S 86400       /* how long a key is remembered, when nothing is said */
#define LIMIT_LEDGER_QUEUE 20000        /* things that wait for the disk */
#define LIMIT_LEDGER_QUEUE_BYTES (64 * MIB)
#define LIMIT_LEDGER_PROBLEMS 100 /* told of a ledger that does not verify */

/* Claims that many machines share */
#define LIMIT_CLAIM_ERRANDS 10000      /* on their way or waiting */
#define LIMIT_CLAIM_ARENA (2 * MIB)    /* what one of them carries */
#define LIMIT_CLAIM_RESULT (256 * KIB) /* a result that is shared */
#define LIMIT_CLAIM_ALIVE_MS 15000     /* a sign of life holds so long... */
#define LIMIT_CLAIM_BEAT_MS 5000       /* ...is given so often... */
#define LIMIT_CLAIM_LEASE_MS 10000     /* ...and what was claimed begins within this */

/* HTTP */
#define LIMIT_HTTP_BODY (8 * MIB)
#define LIMIT_HTTP_HEADERS 100             /* fields */
#define LIMIT_HTTP_HEADER_BYTES (32 * KIB) /* all of them, with the request line */
#define LIMIT_HTTP_FIELD (8 * KIB)         /* one name or value, or the request target */
#define LIMIT_HTTP_QUERY 64                /* parameters */
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
#define LIMIT_WIRE_QUEUED (32 * MIB)   /* the same of a wire: some answers of a line's length */
#define LIMIT_WIRES_QUEUED (128 * MIB) /* of all wires together: the furthest behind is cut off */
#define LIMIT_CLIENT_ANSWER (32 * MIB) /* one answer, read whole by the command line */
#define LIMIT_LINE_BYTES (8 * MIB)     /* one line of MCP over stdio */

/* HTTP to elsewhere */
#define LIMIT_FETCHES 512            /* of one fetcher, at once */
#define LIMIT_FETCH_CONNECT_MS 10000 /* name, connection and TLS */
#define LIMIT_FETCH_KEPT 64  /* connections kept beside those in use: calls come in bursts */
#define LIMIT_FETCH_KEPT_S 4 /* unused; many servers close theirs after 5 */
#define LIMIT_FETCH_SPARE 32 /* handles kept for the next request */
#define LIMIT_FETCH_HEAD (256 * KIB) /* what a request says before its body */
#define LIMIT_FETCH_INPUT (64 * KIB) /* read at once */
#define LIMIT_DIAL_HOST 253          /* of a name */
#define LIMIT_DIAL_ADDRESSES 8       /* of a name, that are tried */
#define LIMIT_DIAL_ANOTHER_MS 250    /* before the next is tried beside one that is silent */

/* Redis */
#define LIMIT_REDIS_ITEMS 64            /* of a list that it answers with */
#define LIMIT_REDIS_INPUT (16 * KIB)    /* read at once */
#define LIMIT_REDIS_ANSWER (8 * MIB)    /* one answer */
#define LIMIT_REDIS_COMMAND (8 * MIB)   /* one command */
#define LIMIT_REDIS_ASKS 4096           /* unanswered */
#define LIMIT_REDIS_ANSWER_MS 3000      /* for one answer */
#define LIMIT_REDIS_CONNECT_MS 3000     /* for a connection */
#define LIMIT_REDIS_BACKOFF_MS 50       /* before the next try; doubles up to... */
#define LIMIT_REDIS_BACKOFF_MAX_MS 2000 /* ...this */

/* MCP servers behind us, over HTTP: of each */
#define LIMIT_LINK_REQUESTS 256       /* unanswered */
#define LIMIT_LINK_NOTES 64           /* more, for notes and answers */
#define LIMIT_LINK_NOTE_MS 30000      /* for the server to take one */
#define LIMIT_LINK_PROBLEM (64 * KIB) /* kept of what is no answer */
#define LIMIT_LINK_HELD (64 * MIB)    /* of messages that are not here whole */
#define LIMIT_LINK_HEADERS (64 * KIB) /* of one request */
#define LIMIT_LINK_ID 1024            /* of a session, of an event */
#define LIMIT_LINK_RETRY_MS 1000      /* before a broken stream is taken up again... */
#define LIMIT_LINK_RETRY_LEAST_MS 50  /* ...whatever the server says */
#define LIMIT_LINK_RETRY_MOST_MS 30000
#define LIMIT_LINK_RETRIES 5        /* in a row without a single event */
#define LIMIT_LINK_LINGER_MS 2000   /* for a stream to end when its answer has come */
#define LIMIT_LINK_FAREWELL_MS 1000 /* for the server to hear that the session is over */

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
#define LIMIT_MCP_BATCH 1024        /* messages in one (2025-03-26) */
#define LIMIT_MCP_BLOCK_TEXT 2048   /* of each thing said of a block that a client does not know */
#define LIMIT_MCP_PARAMS 64         /* arguments of one tool that headers repeat */
#define LIMIT_MCP_TTL_MS 3600000    /* that a result may be held, whatever its server says */
#define LIMIT_MCP_PAGE 1000         /* of a list, in one answer */
#define LIMIT_MCP_PAGE_BYTES (4 * MIB)   /* then the page ends; a message has LIMIT_LINE_BYTES */
#define LIMIT_MCP_ENTRY (2 * MIB)        /* of a list; a longer one is left out */
#define LIMIT_MCP_URI (8 * KIB)          /* of a resource, or a prompt's name */
#define LIMIT_MCP_OFFERS (64 * MIB)      /* a list of all servers while it is put together */
#define LIMIT_URI_PARTS 64               /* of a template: texts and expressions */
#define LIMIT_MCP_ID 4096                /* a request's id, where it is a string */
#define LIMIT_MCP_OPEN 4096              /* requests of all clients, unanswered */
#define LIMIT_MCP_SESSIONS 512           /* legacy ones over HTTP; each holds a descriptor */
#define LIMIT_MCP_COMMONS 64             /* workspaces that modern requests over HTTP share */
#define LIMIT_MCP_COMMONS_SLOTS 64       /* calls of one that run together */
#define LIMIT_MCP_COMMONS_MS 300000      /* then one that nobody uses ends */
#define LIMIT_MCP_SWEEP_MS 60000         /* between looks for those */
#define LIMIT_MCP_LOST_MS 300000         /* an answer waits so long for its client to come back */
#define LIMIT_MCP_RETRY_MS 1000          /* a client that lost a stream comes back after this */
#define LIMIT_MCP_STREAM_MS 5000         /* then a slow answer becomes a stream */
#define LIMIT_MCP_PRIME_MS 2000          /* the same, where it can be taken up again */
#define LIMIT_MCP_STREAM_EVENTS 1024     /* of one stream, kept or waiting */
#define LIMIT_MCP_STREAM_BYTES (4 * MIB) /* the same; the answer always fits */
#define LIMIT_MCP_KEPT (64 * MIB)        /* of all streams; then nothing more is kept */
#define LIMIT_MCP_PARKED 256             /* modern requests that wait for a retry */
#define LIMIT_MCP_PARKED_MS 600000
#define LIMIT_MCP_ASKS 64          /* inquiries one client has */
#define LIMIT_MCP_URIS (256 * KIB) /* text of the resources one client listens to */

/* Calls */
#define LIMIT_CALL_ARENA (1 * MIB) /* what a call keeps beside its input and result */
#define LIMIT_CALLS 10000          /* alive at once */
#define LIMIT_CALLS_PER_TURN 64
#define LIMIT_SESSIONS 4096
#define LIMIT_SESSION_IDLE_MS 86400000 /* a session whose client went away without a word */
#define LIMIT_SESSION_SLOTS 4          /* running together in one session (seed 000 section 4.1) */
#define LIMIT_TOOLS 100000
#define LIMIT_TURNS_KEPT 64     /* ended turns per session whose results can still be fetched */
#define LIMIT_TURNS_KEPT_LONE 8 /* where calls come alone: who made one has its result */
#define LIMIT_RESULT_BYTES (4 * MIB)  /* content of one result */
#define LIMIT_TURN_BYTES (24 * MIB)   /* results of one message; the command line can read them */
#define LIMIT_TURNS_BYTES (32 * MIB)  /* ended turns of one session; the last one always fits */
#define LIMIT_TURNS_TOTAL (256 * MIB) /* turns of all sessions */

/* Stages and hooks */
#define LIMIT_STAGES 64             /* those everybody has, and others */
#define LIMIT_HOOKS 1024            /* functions and programs */
#define LIMIT_HOOK_ARENA (1 * MIB)  /* what is known of one, or what one run of it keeps */
#define LIMIT_HOOK_INPUT (16 * MIB) /* what a program is told of a call */
#define LIMIT_HOOK_OUTPUT (1 * MIB) /* what it may answer */
#define LIMIT_HOOK_REASON (4 * KIB) /* kept of its stderr */
#define LIMIT_HOOK_MS 10000         /* when nothing is said */
#define LIMIT_HOOK_MOST_MS 600000   /* and whatever is said */
#define LIMIT_PLUGIN_MIB 1024       /* address space of a plugin, when nothing is said */
#define LIMIT_STAGE_NAME 40
#define LIMIT_STAGE_SENTENCE 200

/* Times */
#define LIMIT_CALL_MS 60000
#define LIMIT_CALL_SLOW_MS 600000 /* execute and network */
#define LIMIT_ASKED_AGAIN 4       /* questions about one call whose file changes each time */
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
#define LIMIT_EVENT_RING 10000     /* kept in memory for readers */
#define LIMIT_EVENT_RING_QUIET 256 /* while nobody reads, and there is a store */
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
#define LIMIT_STORE_SEGMENT (64 * KIB)       /* records kept in one row; the last may be over it */
#define LIMIT_JOURNAL_INPUT_BYTES (64 * KIB) /* of a call's input, in its journal row */

/* Progress and notes */
#define LIMIT_PROGRESS_LABEL 200    /* bytes of what a call says it is doing */
#define LIMIT_PROGRESS_GAP_MS 100   /* between two updates of one call */
#define LIMIT_PROGRESS_LATE_MS 2000 /* a call that says nothing is shown after this */
#define LIMIT_TOASTS 5              /* shown at once; the oldest goes (seed 002 part 5) */
#define LIMIT_TOAST_TITLE 160       /* bytes */
#define LIMIT_TOAST_TEXT 400        /* bytes of its message */
#define LIMIT_TOAST_KEY 320         /* bytes of what it is about */

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

/* Changes to files, and undoing them */
#define LIMIT_UNDO_FILE LIMIT_FILE_WRITE /* of what was there; more could not be put back */
#define LIMIT_UNDO_MIB 512               /* of all that is kept; the oldest goes first */
#define LIMIT_UNDO_DAYS 7                /* then it is forgotten */
#define LIMIT_UNDO_MEMORY (64 * MIB)     /* where nothing is kept on disk */
#define LIMIT_UNDO_NOTES 100000          /* changes in the history; the oldest go first */
#define LIMIT_UNDO_TRIM 1000             /* notes between two looks whether there are more */
#define LIMIT_UNDO_CHANGES 1000          /* undone in one go */
#define LIMIT_CHANGES_SEARCH 100000      /* looked at for one page of the history */
#define LIMIT_CHANGES_CALL 1000          /* of one call that are told */
#define LIMIT_TRACKED_FILES 50000        /* of a workspace that is compared */
#define LIMIT_TRACKED_DEPTH 64           /* directories in one another */

/* Shell */
#define LIMIT_SHELL_OUTPUT (256 * KIB) /* head and tail kept, half each */
#define LIMIT_SHELL_DELTA (16 * KIB)   /* one tool.output_delta event */
#define LIMIT_SHELL_DELTAS_BYTES                                                                   \
	(4 * MIB)                       /* all of one call; then only the result has the rest      \
					 */
#define LIMIT_COMMAND_BYTES (128 * KIB) /* the kernel takes no longer argument */

/* Children */
#define LIMIT_CHILD_START (2 * MIB) /* arguments and environment; the kernel takes no more */
#define LIMIT_WORKERS 32            /* threads for what blocks; tools that do could hold up a few */
#define LIMIT_WORKER_IDLE_MS 10000  /* one that has nothing to do is gone then */
#define LIMIT_CHILD_DRAIN_MS 2000   /* for the ends of its streams, when nothing of it is alive */
#define LIMIT_CHILD_MINDER_MS 10000 /* for the minder to kill, before it is killed itself */
#define LIMIT_CONFINE_RULES 8192    /* of a confined child: places, one by one around ours */
#define LIMIT_CONFINE_SHUT 32       /* places of ours, with the links that lead there */
#define LIMIT_CONFINE_KEPT_MS 2000  /* a ruleset, for the next child with the same */

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

/* Upstreams */
#define LIMIT_UPSTREAMS 256
#define LIMIT_UPSTREAM_ASK_ARENA (64 * KIB) /* what a request keeps beside its message */
#define LIMIT_UPSTREAM_SPEC (4 * MIB)       /* what is configured of one */
#define LIMIT_UPSTREAM_PLACES 32            /* requests to one at once, when nothing is said */
#define LIMIT_UPSTREAM_CONCURRENCY 256      /* and whatever is said */
#define LIMIT_UPSTREAM_WAITING 1024         /* more of them, for their place */
#define LIMIT_UPSTREAM_MESSAGE (8 * MIB)    /* one that we send */
#define LIMIT_UPSTREAM_SKIPPED (64 * MIB)   /* of what is no message, before it is given up */
#define LIMIT_UPSTREAM_ITEMS 10000          /* of one of its lists */
#define LIMIT_UPSTREAM_PAGES 1000           /* of one of its lists */
#define LIMIT_UPSTREAM_LIST_BYTES (8 * MIB) /* one of its lists */
#define LIMIT_UPSTREAM_CURSOR (64 * KIB)    /* of a page */
#define LIMIT_UPSTREAM_PINS 20000           /* tools of one, those that have gone too */
#define LIMIT_UPSTREAM_SHELF (24 * MIB)     /* its tools: accepted, changed, gone, as JSON... */
#define LIMIT_UPSTREAM_SHELF_RAM (64 * MIB) /* ...and in memory */
#define LIMIT_UPSTREAM_KNOWN (64 * MIB)     /* the file of what is known of one */
#define LIMIT_UPSTREAM_ROUNDS 10            /* of input_required, in one request */
#define LIMIT_UPSTREAM_INQUIRIES 16         /* open in one request, or items of one */
#define LIMIT_UPSTREAM_QUESTIONS 100        /* of a legacy server in one request */
#define LIMIT_UPSTREAM_ASKING_MS 600000     /* for those behind a request to answer */
#define LIMIT_UPSTREAM_SUBSCRIPTIONS 1024   /* resources of one that are listened to */
#define LIMIT_UPSTREAM_MESSAGES 200         /* of one, or progress of a request, per second */
#define LIMIT_UPSTREAM_STDERR_LINES 50      /* of one, per second, that go to the log */
#define LIMIT_UPSTREAM_PROBE_MS 5000        /* a child that does not know server/discover */
#define LIMIT_UPSTREAM_ERA_DAYS 7           /* then a legacy one is asked again */
#define LIMIT_UPSTREAM_BACKOFF_MS 500       /* after the first failure; doubles up to... */
#define LIMIT_UPSTREAM_BACKOFF_MAX_MS 60000 /* ...this */
#define LIMIT_RETRY_AFTER_S 86400           /* that is believed of what a server says */
#define LIMIT_UPSTREAM_DEAF 3           /* deadlines without a word; then it is pinged, for... */
#define LIMIT_UPSTREAM_PING_MS 5000     /* ...this, and replaced */
#define LIMIT_UPSTREAM_PATIENCE_MS 2000 /* that a request waits for a start put off */
#define LIMIT_UPSTREAM_AWAY_MS 3000     /* then a request tries one again that was not there */
#define LIMIT_UPSTREAM_FAILS 5          /* starts in a row; then it is quarantined, for... */
#define LIMIT_UPSTREAM_QUARANTINE_MS 600000 /* ...this */
#define LIMIT_UPSTREAM_STEADY_MS 60000      /* running so long, it has not failed for its start */
#define LIMIT_UPSTREAM_START_MS 30000       /* what holds where the configuration is silent */
#define LIMIT_UPSTREAM_CALL_MS 60000
#define LIMIT_UPSTREAM_CALL_MAX_MS 600000
#define LIMIT_UPSTREAM_IDLE_MS 600000
#define LIMIT_UPSTREAM_EOF_MS 2000    /* after the end of its stdin, before SIGTERM */
#define LIMIT_UPSTREAM_RELIST_MS 1000 /* between two readings of a list; doubles when one fails */
#define LIMIT_UPSTREAM_HOLD_MS 3000   /* that news of resources wait for those of templates */
#define LIMIT_UPSTREAM_STALE_MS 30000 /* then a list is old, if nobody tells of changes */
#define LIMIT_UPSTREAM_RELISTS 6      /* so often; then it is left as it is */
#define LIMIT_UPSTREAM_REST 20        /* times what a reading has cost us, before the next */

/* The kernel router: the first six are the document's own (seed 003, "Global Caps") */
#define LIMIT_KERNEL_ENVELOPE (8 * KIB)
#define LIMIT_KERNEL_DEPTH 3  /* objects and arrays in one another, the payload among them */
#define LIMIT_KERNEL_KEY 64   /* characters */
#define LIMIT_KERNEL_ITEMS 32 /* of an array */
#define LIMIT_KERNEL_STRING (2 * KIB)
#define LIMIT_KERNEL_REASON 512 /* characters */
#define LIMIT_KERNEL_TRACE 32   /* frames */
#define LIMIT_KERNEL_REPLAYS 128
#define LIMIT_KERNEL_LEDGER 512          /* entries; policy.cap.ledger_max */
#define LIMIT_KERNEL_REVIEWS 32          /* of the review queue */
#define LIMIT_KERNEL_MOVES 10            /* remembered */
#define LIMIT_KERNEL_EMISSION (64 * KIB) /* one; so much is kept LIMIT_KERNEL_REPLAYS times */
#define LIMIT_KERNEL_TOOLS 256           /* of an index */
#define LIMIT_KERNEL_CONDITIONS 8        /* of a tool */
#define LIMIT_KERNEL_NAMESPACES 32
#define LIMIT_KERNEL_BUNDLE (1 * MIB) /* an index with its schemas */
#define LIMIT_KERNEL_STATE (2 * MIB)  /* as JSON */
#define LIMIT_KERNELS 256             /* sessions with one */
#define LIMIT_KERNEL_WAITING 256      /* envelopes of one session */

#endif
