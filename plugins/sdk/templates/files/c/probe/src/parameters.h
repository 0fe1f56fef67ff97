/* What a probe looks for. */
#ifndef PARAMETERS_H
#define PARAMETERS_H

#include "witlet.h"

/* How long the text may be that a server is expected to begin with, in bytes. */
#define EXPECT_MAX 256

/* The parameters of a probe: {"port": 25, "expect": "220 "}. */
struct parameters {
    uint16_t port;
    /* What the server sends first. Owned; not empty. */
    plugin_string_t expect;
};

/* Reads parameters. On success they are owned: `parameters_free`. Otherwise `error` is an owned text, and there is nothing else to
 * free. */
bool parameters_read(witlet_text text, struct parameters *parameters, plugin_string_t *error);

void parameters_free(struct parameters *parameters);

#endif
