#include "attack.hpp"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

// Bytes of an answer far beyond what a host takes at once.
static constexpr size_t huge = size_t{8} << 20;

// What is written here can't be left out.
static volatile unsigned char sink;

static unsigned recurse(unsigned depth)
{
    volatile unsigned char frame[512];
    frame[depth % sizeof frame] = static_cast<unsigned char>(depth);
    return depth == 0 ? 0 : recurse(depth - 1) + frame[depth % sizeof frame];
}

void attack(std::string_view name, witlet::admission::Answer answer)
{
    if (name == "spin") {
        for (;;)
            sink = 1;
    }
    if (name == "grow") {
        std::vector<std::vector<unsigned char>> kept;
        for (;;)
            sink = kept.emplace_back(size_t{1} << 20, 1).back();
    }
    if (name == "recurse")
        sink = static_cast<unsigned char>(recurse(UINT32_MAX));
    if (name == "crash")
        sink = std::vector<unsigned char>().at(1);
    if (name == "exit")
        std::exit(1);
    if (name == "sleep")
        sleep(86400);
    if (name == "log-forever") {
        for (;;)
            witlet::log(witlet::Level::error, "spam", {{"language", "cpp"}});
    }
    if (name == "print-forever") {
        for (;;)
            std::puts("spam");
    }
    if (name == "huge-answer")
        answer.reject("Huge", std::string(huge, 'x'));
    else
        answer.reject("Unknown", name);
}
