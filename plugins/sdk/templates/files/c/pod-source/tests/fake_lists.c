/* What the generated bindings offer for lists of texts. */
#include "fake.h"

void plugin_list_string_free(plugin_list_string_t *list)
{
    for (size_t i = 0; i < list->len; i++)
        plugin_string_free(&list->ptr[i]);
    if (list->len > 0)
        free(list->ptr);
}
