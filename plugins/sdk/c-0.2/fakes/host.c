/* witlet:host/node, witlet:host/features, and whether a line of the log would be written. */
#include "host.h"

#include <stdlib.h>

#include "amounts.h"
#include "fakes.h"

#define ZONE "topology.kubernetes.io/zone"

const char *fake_node;
const char *const *fake_features;

bool witlet_host_log_enabled(witlet_host_log_level_t level)
{
    (void)level;
    return true;
}

static witlet_text metadata(const char *field)
{
    return FAKES_GET(fakes_json(fake_node), "metadata", field);
}

bool witlet_host_node_name(plugin_string_t *ret)
{
    return fakes_text(metadata("name"), ret);
}

bool witlet_host_node_label(plugin_string_t *key, plugin_string_t *ret)
{
    return fakes_text(fakes_member(metadata("labels"), fakes_given(key)), ret);
}

void witlet_host_node_labels(plugin_list_tuple2_string_string_t *ret)
{
    fakes_pairs(metadata("labels"), ret);
}

bool witlet_host_node_zone(plugin_string_t *ret)
{
    return fakes_text(fakes_member(metadata("labels"), WITLET_TEXT(ZONE)), ret);
}

void witlet_host_node_addresses(plugin_list_string_t *ret)
{
    witlet_text addresses = FAKES_GET(fakes_json(fake_node), "status", "addresses");
    *ret = (plugin_list_string_t){(plugin_string_t *)fakes_allocate(witlet_json_count(addresses), sizeof *ret->ptr), 0};
    for (witlet_json_items items = witlet_json_each(addresses); witlet_json_next(&items);) {
        if (witlet_json_equal(witlet_json_member(items.value, "type"), "InternalIP"))
            ret->ptr[ret->len++] = witlet_json_string(witlet_json_member(items.value, "address"));
    }
    if (ret->len == 0) {
        free(ret->ptr);
        ret->ptr = NULL;
    }
}

bool witlet_host_node_allocatable(plugin_string_t *resource, int64_t *ret)
{
    struct fake_amounts amounts = {0};
    fakes_amounts(&amounts, FAKES_GET(fakes_json(fake_node), "status", "allocatable"));
    return fakes_amount(&amounts, fakes_given(resource), ret);
}

bool witlet_host_features_has(plugin_string_t *name)
{
    for (const char *const *feature = fake_features; feature != NULL && *feature != NULL; feature++) {
        if (witlet_equal(witlet_view_c(*feature), fakes_given(name)))
            return true;
    }
    return false;
}
