/* The role pod source, with feedback: the answer that the configuration names. */
#include "tell.h"

bool exports_witlet_pod_source_source_validate(plugin_string_t *config, plugin_string_t *err)
{
    return settings_check(config, err);
}

static plugin_option_u64_t maybe_number(witlet_text object, const char *key)
{
    return (plugin_option_u64_t){
        .is_some = witlet_json_member(object, key).len > 0,
        .val = (uint64_t)member_number(object, key),
    };
}

static void take_pods(witlet_text manifests, witlet_pod_source_types_snapshot_t *snapshot)
{
    plugin_list_string_t pods = {NULL, 0};
    size_t count = witlet_json_count(manifests);
    if (count > 0 && (pods.ptr = malloc(count * sizeof *pods.ptr)) == NULL)
        abort();
    /* A text is handed on as what it stands for. */
    for (witlet_json_items items = witlet_json_each(manifests); witlet_json_next(&items);)
        pods.ptr[pods.len++] =
            witlet_json_is_string(items.value) ? witlet_json_string(items.value) : witlet_copy(items.value);
    snapshot->tag = WITLET_POD_SOURCE_TYPES_SNAPSHOT_PODS;
    snapshot->val.pods = pods;
}

/* The answer of `config.poll`. */
static bool answer(witlet_text settings, exports_witlet_pod_source_source_poll_result_t *result,
                   exports_witlet_pod_source_source_source_error_t *error)
{
    witlet_text poll = witlet_json_member(settings, "poll");
    witlet_text failure = witlet_json_member(poll, "error"), pods = witlet_json_member(poll, "pods");
    if (witlet_json_is_object(failure)) {
        error->reason = member_text(failure, "reason");
        error->message = member_text(failure, "message");
        error->retry_after_milliseconds = maybe_number(failure, "retryAfterMilliseconds");
        return false;
    }
    if (witlet_json_is_array(pods)) {
        take_pods(pods, &result->snapshot);
    } else if (poll.len == 0 || witlet_json_is_true(witlet_json_member(poll, "unchanged"))) {
        result->snapshot.tag = WITLET_POD_SOURCE_TYPES_SNAPSHOT_UNCHANGED;
    } else if (witlet_json_is_true(witlet_json_member(poll, "empty"))) {
        result->snapshot.tag = WITLET_POD_SOURCE_TYPES_SNAPSHOT_EMPTY;
    } else {
        *error = witlet_source_error("Invalid", witlet_copy(WITLET_TEXT("there is no such answer")));
        return false;
    }
    result->cursor.is_some = witlet_json_is_string(witlet_json_member(settings, "cursor"));
    if (result->cursor.is_some)
        result->cursor.val = member_text(settings, "cursor");
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

    plugin_string_t config, error;
    witlet_text settings = settings_get(&config, &error);
    if (settings.len == 0) {
        *err = witlet_source_error("Invalid", error);
        return false;
    }
    bool good = answer(settings, ret, err);
    plugin_string_free(&config);
    return good;
}

/* The statuses as a JSON list. */
static plugin_string_t tell_statuses(const exports_witlet_pod_source_feedback_list_pod_status_t *changed)
{
    struct tell tell = {0};
    tell_begin(&tell, NULL, '[');
    for (size_t i = 0; i < changed->len; i++) {
        const exports_witlet_pod_source_feedback_pod_status_t *status = &changed->ptr[i];
        tell_begin(&tell, NULL, '{');
        tell_view(&tell, "namespace", witlet_view(status->namespace_));
        tell_view(&tell, "name", witlet_view(status->name));
        tell_view(&tell, "uid", witlet_view(status->uid));
        if (status->status.is_some)
            tell_json(&tell, "status", witlet_copy(witlet_view(status->status.val)));
        else
            tell_word(&tell, "status", "null");
        tell_end(&tell, '}');
    }
    tell_end(&tell, ']');
    return tell_take(&tell);
}

bool exports_witlet_pod_source_feedback_statuses(exports_witlet_pod_source_feedback_list_pod_status_t *changed,
                                                 plugin_string_t *err)
{
    plugin_string_t config;
    witlet_text settings = settings_get(&config, err);
    bool good = settings.len > 0;
    if (good && witlet_json_is_true(witlet_json_member(settings, "tellStatuses"))) {
        *err = tell_statuses(changed);
        good = false;
    }
    if (settings.len > 0)
        plugin_string_free(&config);
    exports_witlet_pod_source_feedback_list_pod_status_free(changed);
    return good;
}
