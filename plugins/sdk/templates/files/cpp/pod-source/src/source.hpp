// The pods of a configuration: the plugin's source.
#pragma once

#include "pod_source.hpp"

// How many pods a configuration may have.
inline constexpr size_t pods_max = 256;

// The configuration: {"pods": [{…}, …]}.
class Source {
  public:
    // Reads a configuration, or says what is wrong with it.
    static witlet::Outcome<Source> from_config(std::string_view config);

    // Says by the answer what the source has, in relation to a cursor.
    witlet::Outcome<void> poll(std::optional<std::string_view> cursor, witlet::pod_source::Answer answer) const;

  private:
    explicit Source(std::vector<std::string> manifests) : manifests_(std::move(manifests)) {}

    std::vector<std::string> manifests_;
};
