/* Fakes of those functions of `witlet:admission/types` that the plugin calls. Call another one, and the linker asks for its fake. */
#include "fake_pod.h"

static const char *const nothing[] = {NULL};
const char *const *fake_labels = nothing;
int fake_pods_held;

witlet_admission_types_own_pod_t
witlet_admission_types_method_request_pod(witlet_admission_types_borrow_request_t self)
{
    (void)self;
    fake_pods_held++;
    return (witlet_admission_types_own_pod_t){1};
}

witlet_admission_types_borrow_pod_t witlet_admission_types_borrow_pod(witlet_admission_types_own_pod_t handle)
{
    return (witlet_admission_types_borrow_pod_t){handle.__handle};
}

void witlet_admission_types_pod_drop_own(witlet_admission_types_own_pod_t handle)
{
    (void)handle;
    fake_pods_held--;
}

void witlet_admission_types_method_pod_labels(witlet_admission_types_borrow_pod_t self,
                                              plugin_list_tuple2_string_string_t *ret)
{
    (void)self;
    size_t count = 0;
    while (fake_labels[2 * count] != NULL)
        count++;
    *ret = (plugin_list_tuple2_string_string_t){NULL, count};
    if (count > 0)
        ret->ptr = malloc(count * sizeof *ret->ptr);
    for (size_t i = 0; i < count; i++) {
        ret->ptr[i].f0 = fake_text(fake_labels[2 * i]);
        ret->ptr[i].f1 = fake_text(fake_labels[2 * i + 1]);
    }
}
