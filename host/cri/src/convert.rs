//! The only place where the CRI's words and ours meet: requests in `requests`, answers in `answers`.

mod answers;
mod masked;
mod requests;
mod signal;

pub(crate) use answers::{
    cgroup_driver, exec_output, group_by_pod, id, image_info, observed_container, observed_pod,
    observed_sandbox, pod_names, process, runtime_event, runtime_status, runtime_version,
};
pub(crate) use requests::{
    container_config, containers_of, image_spec, pull_image, sandbox_config, sandboxes_of, update_resources,
    update_sandbox, whole_seconds,
};
