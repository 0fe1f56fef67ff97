// What an admission handler of contract 0.2 is given, in C++23. What each function says stands in the book and in wit/.
//
//     class Policy {
//       public:
//         static witlet::Outcome<Policy> from_config(std::string_view config);
//         witlet::Outcome<void> admit(witlet::admission::Request request, witlet::admission::Answer answer) const
//         {
//             if (!request.pod().label("team"))
//                 answer.reject("NoTeam", "the label team is missing");
//             else
//                 answer.admit();
//             return {};
//         }
//     };
//
//     WITLET_ADMISSION(Policy, "add", "update")
//
// See contract.hpp for answers and errors.
#pragma once

#define WITLET_HAS_ADMISSION
#include "contract.hpp"
#include "things.hpp"

namespace witlet::admission {

using detail::list;
using detail::option;
using detail::option_of;

// A moment in UTC.
using Moment = std::chrono::sys_time<std::chrono::nanoseconds>;

// An image that a pod names, and where.
class Image {
  public:
    explicit Image(witlet_admission_admission_types_own_image_t handle) : handle_(owned(handle)) {}

    std::string reference() const { return get(witlet_admission_admission_types_method_image_reference, borrow()); }
    std::string place() const { return get(witlet_admission_admission_types_method_image_place, borrow()); }
    std::string name() const { return get(witlet_admission_admission_types_method_image_name, borrow()); }
    std::optional<std::string> registry() const
    {
        return get_option(witlet_admission_admission_types_method_image_registry, borrow());
    }
    std::optional<std::string> repository() const
    {
        return get_option(witlet_admission_admission_types_method_image_repository, borrow());
    }
    std::optional<std::string> tag() const { return get_option(witlet_admission_admission_types_method_image_tag, borrow()); }
    std::optional<std::string> digest() const
    {
        return get_option(witlet_admission_admission_types_method_image_digest, borrow());
    }

  private:
    witlet_admission_admission_types_borrow_image_t borrow() const { return handle_.borrow(); }

    decltype(owned(witlet_admission_admission_types_own_image_t{})) handle_;
};

// A port that a container listens on, as its spec says.
class ContainerPort {
  public:
    explicit ContainerPort(witlet_admission_admission_types_own_container_port_t handle) : handle_(owned(handle)) {}

    std::string name() const { return get(witlet_admission_admission_types_method_container_port_name, borrow()); }
    uint16_t number() const { return witlet_admission_admission_types_method_container_port_number(borrow()); }
    std::string protocol() const { return get(witlet_admission_admission_types_method_container_port_protocol, borrow()); }
    std::optional<uint16_t> host_port() const
    {
        return get_number(witlet_admission_admission_types_method_container_port_host_port, borrow());
    }

  private:
    witlet_admission_admission_types_borrow_container_port_t borrow() const { return handle_.borrow(); }

    decltype(owned(witlet_admission_admission_types_own_container_port_t{})) handle_;
};

// A port that a pod takes on the host.
class HostPort {
  public:
    explicit HostPort(witlet_admission_admission_types_own_host_port_t handle) : handle_(owned(handle)) {}

    std::optional<std::string> address() const
    {
        return get_option(witlet_admission_admission_types_method_host_port_address, borrow());
    }
    std::string protocol() const { return get(witlet_admission_admission_types_method_host_port_protocol, borrow()); }
    uint16_t number() const { return witlet_admission_admission_types_method_host_port_number(borrow()); }

  private:
    witlet_admission_admission_types_borrow_host_port_t borrow() const { return handle_.borrow(); }

    decltype(owned(witlet_admission_admission_types_own_host_port_t{})) handle_;
};

// Where a container has a volume.
class Mount {
  public:
    explicit Mount(witlet_admission_admission_types_own_mount_t handle) : handle_(owned(handle)) {}

    std::string volume() const { return get(witlet_admission_admission_types_method_mount_volume, borrow()); }
    std::string path() const { return get(witlet_admission_admission_types_method_mount_path, borrow()); }
    std::string sub_path() const { return get(witlet_admission_admission_types_method_mount_sub_path, borrow()); }
    bool read_only() const { return witlet_admission_admission_types_method_mount_read_only(borrow()); }
    bool is_device() const { return witlet_admission_admission_types_method_mount_is_device(borrow()); }

