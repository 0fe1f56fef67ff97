#include "policy.hpp"

#include "json.hpp"

witlet::Outcome<Policy> Policy::from_config(std::string_view config)
{
    witlet::Result<witlet::Json> settings = witlet::read_config(config, {"label"});
    if (!settings)
        return witlet::invalid(settings.error());
    std::string label = (*settings)["label"].string().value_or("");
    if (label.empty() || label.size() > label_max)
        return witlet::invalid("label: the name of a label is needed, such as {\"label\": \"team\"}");
    return Policy(std::move(label));
}
