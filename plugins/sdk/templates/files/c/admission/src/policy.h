/* The configuration, without the host. */
#ifndef POLICY_H
#define POLICY_H

#include "witlet.h"

/* How long the name of a label may be in Kubernetes, in bytes: a prefix of 253, a slash, a name of 63. */
#define LABEL_MAX 317

/* The configuration: {"label": "team"}. */
struct policy {
    /* The label that a pod must have. Owned. */
    plugin_string_t label;
};

/* Reads a configuration. On success `policy` is owned: `policy_free`. Otherwise `words` is an owned text that says what is
 * wrong, and there is nothing else to free. */
bool policy_read(witlet_text config, struct policy *policy, plugin_string_t *words);

void policy_free(struct policy *policy);

#endif
