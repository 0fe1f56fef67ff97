/* The role admission: every getter of a request, or the verdict that the configuration names. */
#include "attack.h"
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

static void tell_quantities(struct tell *tell, const char *key, witlet_admission_types_list_quantity_t quantities)
{
    tell_begin(tell, key, '[');
    for (size_t i = 0; i < quantities.len; i++) {
        tell_begin(tell, NULL, '{');
        tell_view(tell, "resource", witlet_view(quantities.ptr[i].resource));
        tell_signed(tell, "amount", quantities.ptr[i].amount);
        tell_end(tell, '}');
    }
    tell_end(tell, ']');
    witlet_admission_types_list_quantity_free(&quantities);
}

static void tell_host_ports(struct tell *tell, const char *key, witlet_admission_types_list_host_port_t ports)
{
    tell_begin(tell, key, '[');
    for (size_t i = 0; i < ports.len; i++) {
        tell_begin(tell, NULL, '{');
        tell_view(tell, "ip", witlet_view(ports.ptr[i].ip));
        tell_view(tell, "protocol", witlet_view(ports.ptr[i].protocol));
        tell_unsigned(tell, "port", ports.ptr[i].port);
        tell_end(tell, '}');
    }
    tell_end(tell, ']');
    witlet_admission_types_list_host_port_free(&ports);
}

static void tell_containers(struct tell *tell, witlet_admission_types_borrow_pod_t pod)
{
    witlet_admission_types_list_container_t containers;
    witlet_admission_types_method_pod_containers(pod, &containers);
    tell_begin(tell, "containers", '[');
    for (size_t i = 0; i < containers.len; i++) {
        tell_begin(tell, NULL, '{');
        tell_view(tell, "name", witlet_view(containers.ptr[i].name));
        tell_view(tell, "kind", witlet_view_c(container_kinds[containers.ptr[i].kind]));
        tell_view(tell, "image", witlet_view(containers.ptr[i].image));
        tell_end(tell, '}');
    }
    tell_end(tell, ']');
    witlet_admission_types_list_container_free(&containers);
}

static void tell_identity(struct tell *tell, witlet_admission_types_borrow_pod_t pod)
{
    witlet_admission_types_pod_ref_t identity;
    witlet_admission_types_method_pod_identity(pod, &identity);
    tell_begin(tell, "identity", '{');
    tell_text(tell, "namespace", identity.namespace_);
    tell_text(tell, "name", identity.name);
    tell_text(tell, "uid", identity.uid);
    tell_end(tell, '}');
}

static void tell_pod(struct tell *tell, const char *key, witlet_admission_types_borrow_pod_t pod, witlet_text pointers)
{
    tell_begin(tell, key, '{');
    plugin_string_t text;
    plugin_list_tuple2_string_string_t pairs;
    tell_identity(tell, pod);
    witlet_admission_types_method_pod_source(pod, &text);
    tell_text(tell, "source", text);
    witlet_admission_types_method_pod_labels(pod, &pairs);
    tell_pairs(tell, "labels", pairs);
    witlet_admission_types_method_pod_annotations(pod, &pairs);
    tell_pairs(tell, "annotations", pairs);
    tell_signed(tell, "priority", witlet_admission_types_method_pod_priority(pod));
    tell_containers(tell, pod);
    witlet_admission_types_list_quantity_t requests;
    witlet_admission_types_method_pod_requests(pod, &requests);
    tell_quantities(tell, "requests", requests);
    witlet_admission_types_list_host_port_t ports;
    witlet_admission_types_method_pod_host_ports(pod, &ports);
    tell_host_ports(tell, "host-ports", ports);
    tell_view(tell, "qos", witlet_view_c(qos_classes[witlet_admission_types_method_pod_qos(pod)]));
    witlet_admission_types_method_pod_json(pod, &text);
    tell_unsigned(tell, "json-bytes", text.len);
    plugin_string_free(&text);

    tell_begin(tell, "pointer", '{');
    for (witlet_json_items items = witlet_json_each(pointers); witlet_json_next(&items);) {
        plugin_string_t pointer = witlet_json_string(items.value);
        bool is_some = witlet_admission_types_method_pod_pointer(pod, &pointer, &text);
        tell_maybe(tell, witlet_view(pointer), is_some, text);
        plugin_string_free(&pointer);
    }
    tell_end(tell, '}');
    tell_end(tell, '}');
}

