// The role pod source, with feedback: the answer that the configuration names.
#include "pod_source.hpp"

#include "tell.hpp"

using namespace witlet::pod_source;
using witlet::Json;
using witlet::Result;

static Manifests read_pods(Json list)
{
    Manifests manifests;
    // A text is handed on as what it stands for.
    for (Json item : list.items())
        manifests.push_back(item.string().value_or(std::string(item.text())));
    return manifests;
}

// The snapshot of `config.poll`.
static std::expected<Snapshot, Error> answer(Json poll)
{
    if (Json why = poll["error"]; why.is_object())
        return std::unexpected(
            Error{member_text(why, "reason"), member_text(why, "message"), member_duration(why, "retryAfterMilliseconds")});
    if (Json pods = poll["pods"]; pods.is_array())
        return read_pods(pods);
    if (!poll || poll["unchanged"].boolean() == true)
        return Unchanged{};
    if (poll["empty"].boolean() == true)
        return Empty{};
    return std::unexpected(Error{"Invalid", "there is no such answer"});
}

class Source {
  public:
    static Result<Source> from_config(std::string_view config)
    {
        if (Result<void> checked = check_settings(config); !checked)
            return std::unexpected(checked.error());
        return Source();
    }

    PollResult poll(std::optional<std::string_view> cursor) const
    {
        witlet::log(witlet::Level::info, witlet::concat("cursor ", cursor.value_or("none")));
        std::string config = witlet::config();
        Json settings = Json::parse(std::string_view(config));
        std::expected<Snapshot, Error> snapshot = answer(settings["poll"]);
        if (!snapshot)
            return std::unexpected(snapshot.error());
        return Poll{std::move(*snapshot), settings["cursor"].string(), member_duration(settings, "nextPollMilliseconds")};
    }

    Result<void> statuses(const std::vector<PodStatus> &changed) const
    {
        std::string config = witlet::config();
        if (Json::parse(std::string_view(config))["tellStatuses"].boolean() != true)
            return {};
        Tell tell;
        tell.objects("", changed, [&](const PodStatus &item) {
            tell.text("namespace", item.namespace_);
            tell.text("name", item.name);
            tell.text("uid", item.uid);
            tell.json("status", item.status.value_or("null"));
        });
        return std::unexpected(tell.take());
    }
};

WITLET_POD_SOURCE(Source)
WITLET_POD_SOURCE_FEEDBACK(Source)
