/* The host, as unit tests of an admission handler see it: requests of manifests, and what the handler says of them in one line.
 *
 *     fake_config = "{\"label\": \"team\"}";
 *     struct fake_request request = {.pod = "{\"metadata\": {\"name\": \"web\"}}"};
 *     CHECK_TEXT(fake_admit(&request), "reject NoTeam: the label team is missing");
 *
 * The fakes say of a manifest what the host says: images taken apart, what counts of security contexts, amounts as numbers, what a pod
 * counts for. Manifests are taken as they are: that a field is misspelt is for the finished component's test (`witlet plugin test`).
 */
#ifndef FAKES_ADMISSION_H
#define FAKES_ADMISSION_H

#include "../host.h"

#ifdef __cplusplus
extern "C" {
#endif

/* An image that a container is to be started from. What isn't set isn't known. */
struct fake_image {
    /* The name of the container; the first one if it is NULL. */
    const char *container, *id, *digest, *credentials;
    /* Bytes on the node; 0 if the runtime doesn't say. */
    uint64_t size;
};

/* How much of a resource is in use. */
struct fake_used {
    const char *resource;
    int64_t amount;
};

/* A question. What is left out isn't there; the operation is `add`. Manifests are JSON texts. Lists end with NULL. */
struct fake_request {
    const char *operation;
    /* Seconds and nanoseconds since 1970. */
    int64_t now_seconds;
    uint32_t now_nanoseconds;
    const char *pod, *old_pod, *node;
    const char *const *other_pods;
    /* Of the machine and the runtime: key, value, … */
    const char *const *facts;
    /* A JSON array. */
    const char *devices;
    /* What is in use of the node's resources; ends with one without a name. */
    const struct fake_used *used;
    /* Handlers of the container runtime by runtime classes: class, handler, … */
    const char *const *runtime_handlers;
    /* Of `image-resolved` alone. */
    const struct fake_image *image;
    /* Where the pods come from: `file` if it is NULL. */
    const char *source;
};

/* Has the handler check a configuration: "subscribe add; subscribe update", or "error CODE: MESSAGE". */
const char *fake_validate(const char *config);

/* Asks the handler: "admit", "reject REASON: MESSAGE", "defer REASON for MILLISECONDS ms: MESSAGE", "shortage RESOURCE: REQUESTED requested,
 * USED used, CAPACITY there", "error CODE: MESSAGE"; then "; warn MESSAGE" and "; KEY=VALUE", as the handler says them. It is there until the
 * next question. Empty if nothing was said, as which the host takes a bad answer. */
const char *fake_admit(const struct fake_request *request);

#ifdef __cplusplus
}
#endif

#endif
