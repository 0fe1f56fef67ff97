/* The exports of `witlet:pod-source/source`: what the host calls. */
#include "folder.h"
#include "json.h"

/* Reads the configuration, {"folder": "/pods"}. On success `path` is owned: `free`. Otherwise `error` is an owned text. */
static bool read_config(witlet_text config, char **path, plugin_string_t *error)
{
    static const char *const known[] = {"folder", NULL};
    witlet_text settings = witlet_json_settings(config);
    if (settings.len == 0)
        return witlet_fail(error, "the configuration isn't a JSON object");
    if (!witlet_json_only(settings, known, "field", error))
        return false;
    plugin_string_t folder = witlet_json_string(witlet_json_member(settings, "folder"));
    bool good = folder.len > 0 && folder.ptr[0] == '/' && memchr(folder.ptr, '\0', folder.len) == NULL;
    if (!good)
        witlet_fail(error, "folder: an absolute path is needed");
    else if ((*path = strndup((const char *)folder.ptr, folder.len)) == NULL)
        abort();
    plugin_string_free(&folder);
    return good;
}

bool exports_witlet_pod_source_source_validate(plugin_string_t *config, plugin_string_t *err)
{
    char *path;
    bool good = read_config(witlet_view(*config), &path, err);
    if (good)
        free(path);
    plugin_string_free(config);
    return good;
}

/* The folder that the configuration names. */
static bool find_folder(struct folder *folder, struct fault *fault)
{
    char *path;
    plugin_string_t config;
    witlet_host_config_get(&config);
    bool good = read_config(witlet_view(config), &path, &fault->message);
    plugin_string_free(&config);
    if (!good) {
        fault->reason = "Invalid";
        return false;
    }
    good = folder_read(path, folder, fault);
    free(path);
    return good;
}

/* Each file as a manifest. Takes over their contents. */
static witlet_pod_source_types_snapshot_t take_pods(struct folder *folder)
{
    witlet_pod_source_types_snapshot_t snapshot = {.tag = WITLET_POD_SOURCE_TYPES_SNAPSHOT_EMPTY};
    if (folder->count == 0)
        return snapshot;
    plugin_list_string_t pods = {malloc(folder->count * sizeof *pods.ptr), folder->count};
    if (pods.ptr == NULL)
        abort();
    for (size_t i = 0; i < folder->count; i++) {
        pods.ptr[i] = folder->files[i].contents;
        folder->files[i].contents = (plugin_string_t){NULL, 0};
    }
    snapshot.tag = WITLET_POD_SOURCE_TYPES_SNAPSHOT_PODS;
    snapshot.val.pods = pods;
    return snapshot;
}

/* What a folder says to a caller who has seen what `before` stands for (NULL: nothing). */
static bool compare(struct folder *folder, const plugin_string_t *before, witlet_pod_source_types_poll_result_t *result,
                    struct fault *fault)
{
    plugin_string_t now = folder_cursor(folder);
    if (before != NULL && witlet_equal(witlet_view(*before), witlet_view(now))) {
        /* The same files were checked before. */
        result->snapshot.tag = WITLET_POD_SOURCE_TYPES_SNAPSHOT_UNCHANGED;
    } else if (folder_check(folder, fault)) {
        result->snapshot = take_pods(folder);
    } else {
        plugin_string_free(&now);
        return false;
    }
    result->cursor = (plugin_option_string_t){.is_some = true, .val = now};
    result->next_poll_milliseconds.is_some = false;
    return true;
}

bool exports_witlet_pod_source_source_poll(plugin_string_t *maybe_cursor,
                                           exports_witlet_pod_source_source_poll_result_t *ret,
                                           exports_witlet_pod_source_source_source_error_t *err)
{
    struct folder folder;
    struct fault fault;
    bool good = find_folder(&folder, &fault);
    if (good) {
        good = compare(&folder, maybe_cursor, ret, &fault);
        folder_free(&folder);
    }
    if (!good)
        *err = witlet_source_error(fault.reason, fault.message);
    if (maybe_cursor != NULL)
        plugin_string_free(maybe_cursor);
    return good;
}
