#include "policy.h"

#include "image.h"

/* Adds the places of `allow`. */
static bool read_places(const cJSON *allow, struct policy *policy, plugin_string_t *error)
{
    int count = cJSON_GetArraySize(allow);
    if (!cJSON_IsArray(allow) || count == 0)
        return witlet_fail(error, "allow: a list of at least one registry, or registry and path, is needed");
    if (count > ALLOW_MAX)
        return witlet_fail(error, "allow: more than %d places", ALLOW_MAX);
    policy->allow = calloc((size_t)count, sizeof *policy->allow);
    if (policy->allow == NULL)
        abort();
    const cJSON *place;
    cJSON_ArrayForEach(place, allow)
    {
        witlet_text text = cJSON_IsString(place) ? witlet_view_c(place->valuestring) : WITLET_TEXT("");
        if (text.len == 0 || text.ptr[0] == '/' || text.ptr[text.len - 1] == '/')
            return witlet_fail(error, "allow[%zu]: a registry, or registry and path, without a slash at its ends is needed",
                               policy->allow_count);
        policy->allow[policy->allow_count++] = witlet_copy(text);
    }
    return true;
}

static bool read_settings(const cJSON *settings, struct policy *policy, plugin_string_t *error)
{
    static const char *const known[] = {"allow", "requireDigest", NULL};
    const char *unknown = witlet_json_unknown(settings, known);
    if (unknown != NULL)
        return witlet_fail(error, "unknown field \"%s\"", unknown);
    const cJSON *require_digest = cJSON_GetObjectItemCaseSensitive(settings, "requireDigest");
    if (require_digest != NULL && !cJSON_IsBool(require_digest))
        return witlet_fail(error, "requireDigest: true or false is needed");
    policy->require_digest = cJSON_IsTrue(require_digest);
    return read_places(cJSON_GetObjectItemCaseSensitive(settings, "allow"), policy, error);
}

bool policy_read(witlet_text config, struct policy *policy, plugin_string_t *error)
{
    *policy = (struct policy){0};
    cJSON *settings = witlet_json_settings(config);
    if (settings == NULL)
        return witlet_fail(error, "the configuration isn't a JSON object");
    bool good = read_settings(settings, policy, error);
    if (!good)
        policy_free(policy);
    cJSON_Delete(settings);
    return good;
}

void policy_free(struct policy *policy)
{
    for (size_t i = 0; i < policy->allow_count; i++)
        plugin_string_free(&policy->allow[i]);
    free(policy->allow);
    *policy = (struct policy){0};
}

/* Whether a place is one of the allowed ones, or below one. */
static bool is_allowed(const struct policy *policy, witlet_text place)
{
    for (size_t i = 0; i < policy->allow_count; i++) {
        witlet_text allowed = witlet_view(policy->allow[i]);
        if (witlet_starts_with(place, allowed) && (place.len == allowed.len || place.ptr[allowed.len] == '/'))
            return true;
    }
    return false;
}

bool policy_allows(const struct policy *policy, witlet_text container, witlet_text reference, const char **reason,
                   plugin_string_t *message)
{
    *reason = "ImageNotAllowed";
    if (reference.len == 0)
        return witlet_fail(message, "container \"%.*s\": no image is named", WITLET_ARGS(container));

    struct image image = image_read(reference);
    witlet_text place = witlet_view(image.place);
    bool allowed = true;
    if (!is_allowed(policy, place)) {
        allowed = witlet_fail(message, "container \"%.*s\": %.*s isn't allowed", WITLET_ARGS(container), WITLET_ARGS(place));
    } else if (policy->require_digest && !image.pinned) {
        *reason = "ImageNotPinned";
        allowed = witlet_fail(message, "container \"%.*s\": %.*s isn't pinned by a digest", WITLET_ARGS(container),
                              WITLET_ARGS(place));
    }
    image_free(&image);
    return allowed;
}
