#include "source.hpp"

#include "json.hpp"

witlet::Outcome<Source> Source::from_config(std::string_view config)
{
    witlet::Result<witlet::Json> settings = witlet::read_config(config, {"pods"});
    if (!settings)
        return witlet::invalid(settings.error());
    witlet::Json pods = (*settings)["pods"];
    if (!pods.is_array())
        return witlet::invalid("pods: a list of manifests is needed, and may be empty");
    std::vector<std::string> manifests;
    for (witlet::Json pod : pods.items()) {
        if (manifests.size() == pods_max)
            return witlet::invalid(witlet::concat("pods: more than ", pods_max));
        if (!pod.is_object())
            return witlet::invalid(witlet::concat("pods[", manifests.size(), "]: a manifest is an object"));
        // A manifest is handed on as it is written.
        manifests.emplace_back(pod.text());
    }
    return Source(std::move(manifests));
}
