// Admission handlers. A handler is a type that is made of a configuration, and has a verdict on a request:
//
//     class Handler {
//       public:
//         static witlet::Result<Handler> from_config(std::string_view config);
//         witlet::Result<witlet::admission::Verdict> admit(const witlet::admission::Request &request) const;
//     };
//
//     WITLET_ADMISSION_HANDLER(Handler)
#pragma once

#include <chrono>
#include <variant>

#include "witlet.hpp"

#ifndef WITLET_ADMISSION_TYPES_VERDICT_ADMIT
#error "the world in wit/ exports no admission handler"
#endif

namespace witlet::admission {

// ---- Verdicts ----

// Nothing against the pod.
struct Admission {};

// Never: `reason` is a CamelCase word, `message` a sentence for people.
struct Rejection {
    std::string reason, message;
};

// Not now: as a rejection; the host asks again after this time, or earlier if the node changes.
struct Deferral {
    std::string reason, message;
    std::chrono::milliseconds retry_after;
};

// A resource that doesn't suffice. Units are those of `Quantity`.
struct Shortage {
    std::string resource;
    int64_t requested, used, capacity;
};

using Verdict = std::variant<Admission, Rejection, Deferral, std::vector<Shortage>>;

inline Verdict admit()
{
    return Admission{};
}

inline Verdict reject(std::string reason, std::string message)
{
    return Rejection{std::move(reason), std::move(message)};
}

inline Verdict defer(std::string reason, std::string message, std::chrono::milliseconds retry_after)
{
    return Deferral{std::move(reason), std::move(message), retry_after};
}

inline Verdict shortage(std::vector<Shortage> shortages)
{
    return shortages;
}

// ---- What a request has ----

// Why admission is asked.
enum class Operation : uint8_t {
    add = WITLET_ADMISSION_TYPES_OPERATION_ADD,
    // A running pod asks for other resources.
    resize = WITLET_ADMISSION_TYPES_OPERATION_RESIZE,
};

enum class QosClass : uint8_t {
    guaranteed = WITLET_ADMISSION_TYPES_QOS_CLASS_GUARANTEED,
    burstable = WITLET_ADMISSION_TYPES_QOS_CLASS_BURSTABLE,
    best_effort = WITLET_ADMISSION_TYPES_QOS_CLASS_BEST_EFFORT,
};

enum class ContainerKind : uint8_t {
    init = WITLET_ADMISSION_TYPES_CONTAINER_KIND_INIT,
    sidecar = WITLET_ADMISSION_TYPES_CONTAINER_KIND_SIDECAR,
    app = WITLET_ADMISSION_TYPES_CONTAINER_KIND_APP,
    ephemeral = WITLET_ADMISSION_TYPES_CONTAINER_KIND_EPHEMERAL,
};

struct PodRef {
    std::string namespace_, name, uid;
};

// `cpu` is in milli-CPU, everything else in base units (bytes, pieces).
struct Quantity {
    std::string resource;
    int64_t amount;
};

struct HostPort {
    // `0.0.0.0` stands for all.
    std::string ip;
    // `TCP`, `UDP` or `SCTP`.
    std::string protocol;
    uint16_t port;
};

struct Container {
    std::string name;
    ContainerKind kind;
    // As written in the spec; empty if the spec names none.
    std::string image;
};

struct Taint {
    std::string key, value;
    // `NoSchedule`, `PreferNoSchedule` or `NoExecute`.
    std::string effect;
};

struct Condition {
    std::string kind;
    // `True`, `False` or `Unknown`.
    std::string status;
    std::string reason, message;
};

// Since 1970-01-01T00:00:00Z.
using Moment = std::chrono::sys_time<std::chrono::nanoseconds>;

namespace detail {

using namespace witlet::detail;

template <auto Getter, class Handle>
std::vector<Quantity> quantities(Handle handle)
{
    witlet_admission_types_list_quantity_t list;
    Getter(handle, &list);
    return take_list(list, [](const auto &item) { return Quantity{take(item.resource), item.amount}; });
}

template <auto Getter, class Handle>
std::vector<HostPort> host_ports(Handle handle)
{
    witlet_admission_types_list_host_port_t list;
    Getter(handle, &list);
    return take_list(list, [](const auto &item) { return HostPort{take(item.ip), take(item.protocol), item.port}; });
}

template <auto Getter, class Handle>
Pairs pairs(Handle handle)
{
    plugin_list_tuple2_string_string_t list;
    Getter(handle, &list);
    return take_pairs(list);
}

// A handle that is dropped with its owner, who can be moved and not copied.
template <class Own, class Borrowed, Borrowed (*Borrow)(Own), void (*Drop)(Own)>
class Handle {
  public:
    explicit Handle(Own own) : own_(own) {}
    Handle(Handle &&other) noexcept : own_(std::exchange(other.own_, std::nullopt)) {}
    Handle &operator=(Handle &&other) noexcept
    {
        std::swap(own_, other.own_);
        return *this;
    }
    ~Handle()
    {
        if (own_)
            Drop(*own_);
    }

