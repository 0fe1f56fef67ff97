#include "prober.hpp"

#include "json.hpp"

witlet::Outcome<Prober> Prober::from_config(std::string_view config)
{
    witlet::Result<witlet::Json> settings = witlet::read_config(config, {});
    if (!settings)
        return witlet::invalid(settings.error());
    return Prober();
}

witlet::Outcome<Parameters> Prober::parameters(std::string_view text)
{
    witlet::Result<witlet::Json> object = witlet::read_parameters(text, {"port", "expect"});
    if (!object)
        return witlet::invalid_parameters(object.error());
    std::optional<int64_t> port = (*object)["port"].integer(1, 65535);
    if (!port)
        return witlet::invalid_parameters("port: a whole number from 1 to 65535 is needed");
    std::string expect = (*object)["expect"].string().value_or("");
    if (expect.empty() || expect.size() > expect_max)
        return witlet::invalid_parameters(
            witlet::concat("expect: the text that the server begins with is needed, of ", expect_max, " bytes at most"));
    return Parameters{static_cast<uint16_t>(*port), std::move(expect)};
}

witlet::Outcome<void> Prober::check(std::string_view text) const
{
    witlet::Outcome<Parameters> read = parameters(text);
    if (!read)
        return std::unexpected(read.error());
    return {};
}
