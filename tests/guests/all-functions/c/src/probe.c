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

static void tell_named_ports(cJSON *object, witlet_probe_types_borrow_target_t target)
{
    witlet_probe_types_list_named_port_t ports;
    witlet_probe_types_method_target_named_ports(target, &ports);
    cJSON *list = cJSON_AddArrayToObject(object, "named-ports");
    for (size_t i = 0; i < ports.len; i++) {
        cJSON *port = cJSON_CreateObject();
        tell_text(port, "name", witlet_copy(witlet_view(ports.ptr[i].name)));
        tell_unsigned(port, "port", ports.ptr[i].port);
        tell_text(port, "protocol", witlet_copy(witlet_view(ports.ptr[i].protocol)));
        cJSON_AddItemToArray(list, port);
    }
    witlet_probe_types_list_named_port_free(&ports);
}

static void tell_pod(cJSON *object, witlet_probe_types_borrow_target_t target)
{
    witlet_probe_types_pod_ref_t pod;
    witlet_probe_types_method_target_pod(target, &pod);
    cJSON *told = cJSON_AddObjectToObject(object, "pod");
    tell_text(told, "namespace", pod.namespace_);
    tell_text(told, "name", pod.name);
    tell_text(told, "uid", pod.uid);
}

static void tell_pointers(cJSON *object, witlet_probe_types_borrow_target_t target, const cJSON *pointers)
{
    cJSON *found = cJSON_AddObjectToObject(object, "pod-pointer");
    const cJSON *path;
    cJSON_ArrayForEach(path, pointers)
    {
        plugin_string_t pointer = witlet_lend(witlet_view_c(text_of(path))), text;
        bool is_some = witlet_probe_types_method_target_pod_pointer(target, &pointer, &text);
        tell_maybe(found, text_of(path), is_some, text);
    }
}

static void tell_target(cJSON *object, witlet_probe_types_borrow_target_t target)
{
    plugin_string_t text;
    plugin_list_string_t texts;
    tell_pod(object, target);
    witlet_probe_types_method_target_pod_json(target, &text);
    tell_unsigned(object, "pod-json-bytes", text.len);
    plugin_string_free(&text);
    witlet_probe_types_method_target_container(target, &text);
    tell_text(object, "container", text);
    witlet_probe_types_method_target_container_id(target, &text);
    tell_text(object, "container-id", text);
    tell_unsigned(object, "restarts", witlet_probe_types_method_target_restarts(target));
    witlet_probe_types_method_target_pod_ips(target, &texts);
    tell_texts(object, "pod-ips", texts);
    witlet_probe_types_method_target_host_ips(target, &texts);
    tell_texts(object, "host-ips", texts);
    tell_named_ports(object, target);
    cJSON_AddStringToObject(object, "kind", kinds[witlet_probe_types_method_target_kind(target)]);
    cJSON_AddBoolToObject(object, "remaining-milliseconds", witlet_probe_types_method_target_remaining_milliseconds(target) > 0);
}

static void tell_secret(cJSON *object, const char *name)
{
    plugin_string_t asked = witlet_lend(witlet_view_c(name));
    plugin_list_u8_t value;
    witlet_host_secret_secret_error_t error;
    if (witlet_host_secret_get(&asked, &value, &error)) {
        tell_text(object, "secret", witlet_copy_lossy((witlet_text){(const char *)value.ptr, value.len}));
        plugin_list_u8_free(&value);
    } else {
        cJSON_AddStringToObject(object, "secret", secret_errors[error]);
    }
}

static void tell_exec(cJSON *object, witlet_probe_types_borrow_target_t target, const cJSON *command)
{
    plugin_list_string_t words = {NULL, 0};
    size_t count = (size_t)cJSON_GetArraySize(command);
    if (count > 0 && (words.ptr = malloc(count * sizeof *words.ptr)) == NULL)
        abort();
    const cJSON *word;
    cJSON_ArrayForEach(word, command) words.ptr[words.len++] = witlet_lend(witlet_view_c(text_of(word)));

    cJSON *told = cJSON_AddObjectToObject(object, "exec");
    witlet_probe_exec_exec_result_t result;
    witlet_probe_exec_exec_error_t error;
    if (witlet_probe_exec_run(target, &words, &result, &error)) {
        tell_signed(told, "exit-code", result.exit_code);
        tell_text(told, "output", witlet_copy_lossy((witlet_text){(const char *)result.output.ptr, result.output.len}));
        plugin_list_u8_free(&result.output);
    } else if (error.tag == WITLET_PROBE_EXEC_EXEC_ERROR_TIMED_OUT) {
        cJSON_AddTrueToObject(told, "timed-out");
    } else {
        tell_text(told, "failed", error.val.failed);
    }
    /* Its texts are lent. */
    free(words.ptr);
}

/* All that the target has, as JSON. */
static plugin_string_t tell(witlet_probe_types_borrow_target_t target, const cJSON *parameters)
{
    cJSON *told = cJSON_CreateObject();
    tell_target(told, target);
    tell_pointers(told, target, cJSON_GetObjectItemCaseSensitive(parameters, "pointers"));
    const char *secret = member_text(parameters, "secret");
    if (secret != NULL)
        tell_secret(told, secret);
    else
        cJSON_AddNullToObject(told, "secret");
    const cJSON *command = cJSON_GetObjectItemCaseSensitive(parameters, "command");
    if (command != NULL)
        tell_exec(told, target, command);
    else
        cJSON_AddNullToObject(told, "exec");
    return tell_end(told);
}

static bool answer(witlet_probe_types_borrow_target_t target, const cJSON *parameters,
                   witlet_probe_types_outcome_t *outcome, plugin_string_t *error)
{
    const cJSON *named = cJSON_GetObjectItemCaseSensitive(parameters, "answer");
    const char *words = member_text(named, "error"), *word = text_of(named);
    if (words != NULL)
        return witlet_fail(error, "%s", words);
    if (named != NULL && strcmp(word, "success") != 0 && strcmp(word, "warning") != 0 && strcmp(word, "failure") != 0)
        return witlet_fail(error, "there is no such answer");
    plugin_string_t detail = tell(target, parameters);
    if (strcmp(word, "warning") == 0)
        *outcome = witlet_warning(detail);
    else if (strcmp(word, "failure") == 0)
        *outcome = witlet_failure(detail);
    else
        *outcome = witlet_success(detail);
    return true;
}

bool exports_witlet_probe_prober_probe(exports_witlet_probe_prober_borrow_target_t target, plugin_string_t *text,
                                       exports_witlet_probe_prober_outcome_t *ret, plugin_string_t *err)
{
    cJSON *parameters = witlet_json_settings(witlet_view(*text));
    plugin_string_free(text);
    if (parameters == NULL)
        return witlet_fail(err, "the parameters aren't a JSON object");
    bool good = answer(target, parameters, ret, err);
    cJSON_Delete(parameters);
    return good;
}
