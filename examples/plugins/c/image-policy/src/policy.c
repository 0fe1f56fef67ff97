#include "policy.h"

#include "image.h"
#include "json.h"

/* Adds the places of `allow`. */
static bool read_places(witlet_text allow, struct policy *policy, plugin_string_t *error)
{
    size_t count = witlet_json_is_array(allow) ? witlet_json_count(allow) : 0;
    if (count == 0)
        return witlet_fail(error, "allow: a list of at least one registry, or registry and path, is needed");
    if (count > ALLOW_MAX)
        return witlet_fail(error, "allow: more than %d places", ALLOW_MAX);
    policy->allow = calloc(count, sizeof *policy->allow);
    if (policy->allow == NULL)
        abort();
    for (witlet_json_items items = witlet_json_each(allow); witlet_json_next(&items);) {
        size_t index = policy->allow_count++;
        policy->allow[index] = witlet_json_string(items.value);
        witlet_text place = witlet_view(policy->allow[index]);
        if (place.len == 0 || place.ptr[0] == '/' || place.ptr[place.len - 1] == '/')
            return witlet_fail(error, "allow[%zu]: a registry, or registry and path, without a slash at its ends is needed", index);
    }
    return true;
}

static bool read_settings(witlet_text settings, struct policy *policy, plugin_string_t *error)
{
    static const char *const known[] = {"allow", "requireDigest", NULL};
    if (!witlet_json_only(settings, known, "field", error))
        return false;
    witlet_text require_digest = witlet_json_member(settings, "requireDigest");
    if (require_digest.len > 0 && !witlet_json_is_bool(require_digest))
        return witlet_fail(error, "requireDigest: true or false is needed");
    policy->require_digest = witlet_json_is_true(require_digest);
    return read_places(witlet_json_member(settings, "allow"), policy, error);
}

bool policy_read(witlet_text config, struct policy *policy, plugin_string_t *error)
{
    *policy = (struct policy){0};
    witlet_text settings = witlet_json_settings(config);
    if (settings.len == 0)
        return witlet_fail(error, "the configuration isn't a JSON object");
    if (read_settings(settings, policy, error))
        return true;
    policy_free(policy);
    return false;
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
