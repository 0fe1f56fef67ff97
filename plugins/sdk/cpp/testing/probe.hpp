// Targets as unit tests make them up, and the plugin's probe type on them.
#pragma once

#include <functional>

#include "../probe.hpp"
#include "tcp.hpp"
#include "testing.hpp"

namespace witlet::testing {

struct Target {
    probe::PodRef pod = {"default", "web", "0f3c8a52-7f1e-4a51-9d2b-6a1f0c0de001"};
    // What `pod_json` and `pod_pointer` check.
    std::string pod_json = "{}";
    std::string container = "app", container_id = "containerd://c0ffee";
    uint32_t restarts = 0;
    std::vector<std::string> pod_ips = {"192.0.2.7"}, host_ips = {"192.0.2.1"};
    std::vector<probe::NamedPort> named_ports = {};
    probe::Kind kind = probe::Kind::readiness;
    std::chrono::milliseconds remaining = std::chrono::seconds(1);
#ifdef WITLET_PROBE_EXEC_EXEC_ERROR_TIMED_OUT
    // What a command ends with.
    std::function<std::expected<probe::Executed, probe::ExecError>(const std::vector<std::string> &command)> exec = {};
#endif
};

// What the plugin says of a configuration, and of a probe's parameters.
Result<void> validate(std::string_view config);
Result<void> check_parameters(std::string_view parameters);

// The outcome of one probe, in one line: "success: DETAIL", "warning: DETAIL", "failure: DETAIL", or "error: WORDS".
std::string probe(const Target &target, std::string_view parameters);

} // namespace witlet::testing
