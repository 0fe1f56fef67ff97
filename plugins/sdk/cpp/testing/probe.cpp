// The host's functions of `witlet:probe`, on what a test has made up.
#include "../witlet.hpp"

#ifdef WITLET_PROBE_TYPES_OUTCOME_SUCCESS

#include "probe.hpp"

using namespace witlet;
using namespace witlet::testing::detail;
using witlet::testing::host;

namespace {

// The target of a call.
const testing::Target *probed = nullptr;

void give_texts(const std::vector<std::string> &texts, plugin_list_string_t *ret)
{
    *ret = give_list<plugin_list_string_t>(texts, give);
}

} // namespace

Result<void> testing::validate(std::string_view config)
{
    return call(exports_witlet_probe_prober_validate, config);
}

Result<void> testing::check_parameters(std::string_view parameters)
{
    return call(exports_witlet_probe_prober_check_parameters, parameters);
}

std::string testing::probe(const Target &target, std::string_view parameters)
{
    probed = &target;
    plugin_string_t text = give_bytes(parameters), error;
    witlet_probe_types_outcome_t outcome;
    bool good = exports_witlet_probe_prober_probe({1}, &text, &outcome, &error);
    probed = nullptr;
    CHECK(host.held == 0);
    if (!good)
        return concat("error: ", take(error));
    static constexpr std::string_view names[] = {"success: ", "warning: ", "failure: "};
    return concat(names[outcome.tag], take(outcome.val.success));
}

// ---- A target ----

void witlet_probe_types_method_target_pod(witlet_probe_types_borrow_target_t, witlet_probe_types_pod_ref_t *ret)
{
    *ret = {give(probed->pod.namespace_), give(probed->pod.name), give(probed->pod.uid)};
}

void witlet_probe_types_method_target_pod_json(witlet_probe_types_borrow_target_t, plugin_string_t *ret)
{
    *ret = give(probed->pod_json);
}

bool witlet_probe_types_method_target_pod_pointer(witlet_probe_types_borrow_target_t, plugin_string_t *path, plugin_string_t *ret)
{
    std::optional<std::string> value = pointed(probed->pod_json, view(*path));
    if (value)
        *ret = give(*value);
    return value.has_value();
}

void witlet_probe_types_method_target_container(witlet_probe_types_borrow_target_t, plugin_string_t *ret)
{
    *ret = give(probed->container);
}

void witlet_probe_types_method_target_container_id(witlet_probe_types_borrow_target_t, plugin_string_t *ret)
{
    *ret = give(probed->container_id);
}

uint32_t witlet_probe_types_method_target_restarts(witlet_probe_types_borrow_target_t)
{
    return probed->restarts;
}

void witlet_probe_types_method_target_pod_ips(witlet_probe_types_borrow_target_t, plugin_list_string_t *ret)
{
    give_texts(probed->pod_ips, ret);
}

void witlet_probe_types_method_target_host_ips(witlet_probe_types_borrow_target_t, plugin_list_string_t *ret)
{
    give_texts(probed->host_ips, ret);
}

void witlet_probe_types_method_target_named_ports(witlet_probe_types_borrow_target_t, witlet_probe_types_list_named_port_t *ret)
{
    *ret = give_list<witlet_probe_types_list_named_port_t>(probed->named_ports, [](const auto &item) {
        return witlet_probe_types_named_port_t{give(item.name), item.port, give(item.protocol)};
    });
}

witlet_probe_types_probe_kind_t witlet_probe_types_method_target_kind(witlet_probe_types_borrow_target_t)
{
    return static_cast<uint8_t>(probed->kind);
}

uint64_t witlet_probe_types_method_target_remaining_milliseconds(witlet_probe_types_borrow_target_t)
{
    return static_cast<uint64_t>(probed->remaining.count());
}

#ifdef WITLET_PROBE_EXEC_EXEC_ERROR_TIMED_OUT

bool witlet_probe_exec_run(witlet_probe_exec_borrow_target_t, plugin_list_string_t *command, witlet_probe_exec_exec_result_t *ret,
                           witlet_probe_exec_exec_error_t *err)
{
    std::vector<std::string> words;
    for (size_t index = 0; index < command->len; index++)
        words.emplace_back(view(command->ptr[index]));
    auto ended = probed->exec ? probed->exec(words) : std::unexpected(probe::ExecError{"no command is expected"});
    if (ended) {
        *ret = {ended->exit_code, give_bytes<plugin_list_u8_t>(ended->output)};
        return true;
    }
    err->tag = ended.error().timed_out() ? WITLET_PROBE_EXEC_EXEC_ERROR_TIMED_OUT : WITLET_PROBE_EXEC_EXEC_ERROR_FAILED;
    if (!ended.error().timed_out())
        err->val.failed = give(*ended.error().failed);
    return false;
}

#endif

#endif
