/* Fakes of `witlet:host` and of what the bindings offer for texts. The generated bindings themselves run on wasm only. */
#include "fake.h"

const char *fake_config = "null";
int fake_log_lines;
char fake_log_last[512];

plugin_string_t fake_text(const char *text)
{
    return witlet_copy(witlet_view_c(text));
}

bool fake_is(plugin_string_t text, const char *expected)
{
    return witlet_equal(witlet_view(text), witlet_view_c(expected));
}

void witlet_host_config_get(plugin_string_t *ret)
{
    *ret = fake_text(fake_config);
}

void witlet_host_log_write(witlet_host_log_level_t level, plugin_string_t *message,
                           plugin_list_tuple2_string_string_t *fields)
{
    (void)level;
    (void)fields;
    fake_log_lines++;
    snprintf(fake_log_last, sizeof fake_log_last, "%.*s", WITLET_ARGS(witlet_view(*message)));
}

void plugin_string_free(plugin_string_t *text)
{
    if (text->len > 0)
        free(text->ptr);
    *text = (plugin_string_t){NULL, 0};
}

void plugin_list_tuple2_string_string_free(plugin_list_tuple2_string_string_t *list)
{
    for (size_t i = 0; i < list->len; i++) {
        plugin_string_free(&list->ptr[i].f0);
        plugin_string_free(&list->ptr[i].f1);
    }
    if (list->len > 0)
        free(list->ptr);
}
