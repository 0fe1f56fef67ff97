// What the host asks: configuration, cursor, snapshot.
#include "folder.hpp"
#include "json.hpp"

using witlet::pod_source::PollResult;

// The configuration: {"folder": "/pods"}.
class Source {
  public:
    static witlet::Result<Source> from_config(std::string_view config)
    {
        witlet::Result<witlet::Json> settings = witlet::read_config(config, {"folder"});
        if (!settings)
            return std::unexpected(settings.error());
        std::string path = (*settings)["folder"].string().value_or("");
        if (!path.starts_with('/') || path.contains('\0'))
            return witlet::fail("folder: an absolute path is needed");
        return Source(std::move(path));
    }

    PollResult poll(std::optional<std::string_view> cursor) const
    {
        std::expected<Folder, witlet::pod_source::Error> folder = Folder::read(path_);
        if (!folder)
            return std::unexpected(folder.error());
        std::string now = folder->fingerprint();
        // The same files were checked before.
        if (cursor != now) {
            if (auto checked = folder->check(); !checked)
                return std::unexpected(checked.error());
        }
        return witlet::pod_source::compare(std::move(*folder).manifests(), std::move(now), cursor);
    }

  private:
    explicit Source(std::string path) : path_(std::move(path)) {}

    std::string path_;
};

WITLET_POD_SOURCE(Source)
