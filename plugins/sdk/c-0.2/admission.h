/* What an admission handler of contract 0.2 is given, with short names. What each getter says stands in the book and in wit/.
 *
 *     bool exports_witlet_admission_handler_admit(witlet_request_t request, witlet_answer_t answer, witlet_error_t *error)
 *     {
 *         WITLET_DROPPED(pod) pod = witlet_request_pod(request);
 *         WITLET_FREED team = {NULL, 0};
 *         if (!witlet_pod_label(pod, WITLET_TEXT("team"), &team))
 *             witlet_reject(answer, "NoTeam", "the label team is missing");
 *         else
 *             witlet_admit(answer);
 *         return true;
 *     }
 *
 * See things.h for WITLET_DROPPED and WITLET_FREED, contract.h for answers and errors.
 */
#ifndef ADMISSION_H
#define ADMISSION_H

#define WITLET_ADMISSION
#define WITLET_TYPES witlet_admission_admission_types_

#include "contract.h"
#include "things.h"

typedef witlet_host_errors_own_error_t witlet_error_t;
typedef WITLET_TYPE(borrow_answer_t) witlet_answer_t;
typedef WITLET_TYPE(borrow_setup_t) witlet_setup_t;
typedef WITLET_TYPE(datetime_t) witlet_datetime_t;

WITLET_LENT(request)
WITLET_THING(image)
WITLET_THING(container_port)
WITLET_THING(host_port)
WITLET_THING(mount)
WITLET_THING(container)
WITLET_THING(resolved_image)
WITLET_THING(volume)
WITLET_THING(owner)
WITLET_THING(pod)
WITLET_THING(taint)
WITLET_THING(condition)
WITLET_THING(node)

WITLET_LIST(image)
WITLET_LIST(container_port)
WITLET_LIST(host_port)
WITLET_LIST(mount)
WITLET_LIST(container)
WITLET_LIST(volume)
WITLET_LIST(owner)
WITLET_LIST(pod)
WITLET_LIST(taint)
WITLET_LIST(condition)

/* ---- The request ---- */

WITLET_GET_TEXT(request, operation)
WITLET_GET_LIST(request, now, witlet_datetime_t)
WITLET_GET(request, pod, witlet_pod_t)
WITLET_GET_OPTION(request, old_pod, witlet_pod_t)
WITLET_GET_OPTION(request, image, witlet_resolved_image_t)
WITLET_GET(request, node, witlet_node_t)
WITLET_GET_LIST(request, other_pods, witlet_pod_list_t)

/* ---- A pod ---- */

WITLET_GET_TEXT(pod, namespace)
WITLET_GET_TEXT(pod, name)
WITLET_GET_TEXT(pod, uid)
WITLET_GET_TEXT(pod, source)
WITLET_GET_OF(pod, label, plugin_string_t)
WITLET_GET_LIST(pod, labels, plugin_list_tuple2_string_string_t)
WITLET_GET_OF(pod, annotation, plugin_string_t)
WITLET_GET_LIST(pod, annotations, plugin_list_tuple2_string_string_t)
WITLET_GET_LIST(pod, owners, witlet_owner_list_t)
WITLET_GET_TEXT(pod, service_account)
WITLET_GET(pod, has_service_account_token, bool)
WITLET_GET(pod, priority, int32_t)
WITLET_GET_TEXT(pod, priority_class)
WITLET_GET_TEXT(pod, runtime_class)
WITLET_GET_OPTION(pod, runtime_handler, plugin_string_t)
WITLET_GET_TEXT(pod, qos)
WITLET_GET(pod, host_network, bool)
WITLET_GET(pod, host_pid, bool)
WITLET_GET(pod, host_ipc, bool)
WITLET_GET(pod, host_users, bool)
WITLET_GET_LIST(pod, containers, witlet_container_list_t)
WITLET_GET_LIST(pod, images, witlet_image_list_t)
WITLET_GET_LIST(pod, volumes, witlet_volume_list_t)
WITLET_GET_LIST(pod, resources, plugin_list_string_t)
WITLET_GET_OF(pod, request, int64_t)
WITLET_GET_OF(pod, limit, int64_t)
WITLET_GET_LIST(pod, host_ports, witlet_host_port_list_t)
WITLET_GET_TEXT(pod, json)
WITLET_GET_OF(pod, pointer, plugin_string_t)

WITLET_GET_TEXT(owner, api_version)
WITLET_GET_TEXT(owner, kind)
WITLET_GET_TEXT(owner, name)
WITLET_GET_TEXT(owner, uid)
WITLET_GET(owner, is_controller, bool)

WITLET_GET_OPTION(host_port, address, plugin_string_t)
WITLET_GET_TEXT(host_port, protocol)
WITLET_GET(host_port, number, uint16_t)

