// Unit tests of plugins, on the machine that builds them: checks, and the host as a test makes it up. The plugin is called through its
// exports, as the host calls them. With the address sanitizer, memory that isn't freed fails the test.
//
// What a test sets stays set until it sets something else; `reset` forgets all of it.
#pragma once

#include <cstdio>
#include <map>

#include "witlet.hpp"

// Goes on after a failure, and says where it was.
#define CHECK(...)                                                                                                             \
    do {                                                                                                                       \
        if (!(__VA_ARGS__)) {                                                                                                  \
            std::fprintf(stderr, "%s:%d: failed: %s\n", __FILE__, __LINE__, #__VA_ARGS__);                                     \
            witlet::testing::checks_failed++;                                                                                  \
        }                                                                                                                      \
    } while (0)

// The same of two texts, and shows both.
#define CHECK_TEXT(found, expected) witlet::testing::check_text(__FILE__, __LINE__, found, expected)

namespace witlet::testing {

inline int checks_failed = 0;

inline void check_text(const char *file, int line, std::string_view found, std::string_view expected)
{
    if (found == expected)
        return;
    std::fprintf(stderr, "%s:%d: failed: found \"%.*s\", expected \"%.*s\"\n", file, line, static_cast<int>(found.size()),
                 found.data(), static_cast<int>(expected.size()), expected.data());
    checks_failed++;
}

// The last line of a test's `main`: return witlet::testing::end(__FILE__);
inline int end(const char *file)
{
    if (checks_failed == 0)
        std::printf("%s: all checks hold\n", file);
    else
        std::printf("%s: %d checks failed\n", file, checks_failed);
    return checks_failed == 0 ? 0 : 1;
}

// A line that the plugin has logged.
struct Line {
    Level level;
    std::string message;
    Pairs fields;
};

// The host.
struct Host {
    // What `witlet:host/config` answers.
    std::string config = "null";
    std::vector<Line> lines;
    // How many handles and connections the plugin holds.
    int held = 0;
    // Secrets that are granted; one that the node doesn't have is none.
    std::map<std::string, std::optional<std::string>, std::less<>> secrets;
};

inline Host host;

// The error's words, or "ok".
template <class Value>
std::string words(const Result<Value> &result)
{
    return result ? "ok" : result.error();
}

namespace detail {

using namespace witlet::detail;

// Calls an export that takes a text and may fail with words.
inline Result<void> call(bool (*exported)(plugin_string_t *, plugin_string_t *), std::string_view text)
{
    plugin_string_t argument = give_bytes(text), error;
    if (exported(&argument, &error))
        return {};
    return std::unexpected(take(error));
}

// What a JSON text has at a path, if it is there.
std::optional<std::string> pointed(std::string_view json, std::string_view path);

} // namespace detail

} // namespace witlet::testing
