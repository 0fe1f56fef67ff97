// What the host asks.
#include "prober.hpp"
#include "tcp.hpp"

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

witlet::Outcome<void> Prober::probe(witlet::probe::Target target, std::string_view text, witlet::probe::Answer answer) const
{
    witlet::Outcome<Parameters> read = parameters(text);
    if (!read)
        return std::unexpected(read.error());
    std::vector<std::string> addresses = target.pod().addresses();
    // An error: without an address nothing can be found out about the server.
    if (addresses.empty())
        return witlet::failure("NoAddress", "the pod has no address");
    // A tenth of the time is left, so that it is us who say what took too long.
    witlet::Result<std::string> received = greeting(addresses[0], *read, target.remaining() * 9 / 10);
    witlet::log(witlet::Level::debug, "probed", {{"address", addresses[0]}});
    std::string shown = witlet::lossy(received.value_or(""));
    if (!received)
        answer.failure(received.error());
    else if (received->starts_with(read->expect))
        answer.success(shown);
    else
        answer.failure(witlet::concat("expected \"", read->expect, "\", got \"", shown, "\""));
    return {};
}

WITLET_PROBE_TYPE(Prober)