  private:
    witlet_admission_admission_types_borrow_mount_t borrow() const { return handle_.borrow(); }

    decltype(owned(witlet_admission_admission_types_own_mount_t{})) handle_;
};

// A container of a pod. What its security context says goes before what the pod's says.
class Container {
  public:
    explicit Container(witlet_admission_admission_types_own_container_t handle) : handle_(owned(handle)) {}

    std::string name() const { return get(witlet_admission_admission_types_method_container_name, borrow()); }
    std::string kind() const { return get(witlet_admission_admission_types_method_container_kind, borrow()); }
    std::string place() const { return get(witlet_admission_admission_types_method_container_place, borrow()); }
    Image image() const { return Image(witlet_admission_admission_types_method_container_image(borrow())); }
    std::string pull_policy() const { return get(witlet_admission_admission_types_method_container_pull_policy, borrow()); }
    std::vector<std::string> resources() const
    {
        return get_texts(witlet_admission_admission_types_method_container_resources, borrow());
    }
    std::optional<int64_t> request(std::string_view resource) const
    {
        return get_number_of(witlet_admission_admission_types_method_container_request, borrow(), resource);
    }
    std::optional<int64_t> limit(std::string_view resource) const
    {
        return get_number_of(witlet_admission_admission_types_method_container_limit, borrow(), resource);
    }
    bool privileged() const { return witlet_admission_admission_types_method_container_privileged(borrow()); }
    bool run_as_non_root() const { return witlet_admission_admission_types_method_container_run_as_non_root(borrow()); }
    std::optional<int64_t> run_as_user() const
    {
        return get_number(witlet_admission_admission_types_method_container_run_as_user, borrow());
    }
    std::optional<int64_t> run_as_group() const
    {
        return get_number(witlet_admission_admission_types_method_container_run_as_group, borrow());
    }
    bool allow_privilege_escalation() const
    {
        return witlet_admission_admission_types_method_container_allow_privilege_escalation(borrow());
    }
    bool read_only_root_filesystem() const
    {
        return witlet_admission_admission_types_method_container_read_only_root_filesystem(borrow());
    }
    std::optional<std::string> seccomp_profile() const
    {
        return get_option(witlet_admission_admission_types_method_container_seccomp_profile, borrow());
    }
    std::optional<std::string> apparmor_profile() const
    {
        return get_option(witlet_admission_admission_types_method_container_apparmor_profile, borrow());
    }
    std::vector<std::string> added_capabilities() const
    {
        return get_texts(witlet_admission_admission_types_method_container_added_capabilities, borrow());
    }
    std::vector<std::string> dropped_capabilities() const
    {
        return get_texts(witlet_admission_admission_types_method_container_dropped_capabilities, borrow());
    }
    std::vector<std::string> env_names() const
    {
        return get_texts(witlet_admission_admission_types_method_container_env_names, borrow());
    }
    std::vector<ContainerPort> ports() const
    {
        return list<ContainerPort>(witlet_admission_admission_types_method_container_ports, borrow());
    }
    std::vector<Mount> mounts() const
    {
        return list<Mount>(witlet_admission_admission_types_method_container_mounts, borrow());
    }
    std::optional<std::string> pointer(std::string_view path) const
    {
        return get_of(witlet_admission_admission_types_method_container_pointer, borrow(), path);
    }

  private:
    witlet_admission_admission_types_borrow_container_t borrow() const { return handle_.borrow(); }

    decltype(owned(witlet_admission_admission_types_own_container_t{})) handle_;
};

// The image that a container is to be started from, as the node has it.
class ResolvedImage {
  public:
    explicit ResolvedImage(witlet_admission_admission_types_own_resolved_image_t handle) : handle_(owned(handle)) {}

