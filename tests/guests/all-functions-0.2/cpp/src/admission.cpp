// The role admission: what a request has, a part at a time, or the answer that the configuration names.
#include "attack.hpp"
#include "call.hpp"

static void tell_owner(Tell &tell, witlet_admission_admission_types_borrow_owner_t it)
{
    Getters getters{tell, it};
    tell.begin("", '{');
    getters.call("owner.api-version", witlet_admission_admission_types_method_owner_api_version);
    getters.call("owner.kind", witlet_admission_admission_types_method_owner_kind);
    getters.call("owner.name", witlet_admission_admission_types_method_owner_name);
    getters.call("owner.uid", witlet_admission_admission_types_method_owner_uid);
    getters.call("owner.is-controller", witlet_admission_admission_types_method_owner_is_controller);
    tell.end('}');
}

static void tell_host_port(Tell &tell, witlet_admission_admission_types_borrow_host_port_t it)
{
    Getters getters{tell, it};
    tell.begin("", '{');
    getters.call("host-port.address", witlet_admission_admission_types_method_host_port_address);
    getters.call("host-port.protocol", witlet_admission_admission_types_method_host_port_protocol);
    getters.call("host-port.number", witlet_admission_admission_types_method_host_port_number);
    tell.end('}');
}

static void tell_container_port(Tell &tell, witlet_admission_admission_types_borrow_container_port_t it)
{
    Getters getters{tell, it};
    tell.begin("", '{');
    getters.call("container-port.name", witlet_admission_admission_types_method_container_port_name);
    getters.call("container-port.number", witlet_admission_admission_types_method_container_port_number);
    getters.call("container-port.protocol", witlet_admission_admission_types_method_container_port_protocol);
    getters.call("container-port.host-port", witlet_admission_admission_types_method_container_port_host_port);
    tell.end('}');
}

static void tell_mount(Tell &tell, witlet_admission_admission_types_borrow_mount_t it)
{
    Getters getters{tell, it};
    tell.begin("", '{');
    getters.call("mount.volume", witlet_admission_admission_types_method_mount_volume);
    getters.call("mount.path", witlet_admission_admission_types_method_mount_path);
    getters.call("mount.sub-path", witlet_admission_admission_types_method_mount_sub_path);
    getters.call("mount.read-only", witlet_admission_admission_types_method_mount_read_only);
    getters.call("mount.is-device", witlet_admission_admission_types_method_mount_is_device);
    tell.end('}');
}

static void tell_image(Tell &tell, witlet_admission_admission_types_borrow_image_t it)
{
    Getters getters{tell, it};
    tell.begin("", '{');
    getters.call("image.reference", witlet_admission_admission_types_method_image_reference);
    getters.call("image.place", witlet_admission_admission_types_method_image_place);
    getters.call("image.name", witlet_admission_admission_types_method_image_name);
    getters.call("image.registry", witlet_admission_admission_types_method_image_registry);
    getters.call("image.repository", witlet_admission_admission_types_method_image_repository);
    getters.call("image.tag", witlet_admission_admission_types_method_image_tag);
    getters.call("image.digest", witlet_admission_admission_types_method_image_digest);
    tell.end('}');
}

static void tell_container(Tell &tell, witlet_admission_admission_types_borrow_container_t it)
{
    Getters getters{tell, it};
    tell.begin("", '{');
    getters.call("container.name", witlet_admission_admission_types_method_container_name);
    getters.call("container.kind", witlet_admission_admission_types_method_container_kind);
    getters.call("container.place", witlet_admission_admission_types_method_container_place);
    getters.call("container.pull-policy", witlet_admission_admission_types_method_container_pull_policy);
    getters.call("container.resources", witlet_admission_admission_types_method_container_resources);
    getters.call("container.request", witlet_admission_admission_types_method_container_request, "cpu");
    getters.call("container.limit", witlet_admission_admission_types_method_container_limit, "memory");
    getters.call("container.env-names", witlet_admission_admission_types_method_container_env_names);
    getters.call("container.pointer", witlet_admission_admission_types_method_container_pointer, "/name");
    witlet::Owned image = witlet::owned(witlet_admission_admission_types_method_container_image(it));
    tell.text("container.image", witlet::get(witlet_admission_admission_types_method_image_place, image.borrow()));
    tell_items(tell, "container.ports", witlet::get_list(witlet_admission_admission_types_method_container_ports, it),
               [&](auto each) { tell_container_port(tell, each); });
    tell_items(tell, "container.mounts", witlet::get_list(witlet_admission_admission_types_method_container_mounts, it),
               [&](auto each) { tell_mount(tell, each); });
    tell.end('}');
}

