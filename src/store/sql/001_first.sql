-- 001_first.sql - the first form of the file: events, calls, sessions, remembered answers.
--
-- Times are microseconds of the wall clock. Ids are ULIDs behind a prefix, so the order of
-- ids is the order of time. Nothing here can refuse a row: a row that can never be written
-- would stand in the way of all others.

CREATE TABLE events (
	id              TEXT PRIMARY KEY,
	timestamp_us    INTEGER,
	session_id      TEXT,
	turn_id         TEXT,
	parent_event_id TEXT,
	type            TEXT,
	actor           TEXT,
	sensitivity     TEXT,
	payload_json    TEXT,
	audit           INTEGER  -- 1: never pruned
);
-- One index, for the one way events are looked up besides their id: each more costs a
-- third of the writing speed.
CREATE INDEX events_session ON events (session_id, id);

CREATE TABLE calls (
	id             TEXT PRIMARY KEY,
	tool_use_id    TEXT,
	session_id     TEXT,
	turn_id        TEXT,
	tool           TEXT,
	capability     TEXT,
	reversibility  TEXT,
	state          TEXT,
	success        INTEGER,  -- NULL while it runs
	error_class    TEXT,
	message        TEXT,
	inside         TEXT,
	rule           TEXT,
	input          TEXT,     -- JSON; text with a mark where it was cut
	input_hash     TEXT,
	input_bytes    INTEGER,
	output_bytes   INTEGER,
	files_modified TEXT,     -- JSON array
	command        TEXT,
	opened_us      INTEGER,
	closed_us      INTEGER,  -- NULL while it runs
	waited_ms      INTEGER,
	ran_ms         INTEGER,
	attempts       INTEGER
);
CREATE INDEX calls_session ON calls (session_id, id);
CREATE INDEX calls_tool_use ON calls (tool_use_id);

CREATE TABLE sessions (
	id         TEXT PRIMARY KEY,
	workspace  TEXT,
	kind       TEXT,
	client     TEXT,
	created_us INTEGER,
	ended_us   INTEGER       -- NULL while it is open
);

CREATE TABLE grants (
	id          TEXT PRIMARY KEY,
	workspace   TEXT,
	tool        TEXT,
	prefix      TEXT,        -- NULL: every use of the tool
	allow       INTEGER,
	created_us  INTEGER,
	answered_by TEXT
);