    Container container() const
    {
        return Container(witlet_admission_admission_types_method_resolved_image_container(borrow()));
    }
    std::string id() const { return get(witlet_admission_admission_types_method_resolved_image_id, borrow()); }
    std::optional<std::string> digest() const
    {
        return get_option(witlet_admission_admission_types_method_resolved_image_digest, borrow());
    }
    std::optional<uint64_t> size() const
    {
        return get_number(witlet_admission_admission_types_method_resolved_image_size, borrow());
    }
    std::optional<std::string> credentials() const
    {
        return get_option(witlet_admission_admission_types_method_resolved_image_credentials, borrow());
    }

  private:
    witlet_admission_admission_types_borrow_resolved_image_t borrow() const { return handle_.borrow(); }

    decltype(owned(witlet_admission_admission_types_own_resolved_image_t{})) handle_;
};

// A volume of a pod.
class Volume {
  public:
    explicit Volume(witlet_admission_admission_types_own_volume_t handle) : handle_(owned(handle)) {}

    std::string name() const { return get(witlet_admission_admission_types_method_volume_name, borrow()); }
    std::string kind() const { return get(witlet_admission_admission_types_method_volume_kind, borrow()); }
    std::optional<std::string> host_path() const
    {
        return get_option(witlet_admission_admission_types_method_volume_host_path, borrow());
    }
    std::optional<Image> image() const { return option<Image>(witlet_admission_admission_types_method_volume_image, borrow()); }
    std::optional<std::string> pointer(std::string_view path) const
    {
        return get_of(witlet_admission_admission_types_method_volume_pointer, borrow(), path);
    }

  private:
    witlet_admission_admission_types_borrow_volume_t borrow() const { return handle_.borrow(); }

    decltype(owned(witlet_admission_admission_types_own_volume_t{})) handle_;
};

// Who made a pod.
class Owner {
  public:
    explicit Owner(witlet_admission_admission_types_own_owner_t handle) : handle_(owned(handle)) {}

    std::string api_version() const { return get(witlet_admission_admission_types_method_owner_api_version, borrow()); }
    std::string kind() const { return get(witlet_admission_admission_types_method_owner_kind, borrow()); }
    std::string name() const { return get(witlet_admission_admission_types_method_owner_name, borrow()); }
    std::string uid() const { return get(witlet_admission_admission_types_method_owner_uid, borrow()); }
    bool is_controller() const { return witlet_admission_admission_types_method_owner_is_controller(borrow()); }

  private:
    witlet_admission_admission_types_borrow_owner_t borrow() const { return handle_.borrow(); }

    decltype(owned(witlet_admission_admission_types_own_owner_t{})) handle_;
};

// A pod, read lazily: only what is asked for crosses into the plugin.
class Pod {
  public:
    explicit Pod(witlet_admission_admission_types_own_pod_t handle) : handle_(owned(handle)) {}

