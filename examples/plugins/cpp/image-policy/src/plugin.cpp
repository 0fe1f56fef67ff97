// What the host asks.
#include "policy.hpp"

using witlet::admission::Request;
using witlet::admission::Verdict;

witlet::Result<Verdict> Policy::admit(const Request &request) const
{
    // The images of a pod that is resized are those that were admitted before.
    if (request.operation() == witlet::admission::Operation::resize)
        return witlet::admission::admit();
    for (const witlet::admission::Container &container : request.pod().containers()) {
        if (std::optional<Verdict> refused = refuse(container.name, container.image))
            return *refused;
    }
    return witlet::admission::admit();
}

WITLET_ADMISSION_HANDLER(Policy)
