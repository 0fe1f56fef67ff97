// The configuration, the parameters of a probe, and its outcome: the plugin's probe type.
#pragma once

#include "probe.hpp"

inline constexpr uint16_t port_default = 6379;

// The parameters of a probe: {"port": 6379}, or none.
struct Parameters {
    uint16_t port;
};

// The configuration: {"passwordSecret": "redis-password"}, or none.
class Prober {
  public:
    // Reads a configuration, or says what is wrong with it.
    static witlet::Result<Prober> from_config(std::string_view config);

    // Reads parameters, or says what is wrong with them.
    static witlet::Result<Parameters> parameters(std::string_view text);

    // The outcome of one probe of the target's first address.
    witlet::Result<witlet::probe::Outcome> probe(const witlet::probe::Target &target, const Parameters &parameters) const;

  private:
    explicit Prober(std::optional<std::string> secret) : secret_(std::move(secret)) {}

    // The password, if one is needed. Its absence says nothing about the server: it is an error, and no failure.
    witlet::Result<std::optional<std::string>> password() const;

    // The name of the password's secret.
    std::optional<std::string> secret_;
};
