//! The only place where the CRI's words and ours meet: requests in `requests`, answers in `answers`.

mod answers;
mod requests;

pub(crate) use answers::{
    cgroup_driver, group_by_pod, id, image_info, observed_container, observed_pod, observed_sandbox,
    pod_names, runtime_event, runtime_status, runtime_version,
};
pub(crate) use requests::{
    container_config, containers_of, image_auth, image_spec, sandbox_config, sandboxes_of, update_resources,
    whole_seconds,
};

#[cfg(test)]
mod tests;
