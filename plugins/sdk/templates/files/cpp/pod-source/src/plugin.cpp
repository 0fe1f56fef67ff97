// What the host asks.
#include "source.hpp"

using witlet::pod_source::Fingerprint;
using witlet::pod_source::PollResult;

PollResult Source::poll(std::optional<std::string_view> cursor) const
{
    Fingerprint fingerprint;
    for (const std::string &manifest : manifests_)
        fingerprint.add(manifest);
    std::string now = fingerprint.text();
    if (cursor != now)
        witlet::log(witlet::Level::info, "other pods than before");
    return witlet::pod_source::compare(manifests_, std::move(now), cursor);
}

WITLET_POD_SOURCE(Source)
