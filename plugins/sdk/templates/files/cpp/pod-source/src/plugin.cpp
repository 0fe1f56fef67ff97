// What the host asks.
#include "source.hpp"

// A source that can't find out what it has returns `witlet::failure("Unavailable", …)`, and never says `empty`: for the host that would be the end
// of all its pods.
witlet::Outcome<void> Source::poll(std::optional<std::string_view> cursor, witlet::pod_source::Answer answer) const
{
    witlet::pod_source::Fingerprint fingerprint;
    for (const std::string &manifest : manifests_)
        fingerprint.add(manifest);
    std::string now = fingerprint.text();
    answer.cursor(now);
    if (cursor == now) {
        answer.unchanged();
        return {};
    }
    witlet::log(witlet::Level::info, "other pods than before");
    if (manifests_.empty())
        answer.empty();
    for (const std::string &manifest : manifests_)
        answer.pod(manifest);
    return {};
}

WITLET_POD_SOURCE(Source)
