/* The role pod source, with feedback: the answer that the configuration names. */
#include "call.h"

#define METHOD(name) witlet_pod_source_source_types_method_##name

bool exports_witlet_pod_source_source_validate(exports_witlet_pod_source_source_borrow_setup_t setup, plugin_string_t *config,
                                               exports_witlet_pod_source_source_own_error_t *err)
{
    plugin_string_t warning = witlet_lend(WITLET_TEXT("of the configuration"));
    METHOD(setup_warn)(setup, &warning);
    return refuse(config, err);
}

static void log_cursor(plugin_string_t *maybe_cursor)
{
    witlet_text cursor = maybe_cursor == NULL ? WITLET_TEXT("none") : witlet_view(*maybe_cursor);
    plugin_string_t line = witlet_format("cursor %.*s", WITLET_ARGS(cursor));
    witlet_log(WITLET_HOST_LOG_LEVEL_INFO, witlet_view(line), NULL, 0);
    plugin_string_free(&line);
    if (maybe_cursor != NULL)
        plugin_string_free(maybe_cursor);
}

bool exports_witlet_pod_source_source_poll(plugin_string_t *maybe_cursor, exports_witlet_pod_source_source_borrow_answer_t answer,
                                           exports_witlet_pod_source_source_own_error_t *err)
{
    log_cursor(maybe_cursor);
    plugin_string_t config;
    witlet_host_config_get(&config);
    witlet_text settings = witlet_json_settings(witlet_view(config)), part = witlet_json_member(settings, "do");
    witlet_text cursor = witlet_json_member(settings, "cursor");
    witlet_text next = witlet_json_member(settings, "nextPollMilliseconds");
    bool good = true;
    if (witlet_json_equal(part, "error")) {
        good = own_error(err);
    } else if (witlet_json_equal(part, "empty")) {
        METHOD(answer_empty)(answer);
    } else if (witlet_json_equal(part, "host")) {
        struct tell tell = {0};
        tell_host(&tell);
        plugin_string_t manifest = tell_take(&tell);
        witlet_pod(answer, witlet_view(manifest));
        plugin_string_free(&manifest);
    } else if (witlet_json_equal(part, "pods")) {
        witlet_text pods = witlet_json_member(settings, "pods");
        for (witlet_json_items items = witlet_json_each(pods); witlet_json_next(&items);)
            witlet_pod(answer, items.value);
    } else {
        METHOD(answer_unchanged)(answer);
    }
    if (good && cursor.len > 0) {
        plugin_string_t text = witlet_json_string(cursor);
        witlet_cursor(answer, witlet_view(text));
        plugin_string_free(&text);
    }
    if (good && next.len > 0)
        METHOD(answer_next_poll_milliseconds)(answer, (uint64_t)member_number(settings, "nextPollMilliseconds"));
    plugin_string_free(&config);
    return good;
}

/* A change, as a line of the log: its getters and what they return. */
static void log_change(witlet_pod_source_source_types_borrow_change_t change)
{
    typedef void getter(witlet_pod_source_source_types_borrow_change_t, plugin_string_t *);
    static const struct {
        const char *name;
        getter *get;
    } getters[] = {
        {"change.kind", METHOD(change_kind)},     {"change.namespace", METHOD(change_namespace)},
        {"change.name", METHOD(change_name)},     {"change.uid", METHOD(change_uid)},
        {"change.phase", METHOD(change_phase)},   {"change.reason", METHOD(change_reason)},
        {"change.message", METHOD(change_message)},
    };
    enum { COUNT = sizeof getters / sizeof *getters };
    plugin_string_t values[COUNT], status;
    witlet_field fields[COUNT + 1];
    for (size_t i = 0; i < COUNT; i++) {
        getters[i].get(change, &values[i]);
        fields[i] = (witlet_field){getters[i].name, witlet_view(values[i])};
    }
    bool has_status = METHOD(change_status)(change, &status);
    fields[COUNT] = (witlet_field){"change.status", has_status ? witlet_view(status) : WITLET_TEXT(NONE)};
    witlet_log(WITLET_HOST_LOG_LEVEL_INFO, WITLET_TEXT("news.next"), fields, COUNT + 1);
    for (size_t i = 0; i < COUNT; i++)
        plugin_string_free(&values[i]);
    if (has_status)
        plugin_string_free(&status);
}

bool exports_witlet_pod_source_feedback_notify(exports_witlet_pod_source_feedback_borrow_news_t news,
                                               exports_witlet_pod_source_feedback_own_error_t *err)
{
    (void)err;
    witlet_pod_source_source_types_own_change_t change;
    while (METHOD(news_next)(news, &change)) {
        log_change(witlet_pod_source_source_types_borrow_change(change));
        witlet_pod_source_source_types_change_drop_own(change);
    }
    return true;
}
