/* Which images may run: the configuration, and what it says of one container. */
#ifndef POLICY_H
#define POLICY_H

#include "witlet.h"

/* How many places a configuration may have. */
#define ALLOW_MAX 256

/* The configuration: {"allow": ["registry.example.com", "docker.io/library"], "requireDigest": false}. */
struct policy {
    /* The places that images may come from. Owned, as the texts in it. */
    plugin_string_t *allow;
    size_t allow_count;
    bool require_digest;
};

/* Reads a configuration. On success `policy` is owned: `policy_free`. Otherwise `error` is an owned text that says what is
 * wrong, and there is nothing else to free. */
bool policy_read(witlet_text config, struct policy *policy, plugin_string_t *error);

void policy_free(struct policy *policy);

/* Whether a container may run. Otherwise `reason` is a CamelCase word (a literal), and `message` an owned text. */
bool policy_allows(const struct policy *policy, witlet_text container, witlet_text image, const char **reason,
                   plugin_string_t *message);

#endif