    Borrowed borrow() const { return Borrow(*own_); }

  private:
    std::optional<Own> own_;
};

} // namespace detail

// A pod. Each getter asks the host.
class Pod {
  public:
    explicit Pod(witlet_admission_types_own_pod_t own) : handle_(own) {}

    PodRef identity() const
    {
        witlet_admission_types_pod_ref_t ref;
        witlet_admission_types_method_pod_identity(handle_.borrow(), &ref);
        return {detail::take(ref.namespace_), detail::take(ref.name), detail::take(ref.uid)};
    }

    // The name of the pod source that it comes from.
    std::string source() const { return detail::get(witlet_admission_types_method_pod_source, handle_.borrow()); }
    Pairs labels() const { return detail::pairs<witlet_admission_types_method_pod_labels>(handle_.borrow()); }
    Pairs annotations() const { return detail::pairs<witlet_admission_types_method_pod_annotations>(handle_.borrow()); }
    int32_t priority() const { return witlet_admission_types_method_pod_priority(handle_.borrow()); }

    // Those of every kind, in the order of the spec.
    std::vector<Container> containers() const
    {
        witlet_admission_types_list_container_t list;
        witlet_admission_types_method_pod_containers(handle_.borrow(), &list);
        return detail::take_list(list, [](const auto &item) {
            return Container{detail::take(item.name), static_cast<ContainerKind>(item.kind), detail::take(item.image)};
        });
    }

    std::vector<Quantity> requests() const
    {
        return detail::quantities<witlet_admission_types_method_pod_requests>(handle_.borrow());
    }
    std::vector<HostPort> host_ports() const
    {
        return detail::host_ports<witlet_admission_types_method_pod_host_ports>(handle_.borrow());
    }
    QosClass qos() const { return static_cast<QosClass>(witlet_admission_types_method_pod_qos(handle_.borrow())); }

    // The whole pod as JSON.
    std::string json() const { return detail::get(witlet_admission_types_method_pod_json, handle_.borrow()); }

    // The JSON at a path (RFC 6901), such as `/spec/hostNetwork`.
    std::optional<std::string> pointer(std::string_view path) const
    {
        return detail::get_pointer(witlet_admission_types_method_pod_pointer, handle_.borrow(), path);
    }

  private:
    detail::Handle<witlet_admission_types_own_pod_t, witlet_admission_types_borrow_pod_t, witlet_admission_types_borrow_pod,
                   witlet_admission_types_pod_drop_own>
        handle_;
};

// The node. Each getter asks the host.
class Node {
  public:
    explicit Node(witlet_admission_types_own_node_t own) : handle_(own) {}

    std::string name() const { return detail::get(witlet_admission_types_method_node_name, handle_.borrow()); }
    Pairs labels() const { return detail::pairs<witlet_admission_types_method_node_labels>(handle_.borrow()); }

    std::vector<Taint> taints() const
    {
        witlet_admission_types_list_taint_t list;
        witlet_admission_types_method_node_taints(handle_.borrow(), &list);
        return detail::take_list(list, [](const auto &item) {
            return Taint{detail::take(item.key), detail::take(item.value), detail::take(item.effect)};
        });
    }

    std::vector<Quantity> capacity() const
    {
        return detail::quantities<witlet_admission_types_method_node_capacity>(handle_.borrow());
    }
    std::vector<Quantity> allocatable() const
    {
        return detail::quantities<witlet_admission_types_method_node_allocatable>(handle_.borrow());
    }
    // What the other pods have.
    std::vector<Quantity> requested() const
    {
        return detail::quantities<witlet_admission_types_method_node_requested>(handle_.borrow());
    }
    std::vector<HostPort> used_host_ports() const
    {
        return detail::host_ports<witlet_admission_types_method_node_used_host_ports>(handle_.borrow());
    }

    std::vector<Condition> conditions() const
    {
        witlet_admission_types_list_condition_t list;
        witlet_admission_types_method_node_conditions(handle_.borrow(), &list);
        return detail::take_list(list, [](const auto &item) {
            return Condition{detail::take(item.kind), detail::take(item.status), detail::take(item.reason),
                             detail::take(item.message)};
        });
    }

