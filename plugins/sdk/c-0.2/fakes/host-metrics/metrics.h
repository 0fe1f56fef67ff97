/* Metrics of unit tests. */
#ifndef FAKES_METRICS_H
#define FAKES_METRICS_H

#ifdef __cplusplus
extern "C" {
#endif

/* What was added to a counter, or observed, with any labels, since the program began. */
double fake_metric(const char *name);

#ifdef __cplusplus
}
#endif

#endif
