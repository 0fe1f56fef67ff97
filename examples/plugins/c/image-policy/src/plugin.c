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

/* The verdict on a pod: that on its first container which may not run. */
static witlet_admission_types_verdict_t judge(const struct policy *policy, witlet_admission_types_borrow_pod_t pod)
{
    witlet_admission_types_list_container_t containers;
    witlet_admission_types_method_pod_containers(pod, &containers);
    witlet_admission_types_verdict_t verdict = witlet_admit();
    for (size_t i = 0; i < containers.len; i++) {
        const char *reason;
        plugin_string_t message;
        if (!policy_allows(policy, witlet_view(containers.ptr[i].name), witlet_view(containers.ptr[i].image), &reason,
                           &message)) {
            verdict = witlet_reject(reason, message);
            break;
        }
    }
    witlet_admission_types_list_container_free(&containers);
    return verdict;
}

bool exports_witlet_admission_handler_admit(exports_witlet_admission_handler_borrow_request_t request,
                                            exports_witlet_admission_handler_verdict_t *ret, plugin_string_t *err)
{
    /* The images of a pod that is resized are those that were admitted before. */
    if (witlet_admission_types_method_request_operation(request) == WITLET_ADMISSION_TYPES_OPERATION_RESIZE) {
        *ret = witlet_admit();
        return true;
    }
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
