// The host's functions of `witlet:admission/types`, on what a test has made up.
#include "../witlet.hpp"

#ifdef WITLET_ADMISSION_TYPES_VERDICT_ADMIT

#include "admission.hpp"

using namespace witlet;
using namespace witlet::testing::detail;
using witlet::testing::host;

namespace {

// What the request of a call has. Handles of pods: 1 is its own, those behind are the other ones. There is one node.
const testing::Request *asked = nullptr;

const testing::Pod &pod(witlet_admission_types_borrow_pod_t handle)
{
    return handle.__handle == 1 ? asked->pod : asked->other_pods.at(static_cast<size_t>(handle.__handle) - 2);
}

void give_pairs(const Pairs &pairs, plugin_list_tuple2_string_string_t *ret)
{
    *ret = give_list<plugin_list_tuple2_string_string_t>(pairs, [](const auto &pair) {
        return plugin_tuple2_string_string_t{give(pair.first), give(pair.second)};
    });
}

void give_quantities(const std::vector<admission::Quantity> &quantities, witlet_admission_types_list_quantity_t *ret)
{
    *ret = give_list<witlet_admission_types_list_quantity_t>(quantities, [](const auto &item) {
        return witlet_admission_types_quantity_t{give(item.resource), item.amount};
    });
}

void give_ports(const std::vector<admission::HostPort> &ports, witlet_admission_types_list_host_port_t *ret)
{
    *ret = give_list<witlet_admission_types_list_host_port_t>(ports, [](const auto &item) {
        return witlet_admission_types_host_port_t{give(item.ip), give(item.protocol), item.port};
    });
}

bool give_pointed(std::string_view json, plugin_string_t *path, plugin_string_t *ret)
{
    std::optional<std::string> value = pointed(json, view(*path));
    if (value)
        *ret = give(*value);
    return value.has_value();
}

admission::Verdict take_verdict(const witlet_admission_types_verdict_t &verdict)
{
    switch (verdict.tag) {
    case WITLET_ADMISSION_TYPES_VERDICT_REJECT:
        return admission::reject(take(verdict.val.reject.reason), take(verdict.val.reject.message));
    case WITLET_ADMISSION_TYPES_VERDICT_DEFER:
        return admission::defer(take(verdict.val.defer.reason), take(verdict.val.defer.message),
                                std::chrono::milliseconds(verdict.val.defer.retry_after_milliseconds));
    case WITLET_ADMISSION_TYPES_VERDICT_SHORTAGE:
        return admission::shortage(take_list(verdict.val.shortage, [](const auto &item) {
            return admission::Shortage{take(item.resource), item.requested, item.used, item.capacity};
        }));
    default:
        return admission::admit();
    }
}

} // namespace

Result<void> testing::validate(std::string_view config)
{
    return call(exports_witlet_admission_handler_validate, config);
}

Result<admission::Verdict> testing::admit(const Request &request)
{
    asked = &request;
    witlet_admission_types_verdict_t verdict;
    plugin_string_t error;
    bool good = exports_witlet_admission_handler_admit({1}, &verdict, &error);
    asked = nullptr;
    CHECK(host.held == 0);
    if (!good)
        return std::unexpected(take(error));
    return take_verdict(verdict);
}

std::string testing::line(const Result<admission::Verdict> &verdict)
{
    if (!verdict)
        return concat("error: ", verdict.error());
    if (const auto *rejection = std::get_if<admission::Rejection>(&*verdict))
        return concat("reject ", rejection->reason, ": ", rejection->message);
    if (const auto *deferral = std::get_if<admission::Deferral>(&*verdict))
        return concat("defer ", deferral->reason, " after ", deferral->retry_after.count(), ": ", deferral->message);
    if (const auto *shortages = std::get_if<std::vector<admission::Shortage>>(&*verdict)) {
        std::string text = "shortage";
        std::string_view before = " ";
        for (const auto &item : *shortages) {
            text += concat(before, item.resource, " ", item.requested, " ", item.used, " ", item.capacity);
            before = ", ";
        }
        return text;
    }
    return "admit";
}

// ---- A request ----

witlet_admission_types_operation_t witlet_admission_types_method_request_operation(witlet_admission_types_borrow_request_t)
{
    return static_cast<uint8_t>(asked->operation);
}

void witlet_admission_types_method_request_now(witlet_admission_types_borrow_request_t, witlet_admission_types_datetime_t *ret)
{
    auto seconds = std::chrono::floor<std::chrono::seconds>(asked->now);
    *ret = {seconds.time_since_epoch().count(), static_cast<uint32_t>((asked->now - seconds).count())};
}

witlet_admission_types_own_pod_t witlet_admission_types_method_request_pod(witlet_admission_types_borrow_request_t)
{
    host.held++;
    return {1};
}

witlet_admission_types_own_node_t witlet_admission_types_method_request_node(witlet_admission_types_borrow_request_t)
{
    host.held++;
    return {1};
}

void witlet_admission_types_method_request_other_pods(witlet_admission_types_borrow_request_t,
                                                      witlet_admission_types_list_own_pod_t *ret)
{
    int32_t handle = 2;
    *ret = give_list<witlet_admission_types_list_own_pod_t>(asked->other_pods, [&](const auto &) {
        host.held++;
        return witlet_admission_types_own_pod_t{handle++};
    });
}

witlet_admission_types_borrow_pod_t witlet_admission_types_borrow_pod(witlet_admission_types_own_pod_t handle)
{
    return {handle.__handle};
}

