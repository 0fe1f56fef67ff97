#include "folder.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <dirent.h>
#include <memory>
#include <sys/stat.h>

#include "json.hpp"

using witlet::pod_source::Error;

namespace {

// Names of files can be any bytes: what goes to the host is made UTF-8 on the way.
template <class... Parts>
std::unexpected<Error> unavailable(const Parts &...parts)
{
    return std::unexpected(Error{"Unavailable", witlet::concat(parts...)});
}

template <class... Parts>
std::unexpected<Error> invalid(const Parts &...parts)
{
    return std::unexpected(Error{"Invalid", witlet::concat(parts...)});
}

std::string_view reason(int number)
{
    return std::strerror(number);
}

// The names of the files, in order.
std::expected<std::vector<std::string>, Error> list(const std::string &path)
{
    std::unique_ptr<DIR, decltype([](DIR *open) { closedir(open); })> folder(opendir(path.c_str()));
    if (!folder)
        return unavailable("folder ", path, ": ", reason(errno));
    std::vector<std::string> names;
    for (;;) {
        errno = 0;
        const dirent *entry = readdir(folder.get());
        if (entry == nullptr)
            break;
        std::string_view name = entry->d_name;
        if (!name.starts_with('.') && name.ends_with(".json"))
            names.emplace_back(name);
    }
    if (errno != 0)
        return unavailable("folder ", path, ": ", reason(errno));
    std::ranges::sort(names);
    return names;
}

// A file's contents; none if it is no regular file.
std::expected<std::optional<std::string>, Error> read_file(const std::string &path)
{
    struct stat facts;
    if (stat(path.c_str(), &facts) != 0)
        return unavailable("file ", path, ": ", reason(errno));
    if (!S_ISREG(facts.st_mode))
        return std::nullopt;
    if (std::cmp_greater(facts.st_size, file_max))
        return invalid("file ", path, " is larger than ", file_max, " bytes");
    std::unique_ptr<FILE, decltype([](FILE *open) { std::fclose(open); })> file(std::fopen(path.c_str(), "rb"));
    if (!file)
        return unavailable("file ", path, ": ", reason(errno));
    // One byte more, so that a file which grows meanwhile shows.
    auto size = static_cast<size_t>(facts.st_size);
    std::string contents(size + 1, '\0');
    size_t length = std::fread(contents.data(), 1, contents.size(), file.get());
    if (std::ferror(file.get()))
        return unavailable("file ", path, " can't be read");
    if (length != size)
        return unavailable("file ", path, " changed while it was read");
    contents.resize(length);
    return contents;
}

} // namespace

std::expected<Folder, Error> Folder::read(const std::string &path)
{
    std::expected<std::vector<std::string>, Error> names = list(path);
    if (!names)
        return std::unexpected(names.error());
    Folder folder;
    for (std::string &name : *names) {
        std::expected<std::optional<std::string>, Error> contents = read_file(witlet::concat(path, "/", name));
        if (!contents)
            return std::unexpected(contents.error());
        if (*contents)
            folder.files_.push_back({std::move(name), std::move(**contents)});
    }
    return folder;
}

std::string Folder::fingerprint() const
{
    witlet::pod_source::Fingerprint fingerprint;
    for (const File &file : files_)
        fingerprint.add(file.name).add(file.contents);
    return fingerprint.text();
}

std::expected<void, Error> Folder::check() const
{
    for (const File &file : files_) {
        if (!witlet::is_utf8(file.contents))
            return invalid("file ", file.name, " isn't UTF-8");
        witlet::Json manifest = witlet::Json::parse(std::string_view(file.contents));
        if (!manifest.is_object())
            return invalid("file ", file.name, " is no JSON object");
        if (manifest["kind"].string() != "Pod")
            return invalid("file ", file.name, " is of no kind Pod");
    }
    return {};
}

witlet::pod_source::Manifests Folder::manifests() &&
{
    witlet::pod_source::Manifests manifests;
    for (File &file : files_)
        manifests.push_back(std::move(file.contents));
    return manifests;
}
