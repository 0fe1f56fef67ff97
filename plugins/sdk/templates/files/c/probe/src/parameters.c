#include "parameters.h"

static bool read_members(const cJSON *object, struct parameters *parameters, plugin_string_t *error)
{
    static const char *const known[] = {"port", "expect", NULL};
    const char *unknown = witlet_json_unknown(object, known);
    if (unknown != NULL)
        return witlet_fail(error, "unknown parameter \"%s\"", unknown);
    const cJSON *port = cJSON_GetObjectItemCaseSensitive(object, "port");
    /* Written so that what is no number fails, too. */
    if (!cJSON_IsNumber(port) || !(port->valuedouble >= 1 && port->valuedouble <= 65535) ||
        port->valuedouble != port->valueint)
        return witlet_fail(error, "port: a whole number from 1 to 65535 is needed");
    const cJSON *expect = cJSON_GetObjectItemCaseSensitive(object, "expect");
    if (!cJSON_IsString(expect) || expect->valuestring[0] == '\0' || strlen(expect->valuestring) > EXPECT_MAX)
        return witlet_fail(error, "expect: the text that the server begins with is needed, of %d bytes at most", EXPECT_MAX);
    parameters->port = (uint16_t)port->valueint;
    parameters->expect = witlet_copy(witlet_view_c(expect->valuestring));
    return true;
}

bool parameters_read(witlet_text text, struct parameters *parameters, plugin_string_t *error)
{
    cJSON *object = witlet_json_settings(text);
    if (object == NULL)
        return witlet_fail(error, "the parameters aren't a JSON object");
    bool good = read_members(object, parameters, error);
    cJSON_Delete(object);
    return good;
}

void parameters_free(struct parameters *parameters)
{
    plugin_string_free(&parameters->expect);
}
