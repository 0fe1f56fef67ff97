/* The role admission: what a request has, a part at a time, or the answer that the configuration names. */
#include "attack.h"
#include "call.h"

/* Each thing of a list, reported by a function; the things are dropped. */
#define EACH(key, kind, getter, of, tell_one)                                                                          \
    do {                                                                                                               \
        witlet_admission_admission_types_list_own_##kind##_t things_;                                                            \
        getter(of, &things_);                                                                                          \
        tell_begin(tell, key, '[');                                                                                    \
        for (size_t at_ = 0; at_ < things_.len; at_++) {                                                               \
            tell_one(tell, witlet_admission_admission_types_borrow_##kind(things_.ptr[at_]));                                    \
            witlet_admission_admission_types_##kind##_drop_own(things_.ptr[at_]);                                                \
        }                                                                                                              \
        tell_end(tell, ']');                                                                                           \
        witlet_admission_admission_types_list_own_##kind##_free(&things_);                                                       \
    } while (0)

/* ---- Names of things, where they stand in others ---- */

static void tell_container_name(struct tell *tell, witlet_admission_admission_types_borrow_container_t it)
{
    CALL_TEXT(NULL, witlet_admission_admission_types_method_container_name, it);
}

static void tell_image_place(struct tell *tell, witlet_admission_admission_types_borrow_image_t it)
{
    CALL_TEXT(NULL, witlet_admission_admission_types_method_image_place, it);
}

static void tell_volume_name(struct tell *tell, witlet_admission_admission_types_borrow_volume_t it)
{
    CALL_TEXT(NULL, witlet_admission_admission_types_method_volume_name, it);
}

static void tell_pod_name(struct tell *tell, witlet_admission_admission_types_borrow_pod_t it)
{
    CALL_TEXT(NULL, witlet_admission_admission_types_method_pod_name, it);
}

/* ---- Everything that they have ---- */

static void tell_owner(struct tell *tell, witlet_admission_admission_types_borrow_owner_t it)
{
    tell_begin(tell, NULL, '{');
    CALL_TEXT("owner.api-version", witlet_admission_admission_types_method_owner_api_version, it);
    CALL_TEXT("owner.kind", witlet_admission_admission_types_method_owner_kind, it);
    CALL_TEXT("owner.name", witlet_admission_admission_types_method_owner_name, it);
    CALL_TEXT("owner.uid", witlet_admission_admission_types_method_owner_uid, it);
    CALL_FLAG("owner.is-controller", witlet_admission_admission_types_method_owner_is_controller, it);
    tell_end(tell, '}');
}

static void tell_host_port(struct tell *tell, witlet_admission_admission_types_borrow_host_port_t it)
{
    tell_begin(tell, NULL, '{');
    CALL_OPTION("host-port.address", witlet_admission_admission_types_method_host_port_address, it);
    CALL_TEXT("host-port.protocol", witlet_admission_admission_types_method_host_port_protocol, it);
    CALL_NUMBER("host-port.number", witlet_admission_admission_types_method_host_port_number, it);
    tell_end(tell, '}');
}

static void tell_container_port(struct tell *tell, witlet_admission_admission_types_borrow_container_port_t it)
{
    tell_begin(tell, NULL, '{');
    CALL_TEXT("container-port.name", witlet_admission_admission_types_method_container_port_name, it);
    CALL_NUMBER("container-port.number", witlet_admission_admission_types_method_container_port_number, it);
    CALL_TEXT("container-port.protocol", witlet_admission_admission_types_method_container_port_protocol, it);
    CALL_OPTIONAL_NUMBER("container-port.host-port", uint16_t,
                         witlet_admission_admission_types_method_container_port_host_port, it);
    tell_end(tell, '}');
}

static void tell_mount(struct tell *tell, witlet_admission_admission_types_borrow_mount_t it)
{
    tell_begin(tell, NULL, '{');
    CALL_TEXT("mount.volume", witlet_admission_admission_types_method_mount_volume, it);
    CALL_TEXT("mount.path", witlet_admission_admission_types_method_mount_path, it);
    CALL_TEXT("mount.sub-path", witlet_admission_admission_types_method_mount_sub_path, it);
    CALL_FLAG("mount.read-only", witlet_admission_admission_types_method_mount_read_only, it);
    CALL_FLAG("mount.is-device", witlet_admission_admission_types_method_mount_is_device, it);
    tell_end(tell, '}');
}

static void tell_image(struct tell *tell, witlet_admission_admission_types_borrow_image_t it)
{
    tell_begin(tell, NULL, '{');
    CALL_TEXT("image.reference", witlet_admission_admission_types_method_image_reference, it);
    CALL_TEXT("image.place", witlet_admission_admission_types_method_image_place, it);
    CALL_TEXT("image.name", witlet_admission_admission_types_method_image_name, it);
    CALL_OPTION("image.registry", witlet_admission_admission_types_method_image_registry, it);
    CALL_OPTION("image.repository", witlet_admission_admission_types_method_image_repository, it);
    CALL_OPTION("image.tag", witlet_admission_admission_types_method_image_tag, it);
    CALL_OPTION("image.digest", witlet_admission_admission_types_method_image_digest, it);
    tell_end(tell, '}');
}

static void tell_container(struct tell *tell, witlet_admission_admission_types_borrow_container_t it)
{
    tell_begin(tell, NULL, '{');
    CALL_TEXT("container.name", witlet_admission_admission_types_method_container_name, it);
    CALL_TEXT("container.kind", witlet_admission_admission_types_method_container_kind, it);
    CALL_TEXT("container.place", witlet_admission_admission_types_method_container_place, it);
    CALL_TEXT("container.pull-policy", witlet_admission_admission_types_method_container_pull_policy, it);
    CALL_TEXTS("container.resources", witlet_admission_admission_types_method_container_resources, it);
    CALL_NUMBER_OF("container.request", int64_t, witlet_admission_admission_types_method_container_request, it, "cpu");
    CALL_NUMBER_OF("container.limit", int64_t, witlet_admission_admission_types_method_container_limit, it, "memory");
    CALL_TEXTS("container.env-names", witlet_admission_admission_types_method_container_env_names, it);
    CALL_TEXT_OF("container.pointer", witlet_admission_admission_types_method_container_pointer, it, "/name");
    witlet_admission_admission_types_own_image_t image = witlet_admission_admission_types_method_container_image(it);
    CALL_TEXT("container.image", witlet_admission_admission_types_method_image_place, witlet_admission_admission_types_borrow_image(image));
    witlet_admission_admission_types_image_drop_own(image);
    EACH("container.ports", container_port, witlet_admission_admission_types_method_container_ports, it, tell_container_port);
    EACH("container.mounts", mount, witlet_admission_admission_types_method_container_mounts, it, tell_mount);
    tell_end(tell, '}');
}

static void tell_security(struct tell *tell, witlet_admission_admission_types_borrow_container_t it)
{
    tell_begin(tell, NULL, '{');
    CALL_FLAG("container.privileged", witlet_admission_admission_types_method_container_privileged, it);
    CALL_FLAG("container.run-as-non-root", witlet_admission_admission_types_method_container_run_as_non_root, it);
    CALL_OPTIONAL_NUMBER("container.run-as-user", int64_t, witlet_admission_admission_types_method_container_run_as_user, it);
    CALL_OPTIONAL_NUMBER("container.run-as-group", int64_t, witlet_admission_admission_types_method_container_run_as_group, it);
    CALL_FLAG("container.allow-privilege-escalation",
              witlet_admission_admission_types_method_container_allow_privilege_escalation, it);
    CALL_FLAG("container.read-only-root-filesystem",
              witlet_admission_admission_types_method_container_read_only_root_filesystem, it);
    CALL_OPTION("container.seccomp-profile", witlet_admission_admission_types_method_container_seccomp_profile, it);
    CALL_OPTION("container.apparmor-profile", witlet_admission_admission_types_method_container_apparmor_profile, it);
    CALL_TEXTS("container.added-capabilities", witlet_admission_admission_types_method_container_added_capabilities, it);
    CALL_TEXTS("container.dropped-capabilities", witlet_admission_admission_types_method_container_dropped_capabilities, it);
    tell_end(tell, '}');
}

static void tell_resolved_image(struct tell *tell, witlet_admission_admission_types_borrow_resolved_image_t it)
{
    tell_begin(tell, NULL, '{');
    CALL_TEXT("resolved-image.id", witlet_admission_admission_types_method_resolved_image_id, it);
    CALL_OPTION("resolved-image.digest", witlet_admission_admission_types_method_resolved_image_digest, it);
    CALL_OPTIONAL_NUMBER("resolved-image.size", uint64_t, witlet_admission_admission_types_method_resolved_image_size, it);
    CALL_OPTION("resolved-image.credentials", witlet_admission_admission_types_method_resolved_image_credentials, it);
    witlet_admission_admission_types_own_container_t container = witlet_admission_admission_types_method_resolved_image_container(it);
    CALL_TEXT("resolved-image.container", witlet_admission_admission_types_method_container_place,
              witlet_admission_admission_types_borrow_container(container));
    witlet_admission_admission_types_container_drop_own(container);
    tell_end(tell, '}');
}

static void tell_volume(struct tell *tell, witlet_admission_admission_types_borrow_volume_t it)
{
    tell_begin(tell, NULL, '{');
    CALL_TEXT("volume.name", witlet_admission_admission_types_method_volume_name, it);
    CALL_TEXT("volume.kind", witlet_admission_admission_types_method_volume_kind, it);
    CALL_OPTION("volume.host-path", witlet_admission_admission_types_method_volume_host_path, it);
    CALL_TEXT_OF("volume.pointer", witlet_admission_admission_types_method_volume_pointer, it, "/name");
    witlet_admission_admission_types_own_image_t image;
    if (witlet_admission_admission_types_method_volume_image(it, &image)) {
        CALL_TEXT("volume.image", witlet_admission_admission_types_method_image_place, witlet_admission_admission_types_borrow_image(image));
        witlet_admission_admission_types_image_drop_own(image);
    } else {
        tell_word(tell, "volume.image", "null");
    }
    tell_end(tell, '}');
}

static void tell_pod(struct tell *tell, witlet_admission_admission_types_borrow_pod_t it)
{
    tell_begin(tell, NULL, '{');
    CALL_TEXT("pod.namespace", witlet_admission_admission_types_method_pod_namespace, it);
    CALL_TEXT("pod.name", witlet_admission_admission_types_method_pod_name, it);
    CALL_TEXT("pod.uid", witlet_admission_admission_types_method_pod_uid, it);
    CALL_TEXT("pod.source", witlet_admission_admission_types_method_pod_source, it);
    CALL_TEXT_OF("pod.label", witlet_admission_admission_types_method_pod_label, it, "a");
    CALL_PAIRS("pod.labels", witlet_admission_admission_types_method_pod_labels, it);
    CALL_TEXT_OF("pod.annotation", witlet_admission_admission_types_method_pod_annotation, it, "note");
    CALL_PAIRS("pod.annotations", witlet_admission_admission_types_method_pod_annotations, it);
    CALL_TEXT("pod.service-account", witlet_admission_admission_types_method_pod_service_account, it);
    CALL_FLAG("pod.has-service-account-token", witlet_admission_admission_types_method_pod_has_service_account_token, it);
    CALL_NUMBER("pod.priority", witlet_admission_admission_types_method_pod_priority, it);
    CALL_TEXT("pod.priority-class", witlet_admission_admission_types_method_pod_priority_class, it);
    CALL_TEXT("pod.runtime-class", witlet_admission_admission_types_method_pod_runtime_class, it);
    CALL_OPTION("pod.runtime-handler", witlet_admission_admission_types_method_pod_runtime_handler, it);
    CALL_TEXT("pod.qos", witlet_admission_admission_types_method_pod_qos, it);
    CALL_FLAG("pod.host-network", witlet_admission_admission_types_method_pod_host_network, it);
    CALL_FLAG("pod.host-pid", witlet_admission_admission_types_method_pod_host_pid, it);
    CALL_FLAG("pod.host-ipc", witlet_admission_admission_types_method_pod_host_ipc, it);
    CALL_FLAG("pod.host-users", witlet_admission_admission_types_method_pod_host_users, it);
    CALL_TEXTS("pod.resources", witlet_admission_admission_types_method_pod_resources, it);
    CALL_NUMBER_OF("pod.request", int64_t, witlet_admission_admission_types_method_pod_request, it, "cpu");
    CALL_NUMBER_OF("pod.limit", int64_t, witlet_admission_admission_types_method_pod_limit, it, "memory");
    CALL_TEXT_OF("pod.pointer", witlet_admission_admission_types_method_pod_pointer, it, "/metadata/name");
    EACH("pod.owners", owner, witlet_admission_admission_types_method_pod_owners, it, tell_owner);
    EACH("pod.containers", container, witlet_admission_admission_types_method_pod_containers, it, tell_container_name);
    EACH("pod.images", image, witlet_admission_admission_types_method_pod_images, it, tell_image_place);
    EACH("pod.volumes", volume, witlet_admission_admission_types_method_pod_volumes, it, tell_volume_name);
    EACH("pod.host-ports", host_port, witlet_admission_admission_types_method_pod_host_ports, it, tell_host_port);
    plugin_string_t json;
    witlet_admission_admission_types_method_pod_json(it, &json);
    tell_word(tell, "pod.json", word_of(witlet_json_member(witlet_json(witlet_view(json)), "spec").len > 0));
    plugin_string_free(&json);
    tell_end(tell, '}');
}

static void tell_taint(struct tell *tell, witlet_admission_admission_types_borrow_taint_t it)
{
    tell_begin(tell, NULL, '{');
    CALL_TEXT("taint.key", witlet_admission_admission_types_method_taint_key, it);
    CALL_TEXT("taint.value", witlet_admission_admission_types_method_taint_value, it);
    CALL_TEXT("taint.effect", witlet_admission_admission_types_method_taint_effect, it);
    tell_end(tell, '}');
}

static void tell_condition(struct tell *tell, witlet_admission_admission_types_borrow_condition_t it)
{
    tell_begin(tell, NULL, '{');
    CALL_TEXT("condition.kind", witlet_admission_admission_types_method_condition_kind, it);
    CALL_TEXT("condition.status", witlet_admission_admission_types_method_condition_status, it);
    CALL_TEXT("condition.reason", witlet_admission_admission_types_method_condition_reason, it);
    CALL_TEXT("condition.message", witlet_admission_admission_types_method_condition_message, it);
    tell_end(tell, '}');
}

/* A condition that there is, and one that there isn't. */
static void tell_conditions_by_kind(struct tell *tell, witlet_admission_admission_types_borrow_node_t it)
{
    tell_begin(tell, "node.condition", '[');
    for (int i = 0; i < 2; i++) {
        plugin_string_t kind = witlet_lend(witlet_view_c(i == 0 ? "Ready" : NONE));
        witlet_admission_admission_types_own_condition_t condition;
        if (witlet_admission_admission_types_method_node_condition(it, &kind, &condition)) {
            CALL_TEXT(NULL, witlet_admission_admission_types_method_condition_kind, witlet_admission_admission_types_borrow_condition(condition));
            witlet_admission_admission_types_condition_drop_own(condition);
        } else {
            tell_word(tell, NULL, "null");
        }
    }
    tell_end(tell, ']');
}

static void tell_requested(struct tell *tell, witlet_admission_admission_types_borrow_node_t it)
{
    plugin_string_t cpu = witlet_lend(WITLET_TEXT("cpu")), none = witlet_lend(WITLET_TEXT(NONE));
    tell_begin(tell, "node.requested", '[');
    tell_signed(tell, NULL, witlet_admission_admission_types_method_node_requested(it, &cpu));
    tell_signed(tell, NULL, witlet_admission_admission_types_method_node_requested(it, &none));
    tell_end(tell, ']');
}

static void tell_node(struct tell *tell, witlet_admission_admission_types_borrow_node_t it)
{
    tell_begin(tell, NULL, '{');
    CALL_TEXT("node.name", witlet_admission_admission_types_method_node_name, it);
    CALL_TEXT_OF("node.label", witlet_admission_admission_types_method_node_label, it, "disk");
    CALL_PAIRS("node.labels", witlet_admission_admission_types_method_node_labels, it);
    CALL_TEXTS("node.resources", witlet_admission_admission_types_method_node_resources, it);
    CALL_NUMBER_OF("node.capacity", int64_t, witlet_admission_admission_types_method_node_capacity, it, "cpu");
    CALL_NUMBER_OF("node.allocatable", int64_t, witlet_admission_admission_types_method_node_allocatable, it, "cpu");
    CALL_NUMBER_OF("node.available", int64_t, witlet_admission_admission_types_method_node_available, it, "cpu");
    CALL_NUMBER_OF("node.used", int64_t, witlet_admission_admission_types_method_node_used, it, "memory");
    CALL_TEXT_OF("node.fact", witlet_admission_admission_types_method_node_fact, it, "cgroup.version");
    CALL_PAIRS("node.facts", witlet_admission_admission_types_method_node_facts, it);
    CALL_TEXT("node.devices", witlet_admission_admission_types_method_node_devices, it);
    CALL_TEXT_OF("node.pointer", witlet_admission_admission_types_method_node_pointer, it, "/metadata/name");
    EACH("node.taints", taint, witlet_admission_admission_types_method_node_taints, it, tell_taint);
    EACH("node.conditions", condition, witlet_admission_admission_types_method_node_conditions, it, tell_condition);
    EACH("node.used-host-ports", host_port, witlet_admission_admission_types_method_node_used_host_ports, it, tell_host_port);
    tell_conditions_by_kind(tell, it);
    tell_requested(tell, it);
    plugin_string_t json;
    witlet_admission_admission_types_method_node_json(it, &json);
    tell_word(tell, "node.json", word_of(witlet_json_member(witlet_json(witlet_view(json)), "metadata").len > 0));
    plugin_string_free(&json);
    tell_end(tell, '}');
}

static void tell_now(struct tell *tell, witlet_admission_admission_types_borrow_request_t it)
{
    witlet_admission_admission_types_datetime_t now;
    witlet_admission_admission_types_method_request_now(it, &now);
    tell_begin(tell, "request.now", '{');
    tell_signed(tell, "seconds", now.seconds);
    tell_unsigned(tell, "nanoseconds", now.nanoseconds);
    tell_end(tell, '}');
}

static void tell_request(struct tell *tell, witlet_admission_admission_types_borrow_request_t it)
{
    tell_begin(tell, NULL, '{');
    CALL_TEXT("request.operation", witlet_admission_admission_types_method_request_operation, it);
    tell_now(tell, it);
    witlet_admission_admission_types_own_pod_t pod = witlet_admission_admission_types_method_request_pod(it);
    CALL_TEXT("request.pod", witlet_admission_admission_types_method_pod_name, witlet_admission_admission_types_borrow_pod(pod));
    witlet_admission_admission_types_pod_drop_own(pod);
    if (witlet_admission_admission_types_method_request_old_pod(it, &pod)) {
        CALL_TEXT("request.old-pod", witlet_admission_admission_types_method_pod_name, witlet_admission_admission_types_borrow_pod(pod));
        witlet_admission_admission_types_pod_drop_own(pod);
    } else {
        tell_word(tell, "request.old-pod", "null");
    }
    witlet_admission_admission_types_own_resolved_image_t image;
    bool has_image = witlet_admission_admission_types_method_request_image(it, &image);
    tell_word(tell, "request.image", has_image ? "true" : "null");
    if (has_image)
        witlet_admission_admission_types_resolved_image_drop_own(image);
    witlet_admission_admission_types_own_node_t node = witlet_admission_admission_types_method_request_node(it);
    CALL_TEXT("request.node", witlet_admission_admission_types_method_node_name, witlet_admission_admission_types_borrow_node(node));
    witlet_admission_admission_types_node_drop_own(node);
    EACH("request.other-pods", pod, witlet_admission_admission_types_method_request_other_pods, it, tell_pod_name);
    tell_end(tell, '}');
}

/* ---- The exports ---- */

bool exports_witlet_admission_handler_validate(exports_witlet_admission_handler_borrow_setup_t setup, plugin_string_t *config,
                                               exports_witlet_admission_handler_own_error_t *err)
{
    static const char *const operations[] = {"add", "resize", "update", "image-resolved"};
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++)
        witlet_subscribe(setup, operations[i]);
    plugin_string_t add = witlet_lend(WITLET_TEXT("add")), fly = witlet_lend(WITLET_TEXT("fly"));
    bool knows_add = witlet_admission_admission_types_method_setup_knows(setup, &add);
    bool knows_fly = witlet_admission_admission_types_method_setup_knows(setup, &fly);
    plugin_string_t warning = witlet_format("{\"setup.knows\": [%s, %s]}", word_of(knows_add), word_of(knows_fly));
    witlet_admission_admission_types_method_setup_warn(setup, &warning);
    plugin_string_free(&warning);
    return refuse(config, err);
}

