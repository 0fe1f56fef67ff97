/* The role probe: every getter of a target, a command and a secret if the parameters name them. */
#include "tell.h"

static const char *const kinds[] = {"startup", "readiness", "liveness"};
static const char *const secret_errors[] = {"not-granted", "not-found"};

bool exports_witlet_probe_prober_validate(plugin_string_t *config, plugin_string_t *err)
{
    return settings_check(config, err);
}

bool exports_witlet_probe_prober_check_parameters(plugin_string_t *parameters, plugin_string_t *err)
{
    return settings_check(parameters, err);
}

static void tell_named_ports(struct tell *tell, witlet_probe_types_borrow_target_t target)
{
    witlet_probe_types_list_named_port_t ports;
    witlet_probe_types_method_target_named_ports(target, &ports);
    tell_begin(tell, "named-ports", '[');
    for (size_t i = 0; i < ports.len; i++) {
        tell_begin(tell, NULL, '{');
        tell_view(tell, "name", witlet_view(ports.ptr[i].name));
        tell_unsigned(tell, "port", ports.ptr[i].port);
        tell_view(tell, "protocol", witlet_view(ports.ptr[i].protocol));
        tell_end(tell, '}');
    }
    tell_end(tell, ']');
    witlet_probe_types_list_named_port_free(&ports);
}

static void tell_pod(struct tell *tell, witlet_probe_types_borrow_target_t target)
{
    witlet_probe_types_pod_ref_t pod;
    witlet_probe_types_method_target_pod(target, &pod);
    tell_begin(tell, "pod", '{');
    tell_text(tell, "namespace", pod.namespace_);
    tell_text(tell, "name", pod.name);
    tell_text(tell, "uid", pod.uid);
    tell_end(tell, '}');
}

static void tell_pointers(struct tell *tell, witlet_probe_types_borrow_target_t target, witlet_text pointers)
{
    tell_begin(tell, "pod-pointer", '{');
    for (witlet_json_items items = witlet_json_each(pointers); witlet_json_next(&items);) {
        plugin_string_t pointer = witlet_json_string(items.value), text;
        bool is_some = witlet_probe_types_method_target_pod_pointer(target, &pointer, &text);
        tell_maybe(tell, witlet_view(pointer), is_some, text);
        plugin_string_free(&pointer);
    }
    tell_end(tell, '}');
}

static void tell_target(struct tell *tell, witlet_probe_types_borrow_target_t target)
{
    plugin_string_t text;
    plugin_list_string_t texts;
    tell_pod(tell, target);
    witlet_probe_types_method_target_pod_json(target, &text);
    tell_unsigned(tell, "pod-json-bytes", text.len);
    plugin_string_free(&text);
    witlet_probe_types_method_target_container(target, &text);
    tell_text(tell, "container", text);
    witlet_probe_types_method_target_container_id(target, &text);
    tell_text(tell, "container-id", text);
    tell_unsigned(tell, "restarts", witlet_probe_types_method_target_restarts(target));
    witlet_probe_types_method_target_pod_ips(target, &texts);
    tell_texts(tell, "pod-ips", texts);
    witlet_probe_types_method_target_host_ips(target, &texts);
    tell_texts(tell, "host-ips", texts);
    tell_named_ports(tell, target);
    tell_view(tell, "kind", witlet_view_c(kinds[witlet_probe_types_method_target_kind(target)]));
    tell_word(tell, "remaining-milliseconds", witlet_probe_types_method_target_remaining_milliseconds(target) > 0 ? "true" : "false");
}

static void tell_secret(struct tell *tell, witlet_text named)
{
    plugin_string_t name = witlet_json_string(named);
    plugin_list_u8_t value;
    witlet_host_secret_secret_error_t error;
    if (named.len == 0) {
        tell_word(tell, "secret", "null");
    } else if (witlet_host_secret_get(&name, &value, &error)) {
        tell_text(tell, "secret", witlet_copy_lossy((witlet_text){(const char *)value.ptr, value.len}));
        plugin_list_u8_free(&value);
    } else {
        tell_view(tell, "secret", witlet_view_c(secret_errors[error]));
    }
    plugin_string_free(&name);
}

static void tell_exec(struct tell *tell, witlet_probe_types_borrow_target_t target, witlet_text command)
{
    plugin_list_string_t words = {NULL, 0};
    size_t count = witlet_json_count(command);
    if (count > 0 && (words.ptr = malloc(count * sizeof *words.ptr)) == NULL)
        abort();
    for (witlet_json_items items = witlet_json_each(command); witlet_json_next(&items);)
        words.ptr[words.len++] = witlet_json_string(items.value);

    tell_begin(tell, "exec", '{');
    witlet_probe_exec_exec_result_t result;
    witlet_probe_exec_exec_error_t error;
    if (witlet_probe_exec_run(target, &words, &result, &error)) {
        tell_signed(tell, "exit-code", result.exit_code);
        tell_text(tell, "output", witlet_copy_lossy((witlet_text){(const char *)result.output.ptr, result.output.len}));
        plugin_list_u8_free(&result.output);
    } else if (error.tag == WITLET_PROBE_EXEC_EXEC_ERROR_TIMED_OUT) {
        tell_word(tell, "timed-out", "true");
    } else {
        tell_text(tell, "failed", error.val.failed);
    }
    tell_end(tell, '}');
    plugin_list_string_free(&words);
}

/* All that the target has, as JSON. */
static plugin_string_t tell_all(witlet_probe_types_borrow_target_t target, witlet_text parameters)
{
    struct tell tell = {0};
    tell_begin(&tell, NULL, '{');
    tell_target(&tell, target);
    tell_pointers(&tell, target, witlet_json_member(parameters, "pointers"));
    tell_secret(&tell, witlet_json_member(parameters, "secret"));
    witlet_text command = witlet_json_member(parameters, "command");
    if (command.len > 0)
        tell_exec(&tell, target, command);
    else
        tell_word(&tell, "exec", "null");
    tell_end(&tell, '}');
    return tell_take(&tell);
}

static bool answer(witlet_probe_types_borrow_target_t target, witlet_text parameters,
                   witlet_probe_types_outcome_t *outcome, plugin_string_t *error)
{
    witlet_text named = witlet_json_member(parameters, "answer");
    if (member_fails(named, "error", error))
        return false;
    if (witlet_json_equal(named, "warning"))
        *outcome = witlet_warning(tell_all(target, parameters));
    else if (witlet_json_equal(named, "failure"))
        *outcome = witlet_failure(tell_all(target, parameters));
    else if (named.len == 0 || witlet_json_equal(named, "success"))
        *outcome = witlet_success(tell_all(target, parameters));
    else
        return witlet_fail(error, "there is no such answer");
    return true;
}

bool exports_witlet_probe_prober_probe(exports_witlet_probe_prober_borrow_target_t target, plugin_string_t *text,
                                       exports_witlet_probe_prober_outcome_t *ret, plugin_string_t *err)
{
    witlet_text parameters = witlet_json_settings(witlet_view(*text));
    bool good = parameters.len > 0 ? answer(target, parameters, ret, err)
                                   : witlet_fail(err, "the parameters aren't a JSON object");
    plugin_string_free(text);
    return good;
}