    Pairs facts() const { return detail::pairs<witlet_admission_types_method_node_facts>(handle_.borrow()); }
    // The node's devices as JSON.
    std::string devices() const { return detail::get(witlet_admission_types_method_node_devices, handle_.borrow()); }
    // The whole node as JSON.
    std::string json() const { return detail::get(witlet_admission_types_method_node_json, handle_.borrow()); }

    // The JSON at a path (RFC 6901).
    std::optional<std::string> pointer(std::string_view path) const
    {
        return detail::get_pointer(witlet_admission_types_method_node_pointer, handle_.borrow(), path);
    }

  private:
    detail::Handle<witlet_admission_types_own_node_t, witlet_admission_types_borrow_node_t, witlet_admission_types_borrow_node,
                   witlet_admission_types_node_drop_own>
        handle_;
};

// What is asked. It is there for one call.
class Request {
  public:
    explicit Request(witlet_admission_types_borrow_request_t handle) : handle_(handle) {}
    Request(const Request &) = delete;
    Request &operator=(const Request &) = delete;

    Operation operation() const { return static_cast<Operation>(witlet_admission_types_method_request_operation(handle_)); }

    Moment now() const
    {
        witlet_admission_types_datetime_t moment;
        witlet_admission_types_method_request_now(handle_, &moment);
        return Moment(std::chrono::seconds(moment.seconds) + std::chrono::nanoseconds(moment.nanoseconds));
    }

    Pod pod() const { return Pod(witlet_admission_types_method_request_pod(handle_)); }
    Node node() const { return Node(witlet_admission_types_method_request_node(handle_)); }

    // The node's other pods.
    std::vector<Pod> other_pods() const
    {
        witlet_admission_types_list_own_pod_t list;
        witlet_admission_types_method_request_other_pods(handle_, &list);
        return detail::take_list(list, [](witlet_admission_types_own_pod_t own) { return Pod(own); });
    }

  private:
    witlet_admission_types_borrow_request_t handle_;
};

// ---- Exports ----

// What a handler is.
template <class Type>
concept AdmissionHandler = Configured<Type> && requires(Type &handler, const Request &request) {
    { handler.admit(request) } -> std::same_as<Result<Verdict>>;
};

namespace detail {

inline witlet_admission_types_verdict_t give_verdict(const Verdict &verdict)
{
    witlet_admission_types_verdict_t given = {};
    given.tag = WITLET_ADMISSION_TYPES_VERDICT_ADMIT;
    if (const auto *rejection = std::get_if<Rejection>(&verdict)) {
        given.tag = WITLET_ADMISSION_TYPES_VERDICT_REJECT;
        given.val.reject = {give(rejection->reason), give(rejection->message)};
    } else if (const auto *deferral = std::get_if<Deferral>(&verdict)) {
        given.tag = WITLET_ADMISSION_TYPES_VERDICT_DEFER;
        auto milliseconds = deferral->retry_after.count();
        given.val.defer = {give(deferral->reason), give(deferral->message),
                           milliseconds > 0 ? static_cast<uint64_t>(milliseconds) : 0};
    } else if (const auto *shortages = std::get_if<std::vector<Shortage>>(&verdict)) {
        given.tag = WITLET_ADMISSION_TYPES_VERDICT_SHORTAGE;
        given.val.shortage = give_list<witlet_admission_types_list_shortage_t>(*shortages, [](const Shortage &item) {
            return witlet_admission_types_shortage_t{give(item.resource), item.requested, item.used, item.capacity};
        });
    }
    return given;
}

template <AdmissionHandler Handler>
bool admit(witlet_admission_types_borrow_request_t request, witlet_admission_types_verdict_t *verdict, plugin_string_t *error)
{
    Result<Handler *> handler = plugin<Handler>();
    Result<Verdict> result = handler ? (*handler)->admit(Request(request)) : std::unexpected(handler.error());
    if (!result) {
        *error = give(result.error());
        return false;
    }
    *verdict = give_verdict(*result);
    return true;
}

} // namespace detail

} // namespace witlet::admission

// Makes a type the plugin's admission handler. Stands once, in no namespace.
#define WITLET_ADMISSION_HANDLER(Type)                                                                                         \
    bool exports_witlet_admission_handler_validate(plugin_string_t *config, plugin_string_t *error)                            \
    {                                                                                                                          \
        return witlet::detail::check(config, error, [](std::string text) { return Type::from_config(text); });                 \
    }                                                                                                                          \
    bool exports_witlet_admission_handler_admit(witlet_admission_types_borrow_request_t request,                               \
                                                witlet_admission_types_verdict_t *verdict, plugin_string_t *error)             \
    {                                                                                                                          \
        return witlet::admission::detail::admit<Type>(request, verdict, error);                                                \
    }
