#include "prober.hpp"

#include "json.hpp"

witlet::Result<Prober> Prober::from_config(std::string_view config)
{
    witlet::Result<witlet::Json> settings = witlet::read_config(config, {});
    if (!settings)
        return std::unexpected(settings.error());
    return Prober();
}

witlet::Result<Parameters> Prober::parameters(std::string_view text)
{
    witlet::Result<witlet::Json> object = witlet::read_parameters(text, {"port", "expect"});
    if (!object)
        return std::unexpected(object.error());
    std::optional<int64_t> port = (*object)["port"].integer(1, 65535);
    if (!port)
        return witlet::fail("port: a whole number from 1 to 65535 is needed");
    std::string expect = (*object)["expect"].string().value_or("");
    if (expect.empty() || expect.size() > expect_max)
        return witlet::fail("expect: the text that the server begins with is needed, of ", expect_max, " bytes at most");
    return Parameters{static_cast<uint16_t>(*port), std::move(expect)};
}
