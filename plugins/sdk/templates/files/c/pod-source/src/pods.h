/* The pods of a configuration, without the host. */
#ifndef PODS_H
#define PODS_H

#include "pod_source.h"

/* How many pods a configuration may have. */
#define PODS_MAX 256

/* Reads a configuration, {"pods": [{…}, …]}: each manifest becomes a text. On success `manifests` is owned: `plugin_list_string_free`.
 * Otherwise `error` is an owned text, and there is nothing else to free. */
bool pods_read(witlet_text config, plugin_list_string_t *manifests, plugin_string_t *error);

/* What changes when the pods do: a hash of the manifests, as an owned text. */
plugin_string_t pods_cursor(const plugin_list_string_t *manifests);

#endif