static void tell_security(Tell &tell, witlet_admission_admission_types_borrow_container_t it)
{
    Getters getters{tell, it};
    tell.begin("", '{');
    getters.call("container.privileged", witlet_admission_admission_types_method_container_privileged);
    getters.call("container.run-as-non-root", witlet_admission_admission_types_method_container_run_as_non_root);
    getters.call("container.run-as-user", witlet_admission_admission_types_method_container_run_as_user);
    getters.call("container.run-as-group", witlet_admission_admission_types_method_container_run_as_group);
    getters.call("container.allow-privilege-escalation", witlet_admission_admission_types_method_container_allow_privilege_escalation);
    getters.call("container.read-only-root-filesystem", witlet_admission_admission_types_method_container_read_only_root_filesystem);
    getters.call("container.seccomp-profile", witlet_admission_admission_types_method_container_seccomp_profile);
    getters.call("container.apparmor-profile", witlet_admission_admission_types_method_container_apparmor_profile);
    getters.call("container.added-capabilities", witlet_admission_admission_types_method_container_added_capabilities);
    getters.call("container.dropped-capabilities", witlet_admission_admission_types_method_container_dropped_capabilities);
    tell.end('}');
}

static void tell_resolved_image(Tell &tell, witlet_admission_admission_types_borrow_resolved_image_t it)
{
    Getters getters{tell, it};
    tell.begin("", '{');
    getters.call("resolved-image.id", witlet_admission_admission_types_method_resolved_image_id);
    getters.call("resolved-image.digest", witlet_admission_admission_types_method_resolved_image_digest);
    getters.call("resolved-image.size", witlet_admission_admission_types_method_resolved_image_size);
    getters.call("resolved-image.credentials", witlet_admission_admission_types_method_resolved_image_credentials);
    witlet::Owned container = witlet::owned(witlet_admission_admission_types_method_resolved_image_container(it));
    tell.text("resolved-image.container", witlet::get(witlet_admission_admission_types_method_container_place, container.borrow()));
    tell.end('}');
}

static void tell_volume(Tell &tell, witlet_admission_admission_types_borrow_volume_t it)
{
    Getters getters{tell, it};
    tell.begin("", '{');
    getters.call("volume.name", witlet_admission_admission_types_method_volume_name);
    getters.call("volume.kind", witlet_admission_admission_types_method_volume_kind);
    getters.call("volume.host-path", witlet_admission_admission_types_method_volume_host_path);
    getters.call("volume.pointer", witlet_admission_admission_types_method_volume_pointer, "/name");
    witlet_admission_admission_types_own_image_t image;
    if (witlet_admission_admission_types_method_volume_image(it, &image))
        tell.text("volume.image", witlet::get(witlet_admission_admission_types_method_image_place, witlet::owned(image).borrow()));
    else
        tell.word("volume.image", "null");
    tell.end('}');
}

