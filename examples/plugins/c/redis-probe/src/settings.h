/* The configuration, and the parameters of a probe. */
#ifndef SETTINGS_H
#define SETTINGS_H

#include "witlet.h"

#define PORT_DEFAULT 6379

/* Reads a configuration, {"passwordSecret": "redis-password"} or none. On success `secret` is the name of the password's secret,
 * owned, and empty if there is none. Otherwise `error` is an owned text. */
bool config_read(witlet_text config, plugin_string_t *secret, plugin_string_t *error);

/* Reads parameters, {"port": 6379} or none. False with an owned `error`. */
bool parameters_read(witlet_text parameters, uint16_t *port, plugin_string_t *error);

#endif
