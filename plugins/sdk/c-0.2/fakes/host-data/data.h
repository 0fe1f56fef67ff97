/* Data of unit tests. */
#ifndef FAKES_DATA_H
#define FAKES_DATA_H

#ifdef __cplusplus
extern "C" {
#endif

/* The data of the plugin's entry, sorted by name: name, contents, … and NULL. */
extern const char *const *fake_data;

#ifdef __cplusplus
}
#endif

#endif