static void tell_pod(Tell &tell, witlet_admission_admission_types_borrow_pod_t it)
{
    Getters getters{tell, it};
    tell.begin("", '{');
    getters.call("pod.namespace", witlet_admission_admission_types_method_pod_namespace);
    getters.call("pod.name", witlet_admission_admission_types_method_pod_name);
    getters.call("pod.uid", witlet_admission_admission_types_method_pod_uid);
    getters.call("pod.source", witlet_admission_admission_types_method_pod_source);
    getters.call("pod.label", witlet_admission_admission_types_method_pod_label, "a");
    getters.call("pod.labels", witlet_admission_admission_types_method_pod_labels);
    getters.call("pod.annotation", witlet_admission_admission_types_method_pod_annotation, "note");
    getters.call("pod.annotations", witlet_admission_admission_types_method_pod_annotations);
    getters.call("pod.service-account", witlet_admission_admission_types_method_pod_service_account);
    getters.call("pod.has-service-account-token", witlet_admission_admission_types_method_pod_has_service_account_token);
    getters.call("pod.priority", witlet_admission_admission_types_method_pod_priority);
    getters.call("pod.priority-class", witlet_admission_admission_types_method_pod_priority_class);
    getters.call("pod.runtime-class", witlet_admission_admission_types_method_pod_runtime_class);
    getters.call("pod.runtime-handler", witlet_admission_admission_types_method_pod_runtime_handler);
    getters.call("pod.qos", witlet_admission_admission_types_method_pod_qos);
    getters.call("pod.host-network", witlet_admission_admission_types_method_pod_host_network);
    getters.call("pod.host-pid", witlet_admission_admission_types_method_pod_host_pid);
    getters.call("pod.host-ipc", witlet_admission_admission_types_method_pod_host_ipc);
    getters.call("pod.host-users", witlet_admission_admission_types_method_pod_host_users);
    getters.call("pod.resources", witlet_admission_admission_types_method_pod_resources);
    getters.call("pod.request", witlet_admission_admission_types_method_pod_request, "cpu");
    getters.call("pod.limit", witlet_admission_admission_types_method_pod_limit, "memory");
    getters.call("pod.pointer", witlet_admission_admission_types_method_pod_pointer, "/metadata/name");
    tell_items(tell, "pod.owners", witlet::get_list(witlet_admission_admission_types_method_pod_owners, it),
               [&](auto each) { tell_owner(tell, each); });
    tell_items(tell, "pod.containers", witlet::get_list(witlet_admission_admission_types_method_pod_containers, it),
               [&](auto each) { tell.text("", witlet::get(witlet_admission_admission_types_method_container_name, each)); });
    tell_items(tell, "pod.images", witlet::get_list(witlet_admission_admission_types_method_pod_images, it),
               [&](auto each) { tell.text("", witlet::get(witlet_admission_admission_types_method_image_place, each)); });
    tell_items(tell, "pod.volumes", witlet::get_list(witlet_admission_admission_types_method_pod_volumes, it),
               [&](auto each) { tell.text("", witlet::get(witlet_admission_admission_types_method_volume_name, each)); });
    tell_items(tell, "pod.host-ports", witlet::get_list(witlet_admission_admission_types_method_pod_host_ports, it),
               [&](auto each) { tell_host_port(tell, each); });
    tell.word("pod.json", word_of(witlet::get(witlet_admission_admission_types_method_pod_json, it).contains("\"containers\"")));
    tell.end('}');
}

static void tell_taint(Tell &tell, witlet_admission_admission_types_borrow_taint_t it)
{
    Getters getters{tell, it};
    tell.begin("", '{');
    getters.call("taint.key", witlet_admission_admission_types_method_taint_key);
    getters.call("taint.value", witlet_admission_admission_types_method_taint_value);
    getters.call("taint.effect", witlet_admission_admission_types_method_taint_effect);
    tell.end('}');
}

static void tell_condition(Tell &tell, witlet_admission_admission_types_borrow_condition_t it)
{
    Getters getters{tell, it};
    tell.begin("", '{');
    getters.call("condition.kind", witlet_admission_admission_types_method_condition_kind);
    getters.call("condition.status", witlet_admission_admission_types_method_condition_status);
    getters.call("condition.reason", witlet_admission_admission_types_method_condition_reason);
    getters.call("condition.message", witlet_admission_admission_types_method_condition_message);
    tell.end('}');
}

// The kind of a condition, if there is one.
static std::optional<std::string> kind_of(witlet_admission_admission_types_borrow_node_t node, std::string_view kind)
{
    std::string kept;
    plugin_string_t asked = witlet::detail::lend(kind, kept);
    witlet_admission_admission_types_own_condition_t condition;
    if (!witlet_admission_admission_types_method_node_condition(node, &asked, &condition))
        return std::nullopt;
    return witlet::get(witlet_admission_admission_types_method_condition_kind, witlet::owned(condition).borrow());
}

static int64_t requested(witlet_admission_admission_types_borrow_node_t node, std::string_view resource)
{
    std::string kept;
    plugin_string_t asked = witlet::detail::lend(resource, kept);
    return witlet_admission_admission_types_method_node_requested(node, &asked);
}

