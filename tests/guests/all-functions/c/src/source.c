/* The role pod source, with feedback: the answer that the configuration names. */
#include "tell.h"

bool exports_witlet_pod_source_source_validate(plugin_string_t *config, plugin_string_t *err)
{
    return settings_check(config, err);
}

static plugin_option_u64_t maybe_number(const cJSON *object, const char *key)
{
    return (plugin_option_u64_t){
        .is_some = cJSON_IsNumber(cJSON_GetObjectItemCaseSensitive(object, key)),
        .val = member_unsigned(object, key),
    };
}

static void take_pods(const cJSON *manifests, witlet_pod_source_types_snapshot_t *snapshot)
{
    plugin_list_string_t pods = {NULL, 0};
    size_t count = (size_t)cJSON_GetArraySize(manifests);
    if (count > 0 && (pods.ptr = malloc(count * sizeof *pods.ptr)) == NULL)
        abort();
    const cJSON *manifest;
    cJSON_ArrayForEach(manifest, manifests)
    {
        /* A text is handed on as it is. */
        const char *text = cJSON_GetStringValue(manifest);
        pods.ptr[pods.len++] = text == NULL ? witlet_json_text(manifest) : witlet_copy(witlet_view_c(text));
    }
    snapshot->tag = WITLET_POD_SOURCE_TYPES_SNAPSHOT_PODS;
    snapshot->val.pods = pods;
}

static plugin_string_t member_copy(const cJSON *object, const char *key)
{
    return witlet_copy(witlet_view_c(text_of(cJSON_GetObjectItemCaseSensitive(object, key))));
}

/* The answer of `config.poll`. */
static bool answer(const cJSON *settings, exports_witlet_pod_source_source_poll_result_t *result,
                   exports_witlet_pod_source_source_source_error_t *error)
{
    const cJSON *poll = cJSON_GetObjectItemCaseSensitive(settings, "poll");
    const cJSON *failure = cJSON_GetObjectItemCaseSensitive(poll, "error");
    const cJSON *pods = cJSON_GetObjectItemCaseSensitive(poll, "pods");
    if (cJSON_IsObject(failure)) {
        error->reason = member_copy(failure, "reason");
        error->message = member_copy(failure, "message");
        error->retry_after_milliseconds = maybe_number(failure, "retryAfterMilliseconds");
        return false;
    }
    if (cJSON_IsArray(pods)) {
        take_pods(pods, &result->snapshot);
    } else if (poll == NULL || cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(poll, "unchanged"))) {
        result->snapshot.tag = WITLET_POD_SOURCE_TYPES_SNAPSHOT_UNCHANGED;
    } else if (cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(poll, "empty"))) {
        result->snapshot.tag = WITLET_POD_SOURCE_TYPES_SNAPSHOT_EMPTY;
    } else {
        *error = witlet_source_error("Invalid", witlet_copy(WITLET_TEXT("there is no such answer")));
        return false;
    }
    result->cursor.is_some = member_text(settings, "cursor") != NULL;
    if (result->cursor.is_some)
        result->cursor.val = member_copy(settings, "cursor");
    result->next_poll_milliseconds = maybe_number(settings, "nextPollMilliseconds");
    return true;
}

bool exports_witlet_pod_source_source_poll(plugin_string_t *maybe_cursor,
                                           exports_witlet_pod_source_source_poll_result_t *ret,
                                           exports_witlet_pod_source_source_source_error_t *err)
{
    witlet_text cursor = maybe_cursor == NULL ? WITLET_TEXT("none") : witlet_view(*maybe_cursor);
    plugin_string_t line = witlet_format("cursor %.*s", WITLET_ARGS(cursor));
    witlet_log(WITLET_HOST_LOG_LEVEL_INFO, witlet_view(line), NULL, 0);
    plugin_string_free(&line);
    if (maybe_cursor != NULL)
        plugin_string_free(maybe_cursor);

    plugin_string_t error;
    cJSON *settings = settings_get(&error);
    if (settings == NULL) {
        *err = witlet_source_error("Invalid", error);
        return false;
    }
    bool good = answer(settings, ret, err);
    cJSON_Delete(settings);
    return good;
}

/* The statuses as a JSON list. */
static plugin_string_t tell_statuses(const exports_witlet_pod_source_feedback_list_pod_status_t *changed)
{
    cJSON *list = cJSON_CreateArray();
    for (size_t i = 0; i < changed->len; i++) {
        const exports_witlet_pod_source_feedback_pod_status_t *status = &changed->ptr[i];
        cJSON *told = cJSON_CreateObject();
        tell_text(told, "namespace", witlet_copy(witlet_view(status->namespace_)));
        tell_text(told, "name", witlet_copy(witlet_view(status->name)));
        tell_text(told, "uid", witlet_copy(witlet_view(status->uid)));
        if (status->status.is_some)
            tell_json(told, "status", witlet_copy(witlet_view(status->status.val)));
        else
            cJSON_AddNullToObject(told, "status");
        cJSON_AddItemToArray(list, told);
    }
    return tell_end(list);
}

bool exports_witlet_pod_source_feedback_statuses(exports_witlet_pod_source_feedback_list_pod_status_t *changed,
                                                 plugin_string_t *err)
{
    cJSON *settings = settings_get(err);
    bool good = settings != NULL;
    if (good && cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(settings, "tellStatuses"))) {
        *err = tell_statuses(changed);
        good = false;
    }
    cJSON_Delete(settings);
    exports_witlet_pod_source_feedback_list_pod_status_free(changed);
    return good;
}
