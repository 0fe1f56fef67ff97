/* A target, a server and a secret as the unit tests make them up. */
#ifndef FAKE_SERVER_H
#define FAKE_SERVER_H

#include "fake.h"
#include "tcp.h"

/* The pod's only address; NULL while it has none. */
extern const char *fake_pod_ip;

/* What the server sends, part by part, ended by NULL: then it closes. "!" and words is a failure with these words. */
extern const char *const *fake_server;

/* All that the plugin has sent since a test emptied it. */
extern char fake_sent[256];

/* How many connections the plugin holds, and the port of the last one. */
extern int fake_connections;
extern int fake_port;

/* The value of the secret `redis-password`; NULL while the node doesn't have it. Others aren't granted. */
extern const char *fake_secret;

#endif
