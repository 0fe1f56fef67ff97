/* Secrets of unit tests. */
#ifndef FAKES_SECRET_H
#define FAKES_SECRET_H

#ifdef __cplusplus
extern "C" {
#endif

/* The secrets that are granted, and what they are: name, value, … and NULL. One without a value (the text "") isn't on the node; what isn't
 * named isn't granted. */
extern const char *const *fake_secrets;

#ifdef __cplusplus
}
#endif

#endif