static void tell_taints(struct tell *tell, witlet_admission_types_borrow_node_t node)
{
    witlet_admission_types_list_taint_t taints;
    witlet_admission_types_method_node_taints(node, &taints);
    tell_begin(tell, "taints", '[');
    for (size_t i = 0; i < taints.len; i++) {
        tell_begin(tell, NULL, '{');
        tell_view(tell, "key", witlet_view(taints.ptr[i].key));
        tell_view(tell, "value", witlet_view(taints.ptr[i].value));
        tell_view(tell, "effect", witlet_view(taints.ptr[i].effect));
        tell_end(tell, '}');
    }
    tell_end(tell, ']');
    witlet_admission_types_list_taint_free(&taints);
}

static void tell_conditions(struct tell *tell, witlet_admission_types_borrow_node_t node)
{
    witlet_admission_types_list_condition_t conditions;
    witlet_admission_types_method_node_conditions(node, &conditions);
    tell_begin(tell, "conditions", '[');
    for (size_t i = 0; i < conditions.len; i++) {
        tell_begin(tell, NULL, '{');
        tell_view(tell, "kind", witlet_view(conditions.ptr[i].kind));
        tell_view(tell, "status", witlet_view(conditions.ptr[i].status));
        tell_view(tell, "reason", witlet_view(conditions.ptr[i].reason));
        tell_view(tell, "message", witlet_view(conditions.ptr[i].message));
        tell_end(tell, '}');
    }
    tell_end(tell, ']');
    witlet_admission_types_list_condition_free(&conditions);
}

static void tell_node(struct tell *tell, const char *key, witlet_admission_types_borrow_node_t node, witlet_text pointers)
{
    tell_begin(tell, key, '{');
    plugin_string_t text;
    plugin_list_tuple2_string_string_t pairs;
    witlet_admission_types_list_quantity_t quantities;
    witlet_admission_types_method_node_name(node, &text);
    tell_text(tell, "name", text);
    witlet_admission_types_method_node_labels(node, &pairs);
    tell_pairs(tell, "labels", pairs);
    tell_taints(tell, node);
    witlet_admission_types_method_node_capacity(node, &quantities);
    tell_quantities(tell, "capacity", quantities);
    witlet_admission_types_method_node_allocatable(node, &quantities);
    tell_quantities(tell, "allocatable", quantities);
    witlet_admission_types_method_node_requested(node, &quantities);
    tell_quantities(tell, "requested", quantities);
    witlet_admission_types_list_host_port_t ports;
    witlet_admission_types_method_node_used_host_ports(node, &ports);
    tell_host_ports(tell, "used-host-ports", ports);
    tell_conditions(tell, node);
    witlet_admission_types_method_node_facts(node, &pairs);
    tell_pairs(tell, "facts", pairs);
    witlet_admission_types_method_node_devices(node, &text);
    tell_json(tell, "devices", text);
    witlet_admission_types_method_node_json(node, &text);
    tell_unsigned(tell, "json-bytes", text.len);
    plugin_string_free(&text);

    tell_begin(tell, "pointer", '{');
    for (witlet_json_items items = witlet_json_each(pointers); witlet_json_next(&items);) {
        plugin_string_t pointer = witlet_json_string(items.value);
        bool is_some = witlet_admission_types_method_node_pointer(node, &pointer, &text);
        tell_maybe(tell, witlet_view(pointer), is_some, text);
        plugin_string_free(&pointer);
    }
    tell_end(tell, '}');
    tell_end(tell, '}');
}

