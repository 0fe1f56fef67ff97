// Asks the plugin's pod source as the host does.
#include "../witlet.hpp"

#ifdef WITLET_POD_SOURCE_TYPES_SNAPSHOT_UNCHANGED

#include "pod_source.hpp"

using namespace witlet;
using namespace witlet::testing::detail;

namespace {

std::optional<std::chrono::milliseconds> take_duration(plugin_option_u64_t duration)
{
    return duration.is_some ? std::optional(std::chrono::milliseconds(duration.val)) : std::nullopt;
}

pod_source::Snapshot take_snapshot(const witlet_pod_source_types_snapshot_t &snapshot)
{
    switch (snapshot.tag) {
    case WITLET_POD_SOURCE_TYPES_SNAPSHOT_PODS:
        return take_list(snapshot.val.pods, [](plugin_string_t text) { return take(text); });
    case WITLET_POD_SOURCE_TYPES_SNAPSHOT_EMPTY:
        return pod_source::Empty{};
    default:
        return pod_source::Unchanged{};
    }
}

} // namespace

Result<void> testing::validate(std::string_view config)
{
    return call(exports_witlet_pod_source_source_validate, config);
}

pod_source::PollResult testing::poll(std::optional<std::string_view> cursor)
{
    plugin_string_t handed = give_bytes(cursor.value_or(""));
    witlet_pod_source_types_poll_result_t result;
    witlet_pod_source_types_source_error_t error;
    if (!exports_witlet_pod_source_source_poll(cursor ? &handed : nullptr, &result, &error))
        return std::unexpected(
            pod_source::Error{take(error.reason), take(error.message), take_duration(error.retry_after_milliseconds)});
    return pod_source::Poll{take_snapshot(result.snapshot),
                            result.cursor.is_some ? std::optional(take(result.cursor.val)) : std::nullopt,
                            take_duration(result.next_poll_milliseconds)};
}

std::string testing::line(const pod_source::PollResult &result)
{
    if (!result)
        return concat("error ", result.error().reason, ": ", result.error().message);
    if (std::holds_alternative<pod_source::Unchanged>(result->snapshot))
        return "unchanged";
    const auto *manifests = std::get_if<pod_source::Manifests>(&result->snapshot);
    if (manifests == nullptr)
        return "empty";
    std::string text = "pods";
    std::string_view before = ": ";
    for (const std::string &manifest : *manifests) {
        text += concat(before, manifest);
        before = ", ";
    }
    return text;
}

#endif
