#include "policy.h"

#include "json.h"

bool policy_read(witlet_text config, struct policy *policy, plugin_string_t *error)
{
    static const char *const known[] = {"label", NULL};
    witlet_text settings = witlet_json_settings(config);
    if (settings.len == 0)
        return witlet_fail(error, "the configuration isn't a JSON object");
    if (!witlet_json_only(settings, known, "field", error))
        return false;
    policy->label = witlet_json_string(witlet_json_member(settings, "label"));
    if (policy->label.len > 0 && policy->label.len <= LABEL_MAX)
        return true;
    plugin_string_free(&policy->label);
    return witlet_fail(error, "label: the name of a label is needed, such as {\"label\": \"team\"}");
}

void policy_free(struct policy *policy)
{
    plugin_string_free(&policy->label);
}

const plugin_string_t *policy_find(const struct policy *policy, const plugin_list_tuple2_string_string_t *labels)
{
    for (size_t i = 0; i < labels->len; i++) {
        if (witlet_equal(witlet_view(labels->ptr[i].f0), witlet_view(policy->label)))
            return &labels->ptr[i].f1;
    }
    return NULL;
}