/* All that the request has, as JSON. */
static plugin_string_t tell_request(witlet_admission_types_borrow_request_t request, witlet_text settings)
{
    witlet_text pointers = witlet_json_member(settings, "pointers");
    struct tell reported = {0}, *tell = &reported;
    tell_begin(tell, NULL, '{');
    tell_view(tell, "operation", witlet_view_c(operations[witlet_admission_types_method_request_operation(request)]));
    witlet_admission_types_datetime_t moment;
    witlet_admission_types_method_request_now(request, &moment);
    tell_begin(tell, "now", '{');
    tell_signed(tell, "seconds", moment.seconds);
    tell_unsigned(tell, "nanoseconds", moment.nanoseconds);
    tell_end(tell, '}');

    witlet_admission_types_own_pod_t pod = witlet_admission_types_method_request_pod(request);
    tell_pod(tell, "pod", witlet_admission_types_borrow_pod(pod), pointers);
    witlet_admission_types_pod_drop_own(pod);
    witlet_admission_types_own_node_t node = witlet_admission_types_method_request_node(request);
    tell_node(tell, "node", witlet_admission_types_borrow_node(node), pointers);
    witlet_admission_types_node_drop_own(node);

    witlet_admission_types_list_own_pod_t others;
    witlet_admission_types_method_request_other_pods(request, &others);
    tell_begin(tell, "other-pods", '[');
    for (size_t i = 0; i < others.len; i++) {
        tell_pod(tell, NULL, witlet_admission_types_borrow_pod(others.ptr[i]), pointers);
        witlet_admission_types_pod_drop_own(others.ptr[i]);
    }
    tell_end(tell, ']');
    witlet_admission_types_list_own_pod_free(&others);
    tell_json(tell, "config", witlet_copy(settings));
    tell_end(tell, '}');
    return tell_take(tell);
}

static void log_each_level(void)
{
    for (witlet_host_log_level_t level = WITLET_HOST_LOG_LEVEL_TRACE; level <= WITLET_HOST_LOG_LEVEL_ERROR; level++) {
        char line[32];
        snprintf(line, sizeof line, "logged at %s", levels[level]);
        witlet_log(level, witlet_view_c(line), (witlet_field[]){{"language", WITLET_TEXT("c")}}, 1);
    }
}

static witlet_admission_types_verdict_t shortage(witlet_text list)
{
    witlet_admission_types_verdict_t verdict = {.tag = WITLET_ADMISSION_TYPES_VERDICT_SHORTAGE};
    size_t count = witlet_json_count(list), i = 0;
    witlet_admission_types_shortage_t *shortages = NULL;
    if (count > 0 && (shortages = calloc(count, sizeof *shortages)) == NULL)
        abort();
    for (witlet_json_items items = witlet_json_each(list); witlet_json_next(&items);) {
        shortages[i++] = (witlet_admission_types_shortage_t){
            .resource = member_text(items.value, "resource"),
            .requested = member_number(items.value, "requested"),
            .used = member_number(items.value, "used"),
            .capacity = member_number(items.value, "capacity"),
        };
    }
    verdict.val.shortage = (witlet_admission_types_list_shortage_t){shortages, count};
    return verdict;
}

/* The verdict that is named. */
static bool answer(witlet_text named, witlet_admission_types_verdict_t *verdict, plugin_string_t *error)
{
    witlet_text deferral = witlet_json_member(named, "defer"), shortages = witlet_json_member(named, "shortage");
    witlet_text attacked = witlet_json_member(named, "attack");
    if (member_fails(named, "error", error))
        return false;
    if (attacked.len > 0)
        return attack(attacked, verdict, error);
    if (witlet_json_equal(named, "admit")) {
        *verdict = witlet_admit();
    } else if (witlet_json_is_object(deferral)) {
        *verdict = witlet_defer("", member_text(deferral, "message"), (uint64_t)member_number(deferral, "retryAfterMilliseconds"));
        verdict->val.defer.reason = member_text(deferral, "reason");
    } else if (witlet_json_is_array(shortages)) {
        *verdict = shortage(shortages);
    } else {
        return witlet_fail(error, "there is no such answer");
    }
    return true;
}

bool exports_witlet_admission_handler_admit(exports_witlet_admission_handler_borrow_request_t request,
                                            exports_witlet_admission_handler_verdict_t *ret, plugin_string_t *err)
{
    plugin_string_t config;
    witlet_text settings = settings_get(&config, err);
    if (settings.len == 0)
        return false;
    log_each_level();
    witlet_text named = witlet_json_member(settings, "answer");
    bool good = true;
    if (named.len == 0)
        *ret = witlet_reject("Reported", tell_request(request, settings));
    else
        good = answer(named, ret, err);
    plugin_string_free(&config);
    return good;
}