/* ---- A container ---- */

WITLET_GET_TEXT(container, name)
WITLET_GET_TEXT(container, kind)
WITLET_GET_TEXT(container, place)
WITLET_GET(container, image, witlet_image_t)
WITLET_GET_TEXT(container, pull_policy)
WITLET_GET_LIST(container, resources, plugin_list_string_t)
WITLET_GET_OF(container, request, int64_t)
WITLET_GET_OF(container, limit, int64_t)
WITLET_GET(container, privileged, bool)
WITLET_GET(container, run_as_non_root, bool)
WITLET_GET_OPTION(container, run_as_user, int64_t)
WITLET_GET_OPTION(container, run_as_group, int64_t)
WITLET_GET(container, allow_privilege_escalation, bool)
WITLET_GET(container, read_only_root_filesystem, bool)
WITLET_GET_OPTION(container, seccomp_profile, plugin_string_t)
WITLET_GET_OPTION(container, apparmor_profile, plugin_string_t)
WITLET_GET_LIST(container, added_capabilities, plugin_list_string_t)
WITLET_GET_LIST(container, dropped_capabilities, plugin_list_string_t)
WITLET_GET_LIST(container, env_names, plugin_list_string_t)
WITLET_GET_LIST(container, ports, witlet_container_port_list_t)
WITLET_GET_LIST(container, mounts, witlet_mount_list_t)
WITLET_GET_OF(container, pointer, plugin_string_t)

WITLET_GET_TEXT(container_port, name)
WITLET_GET(container_port, number, uint16_t)
WITLET_GET_TEXT(container_port, protocol)
WITLET_GET_OPTION(container_port, host_port, uint16_t)

WITLET_GET_TEXT(mount, volume)
WITLET_GET_TEXT(mount, path)
WITLET_GET_TEXT(mount, sub_path)
WITLET_GET(mount, read_only, bool)
WITLET_GET(mount, is_device, bool)

/* ---- Images and volumes ---- */

WITLET_GET_TEXT(image, reference)
WITLET_GET_TEXT(image, place)
WITLET_GET_TEXT(image, name)
WITLET_GET_OPTION(image, registry, plugin_string_t)
WITLET_GET_OPTION(image, repository, plugin_string_t)
WITLET_GET_OPTION(image, tag, plugin_string_t)
WITLET_GET_OPTION(image, digest, plugin_string_t)

WITLET_GET(resolved_image, container, witlet_container_t)
WITLET_GET_TEXT(resolved_image, id)
WITLET_GET_OPTION(resolved_image, digest, plugin_string_t)
WITLET_GET_OPTION(resolved_image, size, uint64_t)
WITLET_GET_OPTION(resolved_image, credentials, plugin_string_t)

WITLET_GET_TEXT(volume, name)
WITLET_GET_TEXT(volume, kind)
WITLET_GET_OPTION(volume, host_path, plugin_string_t)
WITLET_GET_OPTION(volume, image, witlet_image_t)
WITLET_GET_OF(volume, pointer, plugin_string_t)

/* ---- The node ---- */

WITLET_GET_TEXT(node, name)
WITLET_GET_OF(node, label, plugin_string_t)
WITLET_GET_LIST(node, labels, plugin_list_tuple2_string_string_t)
WITLET_GET_LIST(node, taints, witlet_taint_list_t)
WITLET_GET_OF(node, condition, witlet_condition_t)
WITLET_GET_LIST(node, conditions, witlet_condition_list_t)
WITLET_GET_LIST(node, resources, plugin_list_string_t)
WITLET_GET_OF(node, capacity, int64_t)
WITLET_GET_OF(node, allocatable, int64_t)
WITLET_GET_OF(node, available, int64_t)
WITLET_GET_OF(node, used, int64_t)
WITLET_GET_LIST(node, used_host_ports, witlet_host_port_list_t)
WITLET_GET_OF(node, fact, plugin_string_t)
WITLET_GET_LIST(node, facts, plugin_list_tuple2_string_string_t)
WITLET_GET_TEXT(node, devices)
WITLET_GET_TEXT(node, json)
WITLET_GET_OF(node, pointer, plugin_string_t)

/* What the other admitted pods count for together, 0 if nothing. */
static inline int64_t witlet_node_requested(witlet_node_t it, witlet_text resource)
{
    plugin_string_t lent = witlet_lend(resource);
    return WITLET_TYPE(method_node_requested)(witlet_node_self(it), &lent);
}

WITLET_GET_TEXT(taint, key)
WITLET_GET_TEXT(taint, value)
WITLET_GET_TEXT(taint, effect)

WITLET_GET_TEXT(condition, kind)
WITLET_GET_TEXT(condition, status)
WITLET_GET_TEXT(condition, reason)
WITLET_GET_TEXT(condition, message)

#endif
