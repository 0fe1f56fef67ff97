// What a probe type of contract 0.2 is given, in C++23. What each function says stands in the book and in wit/.
//
//     class Prober {
//       public:
//         static witlet::Outcome<Prober> from_config(std::string_view config);
//         // Whether a probe with these parameters makes sense: a JSON object, or null.
//         witlet::Outcome<void> check(std::string_view parameters) const;
//         witlet::Outcome<void> probe(witlet::probe::Target target, std::string_view parameters, witlet::probe::Answer answer) const;
//     };
//
//     WITLET_PROBE_TYPE(Prober)
//
// See contract.hpp for answers and errors, tcp.hpp for connections.
#pragma once

#define WITLET_HAS_PROBE
#include "contract.hpp"
#include "things.hpp"

namespace witlet::probe {

using detail::list;

// A port of the container.
class ContainerPort {
  public:
    explicit ContainerPort(witlet_probe_probe_types_own_container_port_t handle) : handle_(owned(handle)) {}

    std::string name() const { return get(witlet_probe_probe_types_method_container_port_name, borrow()); }
    uint16_t number() const { return witlet_probe_probe_types_method_container_port_number(borrow()); }
    std::string protocol() const { return get(witlet_probe_probe_types_method_container_port_protocol, borrow()); }

  private:
    witlet_probe_probe_types_borrow_container_port_t borrow() const { return handle_.borrow(); }

    decltype(owned(witlet_probe_probe_types_own_container_port_t{})) handle_;
};

// The container that is probed.
class Container {
  public:
    explicit Container(witlet_probe_probe_types_own_container_t handle) : handle_(owned(handle)) {}

    std::string name() const { return get(witlet_probe_probe_types_method_container_name, borrow()); }
    std::string id() const { return get(witlet_probe_probe_types_method_container_id, borrow()); }
    uint32_t restarts() const { return witlet_probe_probe_types_method_container_restarts(borrow()); }
    std::string image() const { return get(witlet_probe_probe_types_method_container_image, borrow()); }
    std::vector<ContainerPort> ports() const
    {
        return list<ContainerPort>(witlet_probe_probe_types_method_container_ports, borrow());
    }
    std::optional<uint16_t> port(std::string_view name) const
    {
        return get_number_of(witlet_probe_probe_types_method_container_port, borrow(), name);
    }
    std::optional<std::string> pointer(std::string_view path) const
    {
        return get_of(witlet_probe_probe_types_method_container_pointer, borrow(), path);
    }

  private:
    witlet_probe_probe_types_borrow_container_t borrow() const { return handle_.borrow(); }

    decltype(owned(witlet_probe_probe_types_own_container_t{})) handle_;
};

// The pod of the container that is probed.
class Pod {
  public:
    explicit Pod(witlet_probe_probe_types_own_pod_t handle) : handle_(owned(handle)) {}

    std::string namespace_() const { return get(witlet_probe_probe_types_method_pod_namespace, borrow()); }
    std::string name() const { return get(witlet_probe_probe_types_method_pod_name, borrow()); }
    std::string uid() const { return get(witlet_probe_probe_types_method_pod_uid, borrow()); }
    std::optional<std::string> label(std::string_view key) const
    {
        return get_of(witlet_probe_probe_types_method_pod_label, borrow(), key);
    }
    Pairs labels() const { return get_pairs(witlet_probe_probe_types_method_pod_labels, borrow()); }
    std::optional<std::string> annotation(std::string_view key) const
    {
        return get_of(witlet_probe_probe_types_method_pod_annotation, borrow(), key);
    }
    Pairs annotations() const { return get_pairs(witlet_probe_probe_types_method_pod_annotations, borrow()); }
    std::vector<std::string> addresses() const { return get_texts(witlet_probe_probe_types_method_pod_addresses, borrow()); }
    std::vector<std::string> host_addresses() const
    {
        return get_texts(witlet_probe_probe_types_method_pod_host_addresses, borrow());
    }
    bool host_network() const { return witlet_probe_probe_types_method_pod_host_network(borrow()); }
    std::string json() const { return get(witlet_probe_probe_types_method_pod_json, borrow()); }
    std::optional<std::string> pointer(std::string_view path) const
    {
        return get_of(witlet_probe_probe_types_method_pod_pointer, borrow(), path);
    }

  private:
    witlet_probe_probe_types_borrow_pod_t borrow() const { return handle_.borrow(); }

    decltype(owned(witlet_probe_probe_types_own_pod_t{})) handle_;
};

// What is probed. What it gives is valid during the call.
class Target {
  public:
    Target(witlet_probe_probe_types_borrow_target_t handle) : handle_(handle) {}

    Pod pod() const { return Pod(witlet_probe_probe_types_method_target_pod(borrow())); }
    Container container() const { return Container(witlet_probe_probe_types_method_target_container(borrow())); }
    std::string kind() const { return get(witlet_probe_probe_types_method_target_kind, borrow()); }
    std::chrono::milliseconds timeout() const
    {
        return std::chrono::milliseconds(witlet_probe_probe_types_method_target_timeout_milliseconds(borrow()));
    }
    std::chrono::milliseconds remaining() const
    {
        return std::chrono::milliseconds(witlet_probe_probe_types_method_target_remaining_milliseconds(borrow()));
    }

  private:
    witlet_probe_probe_types_borrow_target_t borrow() const { return handle_; }

    witlet_probe_probe_types_borrow_target_t handle_;
};

} // namespace witlet::probe
