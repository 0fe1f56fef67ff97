// The host, as unit tests of a probe type see it: targets of plain data, and what the plugin says of them in one line.
//
//     testing::server = {.sends = {"220 ready"}};
//     CHECK_TEXT(testing::probe({.addresses = {"10.0.0.7"}}, R"({"port": 25})"), "success: 220 ready");
#pragma once

#include <chrono>

#include "fakes/probe/probe.h"
#include "lists.hpp"
#include "tcp.hpp"
#include "testing.hpp"

namespace witlet::testing {

// What is probed.
struct Target {
    // The pod's manifest, a JSON text.
    std::string pod = "{}";
    // The name of the container; the manifest's first one if it is empty.
    std::string container = {};
    // The instance, and how often it was restarted.
    std::string id = {};
    uint32_t restarts = 0;
    // Of the pod and of the node, the primary one first.
    std::vector<std::string> addresses = {"192.0.2.7"}, host_addresses = {"192.0.2.1"};
    std::string kind = "readiness";
    // What the probe has altogether, and what is left of it.
    std::chrono::milliseconds timeout = std::chrono::seconds(10), remaining = timeout;
};

// What the plugin says of a configuration, and of a probe's parameters: "ok", "warn MESSAGE", or "error CODE: MESSAGE".
inline std::string validate(const std::string &config)
{
    return fake_validate(config.c_str());
}

inline std::string check_parameters(const std::string &parameters)
{
    return fake_check_parameters(parameters.c_str());
}

// What the plugin says of a target: "success: MESSAGE" and so on, as fakes/probe/probe.h has it.
inline std::string probe(const Target &target, const std::string &parameters)
{
    detail::Strings addresses(target.addresses), host_addresses(target.host_addresses);
    fake_target probed = {};
    probed.pod = target.pod.c_str();
    probed.container = target.container.empty() ? nullptr : target.container.c_str();
    probed.id = target.id.c_str();
    probed.restarts = target.restarts;
    probed.addresses = addresses.data();
    probed.host_addresses = host_addresses.data();
    probed.kind = target.kind.c_str();
    probed.timeout_milliseconds = static_cast<uint64_t>(target.timeout.count());
    probed.remaining_milliseconds = static_cast<uint64_t>(target.remaining.count());
    std::string said = fake_probe(&probed, parameters.c_str());
    CHECK(host.held == 0);
    return said;
}

// The latency that the last probe said, if it said one.
inline std::optional<std::chrono::nanoseconds> latency()
{
    return fake_latency < 0 ? std::nullopt : std::optional(std::chrono::nanoseconds(fake_latency));
}

} // namespace witlet::testing
