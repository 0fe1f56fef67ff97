/* A request as the unit tests make it up. */
#ifndef FAKE_POD_H
#define FAKE_POD_H

#include "fake.h"

/* What is asked. */
extern witlet_admission_types_operation_t fake_operation;

/* Names and images of the pod's containers, one after the other, ended by NULL. */
extern const char *const *fake_containers;

/* How many handles of pods the plugin holds. */
extern int fake_pods_held;

#endif
