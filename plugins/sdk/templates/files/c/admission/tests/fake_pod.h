/* A pod as the unit tests make it up. */
#ifndef FAKE_POD_H
#define FAKE_POD_H

#include "fake.h"

/* Names and values of the pod's labels, one after the other, ended by NULL. */
extern const char *const *fake_labels;

/* How many handles of pods the plugin holds. */
extern int fake_pods_held;

#endif
