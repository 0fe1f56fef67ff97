// What the bindings offer for texts, for the fakes in C.
#include "witlet.hpp"

void plugin_string_free(plugin_string_t *text)
{
    if (text->len > 0)
        std::free(text->ptr);
    *text = {nullptr, 0};
}
