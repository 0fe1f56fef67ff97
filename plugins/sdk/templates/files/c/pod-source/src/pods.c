#include "pods.h"

#include <inttypes.h>

static bool check_pods(const cJSON *settings, plugin_string_t *error)
{
    static const char *const known[] = {"pods", NULL};
    const char *unknown = witlet_json_unknown(settings, known);
    if (unknown != NULL)
        return witlet_fail(error, "unknown field \"%s\"", unknown);
    const cJSON *pods = cJSON_GetObjectItemCaseSensitive(settings, "pods");
    if (!cJSON_IsArray(pods))
        return witlet_fail(error, "pods: a list of manifests is needed, and may be empty");
    int index = 0;
    const cJSON *pod;
    cJSON_ArrayForEach(pod, pods)
    {
        if (index == PODS_MAX)
            return witlet_fail(error, "pods: more than %d", PODS_MAX);
        if (!cJSON_IsObject(pod))
            return witlet_fail(error, "pods[%d]: a manifest is an object", index);
        index++;
    }
    return true;
}

bool pods_read(witlet_text config, plugin_list_string_t *manifests, plugin_string_t *error)
{
    cJSON *settings = witlet_json_settings(config);
    if (settings == NULL)
        return witlet_fail(error, "the configuration isn't a JSON object");
    if (!check_pods(settings, error)) {
        cJSON_Delete(settings);
        return false;
    }
    const cJSON *pods = cJSON_GetObjectItemCaseSensitive(settings, "pods"), *pod;
    *manifests = (plugin_list_string_t){NULL, 0};
    size_t count = (size_t)cJSON_GetArraySize(pods);
    if (count > 0) {
        manifests->ptr = malloc(count * sizeof *manifests->ptr);
        if (manifests->ptr == NULL)
            abort();
    }
    cJSON_ArrayForEach(pod, pods) manifests->ptr[manifests->len++] = witlet_json_text(pod);
    cJSON_Delete(settings);
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
