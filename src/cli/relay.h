/*
 * relay.h - lines of JSON-RPC from here to the gateway and back, untouched.
 *
 *	stdin --> up ---> wire
 *	stdout <- down <- wire
 *
 * Requests and answers are counted, so that a client that closes its side after the last
 * request still gets the answers that are on their way.
 */

#ifndef CLI_RELAY_H
#define CLI_RELAY_H

#include "base/buf.h"

/* Until one side ends or a signal comes. early: bytes of the gateway that were read already.
 * An exit code; the wire is the caller's to close. */
int relay_run(int in, int out, int wire, struct str early);

/* A line of JSON-RPC: what the client sends, and what the gateway answers. */
bool relay_is_request(struct str line);
bool relay_is_answer(struct str line);

#endif
