/* The role admission: every getter of a request, or the verdict that the configuration names. */
#include "tell.h"

/* The enums' names in the contract, in its order. */
static const char *const operations[] = {"add", "resize"};
static const char *const qos_classes[] = {"guaranteed", "burstable", "best-effort"};
static const char *const container_kinds[] = {"init", "sidecar", "app", "ephemeral"};
static const char *const levels[] = {"trace", "debug", "info", "warn", "error"};

bool exports_witlet_admission_handler_validate(plugin_string_t *config, plugin_string_t *err)
{
    return settings_check(config, err);
}

static void tell_quantities(cJSON *object, const char *key, witlet_admission_types_list_quantity_t quantities)
{
    cJSON *list = cJSON_AddArrayToObject(object, key);
    for (size_t i = 0; i < quantities.len; i++) {
        cJSON *quantity = cJSON_CreateObject();
        tell_text(quantity, "resource", witlet_copy(witlet_view(quantities.ptr[i].resource)));
        tell_signed(quantity, "amount", quantities.ptr[i].amount);
        cJSON_AddItemToArray(list, quantity);
    }
    witlet_admission_types_list_quantity_free(&quantities);
}

static void tell_host_ports(cJSON *object, const char *key, witlet_admission_types_list_host_port_t ports)
{
    cJSON *list = cJSON_AddArrayToObject(object, key);
    for (size_t i = 0; i < ports.len; i++) {
        cJSON *port = cJSON_CreateObject();
        tell_text(port, "ip", witlet_copy(witlet_view(ports.ptr[i].ip)));
        tell_text(port, "protocol", witlet_copy(witlet_view(ports.ptr[i].protocol)));
        tell_unsigned(port, "port", ports.ptr[i].port);
        cJSON_AddItemToArray(list, port);
    }
    witlet_admission_types_list_host_port_free(&ports);
}

static void tell_containers(cJSON *object, witlet_admission_types_borrow_pod_t pod)
{
    witlet_admission_types_list_container_t containers;
    witlet_admission_types_method_pod_containers(pod, &containers);
    cJSON *list = cJSON_AddArrayToObject(object, "containers");
    for (size_t i = 0; i < containers.len; i++) {
        cJSON *container = cJSON_CreateObject();
        tell_text(container, "name", witlet_copy(witlet_view(containers.ptr[i].name)));
        cJSON_AddStringToObject(container, "kind", container_kinds[containers.ptr[i].kind]);
        tell_text(container, "image", witlet_copy(witlet_view(containers.ptr[i].image)));
        cJSON_AddItemToArray(list, container);
    }
    witlet_admission_types_list_container_free(&containers);
}

static void tell_identity(cJSON *object, witlet_admission_types_borrow_pod_t pod)
{
    witlet_admission_types_pod_ref_t identity;
    witlet_admission_types_method_pod_identity(pod, &identity);
    cJSON *told = cJSON_AddObjectToObject(object, "identity");
    tell_text(told, "namespace", identity.namespace_);
    tell_text(told, "name", identity.name);
    tell_text(told, "uid", identity.uid);
}

static cJSON *tell_pod(witlet_admission_types_borrow_pod_t pod, const cJSON *pointers)
{
    cJSON *object = cJSON_CreateObject();
    plugin_string_t text;
    plugin_list_tuple2_string_string_t pairs;
    tell_identity(object, pod);
    witlet_admission_types_method_pod_source(pod, &text);
    tell_text(object, "source", text);
    witlet_admission_types_method_pod_labels(pod, &pairs);
    tell_pairs(object, "labels", pairs);
    witlet_admission_types_method_pod_annotations(pod, &pairs);
    tell_pairs(object, "annotations", pairs);
    tell_signed(object, "priority", witlet_admission_types_method_pod_priority(pod));
    tell_containers(object, pod);
    witlet_admission_types_list_quantity_t requests;
    witlet_admission_types_method_pod_requests(pod, &requests);
    tell_quantities(object, "requests", requests);
    witlet_admission_types_list_host_port_t ports;
    witlet_admission_types_method_pod_host_ports(pod, &ports);
    tell_host_ports(object, "host-ports", ports);
    cJSON_AddStringToObject(object, "qos", qos_classes[witlet_admission_types_method_pod_qos(pod)]);
    witlet_admission_types_method_pod_json(pod, &text);
    tell_unsigned(object, "json-bytes", text.len);
    plugin_string_free(&text);

    cJSON *found = cJSON_AddObjectToObject(object, "pointer");
    const cJSON *path;
    cJSON_ArrayForEach(path, pointers)
    {
        plugin_string_t pointer = witlet_lend(witlet_view_c(text_of(path)));
        bool is_some = witlet_admission_types_method_pod_pointer(pod, &pointer, &text);
        tell_maybe(found, text_of(path), is_some, text);
    }
    return object;
}

