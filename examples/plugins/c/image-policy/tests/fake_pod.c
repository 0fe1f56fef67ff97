/* Fakes of those functions of `witlet:admission/types` that the plugin calls. */
#include "fake_pod.h"

static const char *const nothing[] = {NULL};
witlet_admission_types_operation_t fake_operation = WITLET_ADMISSION_TYPES_OPERATION_ADD;
const char *const *fake_containers = nothing;
int fake_pods_held;

witlet_admission_types_operation_t
witlet_admission_types_method_request_operation(witlet_admission_types_borrow_request_t self)
{
    (void)self;
    return fake_operation;
}

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

void witlet_admission_types_method_pod_containers(witlet_admission_types_borrow_pod_t self,
                                                  witlet_admission_types_list_container_t *ret)
{
    (void)self;
    size_t count = 0;
    while (fake_containers[2 * count] != NULL)
        count++;
    *ret = (witlet_admission_types_list_container_t){NULL, count};
    if (count > 0)
        ret->ptr = malloc(count * sizeof *ret->ptr);
    for (size_t i = 0; i < count; i++) {
        ret->ptr[i].name = fake_text(fake_containers[2 * i]);
        ret->ptr[i].kind = WITLET_ADMISSION_TYPES_CONTAINER_KIND_APP;
        ret->ptr[i].image = fake_text(fake_containers[2 * i + 1]);
    }
}

void witlet_admission_types_list_container_free(witlet_admission_types_list_container_t *list)
{
    for (size_t i = 0; i < list->len; i++) {
        plugin_string_free(&list->ptr[i].name);
        plugin_string_free(&list->ptr[i].image);
    }
    if (list->len > 0)
        free(list->ptr);
}
