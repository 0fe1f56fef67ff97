// What the host asks.
#include "policy.hpp"

witlet::Outcome<void> Policy::admit(witlet::admission::Request request, witlet::admission::Answer answer) const
{
    witlet::admission::Pod pod = request.pod();
    std::optional<std::string> value = pod.label(label_);
    witlet::log(witlet::Level::debug, "asked about a pod", {{"name", pod.name()}});
    if (!value)
        answer.reject("LabelMissing", witlet::concat("label \"", label_, "\" is missing"));
    else if (value->empty())
        answer.reject("LabelMissing", witlet::concat("label \"", label_, "\" is empty"));
    else
        answer.admit();
    return {};
}

// A pod is judged when it is new.
WITLET_ADMISSION(Policy, "add")
