#include "policy.h"

static bool read_label(const cJSON *settings, struct policy *policy, plugin_string_t *error)
{
    static const char *const known[] = {"label", NULL};
    const char *unknown = witlet_json_unknown(settings, known);
    if (unknown != NULL)
        return witlet_fail(error, "unknown field \"%s\"", unknown);
    const cJSON *label = cJSON_GetObjectItemCaseSensitive(settings, "label");
    if (!cJSON_IsString(label) || label->valuestring[0] == '\0' || strlen(label->valuestring) > LABEL_MAX)
        return witlet_fail(error, "label: the name of a label is needed, such as {\"label\": \"team\"}");
    policy->label = witlet_copy(witlet_view_c(label->valuestring));
    return true;
}

bool policy_read(witlet_text config, struct policy *policy, plugin_string_t *error)
{
    cJSON *settings = witlet_json_settings(config);
    if (settings == NULL)
        return witlet_fail(error, "the configuration isn't a JSON object");
    bool good = read_label(settings, policy, error);
    cJSON_Delete(settings);
    return good;
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
