//! Pods as a user would write them, in one line.

use k8s_openapi::api::core::v1::{Container, ContainerPort, Pod, PodSpec, ResourceRequirements};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

/// A pod being written.
#[derive(Clone, Debug)]
pub struct PodBuilder(Pod);

/// A container being written.
#[derive(Clone, Debug)]
pub struct ContainerBuilder(Container);

/// A pod in the default namespace, still without containers.
pub fn pod(name: &str) -> PodBuilder {
    let metadata =
        ObjectMeta { name: Some(name.into()), namespace: Some("default".into()), ..ObjectMeta::default() };
    PodBuilder(Pod { metadata, spec: Some(PodSpec::default()), status: None })
}

/// A container of this name that runs this image.
pub fn container(name: &str, image: &str) -> ContainerBuilder {
    ContainerBuilder(Container { name: name.into(), image: Some(image.into()), ..Container::default() })
}

impl PodBuilder {
    /// Adds a container named `app` with this image.
    pub fn image(self, image: &str) -> Self {
        self.container(container("app", image))
    }

    /// Adds a container.
    pub fn container(mut self, container: ContainerBuilder) -> Self {
        self.spec().containers.push(container.0);
        self
    }

    /// `spec.restartPolicy`
    pub fn restart_policy(mut self, policy: &str) -> Self {
        self.spec().restart_policy = Some(policy.into());
        self
    }

    /// `spec.terminationGracePeriodSeconds`
    pub fn grace_seconds(mut self, seconds: i64) -> Self {
        self.spec().termination_grace_period_seconds = Some(seconds);
        self
    }

    /// `metadata.uid`: with it, a change is an update of the pod and not another pod.
    pub fn uid(mut self, uid: &str) -> Self {
        self.0.metadata.uid = Some(uid.into());
        self
    }

    /// A label.
    pub fn label(mut self, (key, value): (&str, &str)) -> Self {
        self.0.metadata.labels.get_or_insert_default().insert(key.into(), value.into());
        self
    }

    /// An annotation.
    pub fn annotation(mut self, key: &str, value: &str) -> Self {
        self.0.metadata.annotations.get_or_insert_default().insert(key.into(), value.into());
        self
    }

    /// `spec.hostNetwork`
    pub fn host_network(mut self) -> Self {
        self.spec().host_network = Some(true);
        self
    }

    /// The pod.
    pub fn build(self) -> Pod {
        self.0
    }

    fn spec(&mut self) -> &mut PodSpec {
        self.0.spec.get_or_insert_default()
    }
}

impl ContainerBuilder {
    /// `command`
    pub fn command(mut self, command: &[String]) -> Self {
        self.0.command = (!command.is_empty()).then(|| command.to_vec());
        self
    }

    /// `args`
    pub fn args(mut self, args: &[String]) -> Self {
        self.0.args = (!args.is_empty()).then(|| args.to_vec());
        self
    }

    /// An environment variable with a plain value.
    pub fn env(mut self, name: &str, value: &str) -> Self {
        let variable = k8s_openapi::api::core::v1::EnvVar {
            name: name.into(),
            value: Some(value.into()),
            value_from: None,
        };
        self.0.env.get_or_insert_default().push(variable);
        self
    }

    /// `imagePullPolicy`
    pub fn pull_policy(mut self, policy: &str) -> Self {
        self.0.image_pull_policy = Some(policy.into());
        self
    }

    /// A request such as `cpu: 500m`.
    pub fn request(mut self, resource: &str, quantity: &str) -> Self {
        let resources = self.0.resources.get_or_insert_with(ResourceRequirements::default);
        resources.requests.get_or_insert_default().insert(resource.into(), Quantity(quantity.into()));
        self
    }

    /// A port on the host that leads to the same port of the container.
    pub fn host_port(mut self, port: i32) -> Self {
        let port = ContainerPort { container_port: port, host_port: Some(port), ..ContainerPort::default() };
        self.0.ports.get_or_insert_default().push(port);
        self
    }
}
