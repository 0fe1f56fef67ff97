/* A target and a server as the unit tests make them up. */
#ifndef FAKE_TARGET_H
#define FAKE_TARGET_H

#include "fake.h"
#include "tcp.h"

/* The pod's only address; NULL while it has none. */
extern const char *fake_pod_ip;

/* What the server sends, part by part, ended by NULL: then it closes. "!" and words is a failure with these words. */
extern const char *const *fake_server;

/* How many connections the plugin holds, and the port of the last one. */
extern int fake_connections;
extern int fake_port;

#endif
