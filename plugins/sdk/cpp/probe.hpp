// Probe types. A probe type is a type that is made of a configuration, reads a probe's parameters, and has an outcome for a target:
//
//     class Prober {
//       public:
//         static witlet::Result<Prober> from_config(std::string_view config);
//         static witlet::Result<Parameters> parameters(std::string_view text);
//         witlet::Result<witlet::probe::Outcome> probe(const witlet::probe::Target &target, const Parameters &parameters) const;
//     };
//
//     WITLET_PROBE_TYPE(Prober)
#pragma once

#include <chrono>

#include "witlet.hpp"

#ifndef WITLET_PROBE_TYPES_OUTCOME_SUCCESS
#error "the world in wit/ exports no probe type"
#endif

namespace witlet::probe {

// ---- Outcomes ----

enum class Found : uint8_t {
    success = WITLET_PROBE_TYPES_OUTCOME_SUCCESS,
    warning = WITLET_PROBE_TYPES_OUTCOME_WARNING,
    failure = WITLET_PROBE_TYPES_OUTCOME_FAILURE,
};

// What a probe found out, in words. That nothing could be found out is no outcome, but an error.
struct Outcome {
    Found found;
    std::string detail;
};

inline Outcome success(std::string detail)
{
    return {Found::success, std::move(detail)};
}

inline Outcome warning(std::string detail)
{
    return {Found::warning, std::move(detail)};
}

inline Outcome failure(std::string detail)
{
    return {Found::failure, std::move(detail)};
}

// ---- What is probed ----

enum class Kind : uint8_t {
    startup = WITLET_PROBE_TYPES_PROBE_KIND_STARTUP,
    readiness = WITLET_PROBE_TYPES_PROBE_KIND_READINESS,
    liveness = WITLET_PROBE_TYPES_PROBE_KIND_LIVENESS,
};

struct PodRef {
    std::string namespace_, name, uid;
};

struct NamedPort {
    std::string name;
    uint16_t port;
    // `TCP`, `UDP` or `SCTP`.
    std::string protocol;
};

#ifdef WITLET_PROBE_EXEC_EXEC_ERROR_TIMED_OUT

// How a command ended.
struct Executed {
    int32_t exit_code;
    // Bytes, which needn't be UTF-8.
    std::string output;
};

// Why a command didn't end: it took too long, or the words of `failed`.
struct ExecError {
    std::optional<std::string> failed;
    bool timed_out() const { return !failed; }
};

#endif

// A container of a pod. It is there for one call, and each getter asks the host.
class Target {
  public:
    explicit Target(witlet_probe_types_borrow_target_t handle) : handle_(handle) {}
    Target(const Target &) = delete;
    Target &operator=(const Target &) = delete;

    PodRef pod() const
    {
        witlet_probe_types_pod_ref_t ref;
        witlet_probe_types_method_target_pod(handle_, &ref);
        return {detail::take(ref.namespace_), detail::take(ref.name), detail::take(ref.uid)};
    }

    // The whole pod as JSON.
    std::string pod_json() const { return detail::get(witlet_probe_types_method_target_pod_json, handle_); }

    // The JSON at a path (RFC 6901) of the pod, such as `/spec/nodeName`.
    std::optional<std::string> pod_pointer(std::string_view path) const
    {
        return detail::get_pointer(witlet_probe_types_method_target_pod_pointer, handle_, path);
    }

    // The container's name.
    std::string container() const { return detail::get(witlet_probe_types_method_target_container, handle_); }
    std::string container_id() const { return detail::get(witlet_probe_types_method_target_container_id, handle_); }
    uint32_t restarts() const { return witlet_probe_types_method_target_restarts(handle_); }
    std::vector<std::string> pod_ips() const { return texts(witlet_probe_types_method_target_pod_ips); }
    std::vector<std::string> host_ips() const { return texts(witlet_probe_types_method_target_host_ips); }

    std::vector<NamedPort> named_ports() const
    {
        witlet_probe_types_list_named_port_t list;
        witlet_probe_types_method_target_named_ports(handle_, &list);
        return detail::take_list(list, [](const auto &item) {
            return NamedPort{detail::take(item.name), item.port, detail::take(item.protocol)};
        });
    }

