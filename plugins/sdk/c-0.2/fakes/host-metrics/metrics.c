#include "metrics.h"

#include "../fakes.h"

/* The contract's bounds: a plugin's names, and their letters. */
#define NAMES_MAX 64
#define NAME_BYTES_MAX 64

static struct metric {
    char name[NAME_BYTES_MAX + 1];
    double value;
} metrics[NAMES_MAX];
static size_t count;

static struct metric *metric(witlet_text name)
{
    for (size_t i = 0; i < count; i++) {
        if (witlet_equal(witlet_view_c(metrics[i].name), name))
            return &metrics[i];
    }
    return NULL;
}

/* What exceeds a bound is left out, as the host does. */
static void add(const plugin_string_t *name, double value)
{
    witlet_text given = fakes_given(name);
    struct metric *it = metric(given);
    if (it == NULL && (count == NAMES_MAX || given.len > NAME_BYTES_MAX))
        return;
    if (it == NULL) {
        it = &metrics[count++];
        snprintf(it->name, sizeof it->name, "%.*s", WITLET_ARGS(given));
    }
    it->value += value;
}

void witlet_host_metrics_add(plugin_string_t *name, plugin_list_tuple2_string_string_t *labels, uint64_t amount)
{
    (void)labels;
    add(name, (double)amount);
}

void witlet_host_metrics_observe(plugin_string_t *name, plugin_list_tuple2_string_string_t *labels, double value)
{
    (void)labels;
    add(name, value);
}

double fake_metric(const char *name)
{
    const struct metric *it = metric(witlet_view_c(name));
    return it != NULL ? it->value : 0;
}
