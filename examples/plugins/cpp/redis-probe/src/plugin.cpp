// What the host asks: the dialog of a probe.
#include "prober.hpp"
#include "redis.hpp"
#include "tcp.hpp"

using witlet::Result;
using witlet::probe::Outcome;
using witlet::probe::Target;
using witlet::tcp::Connection;

// Sends a command and waits for the answer that is expected; else what came instead, in words.
static Result<void> ask(Connection &connection, std::string_view command, std::string_view expected)
{
    if (Result<void> sent = connection.send(command); !sent)
        return sent;
    std::string received;
    while (!redis::line(received)) {
        std::array<char, redis::line_max + 2> buffer;
        std::span<char> rest = std::span(buffer).subspan(received.size());
        if (rest.empty())
            return witlet::fail("the answer is longer than ", redis::line_max, " bytes");
        Result<size_t> length = connection.receive(rest);
        if (!length)
            return std::unexpected(length.error());
        if (*length == 0)
            return witlet::fail("the server closed the connection before it had answered");
        received.append(rest.data(), *length);
    }
    return redis::expect(*redis::line(received), expected);
}

static Result<void> talk(Connection &connection, const std::optional<std::string> &password)
{
    if (password) {
        if (Result<void> welcome = ask(connection, redis::auth(*password), "+OK"); !welcome)
            return welcome;
    }
    return ask(connection, "PING\r\n", "+PONG");
}

Result<std::optional<std::string>> Prober::password() const
{
    if (!secret_)
        return std::nullopt;
    std::expected<std::string, witlet::SecretError> secret = witlet::secret(*secret_);
    if (secret)
        return std::string(redis::password(*secret));
    bool is_granted = secret.error() != witlet::SecretError::not_granted;
    return witlet::fail("secret \"", *secret_, "\" ", is_granted ? "isn't on this node" : "isn't granted");
}

Result<Outcome> Prober::probe(const Target &target, const Parameters &parameters) const
{
    Result<std::optional<std::string>> secret = password();
    if (!secret)
        return std::unexpected(secret.error());
    std::vector<std::string> addresses = target.pod_ips();
    if (addresses.empty())
        return witlet::probe::failure("the pod has no address");
    // A tenth of the time is left, so that it is us who say what took too long.
    Result<Connection> connection = Connection::connect(addresses[0], parameters.port, target.remaining() * 9 / 10);
    if (!connection)
        return witlet::probe::failure(connection.error());
    Result<void> answered = talk(*connection, *secret);
    return answered ? witlet::probe::success("PONG") : witlet::probe::failure(answered.error());
}

WITLET_PROBE_TYPE(Prober)