witlet_admission_types_borrow_node_t witlet_admission_types_borrow_node(witlet_admission_types_own_node_t handle)
{
    return {handle.__handle};
}

void witlet_admission_types_pod_drop_own(witlet_admission_types_own_pod_t)
{
    host.held--;
}

void witlet_admission_types_node_drop_own(witlet_admission_types_own_node_t)
{
    host.held--;
}

// ---- A pod ----

void witlet_admission_types_method_pod_identity(witlet_admission_types_borrow_pod_t self, witlet_admission_types_pod_ref_t *ret)
{
    const admission::PodRef &ref = pod(self).identity;
    *ret = {give(ref.namespace_), give(ref.name), give(ref.uid)};
}

void witlet_admission_types_method_pod_source(witlet_admission_types_borrow_pod_t self, plugin_string_t *ret)
{
    *ret = give(pod(self).source);
}

void witlet_admission_types_method_pod_labels(witlet_admission_types_borrow_pod_t self, plugin_list_tuple2_string_string_t *ret)
{
    give_pairs(pod(self).labels, ret);
}

void witlet_admission_types_method_pod_annotations(witlet_admission_types_borrow_pod_t self,
                                                   plugin_list_tuple2_string_string_t *ret)
{
    give_pairs(pod(self).annotations, ret);
}

int32_t witlet_admission_types_method_pod_priority(witlet_admission_types_borrow_pod_t self)
{
    return pod(self).priority;
}

void witlet_admission_types_method_pod_containers(witlet_admission_types_borrow_pod_t self,
                                                  witlet_admission_types_list_container_t *ret)
{
    *ret = give_list<witlet_admission_types_list_container_t>(pod(self).containers, [](const auto &item) {
        return witlet_admission_types_container_t{give(item.name), static_cast<uint8_t>(item.kind), give(item.image)};
    });
}

void witlet_admission_types_method_pod_requests(witlet_admission_types_borrow_pod_t self,
                                                witlet_admission_types_list_quantity_t *ret)
{
    give_quantities(pod(self).requests, ret);
}

void witlet_admission_types_method_pod_host_ports(witlet_admission_types_borrow_pod_t self,
                                                  witlet_admission_types_list_host_port_t *ret)
{
    give_ports(pod(self).host_ports, ret);
}

witlet_admission_types_qos_class_t witlet_admission_types_method_pod_qos(witlet_admission_types_borrow_pod_t self)
{
    return static_cast<uint8_t>(pod(self).qos);
}

void witlet_admission_types_method_pod_json(witlet_admission_types_borrow_pod_t self, plugin_string_t *ret)
{
    *ret = give(pod(self).json);
}

bool witlet_admission_types_method_pod_pointer(witlet_admission_types_borrow_pod_t self, plugin_string_t *path,
                                               plugin_string_t *ret)
{
    return give_pointed(pod(self).json, path, ret);
}

// ---- The node ----

void witlet_admission_types_method_node_name(witlet_admission_types_borrow_node_t, plugin_string_t *ret)
{
    *ret = give(asked->node.name);
}

void witlet_admission_types_method_node_labels(witlet_admission_types_borrow_node_t, plugin_list_tuple2_string_string_t *ret)
{
    give_pairs(asked->node.labels, ret);
}

void witlet_admission_types_method_node_taints(witlet_admission_types_borrow_node_t, witlet_admission_types_list_taint_t *ret)
{
    *ret = give_list<witlet_admission_types_list_taint_t>(asked->node.taints, [](const auto &item) {
        return witlet_admission_types_taint_t{give(item.key), give(item.value), give(item.effect)};
    });
}

void witlet_admission_types_method_node_capacity(witlet_admission_types_borrow_node_t,
                                                 witlet_admission_types_list_quantity_t *ret)
{
    give_quantities(asked->node.capacity, ret);
}

void witlet_admission_types_method_node_allocatable(witlet_admission_types_borrow_node_t,
                                                    witlet_admission_types_list_quantity_t *ret)
{
    give_quantities(asked->node.allocatable, ret);
}

void witlet_admission_types_method_node_requested(witlet_admission_types_borrow_node_t,
                                                  witlet_admission_types_list_quantity_t *ret)
{
    give_quantities(asked->node.requested, ret);
}

void witlet_admission_types_method_node_used_host_ports(witlet_admission_types_borrow_node_t,
                                                        witlet_admission_types_list_host_port_t *ret)
{
    give_ports(asked->node.used_host_ports, ret);
}

void witlet_admission_types_method_node_conditions(witlet_admission_types_borrow_node_t,
                                                   witlet_admission_types_list_condition_t *ret)
{
    *ret = give_list<witlet_admission_types_list_condition_t>(asked->node.conditions, [](const auto &item) {
        return witlet_admission_types_condition_t{give(item.kind), give(item.status), give(item.reason), give(item.message)};
    });
}

void witlet_admission_types_method_node_facts(witlet_admission_types_borrow_node_t, plugin_list_tuple2_string_string_t *ret)
{
    give_pairs(asked->node.facts, ret);
}

void witlet_admission_types_method_node_devices(witlet_admission_types_borrow_node_t, plugin_string_t *ret)
{
    *ret = give(asked->node.devices);
}

void witlet_admission_types_method_node_json(witlet_admission_types_borrow_node_t, plugin_string_t *ret)
{
    *ret = give(asked->node.json);
}

bool witlet_admission_types_method_node_pointer(witlet_admission_types_borrow_node_t, plugin_string_t *path,
                                                plugin_string_t *ret)
{
    return give_pointed(asked->node.json, path, ret);
}

#endif
