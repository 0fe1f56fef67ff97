/* What plugins of all roles have: the package host. */
#include "call.h"

bool own_error(witlet_host_errors_own_error_t *error)
{
    witlet_error(error, "NoTable", "the table can't be read");
    witlet_error_retry_after(*error, 7000);
    witlet_error_detail(*error, "rows", WITLET_TEXT("7"));
    return false;
}

bool refuse(plugin_string_t *settings, witlet_host_errors_own_error_t *error)
{
    witlet_text value = witlet_json_settings(witlet_view(*settings));
    bool refused = witlet_json_equal(witlet_json_member(value, "do"), "refuse");
    plugin_string_free(settings);
    return refused ? own_error(error) : true;
}

void tell_own_error(struct tell *tell)
{
    witlet_host_errors_own_error_t own;
    own_error(&own);
    witlet_host_errors_borrow_error_t error = witlet_host_errors_borrow_error(own);
    tell_begin(tell, NULL, '{');
    CALL_TEXT("errors/error.code", witlet_host_errors_method_error_code, error);
    CALL_TEXT("errors/error.message", witlet_host_errors_method_error_message, error);
    CALL_OPTIONAL_NUMBER("errors/error.retry-after-milliseconds", uint64_t,
                         witlet_host_errors_method_error_retry_after_milliseconds, error);
    CALL_TEXT_OF("errors/error.detail", witlet_host_errors_method_error_detail, error, "rows");
    tell_end(tell, '}');
    witlet_host_errors_error_drop_own(own);
}

static void tell_metrics(struct tell *tell)
{
    plugin_tuple2_string_string_t label = {witlet_lend(WITLET_TEXT("how")), witlet_lend(WITLET_TEXT("once"))};
    plugin_list_tuple2_string_string_t labels = {&label, 1}, none = {NULL, 0};
    plugin_string_t asked = witlet_lend(WITLET_TEXT("asked")), answered = witlet_lend(WITLET_TEXT("answered"));
    witlet_host_metrics_add(&asked, &labels, 2);
    tell_word(tell, "metrics/add", "true");
    witlet_host_metrics_observe(&answered, &none, 0.5);
    tell_word(tell, "metrics/observe", "true");
}

static void tell_features(struct tell *tell)
{
    tell_begin(tell, "features/has", '[');
    for (int i = 0; i < 2; i++) {
        plugin_string_t name = witlet_lend(witlet_view_c(i == 0 ? "shadow" : "teleport"));
        tell_word(tell, NULL, word_of(witlet_host_features_has(&name)));
    }
    tell_end(tell, ']');
}

static void tell_secrets(struct tell *tell)
{
    tell_begin(tell, "secret/get", '[');
    for (int i = 0; i < 2; i++) {
        plugin_string_t name = witlet_lend(witlet_view_c(i == 0 ? "given" : "other"));
        plugin_list_u8_t value;
        witlet_host_secret_own_error_t error;
        if (witlet_host_secret_get(&name, &value, &error))
            tell_bytes(tell, NULL, value);
        else
            tell_code(tell, NULL, error);
    }
    tell_end(tell, ']');
}

void tell_host(struct tell *tell)
{
    plugin_string_t text;
    plugin_list_tuple2_string_string_t labels;
    plugin_list_string_t addresses;
    tell_begin(tell, NULL, '{');
    witlet_host_config_get(&text);
    tell_word(tell, "config/get", word_of(!witlet_equal(witlet_view(text), WITLET_TEXT("null"))));
    plugin_string_free(&text);
    tell_word(tell, "log/enabled", word_of(witlet_host_log_enabled(WITLET_HOST_LOG_LEVEL_ERROR)));
    tell_metrics(tell);
    tell_option(tell, "node/name", witlet_host_node_name(&text), &text);
    tell_begin(tell, "node/label", '[');
    for (int i = 0; i < 2; i++) {
        plugin_string_t key = witlet_lend(witlet_view_c(i == 0 ? "disk" : NONE));
        tell_option(tell, NULL, witlet_host_node_label(&key, &text), &text);
    }
    tell_end(tell, ']');
    witlet_host_node_labels(&labels);
    tell_pairs(tell, "node/labels", labels);
    tell_option(tell, "node/zone", witlet_host_node_zone(&text), &text);
    witlet_host_node_addresses(&addresses);
    tell_texts(tell, "node/addresses", addresses);
    tell_begin(tell, "node/allocatable", '[');
    for (int i = 0; i < 2; i++) {
        plugin_string_t resource = witlet_lend(witlet_view_c(i == 0 ? "cpu" : NONE));
        int64_t amount;
        if (witlet_host_node_allocatable(&resource, &amount))
            tell_signed(tell, NULL, amount);
        else
            tell_word(tell, NULL, "null");
    }
    tell_end(tell, ']');
    tell_features(tell);
    tell_secrets(tell);
    tell_end(tell, '}');
}

static void tell_snapshot(struct tell *tell, witlet_host_data_own_snapshot_t own)
{
    witlet_host_data_borrow_snapshot_t snapshot = witlet_host_data_borrow_snapshot(own);
    uint64_t size = witlet_host_data_method_snapshot_size(snapshot);
    uint64_t parts[][2] = {{0, size}, {1, 3}, {size, 1}};
    tell_begin(tell, NULL, '{');
    CALL_TEXT("data/snapshot.digest", witlet_host_data_method_snapshot_digest, snapshot);
    tell_unsigned(tell, "data/snapshot.size", size);
    tell_begin(tell, "data/snapshot.read", '[');
    for (int i = 0; i < 3; i++) {
        plugin_list_u8_t bytes;
        witlet_host_data_method_snapshot_read(snapshot, parts[i][0], parts[i][1], &bytes);
        tell_bytes(tell, NULL, bytes);
    }
    tell_end(tell, ']');
    tell_end(tell, '}');
    witlet_host_data_snapshot_drop_own(own);
}

void tell_data(struct tell *tell)
{
    plugin_list_string_t names;
    tell_begin(tell, NULL, '{');
    witlet_host_data_names(&names);
    tell_texts(tell, "data/names", names);
    tell_begin(tell, "data/open", '[');
    for (int i = 0; i < 2; i++) {
        plugin_string_t name = witlet_lend(witlet_view_c(i == 0 ? "list" : NONE));
        witlet_host_data_own_snapshot_t snapshot;
        witlet_host_data_own_error_t error;
        if (witlet_host_data_open(&name, &snapshot, &error))
            tell_snapshot(tell, snapshot);
        else
            tell_code(tell, NULL, error);
    }
    tell_end(tell, ']');
    tell_end(tell, '}');
}