static void tell_taints(cJSON *object, witlet_admission_types_borrow_node_t node)
{
    witlet_admission_types_list_taint_t taints;
    witlet_admission_types_method_node_taints(node, &taints);
    cJSON *list = cJSON_AddArrayToObject(object, "taints");
    for (size_t i = 0; i < taints.len; i++) {
        cJSON *taint = cJSON_CreateObject();
        tell_text(taint, "key", witlet_copy(witlet_view(taints.ptr[i].key)));
        tell_text(taint, "value", witlet_copy(witlet_view(taints.ptr[i].value)));
        tell_text(taint, "effect", witlet_copy(witlet_view(taints.ptr[i].effect)));
        cJSON_AddItemToArray(list, taint);
    }
    witlet_admission_types_list_taint_free(&taints);
}

static void tell_conditions(cJSON *object, witlet_admission_types_borrow_node_t node)
{
    witlet_admission_types_list_condition_t conditions;
    witlet_admission_types_method_node_conditions(node, &conditions);
    cJSON *list = cJSON_AddArrayToObject(object, "conditions");
    for (size_t i = 0; i < conditions.len; i++) {
        cJSON *condition = cJSON_CreateObject();
        tell_text(condition, "kind", witlet_copy(witlet_view(conditions.ptr[i].kind)));
        tell_text(condition, "status", witlet_copy(witlet_view(conditions.ptr[i].status)));
        tell_text(condition, "reason", witlet_copy(witlet_view(conditions.ptr[i].reason)));
        tell_text(condition, "message", witlet_copy(witlet_view(conditions.ptr[i].message)));
        cJSON_AddItemToArray(list, condition);
    }
    witlet_admission_types_list_condition_free(&conditions);
}

static cJSON *tell_node(witlet_admission_types_borrow_node_t node, const cJSON *pointers)
{
    cJSON *object = cJSON_CreateObject();
    plugin_string_t text;
    plugin_list_tuple2_string_string_t pairs;
    witlet_admission_types_list_quantity_t quantities;
    witlet_admission_types_method_node_name(node, &text);
    tell_text(object, "name", text);
    witlet_admission_types_method_node_labels(node, &pairs);
    tell_pairs(object, "labels", pairs);
    tell_taints(object, node);
    witlet_admission_types_method_node_capacity(node, &quantities);
    tell_quantities(object, "capacity", quantities);
    witlet_admission_types_method_node_allocatable(node, &quantities);
    tell_quantities(object, "allocatable", quantities);
    witlet_admission_types_method_node_requested(node, &quantities);
    tell_quantities(object, "requested", quantities);
    witlet_admission_types_list_host_port_t ports;
    witlet_admission_types_method_node_used_host_ports(node, &ports);
    tell_host_ports(object, "used-host-ports", ports);
    tell_conditions(object, node);
    witlet_admission_types_method_node_facts(node, &pairs);
    tell_pairs(object, "facts", pairs);
    witlet_admission_types_method_node_devices(node, &text);
    tell_json(object, "devices", text);
    witlet_admission_types_method_node_json(node, &text);
    tell_unsigned(object, "json-bytes", text.len);
    plugin_string_free(&text);

    cJSON *found = cJSON_AddObjectToObject(object, "pointer");
    const cJSON *path;
    cJSON_ArrayForEach(path, pointers)
    {
        plugin_string_t pointer = witlet_lend(witlet_view_c(text_of(path)));
        bool is_some = witlet_admission_types_method_node_pointer(node, &pointer, &text);
        tell_maybe(found, text_of(path), is_some, text);
    }
    return object;
}

/* All that the request has, as JSON. Takes over `settings`. */
static plugin_string_t tell_request(witlet_admission_types_borrow_request_t request, cJSON *settings)
{
    const cJSON *pointers = cJSON_GetObjectItemCaseSensitive(settings, "pointers");
    cJSON *told = cJSON_CreateObject();
    cJSON_AddStringToObject(told, "operation", operations[witlet_admission_types_method_request_operation(request)]);
    witlet_admission_types_datetime_t moment;
    witlet_admission_types_method_request_now(request, &moment);
    cJSON *now = cJSON_AddObjectToObject(told, "now");
    tell_signed(now, "seconds", moment.seconds);
    tell_unsigned(now, "nanoseconds", moment.nanoseconds);

    witlet_admission_types_own_pod_t pod = witlet_admission_types_method_request_pod(request);
    cJSON_AddItemToObject(told, "pod", tell_pod(witlet_admission_types_borrow_pod(pod), pointers));
    witlet_admission_types_pod_drop_own(pod);
    witlet_admission_types_own_node_t node = witlet_admission_types_method_request_node(request);
    cJSON_AddItemToObject(told, "node", tell_node(witlet_admission_types_borrow_node(node), pointers));
    witlet_admission_types_node_drop_own(node);

    witlet_admission_types_list_own_pod_t others;
    witlet_admission_types_method_request_other_pods(request, &others);
    cJSON *list = cJSON_AddArrayToObject(told, "other-pods");
    for (size_t i = 0; i < others.len; i++) {
        cJSON_AddItemToArray(list, tell_pod(witlet_admission_types_borrow_pod(others.ptr[i]), pointers));
        witlet_admission_types_pod_drop_own(others.ptr[i]);
    }
    witlet_admission_types_list_own_pod_free(&others);
    cJSON_AddItemToObject(told, "config", settings);
    return tell_end(told);
}

