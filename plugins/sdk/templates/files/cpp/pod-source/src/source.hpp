// The pods of a configuration: the plugin's source.
#pragma once

#include "pod_source.hpp"

// How many pods a configuration may have.
inline constexpr size_t pods_max = 256;

// The configuration: {"pods": [{…}, …]}.
class Source {
  public:
    // Reads a configuration, or says what is wrong with it.
    static witlet::Result<Source> from_config(std::string_view config);

    // What the source has, in relation to a cursor.
    witlet::pod_source::PollResult poll(std::optional<std::string_view> cursor) const;

  private:
    explicit Source(witlet::pod_source::Manifests manifests) : manifests_(std::move(manifests)) {}

    witlet::pod_source::Manifests manifests_;
};
