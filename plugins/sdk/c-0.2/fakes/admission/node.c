/* The node, with the pods that are on it. */
#include "things.h"

#include "../amounts.h"

RESOURCE(node)
RESOURCES(taint)
RESOURCES(condition)

static witlet_text metadata(const struct fake_thing *it, const char *field)
{
    return FAKES_GET(it->json, "metadata", field);
}

/* What the other pods count for together, and their number. */
static void requested(struct fake_amounts *total)
{
    int64_t pods = 0;
    for (const char *const *pod = fakes_asked->other_pods; pod != NULL && *pod != NULL; pod++, pods++) {
        struct fake_amounts of = {0};
        fakes_amounts_of_pod(&of, witlet_json_member(fakes_json(*pod), "spec"), "requests");
        fakes_add_amounts(total, &of);
    }
    fakes_add_amount(total, "pods", pods);
}

TEXT(node, name, metadata(it, "name"))
POINTER(node)
LIST(node, taints, taint, FAKES_GET(it->json, "spec", "taints"))
LIST(node, conditions, condition, FAKES_GET(it->json, "status", "conditions"))

bool T(method_node_label)(SELF(node), plugin_string_t *key, plugin_string_t *ret)
{
    IT(node);
    return fakes_text(fakes_member(metadata(it, "labels"), fakes_given(key)), ret);
}

void T(method_node_labels)(SELF(node), plugin_list_tuple2_string_string_t *ret)
{
    IT(node);
    fakes_pairs(metadata(it, "labels"), ret);
}

bool T(method_node_condition)(SELF(node), plugin_string_t *kind, T(own_condition_t) * ret)
{
    IT(node);
    for (witlet_json_items items = witlet_json_each(FAKES_GET(it->json, "status", "conditions")); witlet_json_next(&items);) {
        plugin_string_t type = witlet_json_string(witlet_json_member(items.value, "type"));
        bool is_it = witlet_equal(witlet_view(type), fakes_given(kind));
        plugin_string_free(&type);
        if (!is_it)
            continue;
        *ret = (T(own_condition_t)){fakes_make("condition", items.value, it->json)};
        return true;
    }
    return false;
}

static void amounts_of(const struct fake_thing *it, const char *field, struct fake_amounts *amounts)
{
    *amounts = (struct fake_amounts){0};
    fakes_amounts(amounts, FAKES_GET(it->json, "status", field));
}

void T(method_node_resources)(SELF(node), plugin_list_string_t *ret)
{
    IT(node);
    struct fake_amounts there, counted = {0};
    amounts_of(it, "capacity", &there);
    fakes_amounts(&there, FAKES_GET(it->json, "status", "allocatable"));
    requested(&counted);
    fakes_amount_names(&there, &counted, ret);
}

#define AMOUNT(getter)                                                                                                 \
    bool T(method_node_##getter)(SELF(node), plugin_string_t * resource, int64_t *ret)                                 \
    {                                                                                                                  \
        IT(node);                                                                                                      \
        struct fake_amounts amounts;                                                                                   \
        amounts_of(it, #getter, &amounts);                                                                             \
        return fakes_amount(&amounts, fakes_given(resource), ret);                                                     \
    }
AMOUNT(capacity)
AMOUNT(allocatable)

int64_t T(method_node_requested)(SELF(node), plugin_string_t *resource)
{
    IT(node);
    (void)it;
    struct fake_amounts amounts = {0};
    int64_t amount = 0;
    requested(&amounts);
    fakes_amount(&amounts, fakes_given(resource), &amount);
    return amount;
}

bool T(method_node_available)(SELF(node), plugin_string_t *resource, int64_t *ret)
{
    if (!T(method_node_allocatable)(self, resource, ret))
        return false;
    *ret -= T(method_node_requested)(self, resource);
    return true;
}

bool T(method_node_used)(SELF(node), plugin_string_t *resource, int64_t *ret)
{
    IT(node);
    (void)it;
    for (const struct fake_used *used = fakes_asked->used; used != NULL && used->resource != NULL; used++) {
        if (!witlet_equal(witlet_view_c(used->resource), fakes_given(resource)))
            continue;
        *ret = used->amount;
        return true;
    }
    return false;
}

void T(method_node_used_host_ports)(SELF(node), T(list_own_host_port_t) * ret)
{
    IT(node);
    (void)it;
    size_t count = 0;
    for (const char *const *pod = fakes_asked->other_pods; pod != NULL && *pod != NULL; pod++)
        count = fakes_host_ports(fakes_json(*pod), NULL, count);
    *ret = (T(list_own_host_port_t)){(T(own_host_port_t) *)fakes_allocate(count, sizeof *ret->ptr), 0};
    for (const char *const *pod = fakes_asked->other_pods; pod != NULL && *pod != NULL; pod++)
        ret->len = fakes_host_ports(fakes_json(*pod), ret->ptr, ret->len);
}

bool T(method_node_fact)(SELF(node), plugin_string_t *key, plugin_string_t *ret)
{
    IT(node);
    (void)it;
    return fakes_c_value(fakes_asked->facts, fakes_given(key), ret);
}

void T(method_node_facts)(SELF(node), plugin_list_tuple2_string_string_t *ret)
{
    IT(node);
    (void)it;
    fakes_c_pairs(fakes_asked->facts, ret);
}

void T(method_node_devices)(SELF(node), plugin_string_t *ret)
{
    IT(node);
    (void)it;
    *ret = witlet_copy(witlet_view_c(fakes_asked->devices != NULL ? fakes_asked->devices : "[]"));
}

void T(method_node_json)(SELF(node), plugin_string_t *ret)
{
    IT(node);
    *ret = witlet_copy(it->json.len > 0 ? it->json : WITLET_TEXT("{}"));
}

TEXT(taint, key, witlet_json_member(it->json, "key"))
TEXT(taint, value, witlet_json_member(it->json, "value"))
TEXT(taint, effect, witlet_json_member(it->json, "effect"))

TEXT(condition, kind, witlet_json_member(it->json, "type"))
TEXT(condition, status, witlet_json_member(it->json, "status"))
TEXT(condition, reason, witlet_json_member(it->json, "reason"))
TEXT(condition, message, witlet_json_member(it->json, "message"))
