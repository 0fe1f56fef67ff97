/* What is said to a Redis server, and what its answers mean (RESP: https://redis.io/docs/latest/develop/reference/protocol-spec/). */
#ifndef REDIS_H
#define REDIS_H

#include "witlet.h"

/* How long an answer may be, in bytes, without its line end. */
#define LINE_MAX_BYTES 1024

/* The command that sends a password, which may consist of any bytes. Owned. */
plugin_string_t redis_auth(witlet_text password);

/* A secret without the line end that a file may end with. A view. */
witlet_text redis_password(witlet_text secret);

/* The first line of what a server has sent so far, without its end. False until it is whole. A view. */
bool redis_line(witlet_text received, witlet_text *line);

/* Whether a line is the answer `expected` (such as "+PONG"). Otherwise `detail` is an owned text that says what it is instead. */
bool redis_is(witlet_text line, witlet_text expected, plugin_string_t *detail);

#endif
