#include "settings.h"

static bool read_secret(const cJSON *settings, plugin_string_t *secret, plugin_string_t *error)
{
    static const char *const known[] = {"passwordSecret", NULL};
    const char *unknown = witlet_json_unknown(settings, known);
    if (unknown != NULL)
        return witlet_fail(error, "unknown field \"%s\"", unknown);
    *secret = (plugin_string_t){NULL, 0};
    const cJSON *name = cJSON_GetObjectItemCaseSensitive(settings, "passwordSecret");
    if (name == NULL)
        return true;
    if (!cJSON_IsString(name) || name->valuestring[0] == '\0')
        return witlet_fail(error, "passwordSecret: the name of a secret is needed");
    *secret = witlet_copy(witlet_view_c(name->valuestring));
    return true;
}

bool config_read(witlet_text config, plugin_string_t *secret, plugin_string_t *error)
{
    cJSON *settings = witlet_json_settings(config);
    if (settings == NULL)
        return witlet_fail(error, "the configuration isn't a JSON object");
    bool good = read_secret(settings, secret, error);
    cJSON_Delete(settings);
    return good;
}

static bool read_port(const cJSON *settings, uint16_t *port, plugin_string_t *error)
{
    static const char *const known[] = {"port", NULL};
    const char *unknown = witlet_json_unknown(settings, known);
    if (unknown != NULL)
        return witlet_fail(error, "unknown parameter \"%s\"", unknown);
    *port = PORT_DEFAULT;
    const cJSON *number = cJSON_GetObjectItemCaseSensitive(settings, "port");
    if (number == NULL)
        return true;
    /* Written so that what is no number fails, too. */
    if (!cJSON_IsNumber(number) || !(number->valuedouble >= 1 && number->valuedouble <= 65535) ||
        number->valuedouble != number->valueint)
        return witlet_fail(error, "port: a whole number from 1 to 65535 is needed");
    *port = (uint16_t)number->valueint;
    return true;
}

bool parameters_read(witlet_text parameters, uint16_t *port, plugin_string_t *error)
{
    cJSON *settings = witlet_json_settings(parameters);
    if (settings == NULL)
        return witlet_fail(error, "the parameters aren't a JSON object");
    bool good = read_port(settings, port, error);
    cJSON_Delete(settings);
    return good;
}
