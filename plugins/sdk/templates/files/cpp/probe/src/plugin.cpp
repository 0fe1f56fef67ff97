// What the host asks.
#include "prober.hpp"
#include "tcp.hpp"

using witlet::probe::Outcome;
using witlet::probe::Target;

// The server's first words: as many bytes as can be distinguished from others, or those until it closes.
static witlet::Result<std::string> greeting(std::string_view address, const Parameters &parameters, std::chrono::milliseconds timeout)
{
    auto connection = witlet::tcp::Connection::connect(address, parameters.port, timeout);
    if (!connection)
        return std::unexpected(connection.error());
    std::string received;
    while (received.size() < parameters.expect.size()) {
        std::array<char, expect_max> buffer;
        witlet::Result<size_t> length = connection->receive(buffer);
        if (!length)
            return std::unexpected(length.error());
        if (*length == 0)
            break;
        received.append(buffer.data(), *length);
    }
    return received;
}

witlet::Result<Outcome> Prober::probe(const Target &target, const Parameters &parameters) const
{
    std::vector<std::string> addresses = target.pod_ips();
    if (addresses.empty())
        return witlet::probe::failure("the pod has no address");
    // A tenth of the time is left, so that it is us who say what took too long.
    witlet::Result<std::string> received = greeting(addresses[0], parameters, target.remaining() * 9 / 10);
    witlet::log(witlet::Level::debug, "probed", {{"address", addresses[0]}});
    if (!received)
        return witlet::probe::failure(received.error());
    std::string shown = witlet::lossy(*received);
    if (received->starts_with(parameters.expect))
        return witlet::probe::success(shown);
    return witlet::probe::failure(witlet::concat("expected \"", parameters.expect, "\", got \"", shown, "\""));
}

WITLET_PROBE_TYPE(Prober)
