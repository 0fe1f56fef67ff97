#include "parameters.h"

#include "json.h"

bool parameters_read(witlet_text text, struct parameters *parameters, plugin_string_t *error)
{
    static const char *const known[] = {"port", "expect", NULL};
    witlet_text object = witlet_json_settings(text);
    if (object.len == 0)
        return witlet_fail(error, "the parameters aren't a JSON object");
    if (!witlet_json_only(object, known, "parameter", error))
        return false;
    int64_t port;
    if (!witlet_json_integer(witlet_json_member(object, "port"), 1, 65535, &port))
        return witlet_fail(error, "port: a whole number from 1 to 65535 is needed");
    parameters->port = (uint16_t)port;
    parameters->expect = witlet_json_string(witlet_json_member(object, "expect"));
    if (parameters->expect.len > 0 && parameters->expect.len <= EXPECT_MAX)
        return true;
    plugin_string_free(&parameters->expect);
    return witlet_fail(error, "expect: the text that the server begins with is needed, of %d bytes at most", EXPECT_MAX);
}

void parameters_free(struct parameters *parameters)
{
    plugin_string_free(&parameters->expect);
}
