// What is said to a Redis server, and what its answers mean; without a connection.
#pragma once

#include "witlet.hpp"

namespace redis {

// How long a line of the server may be, in bytes.
inline constexpr size_t line_max = 1024;

// The command that gives a password, which may be any bytes.
std::string auth(std::string_view password);

// A secret without the line end that files and tools leave behind it.
std::string_view password(std::string_view secret);

// The first line of what was received, without its end; none while it isn't whole. A view.
std::optional<std::string_view> line(std::string_view received);

// Whether a line is the answer that is expected; else what it is, in words.
witlet::Result<void> expect(std::string_view line, std::string_view expected);

} // namespace redis
