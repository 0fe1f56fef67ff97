/* The exports of `witlet:admission/handler`: what the host calls. */
#include "policy.h"

bool exports_witlet_admission_handler_validate(plugin_string_t *config, plugin_string_t *err)
{
    struct policy policy;
    bool good = policy_read(witlet_view(*config), &policy, err);
    if (good)
        policy_free(&policy);
    plugin_string_free(config);
    return good;
}

/* The verdict of a policy on a pod, with a line in the log. */
static witlet_admission_types_verdict_t judge(const struct policy *policy, witlet_admission_types_borrow_pod_t pod)
{
    plugin_list_tuple2_string_string_t labels;
    witlet_admission_types_method_pod_labels(pod, &labels);

    witlet_admission_types_verdict_t verdict;
    const plugin_string_t *value = policy_find(policy, &labels);
    if (value != NULL) {
        witlet_log(WITLET_HOST_LOG_LEVEL_DEBUG, WITLET_TEXT("the pod has its label"),
                   (witlet_field[]){{"label", witlet_view(policy->label)}, {"value", witlet_view(*value)}}, 2);
        verdict = witlet_admit();
    } else {
        witlet_log(WITLET_HOST_LOG_LEVEL_INFO, WITLET_TEXT("the pod lacks its label"),
                   (witlet_field[]){{"label", witlet_view(policy->label)}}, 1);
        verdict = witlet_reject("LabelMissing", witlet_format("label \"%.*s\" is missing",
                                                              WITLET_ARGS(witlet_view(policy->label))));
    }
    plugin_list_tuple2_string_string_free(&labels);
    return verdict;
}

bool exports_witlet_admission_handler_admit(exports_witlet_admission_handler_borrow_request_t request,
                                            exports_witlet_admission_handler_verdict_t *ret, plugin_string_t *err)
{
    plugin_string_t config;
    witlet_host_config_get(&config);
    struct policy policy;
    bool good = policy_read(witlet_view(config), &policy, err);
    plugin_string_free(&config);
    if (!good)
        return false;

    witlet_admission_types_own_pod_t pod = witlet_admission_types_method_request_pod(request);
    *ret = judge(&policy, witlet_admission_types_borrow_pod(pod));
    witlet_admission_types_pod_drop_own(pod);
    policy_free(&policy);
    return true;
}
