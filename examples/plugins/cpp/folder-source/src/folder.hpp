// A folder's JSON files, read whole. Plain POSIX: the C library turns it into WASI's filesystem.
#pragma once

#include "pod_source.hpp"

// How large a file may be, in bytes.
inline constexpr size_t file_max = 1024 * 1024;

// Regular files whose names end in `.json` and don't begin with a dot, in the order of their names' bytes.
class Folder {
  public:
    // Reads a folder, or says what is wrong with it or a file in it.
    static std::expected<Folder, witlet::pod_source::Error> read(const std::string &path);

    // What changes when a name or a file does.
    std::string fingerprint() const;

    // Whether each file is a pod, as far as that is checked here: a JSON object in UTF-8 whose `kind` is `Pod`.
    std::expected<void, witlet::pod_source::Error> check() const;

    // The files' contents, each a manifest.
    witlet::pod_source::Manifests manifests() &&;

  private:
    struct File {
        std::string name, contents;
    };

    std::vector<File> files_;
};
