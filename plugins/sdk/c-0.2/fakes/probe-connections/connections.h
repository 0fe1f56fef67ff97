/* Connections that the host opens, in unit tests: all of them reach the same server. */
#ifndef FAKES_CONNECTIONS_H
#define FAKES_CONNECTIONS_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What the server sends, part by part and ended by NULL: then it closes. "!" and a code (`Refused`, `CertificateInvalid`) is an error of the
 * call that meets it: of opening, if it stands first, of TLS, or of reading. */
extern const char *const *fake_sends;

/* All that was written, as far as it fits, with a NUL behind it; whom the certificate had to be for, NULL without TLS; where the last connection
 * went, NULL for the loopback interface of the pod; and whether the plugin has said that nothing more is sent. A test sets them back. */
extern char fake_written[4096];
extern const char *fake_server_name;
extern const char *fake_host;
extern uint16_t fake_opened_port;
extern bool fake_is_shut_down;

#ifdef __cplusplus
}
#endif

#endif
