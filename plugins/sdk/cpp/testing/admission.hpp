// Pods and nodes as unit tests make them up, and the plugin's admission handler on them.
#pragma once

#include "../admission.hpp"
#include "testing.hpp"

namespace witlet::testing {

struct Pod {
    admission::PodRef identity = {"default", "web", "0f3c8a52-7f1e-4a51-9d2b-6a1f0c0de001"};
    std::string source = "file";
    Pairs labels = {}, annotations = {};
    int32_t priority = 0;
    std::vector<admission::Container> containers = {};
    std::vector<admission::Quantity> requests = {};
    std::vector<admission::HostPort> host_ports = {};
    admission::QosClass qos = admission::QosClass::best_effort;
    // What `json` and `pointer` check.
    std::string json = "{}";
};

struct Node {
    std::string name = "node-1";
    Pairs labels = {};
    std::vector<admission::Taint> taints = {};
    std::vector<admission::Quantity> capacity = {}, allocatable = {}, requested = {};
    std::vector<admission::HostPort> used_host_ports = {};
    std::vector<admission::Condition> conditions = {};
    Pairs facts = {};
    std::string devices = "[]";
    // What `json` and `pointer` check.
    std::string json = "{}";
};

struct Request {
    admission::Operation operation = admission::Operation::add;
    admission::Moment now = {};
    Pod pod = {};
    Node node = {};
    std::vector<Pod> other_pods = {};
};

// What the plugin says of a configuration.
Result<void> validate(std::string_view config);

// The plugin's verdict on a request.
Result<admission::Verdict> admit(const Request &request);

// A verdict in one line: "admit", "reject REASON: MESSAGE", "defer REASON after MILLISECONDS: MESSAGE", "shortage RESOURCE REQUESTED USED
// CAPACITY, …", or "error: WORDS".
std::string line(const Result<admission::Verdict> &verdict);

} // namespace witlet::testing