static void log_each_level(void)
{
    for (witlet_host_log_level_t level = WITLET_HOST_LOG_LEVEL_TRACE; level <= WITLET_HOST_LOG_LEVEL_ERROR; level++) {
        char line[32];
        snprintf(line, sizeof line, "told at %s", levels[level]);
        witlet_log(level, witlet_view_c(line), (witlet_field[]){{"language", WITLET_TEXT("c")}}, 1);
    }
}

/* The number behind the next `"key":` of a text, which is moved on. cJSON's numbers are doubles, and a shortage's are 64 bits. */
static int64_t next_number(const char **text, const char *key)
{
    const char *found = strstr(*text, key);
    if (found == NULL)
        return 0;
    char *end;
    int64_t number = strtoll(found + strlen(key), &end, 10);
    *text = end;
    return number;
}

static witlet_admission_types_verdict_t shortage(const cJSON *list, const char *config)
{
    witlet_admission_types_verdict_t verdict = {.tag = WITLET_ADMISSION_TYPES_VERDICT_SHORTAGE};
    size_t count = (size_t)cJSON_GetArraySize(list);
    witlet_admission_types_shortage_t *shortages = NULL;
    if (count > 0 && (shortages = calloc(count, sizeof *shortages)) == NULL)
        abort();
    const char *requested = config, *used = config, *capacity = config;
    size_t i = 0;
    const cJSON *one;
    cJSON_ArrayForEach(one, list)
    {
        shortages[i++] = (witlet_admission_types_shortage_t){
            .resource = witlet_copy(witlet_view_c(text_of(cJSON_GetObjectItemCaseSensitive(one, "resource")))),
            .requested = next_number(&requested, "\"requested\":"),
            .used = next_number(&used, "\"used\":"),
            .capacity = next_number(&capacity, "\"capacity\":"),
        };
    }
    verdict.val.shortage = (witlet_admission_types_list_shortage_t){shortages, count};
    return verdict;
}

/* The shortage of the configuration, with all its digits. */
static witlet_admission_types_verdict_t exact_shortage(const cJSON *list)
{
    plugin_string_t text;
    witlet_host_config_get(&text);
    plugin_string_t terminated = witlet_format("%.*s%c", WITLET_ARGS(witlet_view(text)), '\0');
    witlet_admission_types_verdict_t verdict = shortage(list, (const char *)terminated.ptr);
    plugin_string_free(&terminated);
    plugin_string_free(&text);
    return verdict;
}

/* The verdict that is named. */
static bool answer(const cJSON *named, witlet_admission_types_verdict_t *verdict, plugin_string_t *error)
{
    const char *word = cJSON_GetStringValue(named), *words = member_text(named, "error");
    const cJSON *deferral = cJSON_GetObjectItemCaseSensitive(named, "defer");
    const cJSON *shortages = cJSON_GetObjectItemCaseSensitive(named, "shortage");
    if (words != NULL)
        return witlet_fail(error, "%s", words);
    if (word != NULL && strcmp(word, "admit") == 0) {
        *verdict = witlet_admit();
    } else if (cJSON_IsObject(deferral)) {
        const cJSON *reason = cJSON_GetObjectItemCaseSensitive(deferral, "reason");
        const cJSON *message = cJSON_GetObjectItemCaseSensitive(deferral, "message");
        *verdict = witlet_defer(text_of(reason), witlet_copy(witlet_view_c(text_of(message))),
                                member_unsigned(deferral, "retryAfterMilliseconds"));
    } else if (cJSON_IsArray(shortages)) {
        *verdict = exact_shortage(shortages);
    } else {
        return witlet_fail(error, "there is no such answer");
    }
    return true;
}

bool exports_witlet_admission_handler_admit(exports_witlet_admission_handler_borrow_request_t request,
                                            exports_witlet_admission_handler_verdict_t *ret, plugin_string_t *err)
{
    cJSON *settings = settings_get(err);
    if (settings == NULL)
        return false;
    log_each_level();
    const cJSON *named = cJSON_GetObjectItemCaseSensitive(settings, "answer");
    if (named == NULL) {
        *ret = witlet_reject("Told", tell_request(request, settings));
        return true;
    }
    bool good = answer(named, ret, err);
    cJSON_Delete(settings);
    return good;
}
