/* Amounts of resources, as the host makes numbers of them. */
#ifndef FAKES_AMOUNTS_H
#define FAKES_AMOUNTS_H

#include "fakes.h"

/* How many resources a manifest may name at most. */
#define FAKES_RESOURCES_MAX 64

struct fake_amounts {
    size_t len;
    struct {
        char name[128];
        int64_t amount;
    } items[FAKES_RESOURCES_MAX];
};

/* A quantity as a number: cpu in thousandths, all else in base units, rounded away from zero. What is none is 0, as it is for the host. */
int64_t fakes_quantity(const char *resource, witlet_text value);

/* Adds the quantities of an object. */
void fakes_amounts(struct fake_amounts *amounts, witlet_text object);

/* Adds all amounts, and one. */
void fakes_add_amounts(struct fake_amounts *total, const struct fake_amounts *more);
void fakes_add_amount(struct fake_amounts *total, const char *name, int64_t amount);

/* The amount of a resource; false if there is none. */
bool fakes_amount(const struct fake_amounts *amounts, witlet_text resource, int64_t *amount);

/* The names of both, sorted. */
void fakes_amount_names(const struct fake_amounts *one, const struct fake_amounts *other, plugin_list_string_t *names);

/* What a pod counts for by the scheduler's rules: `part` is requests or limits of its `spec`. */
void fakes_amounts_of_pod(struct fake_amounts *amounts, witlet_text spec, const char *part);

/* The quality of service class of a pod. */
const char *fakes_qos(witlet_text pod);

/* Whether an init container goes on running. */
bool fakes_is_sidecar(witlet_text container);

#endif