static void tell_node(Tell &tell, witlet_admission_admission_types_borrow_node_t it)
{
    Getters getters{tell, it};
    tell.begin("", '{');
    getters.call("node.name", witlet_admission_admission_types_method_node_name);
    getters.call("node.label", witlet_admission_admission_types_method_node_label, "disk");
    getters.call("node.labels", witlet_admission_admission_types_method_node_labels);
    getters.call("node.resources", witlet_admission_admission_types_method_node_resources);
    getters.call("node.capacity", witlet_admission_admission_types_method_node_capacity, "cpu");
    getters.call("node.allocatable", witlet_admission_admission_types_method_node_allocatable, "cpu");
    getters.call("node.available", witlet_admission_admission_types_method_node_available, "cpu");
    getters.call("node.used", witlet_admission_admission_types_method_node_used, "memory");
    getters.call("node.fact", witlet_admission_admission_types_method_node_fact, "cgroup.version");
    getters.call("node.facts", witlet_admission_admission_types_method_node_facts);
    getters.call("node.devices", witlet_admission_admission_types_method_node_devices);
    getters.call("node.pointer", witlet_admission_admission_types_method_node_pointer, "/metadata/name");
    tell_items(tell, "node.taints", witlet::get_list(witlet_admission_admission_types_method_node_taints, it),
               [&](auto each) { tell_taint(tell, each); });
    tell_items(tell, "node.conditions", witlet::get_list(witlet_admission_admission_types_method_node_conditions, it),
               [&](auto each) { tell_condition(tell, each); });
    tell_items(tell, "node.used-host-ports", witlet::get_list(witlet_admission_admission_types_method_node_used_host_ports, it),
               [&](auto each) { tell_host_port(tell, each); });
    tell_both(tell, "node.condition", kind_of(it, "Ready"), kind_of(it, none));
    tell_both(tell, "node.requested", std::optional(requested(it, "cpu")), std::optional(requested(it, none)));
    tell.word("node.json", word_of(witlet::get(witlet_admission_admission_types_method_node_json, it).contains("\"labels\"")));
    tell.end('}');
}

static void tell_request(Tell &tell, witlet_admission_admission_types_borrow_request_t it)
{
    witlet_admission_admission_types_datetime_t now;
    witlet_admission_admission_types_own_pod_t old_pod;
    witlet_admission_admission_types_own_resolved_image_t image;
    witlet::Owned pod = witlet::owned(witlet_admission_admission_types_method_request_pod(it));
    witlet::Owned node = witlet::owned(witlet_admission_admission_types_method_request_node(it));
    witlet_admission_admission_types_method_request_now(it, &now);
    tell.begin("", '{');
    tell.text("request.operation", witlet::get(witlet_admission_admission_types_method_request_operation, it));
    tell.begin("request.now", '{');
    tell.number("seconds", now.seconds);
    tell.number("nanoseconds", now.nanoseconds);
    tell.end('}');
    tell.text("request.pod", witlet::get(witlet_admission_admission_types_method_pod_name, pod.borrow()));
    if (witlet_admission_admission_types_method_request_old_pod(it, &old_pod))
        tell.text("request.old-pod", witlet::get(witlet_admission_admission_types_method_pod_name, witlet::owned(old_pod).borrow()));
    else
        tell.word("request.old-pod", "null");
    if (witlet_admission_admission_types_method_request_image(it, &image))
        tell.text("request.image", witlet::get(witlet_admission_admission_types_method_resolved_image_id, witlet::owned(image).borrow()));
    else
        tell.word("request.image", "null");
    tell.text("request.node", witlet::get(witlet_admission_admission_types_method_node_name, node.borrow()));
    tell_items(tell, "request.other-pods", witlet::get_list(witlet_admission_admission_types_method_request_other_pods, it),
               [&](auto each) { tell.text("", witlet::get(witlet_admission_admission_types_method_pod_name, each)); });
    tell.end('}');
}

