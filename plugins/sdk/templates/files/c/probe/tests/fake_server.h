/* A server as the unit tests make it up, in place of the connections of wasi/tcp.h. */
#ifndef FAKE_SERVER_H
#define FAKE_SERVER_H

#include "tcp.h"

/* What the server sends, part by part, ended by NULL: then it closes. "!" and words is a failure with these words. */
extern const char *const *fake_server;

/* How many connections the plugin holds, and the port of the last one. */
extern int fake_connections;
extern int fake_port;

#endif