static void tell_part(struct tell *tell, witlet_text part, witlet_admission_admission_types_borrow_request_t request,
                      witlet_admission_admission_types_borrow_answer_t answer)
{
    witlet_admission_admission_types_own_pod_t own = witlet_admission_admission_types_method_request_pod(request);
    witlet_admission_admission_types_borrow_pod_t pod = witlet_admission_admission_types_borrow_pod(own);
    witlet_admission_admission_types_own_node_t node = witlet_admission_admission_types_method_request_node(request);
    witlet_admission_admission_types_own_resolved_image_t image;
    bool has_image = witlet_admission_admission_types_method_request_image(request, &image);
    if (witlet_json_equal(part, "request")) {
        tell_request(tell, request);
    } else if (witlet_json_equal(part, "pod")) {
        tell_pod(tell, pod);
    } else if (witlet_json_equal(part, "containers")) {
        EACH(NULL, container, witlet_admission_admission_types_method_pod_containers, pod, tell_container);
    } else if (witlet_json_equal(part, "security")) {
        EACH(NULL, container, witlet_admission_admission_types_method_pod_containers, pod, tell_security);
    } else if (witlet_json_equal(part, "images")) {
        EACH(NULL, image, witlet_admission_admission_types_method_pod_images, pod, tell_image);
    } else if (witlet_json_equal(part, "resolved-image") && has_image) {
        tell_resolved_image(tell, witlet_admission_admission_types_borrow_resolved_image(image));
    } else if (witlet_json_equal(part, "volumes")) {
        EACH(NULL, volume, witlet_admission_admission_types_method_pod_volumes, pod, tell_volume);
    } else if (witlet_json_equal(part, "node")) {
        tell_node(tell, witlet_admission_admission_types_borrow_node(node));
    } else if (witlet_json_equal(part, "host")) {
        tell_host(tell);
    } else if (witlet_json_equal(part, "data")) {
        tell_data(tell);
    } else if (witlet_json_equal(part, "own-error")) {
        tell_own_error(tell);
    } else if (witlet_json_equal(part, "remark")) {
        witlet_warn(answer, WITLET_TEXT("it is old"));
        witlet_annotate(answer, "image", WITLET_TEXT("first"));
        tell_json(tell, NULL, witlet_copy(WITLET_TEXT("{\"answer.warn\": true, \"answer.annotate\": true}")));
    } else {
        tell_view(tell, NULL, WITLET_TEXT("there is no such part"));
    }
    if (has_image)
        witlet_admission_admission_types_resolved_image_drop_own(image);
    witlet_admission_admission_types_node_drop_own(node);
    witlet_admission_admission_types_pod_drop_own(own);
}

