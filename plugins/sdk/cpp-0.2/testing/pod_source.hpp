// The host, as unit tests of a pod source see it: polls, and what the plugin says in one line.
#pragma once

#include "fakes/pod-source/pod_source.h"
#include "testing.hpp"

namespace witlet::testing {

// What the plugin says of a configuration: "ok", "warn MESSAGE", or "error CODE: MESSAGE".
inline std::string validate(const std::string &config)
{
    return fake_validate(config.c_str());
}

// What the plugin says at a poll: "cursor CURSOR; pod MANIFEST; pod MANIFEST", "unchanged" and so on, as fakes/pod-source/pod_source.h has it.
inline std::string poll(const std::optional<std::string> &cursor = {})
{
    return fake_poll(cursor ? cursor->c_str() : nullptr);
}

// The cursor that the last poll said, if it said one.
inline std::optional<std::string> cursor()
{
    return fake_cursor == nullptr ? std::nullopt : std::optional<std::string>(fake_cursor);
}

// What the plugin says when it receives news, in worlds with feedback: fakes/pod-source/pod_source.h.
inline std::string notify(const std::vector<fake_change> &news)
{
    return fake_notify(news.data(), news.size());
}

} // namespace witlet::testing
