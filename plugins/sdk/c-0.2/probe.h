/* What a probe type of contract 0.2 is given, with short names. What each getter says stands in the book and in wit/. See things.h for
 * WITLET_DROPPED and WITLET_FREED, contract.h for answers and errors.
 */
#ifndef PROBE_H
#define PROBE_H

#define WITLET_PROBE
#define WITLET_TYPES witlet_probe_probe_types_

#include "contract.h"
#include "things.h"

typedef witlet_host_errors_own_error_t witlet_error_t;
typedef WITLET_TYPE(borrow_answer_t) witlet_answer_t;
typedef WITLET_TYPE(borrow_setup_t) witlet_setup_t;
typedef WITLET_TYPE(borrow_check_t) witlet_check_t;

WITLET_LENT(target)
WITLET_THING(container_port)
WITLET_THING(container)
WITLET_THING(pod)

WITLET_LIST(container_port)

WITLET_GET(target, pod, witlet_pod_t)
WITLET_GET(target, container, witlet_container_t)
WITLET_GET_TEXT(target, kind)
WITLET_GET(target, timeout_milliseconds, uint64_t)
WITLET_GET(target, remaining_milliseconds, uint64_t)

WITLET_GET_TEXT(pod, namespace)
WITLET_GET_TEXT(pod, name)
WITLET_GET_TEXT(pod, uid)
WITLET_GET_OF(pod, label, plugin_string_t)
WITLET_GET_LIST(pod, labels, plugin_list_tuple2_string_string_t)
WITLET_GET_OF(pod, annotation, plugin_string_t)
WITLET_GET_LIST(pod, annotations, plugin_list_tuple2_string_string_t)
WITLET_GET_LIST(pod, addresses, plugin_list_string_t)
WITLET_GET_LIST(pod, host_addresses, plugin_list_string_t)
WITLET_GET(pod, host_network, bool)
WITLET_GET_TEXT(pod, json)
WITLET_GET_OF(pod, pointer, plugin_string_t)

WITLET_GET_TEXT(container, name)
WITLET_GET_TEXT(container, id)
WITLET_GET(container, restarts, uint32_t)
WITLET_GET_TEXT(container, image)
WITLET_GET_LIST(container, ports, witlet_container_port_list_t)
WITLET_GET_OF(container, port, uint16_t)
WITLET_GET_OF(container, pointer, plugin_string_t)

WITLET_GET_TEXT(container_port, name)
WITLET_GET(container_port, number, uint16_t)
WITLET_GET_TEXT(container_port, protocol)

#endif
