#include "prober.hpp"

#include "json.hpp"

witlet::Result<Prober> Prober::from_config(std::string_view config)
{
    witlet::Result<witlet::Json> settings = witlet::read_config(config, {"passwordSecret"});
    if (!settings)
        return std::unexpected(settings.error());
    witlet::Json name = (*settings)["passwordSecret"];
    if (name && name.string().value_or("").empty())
        return witlet::fail("passwordSecret: the name of a secret is needed");
    return Prober(name.string());
}

witlet::Result<Parameters> Prober::parameters(std::string_view text)
{
    witlet::Result<witlet::Json> object = witlet::read_parameters(text, {"port"});
    if (!object)
        return std::unexpected(object.error());
    witlet::Json given = (*object)["port"];
    std::optional<int64_t> port = given ? given.integer(1, 65535) : port_default;
    if (!port)
        return witlet::fail("port: a whole number from 1 to 65535 is needed");
    return Parameters{static_cast<uint16_t>(*port)};
}
