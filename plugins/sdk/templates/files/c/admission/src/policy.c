#include "policy.h"

#include "json.h"

bool policy_read(witlet_text config, struct policy *policy, plugin_string_t *words)
{
    static const char *const known[] = {"label", NULL};
    witlet_text settings = witlet_json_settings(config);
    if (settings.len == 0)
        return witlet_fail(words, "the configuration isn't a JSON object");
    if (!witlet_json_only(settings, known, "field", words))
        return false;
    policy->label = witlet_json_string(witlet_json_member(settings, "label"));
    if (policy->label.len > 0 && policy->label.len <= LABEL_MAX)
        return true;
    plugin_string_free(&policy->label);
    return witlet_fail(words, "label: the name of a label is needed, such as {\"label\": \"team\"}");
}

void policy_free(struct policy *policy)
{
    plugin_string_free(&policy->label);
}
