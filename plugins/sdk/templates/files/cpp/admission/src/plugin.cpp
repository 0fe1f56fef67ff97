// What the host asks.
#include "policy.hpp"

using witlet::Level;
using witlet::admission::Request;
using witlet::admission::Verdict;

witlet::Result<Verdict> Policy::admit(const Request &request) const
{
    witlet::Pairs labels = request.pod().labels();
    std::optional<std::string_view> value = witlet::find(labels, label_);
    if (!value) {
        witlet::log(Level::info, "the pod lacks its label", {{"label", label_}});
        return witlet::admission::reject("LabelMissing", witlet::concat("label \"", label_, "\" is missing"));
    }
    witlet::log(Level::debug, "the pod has its label", {{"label", label_}, {"value", *value}});
    return witlet::admission::admit();
}

WITLET_ADMISSION_HANDLER(Policy)