    std::string namespace_() const { return get(witlet_admission_admission_types_method_pod_namespace, borrow()); }
    std::string name() const { return get(witlet_admission_admission_types_method_pod_name, borrow()); }
    std::string uid() const { return get(witlet_admission_admission_types_method_pod_uid, borrow()); }
    std::string source() const { return get(witlet_admission_admission_types_method_pod_source, borrow()); }
    std::optional<std::string> label(std::string_view key) const
    {
        return get_of(witlet_admission_admission_types_method_pod_label, borrow(), key);
    }
    Pairs labels() const { return get_pairs(witlet_admission_admission_types_method_pod_labels, borrow()); }
    std::optional<std::string> annotation(std::string_view key) const
    {
        return get_of(witlet_admission_admission_types_method_pod_annotation, borrow(), key);
    }
    Pairs annotations() const { return get_pairs(witlet_admission_admission_types_method_pod_annotations, borrow()); }
    std::vector<Owner> owners() const { return list<Owner>(witlet_admission_admission_types_method_pod_owners, borrow()); }
    std::string service_account() const { return get(witlet_admission_admission_types_method_pod_service_account, borrow()); }
    bool has_service_account_token() const
    {
        return witlet_admission_admission_types_method_pod_has_service_account_token(borrow());
    }
    int32_t priority() const { return witlet_admission_admission_types_method_pod_priority(borrow()); }
    std::string priority_class() const { return get(witlet_admission_admission_types_method_pod_priority_class, borrow()); }
    std::string runtime_class() const { return get(witlet_admission_admission_types_method_pod_runtime_class, borrow()); }
    std::optional<std::string> runtime_handler() const
    {
        return get_option(witlet_admission_admission_types_method_pod_runtime_handler, borrow());
    }
    std::string qos() const { return get(witlet_admission_admission_types_method_pod_qos, borrow()); }
    bool host_network() const { return witlet_admission_admission_types_method_pod_host_network(borrow()); }
    bool host_pid() const { return witlet_admission_admission_types_method_pod_host_pid(borrow()); }
    bool host_ipc() const { return witlet_admission_admission_types_method_pod_host_ipc(borrow()); }
    bool host_users() const { return witlet_admission_admission_types_method_pod_host_users(borrow()); }
    std::vector<Container> containers() const
    {
        return list<Container>(witlet_admission_admission_types_method_pod_containers, borrow());
    }
    std::vector<Image> images() const { return list<Image>(witlet_admission_admission_types_method_pod_images, borrow()); }
    std::vector<Volume> volumes() const { return list<Volume>(witlet_admission_admission_types_method_pod_volumes, borrow()); }
    std::vector<std::string> resources() const
    {
        return get_texts(witlet_admission_admission_types_method_pod_resources, borrow());
    }
    std::optional<int64_t> request(std::string_view resource) const
    {
        return get_number_of(witlet_admission_admission_types_method_pod_request, borrow(), resource);
    }
    std::optional<int64_t> limit(std::string_view resource) const
    {
        return get_number_of(witlet_admission_admission_types_method_pod_limit, borrow(), resource);
    }
    std::vector<HostPort> host_ports() const
    {
        return list<HostPort>(witlet_admission_admission_types_method_pod_host_ports, borrow());
    }
    std::string json() const { return get(witlet_admission_admission_types_method_pod_json, borrow()); }
    std::optional<std::string> pointer(std::string_view path) const
    {
        return get_of(witlet_admission_admission_types_method_pod_pointer, borrow(), path);
    }

  private:
    witlet_admission_admission_types_borrow_pod_t borrow() const { return handle_.borrow(); }

    decltype(owned(witlet_admission_admission_types_own_pod_t{})) handle_;
};

// A taint of the node.
class Taint {
  public:
    explicit Taint(witlet_admission_admission_types_own_taint_t handle) : handle_(owned(handle)) {}

    std::string key() const { return get(witlet_admission_admission_types_method_taint_key, borrow()); }
    std::string value() const { return get(witlet_admission_admission_types_method_taint_value, borrow()); }
    std::string effect() const { return get(witlet_admission_admission_types_method_taint_effect, borrow()); }

  private:
    witlet_admission_admission_types_borrow_taint_t borrow() const { return handle_.borrow(); }

    decltype(owned(witlet_admission_admission_types_own_taint_t{})) handle_;
};

// A condition of the node.
class Condition {
  public:
    explicit Condition(witlet_admission_admission_types_own_condition_t handle) : handle_(owned(handle)) {}

    std::string kind() const { return get(witlet_admission_admission_types_method_condition_kind, borrow()); }
    std::string status() const { return get(witlet_admission_admission_types_method_condition_status, borrow()); }
    std::string reason() const { return get(witlet_admission_admission_types_method_condition_reason, borrow()); }
    std::string message() const { return get(witlet_admission_admission_types_method_condition_message, borrow()); }

  private:
    witlet_admission_admission_types_borrow_condition_t borrow() const { return handle_.borrow(); }

    decltype(owned(witlet_admission_admission_types_own_condition_t{})) handle_;
};

// The node.
class Node {
  public:
    explicit Node(witlet_admission_admission_types_own_node_t handle) : handle_(owned(handle)) {}

