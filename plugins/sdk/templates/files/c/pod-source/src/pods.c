#include "pods.h"

#include <inttypes.h>

#include "json.h"

static bool check_pods(witlet_text settings, plugin_string_t *error)
{
    static const char *const known[] = {"pods", NULL};
    if (!witlet_json_only(settings, known, "field", error))
        return false;
    witlet_text pods = witlet_json_member(settings, "pods");
    if (!witlet_json_is_array(pods))
        return witlet_fail(error, "pods: a list of manifests is needed, and may be empty");
    int index = 0;
    for (witlet_json_items items = witlet_json_each(pods); witlet_json_next(&items); index++) {
        if (index == PODS_MAX)
            return witlet_fail(error, "pods: more than %d", PODS_MAX);
        if (!witlet_json_is_object(items.value))
            return witlet_fail(error, "pods[%d]: a manifest is an object", index);
    }
    return true;
}

bool pods_read(witlet_text config, plugin_list_string_t *manifests, plugin_string_t *error)
{
    witlet_text settings = witlet_json_settings(config);
    if (settings.len == 0)
        return witlet_fail(error, "the configuration isn't a JSON object");
    if (!check_pods(settings, error))
        return false;
    witlet_text pods = witlet_json_member(settings, "pods");
    *manifests = (plugin_list_string_t){NULL, 0};
    size_t count = witlet_json_count(pods);
    if (count > 0 && (manifests->ptr = malloc(count * sizeof *manifests->ptr)) == NULL)
        abort();
    /* A manifest is handed on as it is written. */
    for (witlet_json_items items = witlet_json_each(pods); witlet_json_next(&items);)
        manifests->ptr[manifests->len++] = witlet_copy(items.value);
    return true;
}

plugin_string_t pods_cursor(const plugin_list_string_t *manifests)
{
    uint64_t hash = WITLET_HASH_START;
    for (size_t i = 0; i < manifests->len; i++) {
        hash = witlet_hash(hash, witlet_view(manifests->ptr[i]));
        /* What no JSON text contains stands between two of them. */
        hash = witlet_hash(hash, WITLET_TEXT("\0"));
    }
    return witlet_format("%016" PRIx64, hash);
}
