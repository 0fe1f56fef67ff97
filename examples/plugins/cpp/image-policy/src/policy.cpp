#include "policy.hpp"

#include <algorithm>

#include "image.hpp"
#include "json.hpp"

static witlet::Result<std::vector<std::string>> read_places(witlet::Json allow)
{
    std::vector<std::string> places;
    for (witlet::Json item : allow.items()) {
        std::string place = item.string().value_or("");
        if (place.empty() || place.front() == '/' || place.back() == '/')
            return witlet::fail("allow[", places.size(), "]: a registry, or registry and path, without a slash at its ends is needed");
        places.push_back(std::move(place));
    }
    if (places.empty())
        return witlet::fail("allow: a list of at least one registry, or registry and path, is needed");
    if (places.size() > allow_max)
        return witlet::fail("allow: more than ", allow_max, " places");
    return places;
}

witlet::Result<Policy> Policy::from_config(std::string_view config)
{
    witlet::Result<witlet::Json> settings = witlet::read_config(config, {"allow", "requireDigest"});
    if (!settings)
        return std::unexpected(settings.error());
    witlet::Json require_digest = (*settings)["requireDigest"];
    if (require_digest && !require_digest.boolean())
        return witlet::fail("requireDigest: true or false is needed");
    witlet::Result<std::vector<std::string>> places = read_places((*settings)["allow"]);
    if (!places)
        return std::unexpected(places.error());
    return Policy(std::move(*places), require_digest.boolean().value_or(false));
}

bool Policy::allows(std::string_view place) const
{
    return std::ranges::any_of(allow_, [&](std::string_view allowed) {
        return place.starts_with(allowed) && (place.size() == allowed.size() || place[allowed.size()] == '/');
    });
}

std::optional<witlet::admission::Verdict> Policy::refuse(std::string_view container, std::string_view reference) const
{
    using witlet::concat;
    using witlet::admission::reject;
    if (reference.empty())
        return reject("ImageNotAllowed", concat("container \"", container, "\": no image is named"));
    Image image = Image::read(reference);
    if (!allows(image.place))
        return reject("ImageNotAllowed", concat("container \"", container, "\": ", image.place, " isn't allowed"));
    if (require_digest_ && !image.pinned)
        return reject("ImageNotPinned", concat("container \"", container, "\": ", image.place, " isn't pinned by a digest"));
    return std::nullopt;
}
