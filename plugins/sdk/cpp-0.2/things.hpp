// Things that the host hands out, as objects that drop them: what the roles' headers share.
#pragma once

#include "contract.hpp"

namespace witlet::detail {

// Each thing of a list.
template <class Thing, class List, class Handle>
std::vector<Thing> list(void (*getter)(Handle, List *), Handle handle)
{
    List things;
    getter(handle, &things);
    return take_list(things, [](auto own) { return Thing(own); });
}

// The thing that may be there, and the same for a key.
template <class Thing, class Own, class Handle>
std::optional<Thing> option(bool (*getter)(Handle, Own *), Handle handle)
{
    Own own;
    return getter(handle, &own) ? std::optional<Thing>(Thing(own)) : std::nullopt;
}

template <class Thing, class Own, class Handle>
std::optional<Thing> option_of(bool (*getter)(Handle, plugin_string_t *, Own *), Handle handle, std::string_view key)
{
    std::string kept;
    plugin_string_t lent = lend(key, kept);
    Own own;
    return getter(handle, &lent, &own) ? std::optional<Thing>(Thing(own)) : std::nullopt;
}

} // namespace witlet::detail
