/* The host, as unit tests of a probe type see it: targets of plain data, and what the probe type says of them in one line.
 *
 *     struct fake_target target = {.addresses = (const char *const[]){"10.0.0.7", NULL}};
 *     CHECK_TEXT(fake_probe(&target, "{\"port\": 25}"), "success: 220 ready");
 */
#ifndef FAKES_PROBE_H
#define FAKES_PROBE_H

#include "../host.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What is probed. What is left out isn't there. Lists end with NULL. */
struct fake_target {
    /* The pod's manifest, a JSON text. */
    const char *pod;
    /* The name of the container; the manifest's first one if it is NULL. */
    const char *container;
    /* The instance, and how often it was restarted. */
    const char *id;
    uint32_t restarts;
    /* Of the pod and of the node, the primary one first. */
    const char *const *addresses, *const *host_addresses;
    /* `readiness` if it is NULL. */
    const char *kind;
    /* What the probe has altogether, and what is left of it; 10 s, and all of it, if they are 0. */
    uint64_t timeout_milliseconds, remaining_milliseconds;
};

/* Has the probe type check a configuration, or at parameters: "ok", "warn MESSAGE", or "error CODE: MESSAGE". */
const char *fake_validate(const char *config);
const char *fake_check_parameters(const char *parameters);

/* Probes: "success: MESSAGE", "failure: MESSAGE", "unknown: MESSAGE", "error CODE: MESSAGE"; then "; warn MESSAGE" and "; KEY=VALUE", as the
 * probe type says them. It is there until the next probe. Empty if nothing was said, as which the host takes a bad answer. */
const char *fake_probe(const struct fake_target *target, const char *parameters);

/* The latency that the last probe said, in nanoseconds; -1 if it said none. */
extern int64_t fake_latency;

/* The target of the call, for fakes of what else a probe calls. */
extern const struct fake_target *fakes_probed;

#ifdef __cplusplus
}
#endif

#endif