static void log_each_level(void)
{
    static const char *const levels[] = {"trace", "debug", "info", "warn", "error"};
    for (witlet_host_log_level_t level = WITLET_HOST_LOG_LEVEL_TRACE; level <= WITLET_HOST_LOG_LEVEL_ERROR; level++) {
        char line[32];
        snprintf(line, sizeof line, "logged at %s", levels[level]);
        witlet_log(level, witlet_view_c(line), (witlet_field[]){{"language", WITLET_TEXT("c")}}, 1);
    }
}

bool exports_witlet_admission_handler_admit(exports_witlet_admission_handler_borrow_request_t request,
                                            exports_witlet_admission_handler_borrow_answer_t answer,
                                            exports_witlet_admission_handler_own_error_t *err)
{
    plugin_string_t config;
    witlet_host_config_get(&config);
    witlet_text settings = witlet_json_settings(witlet_view(config));
    witlet_text part = witlet_json_member(settings, "do");
    bool good = true;
    log_each_level();
    if (witlet_json_equal(part, "admit")) {
        witlet_admit(answer);
    } else if (witlet_json_equal(part, "attack")) {
        attack(witlet_json_member(settings, "attack"), answer);
    } else if (witlet_json_equal(part, "defer")) {
        witlet_defer(answer, "NotNow", 5000, "not now");
    } else if (witlet_json_equal(part, "shortage")) {
        witlet_shortage(answer, "cpu", 500, 800, 1000);
        witlet_shortage(answer, "memory", 5, 8, 10);
    } else if (witlet_json_equal(part, "error")) {
        good = own_error(err);
    } else {
        struct tell reported = {0};
        tell_part(&reported, part, request, answer);
        plugin_string_t message = tell_take(&reported);
        witlet_reject(answer, "Reported", "%.*s", WITLET_ARGS(witlet_view(message)));
        plugin_string_free(&message);
    }
    plugin_string_free(&config);
    return good;
}
