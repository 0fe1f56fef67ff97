// Which images may run: the plugin's handler.
#pragma once

#include "admission.hpp"

// How many places a configuration may have.
inline constexpr size_t allow_max = 256;

// The configuration: {"allow": ["registry.example.com", "docker.io/library"], "requireDigest": false}.
class Policy {
  public:
    // Reads a configuration, or says what is wrong with it.
    static witlet::Result<Policy> from_config(std::string_view config);

    // The verdict on a pod: that on its first container which may not run.
    witlet::Result<witlet::admission::Verdict> admit(const witlet::admission::Request &request) const;

    // Why a container may not run; none if it may.
    std::optional<witlet::admission::Verdict> refuse(std::string_view container, std::string_view image) const;

  private:
    Policy(std::vector<std::string> allow, bool require_digest) : allow_(std::move(allow)), require_digest_(require_digest) {}

    // Whether a place is one of the allowed ones, or below one.
    bool allows(std::string_view place) const;

    std::vector<std::string> allow_;
    bool require_digest_;
};
