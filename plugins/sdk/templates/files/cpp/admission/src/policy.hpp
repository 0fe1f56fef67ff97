// Which pods may run: the plugin's handler.
#pragma once

#include "admission.hpp"

// How long the name of a label may be in Kubernetes, in bytes: a prefix of 253, a slash, a name of 63.
inline constexpr size_t label_max = 317;

// The configuration: {"label": "team"}.
class Policy {
  public:
    // Reads a configuration, or says what is wrong with it.
    static witlet::Outcome<Policy> from_config(std::string_view config);

    // Says by the answer what becomes of a pod.
    witlet::Outcome<void> admit(witlet::admission::Request request, witlet::admission::Answer answer) const;

  private:
    explicit Policy(std::string label) : label_(std::move(label)) {}

    // The label that a pod must have.
    std::string label_;
};
