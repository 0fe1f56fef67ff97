// What a probe looks for: the plugin's probe type.
#pragma once

#include "probe.hpp"

// How long the text may be that a server is expected to begin with, in bytes.
inline constexpr size_t expect_max = 256;

// The parameters of a probe: {"port": 25, "expect": "220 "}.
struct Parameters {
    uint16_t port;
    // What the server sends first; not empty.
    std::string expect;
};

class Prober {
  public:
    // This probe type has everything from a probe's parameters.
    static witlet::Outcome<Prober> from_config(std::string_view config);

    // Reads parameters, or says what is wrong with them.
    static witlet::Outcome<Parameters> parameters(std::string_view text);

    // Whether parameters make sense.
    witlet::Outcome<void> check(std::string_view text) const;

    // Probes the target's first address once, and says by the answer what was found.
    witlet::Outcome<void> probe(witlet::probe::Target target, std::string_view text, witlet::probe::Answer answer) const;
};
