// The plugin's pod source, as unit tests ask it.
#pragma once

#include "../pod_source.hpp"
#include "testing.hpp"

namespace witlet::testing {

// What the plugin says of a configuration.
Result<void> validate(std::string_view config);

// What the plugin's source has.
pod_source::PollResult poll(std::optional<std::string_view> cursor = std::nullopt);

// What was polled, in one line: "unchanged", "empty", "pods: MANIFEST, …", or "error REASON: MESSAGE".
std::string line(const pod_source::PollResult &result);

} // namespace witlet::testing
