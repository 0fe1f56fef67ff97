// References to images, as container runtimes read them.
#pragma once

#include <string>
#include <string_view>

// Where an image comes from.
struct Image {
    // Registry and repository, without tag and digest: docker.io/library/nginx.
    std::string place;
    // Whether the reference has a SHA-256 digest.
    bool pinned;

    // Reads a reference. Whether the runtime could pull it isn't checked.
    static Image read(std::string_view reference);
};
