/* Bytes that fakes hand over, in worlds whose bindings have such lists. */
#ifndef FAKES_BYTES_H
#define FAKES_BYTES_H

#include "fakes.h"

/* An owned list of bytes. */
static inline plugin_list_u8_t fakes_bytes(witlet_text bytes)
{
    plugin_string_t copy = witlet_copy(bytes);
    return (plugin_list_u8_t){copy.ptr, copy.len};
}

/* What the bindings offer for it; each fake that hands bytes over brings it, and one of them stands. */
__attribute__((weak)) void plugin_list_u8_free(plugin_list_u8_t *list)
{
    if (list->len > 0)
        free(list->ptr);
    *list = (plugin_list_u8_t){NULL, 0};
}

/* An error of the host's. */
static inline witlet_host_errors_own_error_t fakes_error(const char *code, const char *message)
{
    plugin_string_t word = witlet_lend(witlet_view_c(code)), words = witlet_lend(witlet_view_c(message));
    return witlet_host_errors_constructor_error(&word, &words);
}

#endif
