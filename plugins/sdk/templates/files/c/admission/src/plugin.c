/* The exports of `witlet:admission/handler`: what the host calls. */
#include "admission.h"

#include "policy.h"

/* What becomes of a pod. */
static void judge(const struct policy *policy, witlet_pod_t pod, witlet_answer_t answer)
{
    witlet_text label = witlet_view(policy->label);
    WITLET_FREED value = {NULL, 0};
    if (!witlet_pod_label(pod, label, &value))
        witlet_reject(answer, "LabelMissing", "label \"%.*s\" is missing", WITLET_ARGS(label));
    else if (value.len == 0)
        witlet_reject(answer, "LabelMissing", "label \"%.*s\" is empty", WITLET_ARGS(label));
    else
        witlet_admit(answer);
}

/* The policy of a configuration; false with an error of the contract's kind. */
static bool load(plugin_string_t config, struct policy *policy, witlet_error_t *error)
{
    plugin_string_t words;
    return policy_read(witlet_view(config), policy, &words) || witlet_error_owned(error, "InvalidConfiguration", words);
}

bool exports_witlet_admission_handler_validate(witlet_setup_t setup, plugin_string_t *config, witlet_error_t *error)
{
    struct policy policy;
    bool good = load(*config, &policy, error);
    plugin_string_free(config);
    if (!good)
        return false;
    policy_free(&policy);
    /* A pod is judged when it is new. */
    witlet_subscribe(setup, "add");
    return true;
}

bool exports_witlet_admission_handler_admit(witlet_request_t request, witlet_answer_t answer, witlet_error_t *error)
{
    WITLET_FREED config = witlet_config();
    struct policy policy;
    if (!load(config, &policy, error))
        return false;
    WITLET_DROPPED(pod) pod = witlet_request_pod(request);
    WITLET_FREED name = witlet_pod_name(pod);
    witlet_log(WITLET_HOST_LOG_LEVEL_DEBUG, WITLET_TEXT("asked about a pod"), (witlet_field[]){{"name", witlet_view(name)}}, 1);
    judge(&policy, pod, answer);
    policy_free(&policy);
    return true;
}
