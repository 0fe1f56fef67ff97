#include "settings.h"

#include "json.h"

bool config_read(witlet_text config, plugin_string_t *secret, plugin_string_t *error)
{
    static const char *const known[] = {"passwordSecret", NULL};
    witlet_text settings = witlet_json_settings(config);
    if (settings.len == 0)
        return witlet_fail(error, "the configuration isn't a JSON object");
    if (!witlet_json_only(settings, known, "field", error))
        return false;
    witlet_text name = witlet_json_member(settings, "passwordSecret");
    *secret = witlet_json_string(name);
    if (name.len > 0 && secret->len == 0)
        return witlet_fail(error, "passwordSecret: the name of a secret is needed");
    return true;
}

bool parameters_read(witlet_text parameters, uint16_t *port, plugin_string_t *error)
{
    static const char *const known[] = {"port", NULL};
    witlet_text settings = witlet_json_settings(parameters);
    if (settings.len == 0)
        return witlet_fail(error, "the parameters aren't a JSON object");
    if (!witlet_json_only(settings, known, "parameter", error))
        return false;
    witlet_text given = witlet_json_member(settings, "port");
    int64_t number = PORT_DEFAULT;
    if (given.len > 0 && !witlet_json_integer(given, 1, 65535, &number))
        return witlet_fail(error, "port: a whole number from 1 to 65535 is needed");
    *port = (uint16_t)number;
    return true;
}
