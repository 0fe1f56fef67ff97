// The host, as unit tests of an admission handler see it: requests of manifests, and what the plugin says of them in one line.
//
//     testing::host.config = R"({"label": "team"})";
//     CHECK_TEXT(testing::admit({.pod = R"({"metadata": {"name": "web"}})"}), "reject NoTeam: the label team is missing");
#pragma once

#include <chrono>

#include "fakes/admission/admission.h"
#include "lists.hpp"
#include "testing.hpp"

namespace witlet::testing {

// An image that a container is to be started from. What is empty isn't known.
struct ResolvedImage {
    // The name of the container; the first one if it is empty.
    std::string container = {};
    std::string id = {}, digest = {}, credentials = {};
    // Bytes on the node.
    uint64_t size = 0;
};

// A question; manifests are JSON texts.
struct Request {
    std::string operation = "add";
    std::chrono::sys_time<std::chrono::nanoseconds> now = {};
    std::string pod = "{}", node = "{}";
    std::optional<std::string> old_pod = {};
    std::vector<std::string> other_pods = {};
    // Of the machine and the runtime.
    Pairs facts = {};
    // A JSON array.
    std::string devices = "[]";
    // What is in use of the node's resources.
    std::map<std::string, int64_t> used = {};
    // Handlers of the container runtime by runtime classes.
    Pairs runtime_handlers = {};
    // Of `image-resolved` alone.
    std::optional<ResolvedImage> image = {};
    // Where the pods come from.
    std::string source = "file";
};

// What the plugin says of a configuration: "subscribe add; subscribe update", or "error CODE: MESSAGE".
inline std::string validate(const std::string &config)
{
    return fake_validate(config.c_str());
}

// What the plugin says of a request: "admit", "reject REASON: MESSAGE" and so on, as fakes/admission/admission.h has it.
inline std::string admit(const Request &request)
{
    auto some = [](const std::string &text) { return text.empty() ? nullptr : text.c_str(); };
    auto seconds = std::chrono::floor<std::chrono::seconds>(request.now);
    detail::Strings other_pods(request.other_pods), facts(request.facts), handlers(request.runtime_handlers);
    std::vector<fake_used> used;
    for (const auto &[resource, amount] : request.used)
        used.push_back({resource.c_str(), amount});
    used.push_back({nullptr, 0});
    fake_image image = {};
    if (request.image)
        image = {some(request.image->container), some(request.image->id), some(request.image->digest),
                 some(request.image->credentials), request.image->size};
    fake_request asked = {};
    asked.operation = request.operation.c_str();
    asked.now_seconds = seconds.time_since_epoch().count();
    asked.now_nanoseconds = static_cast<uint32_t>((request.now - seconds).count());
    asked.pod = request.pod.c_str();
    asked.old_pod = request.old_pod ? request.old_pod->c_str() : nullptr;
    asked.node = request.node.c_str();
    asked.other_pods = other_pods.data();
    asked.facts = facts.data();
    asked.devices = request.devices.c_str();
    asked.used = used.data();
    asked.runtime_handlers = handlers.data();
    asked.image = request.image ? &image : nullptr;
    asked.source = request.source.c_str();
    return fake_admit(&asked);
}

} // namespace witlet::testing