    Kind kind() const { return static_cast<Kind>(witlet_probe_types_method_target_kind(handle_)); }

    // What is left of the probe's time.
    std::chrono::milliseconds remaining() const
    {
        return std::chrono::milliseconds(witlet_probe_types_method_target_remaining_milliseconds(handle_));
    }

#ifdef WITLET_PROBE_EXEC_EXEC_ERROR_TIMED_OUT

    // Runs a command in the container, until it ends or the probe's time is over.
    std::expected<Executed, ExecError> exec(const std::vector<std::string> &command) const
    {
        std::vector<std::string> kept(command.size());
        std::vector<plugin_string_t> words;
        for (size_t index = 0; index < command.size(); index++)
            words.push_back(detail::lend(command[index], kept[index]));
        plugin_list_string_t list = {words.data(), words.size()};
        witlet_probe_exec_exec_result_t result;
        witlet_probe_exec_exec_error_t error;
        if (witlet_probe_exec_run(handle_, &list, &result, &error))
            return Executed{result.exit_code, detail::take(result.output)};
        if (error.tag == WITLET_PROBE_EXEC_EXEC_ERROR_TIMED_OUT)
            return std::unexpected(ExecError{std::nullopt});
        return std::unexpected(ExecError{detail::take(error.val.failed)});
    }

#endif

  private:
    std::vector<std::string> texts(void (*getter)(witlet_probe_types_borrow_target_t, plugin_list_string_t *)) const
    {
        plugin_list_string_t list;
        getter(handle_, &list);
        return detail::take_list(list, [](plugin_string_t text) { return detail::take(text); });
    }

    witlet_probe_types_borrow_target_t handle_;
};

// ---- Exports ----

// What a probe type is.
template <class Type>
concept ProbeType = Configured<Type> && requires(Type &prober, const Target &target, std::string_view text) {
    { prober.probe(target, *Type::parameters(text)) } -> std::same_as<Result<Outcome>>;
    { Type::parameters(text).error() } -> std::convertible_to<std::string>;
};

namespace detail {

using namespace witlet::detail;

template <ProbeType Prober>
bool probe(witlet_probe_types_borrow_target_t target, plugin_string_t *text, witlet_probe_types_outcome_t *outcome,
           plugin_string_t *error)
{
    std::string owned = take(*text);
    Result<Prober *> prober = plugin<Prober>();
    auto parameters = Prober::parameters(owned);
    Result<Outcome> result = fail();
    if (!prober)
        result = std::unexpected(prober.error());
    else if (!parameters)
        result = std::unexpected(parameters.error());
    else
        result = (*prober)->probe(Target(target), *parameters);
    if (!result) {
        *error = give(result.error());
        return false;
    }
    outcome->tag = static_cast<uint8_t>(result->found);
    // All three have their detail in the same place.
    outcome->val.success = give(result->detail);
    return true;
}

} // namespace detail

} // namespace witlet::probe

// Makes a type the plugin's probe type. Stands once, in no namespace.
#define WITLET_PROBE_TYPE(Type)                                                                                                \
    bool exports_witlet_probe_prober_validate(plugin_string_t *config, plugin_string_t *error)                                 \
    {                                                                                                                          \
        return witlet::detail::check(config, error, [](std::string text) { return Type::from_config(text); });                 \
    }                                                                                                                          \
    bool exports_witlet_probe_prober_check_parameters(plugin_string_t *parameters, plugin_string_t *error)                     \
    {                                                                                                                          \
        return witlet::detail::check(parameters, error, [](std::string text) { return Type::parameters(text); });              \
    }                                                                                                                          \
    bool exports_witlet_probe_prober_probe(witlet_probe_types_borrow_target_t target, plugin_string_t *parameters,             \
                                           witlet_probe_types_outcome_t *outcome, plugin_string_t *error)                      \
    {                                                                                                                          \
        return witlet::probe::detail::probe<Type>(target, parameters, outcome, error);                                         \
    }