    std::string name() const { return get(witlet_admission_admission_types_method_node_name, borrow()); }
    std::optional<std::string> label(std::string_view key) const
    {
        return get_of(witlet_admission_admission_types_method_node_label, borrow(), key);
    }
    Pairs labels() const { return get_pairs(witlet_admission_admission_types_method_node_labels, borrow()); }
    std::vector<Taint> taints() const { return list<Taint>(witlet_admission_admission_types_method_node_taints, borrow()); }
    std::optional<Condition> condition(std::string_view kind) const
    {
        return option_of<Condition>(witlet_admission_admission_types_method_node_condition, borrow(), kind);
    }
    std::vector<Condition> conditions() const
    {
        return list<Condition>(witlet_admission_admission_types_method_node_conditions, borrow());
    }
    std::vector<std::string> resources() const
    {
        return get_texts(witlet_admission_admission_types_method_node_resources, borrow());
    }
    std::optional<int64_t> capacity(std::string_view resource) const
    {
        return get_number_of(witlet_admission_admission_types_method_node_capacity, borrow(), resource);
    }
    std::optional<int64_t> allocatable(std::string_view resource) const
    {
        return get_number_of(witlet_admission_admission_types_method_node_allocatable, borrow(), resource);
    }
    int64_t requested(std::string_view resource) const
    {
        std::string kept;
        plugin_string_t lent = detail::lend(resource, kept);
        return witlet_admission_admission_types_method_node_requested(borrow(), &lent);
    }
    std::optional<int64_t> available(std::string_view resource) const
    {
        return get_number_of(witlet_admission_admission_types_method_node_available, borrow(), resource);
    }
    std::optional<int64_t> used(std::string_view resource) const
    {
        return get_number_of(witlet_admission_admission_types_method_node_used, borrow(), resource);
    }
    std::vector<HostPort> used_host_ports() const
    {
        return list<HostPort>(witlet_admission_admission_types_method_node_used_host_ports, borrow());
    }
    std::optional<std::string> fact(std::string_view key) const
    {
        return get_of(witlet_admission_admission_types_method_node_fact, borrow(), key);
    }
    Pairs facts() const { return get_pairs(witlet_admission_admission_types_method_node_facts, borrow()); }
    std::string devices() const { return get(witlet_admission_admission_types_method_node_devices, borrow()); }
    std::string json() const { return get(witlet_admission_admission_types_method_node_json, borrow()); }
    std::optional<std::string> pointer(std::string_view path) const
    {
        return get_of(witlet_admission_admission_types_method_node_pointer, borrow(), path);
    }

  private:
    witlet_admission_admission_types_borrow_node_t borrow() const { return handle_.borrow(); }

    decltype(owned(witlet_admission_admission_types_own_node_t{})) handle_;
};

// One question. What it gives is valid during the call.
class Request {
  public:
    Request(witlet_admission_admission_types_borrow_request_t handle) : handle_(handle) {}

    std::string operation() const { return get(witlet_admission_admission_types_method_request_operation, borrow()); }
    Moment now() const
    {
        witlet_admission_admission_types_datetime_t now;
        witlet_admission_admission_types_method_request_now(borrow(), &now);
        return Moment(std::chrono::seconds(now.seconds) + std::chrono::nanoseconds(now.nanoseconds));
    }
    Pod pod() const { return Pod(witlet_admission_admission_types_method_request_pod(borrow())); }
    std::optional<Pod> old_pod() const
    {
        return option<Pod>(witlet_admission_admission_types_method_request_old_pod, borrow());
    }
    std::optional<ResolvedImage> image() const
    {
        return option<ResolvedImage>(witlet_admission_admission_types_method_request_image, borrow());
    }
    Node node() const { return Node(witlet_admission_admission_types_method_request_node(borrow())); }
    std::vector<Pod> other_pods() const
    {
        return list<Pod>(witlet_admission_admission_types_method_request_other_pods, borrow());
    }

  private:
    witlet_admission_admission_types_borrow_request_t borrow() const { return handle_; }

    witlet_admission_admission_types_borrow_request_t handle_;
};

// An image in messages: image "docker.io/library/nginx:latest" (spec.containers[0].image).
inline std::string text(const Image &image)
{
    return concat("image \"", image.name(), "\" (", image.place(), ")");
}

// Whether an image is in a registry, or below a path of one: docker.io, docker.io/library. In whole parts between slashes.
inline bool is_within(const Image &image, std::string_view place)
{
    std::optional<std::string> registry = image.registry();
    return registry && concat(*registry, "/", image.repository().value_or(""), "/").starts_with(concat(place, "/"));
}

} // namespace witlet::admission
