/* The node and the features that every plugin may ask for, as a unit test makes them up. What a test doesn't set isn't there. */
#ifndef FAKES_HOST_H
#define FAKES_HOST_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The node of witlet:host/node, a manifest as JSON text; NULL where the host stands for no node. */
extern const char *fake_node;

/* What witlet:host/features has, names ended by NULL. */
extern const char *const *fake_features;

#ifdef __cplusplus
}
#endif

#endif
