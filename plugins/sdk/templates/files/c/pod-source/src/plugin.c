/* The exports of `witlet:pod-source/source`: what the host calls. */
#include "pods.h"

bool exports_witlet_pod_source_source_validate(plugin_string_t *config, plugin_string_t *err)
{
    plugin_list_string_t manifests;
    bool good = pods_read(witlet_view(*config), &manifests, err);
    if (good)
        plugin_list_string_free(&manifests);
    plugin_string_free(config);
    return good;
}

/* What the source has, in relation to a cursor. Takes over the manifests. */
static witlet_pod_source_types_snapshot_t snapshot(plugin_list_string_t manifests, const plugin_string_t *before,
                                                   const plugin_string_t *now)
{
    witlet_pod_source_types_snapshot_t snapshot = {.tag = WITLET_POD_SOURCE_TYPES_SNAPSHOT_PODS};
    if (before != NULL && witlet_equal(witlet_view(*before), witlet_view(*now))) {
        snapshot.tag = WITLET_POD_SOURCE_TYPES_SNAPSHOT_UNCHANGED;
        plugin_list_string_free(&manifests);
    } else if (manifests.len == 0) {
        snapshot.tag = WITLET_POD_SOURCE_TYPES_SNAPSHOT_EMPTY;
    } else {
        witlet_log(WITLET_HOST_LOG_LEVEL_INFO, WITLET_TEXT("other pods than before"), NULL, 0);
        snapshot.val.pods = manifests;
    }
    return snapshot;
}

bool exports_witlet_pod_source_source_poll(plugin_string_t *maybe_cursor,
                                           exports_witlet_pod_source_source_poll_result_t *ret,
                                           exports_witlet_pod_source_source_source_error_t *err)
{
    plugin_string_t config, error;
    witlet_host_config_get(&config);
    plugin_list_string_t manifests;
    bool good = pods_read(witlet_view(config), &manifests, &error);
    plugin_string_free(&config);
    if (good) {
        plugin_string_t cursor = pods_cursor(&manifests);
        ret->snapshot = snapshot(manifests, maybe_cursor, &cursor);
        ret->cursor = (plugin_option_string_t){.is_some = true, .val = cursor};
        ret->next_poll_milliseconds.is_some = false;
    } else {
        *err = witlet_source_error("Invalid", error);
    }
    if (maybe_cursor != NULL)
        plugin_string_free(maybe_cursor);
    return good;
}
