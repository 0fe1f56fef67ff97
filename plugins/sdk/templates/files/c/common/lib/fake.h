/* The host, as unit tests on this machine see it: what a test sets is what the plugin gets. A role's own fakes are next to
 * the tests. */
#ifndef FAKE_H
#define FAKE_H

#include "witlet.h"

/* What `witlet:host/config` answers; `null` until a test sets it. */
extern const char *fake_config;

/* How many lines the plugin has logged, and the last of them. */
extern int fake_log_lines;
extern char fake_log_last[512];

/* An owned text, as the host hands one over. */
plugin_string_t fake_text(const char *text);

/* Whether a text of the bindings is this one. */
bool fake_is(plugin_string_t text, const char *expected);

#endif
