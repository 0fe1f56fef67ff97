/* The exports of `witlet:pod-source/source`: what the host calls. */
#include "pod_source.h"

#include "pods.h"

/* The pods of a configuration; false with an error of the contract's kind. */
static bool load(plugin_string_t config, plugin_list_string_t *manifests, witlet_error_t *error)
{
    plugin_string_t words;
    return pods_read(witlet_view(config), manifests, &words) || witlet_error_owned(error, "InvalidConfiguration", words);
}

bool exports_witlet_pod_source_source_validate(witlet_setup_t setup, plugin_string_t *config, witlet_error_t *error)
{
    plugin_list_string_t manifests;
    bool good = load(*config, &manifests, error);
    plugin_string_free(config);
    (void)setup;
    if (good)
        plugin_list_string_free(&manifests);
    return good;
}

/* What the source has, in relation to a cursor. */
static void tell(const plugin_list_string_t *manifests, witlet_text before, witlet_answer_t answer)
{
    WITLET_FREED cursor = pods_cursor(manifests);
    witlet_cursor(answer, witlet_view(cursor));
    if (witlet_equal(before, witlet_view(cursor))) {
        witlet_unchanged(answer);
        return;
    }
    witlet_log(WITLET_HOST_LOG_LEVEL_INFO, WITLET_TEXT("other pods than before"), NULL, 0);
    if (manifests->len == 0)
        witlet_empty(answer);
    for (size_t i = 0; i < manifests->len; i++)
        witlet_pod(answer, witlet_view(manifests->ptr[i]));
}

bool exports_witlet_pod_source_source_poll(plugin_string_t *maybe_cursor, witlet_answer_t answer, witlet_error_t *error)
{
    /* A source that can't find out what it has ends with an error, never with `witlet_empty`: for the host that would be the end of all its
     * pods. */
    WITLET_FREED before = maybe_cursor != NULL ? *maybe_cursor : (plugin_string_t){NULL, 0};
    WITLET_FREED config = witlet_config();
    plugin_list_string_t manifests;
    if (!load(config, &manifests, error))
        return false;
    tell(&manifests, witlet_view(before), answer);
    plugin_list_string_free(&manifests);
    return true;
}