static void tell_part(Tell &tell, std::string_view part, witlet_admission_admission_types_borrow_request_t request)
{
    witlet::Owned pod = witlet::owned(witlet_admission_admission_types_method_request_pod(request));
    witlet_admission_admission_types_own_resolved_image_t image;
    if (part == "request")
        tell_request(tell, request);
    else if (part == "pod")
        tell_pod(tell, pod.borrow());
    else if (part == "containers")
        tell_items(tell, "", witlet::get_list(witlet_admission_admission_types_method_pod_containers, pod.borrow()),
                   [&](auto each) { tell_container(tell, each); });
    else if (part == "security")
        tell_items(tell, "", witlet::get_list(witlet_admission_admission_types_method_pod_containers, pod.borrow()),
                   [&](auto each) { tell_security(tell, each); });
    else if (part == "images")
        tell_items(tell, "", witlet::get_list(witlet_admission_admission_types_method_pod_images, pod.borrow()),
                   [&](auto each) { tell_image(tell, each); });
    else if (part == "resolved-image" && witlet_admission_admission_types_method_request_image(request, &image))
        tell_resolved_image(tell, witlet::owned(image).borrow());
    else if (part == "volumes")
        tell_items(tell, "", witlet::get_list(witlet_admission_admission_types_method_pod_volumes, pod.borrow()),
                   [&](auto each) { tell_volume(tell, each); });
    else if (part == "node")
        tell_node(tell, witlet::owned(witlet_admission_admission_types_method_request_node(request)).borrow());
    else if (part == "host")
        tell_host(tell);
    else if (part == "data")
        tell_data(tell);
    else if (part == "own-error")
        tell_own_error(tell);
    else
        tell.text("", "there is no such part");
}

// The handler has its configuration as it came, because it says which part is asked for.
class Handler {
  public:
    static witlet::Outcome<Handler> from_config(std::string_view config)
    {
        return settings_of(config).transform([](std::string text) { return Handler(std::move(text)); });
    }

    witlet::Outcome<void> admit(witlet_admission_admission_types_borrow_request_t request, witlet::admission::Answer answer) const
    {
        log_each_level();
        std::string part = member_text(witlet::Json::parse(text_), "do");
        if (part == "error")
            return own_error();
        if (part == "admit") {
            answer.admit();
        } else if (part == "attack") {
            attack(member_text(witlet::Json::parse(text_), "attack"), answer);
        } else if (part == "defer") {
            answer.defer("NotNow", "not now", std::chrono::milliseconds(5000));
        } else if (part == "shortage") {
            answer.shortage("cpu", 500, 800, 1000);
            answer.shortage("memory", 5, 8, 10);
        } else if (part == "remark") {
            answer.warn("it is old");
            answer.annotate("image", "first");
            answer.reject("Reported", R"({"answer.warn": true, "answer.annotate": true})");
        } else {
            Tell tell;
            tell_part(tell, part, request);
            answer.reject("Reported", tell.take());
        }
        return {};
    }

  private:
    explicit Handler(std::string text) : text_(std::move(text)) {}

    static void log_each_level()
    {
        using enum witlet::Level;
        const std::pair<witlet::Level, std::string_view> levels[] = {
            {trace, "trace"}, {debug, "debug"}, {info, "info"}, {warn, "warn"}, {error, "error"}};
        for (auto [level, name] : levels)
            witlet::log(level, witlet::concat("logged at ", name), {{"language", "cpp"}});
    }

    std::string text_;
};

// What it warns of is of no handler's own: the export is written out.
bool exports_witlet_admission_handler_validate(exports_witlet_admission_handler_borrow_setup_t setup, plugin_string_t *config,
                                               exports_witlet_admission_handler_own_error_t *error)
{
    auto knows = [&](std::string_view operation) {
        std::string kept;
        plugin_string_t word = witlet::detail::lend(operation, kept);
        return word_of(witlet_admission_admission_types_method_setup_knows(setup, &word));
    };
    for (std::string_view operation : {"add", "resize", "update", "image-resolved"})
        witlet::detail::say(witlet_admission_admission_types_method_setup_subscribe, setup, operation);
    witlet::detail::say(witlet_admission_admission_types_method_setup_warn, setup, witlet::concat("{\"setup.knows\": [", knows("add"), ", ", knows("fly"), "]}"));
    auto made = Handler::from_config(witlet::detail::take(*config));
    return witlet::detail::done(made ? witlet::Outcome<void>() : std::unexpected(made.error()), error);
}

bool exports_witlet_admission_handler_admit(exports_witlet_admission_handler_borrow_request_t request,
                                            exports_witlet_admission_handler_borrow_answer_t answer,
                                            exports_witlet_admission_handler_own_error_t *error)
{
    auto handler = witlet::detail::loaded<Handler>();
    return witlet::detail::done(handler ? (*handler)->admit(request, witlet::admission::Answer(answer))
                                        : std::unexpected(handler.error()),
                                error);
}
