// A server as unit tests make it up.
#pragma once

#include <deque>

#include "testing.hpp"

namespace witlet::testing {

// The server that every connection reaches.
struct Server {
    // What it sends, part by part: then it closes. "!" and words is a failure with these words; as the first part, no connection is made.
    std::deque<std::string> sends = {};
    // All that it has received.
    std::string received = {};
    // Where it was reached.
    std::string address = {};
    uint16_t port = 0;
};

inline Server server;

} // namespace witlet::testing
