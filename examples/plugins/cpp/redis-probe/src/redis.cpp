#include "redis.hpp"

std::string redis::auth(std::string_view password)
{
    return witlet::concat("*2\r\n$4\r\nAUTH\r\n$", password.size(), "\r\n", password, "\r\n");
}

std::string_view redis::password(std::string_view secret)
{
    if (secret.ends_with('\n'))
        secret.remove_suffix(1);
    if (secret.ends_with('\r'))
        secret.remove_suffix(1);
    return secret;
}

std::optional<std::string_view> redis::line(std::string_view received)
{
    size_t end = received.find("\r\n");
    return end == received.npos ? std::nullopt : std::optional(received.substr(0, end));
}

witlet::Result<void> redis::expect(std::string_view line, std::string_view expected)
{
    if (line == expected)
        return {};
    std::string shown = witlet::lossy(line);
    if (line.starts_with('-'))
        return std::unexpected(shown.substr(1));
    return witlet::fail("unexpected answer \"", shown, "\"");
}
