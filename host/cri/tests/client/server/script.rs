//! What the scripted server answers, by the names in the requests.

use std::sync::Arc;

use futures::stream::{self, BoxStream, StreamExt};
use tokio::sync::Notify;
use tonic::{Request, Status};
use witlet_core::runtime::labels;
use witlet_proto::cri;

use super::{Events, Scripted};

/// Reported when it is dropped.
struct Guard(Arc<Notify>);

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.notify_one();
    }
}

fn labels_of_pod() -> std::collections::BTreeMap<String, String> {
    [(labels::POD_UID, "u-1"), (labels::POD_NAME, "name"), (labels::POD_NAMESPACE, "namespace")]
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .into()
}

fn asks_for_no_one(selector: &std::collections::BTreeMap<String, String>) -> bool {
    selector.get(labels::POD_UID).is_some_and(|uid| uid != "u-1")
}

impl Scripted {
    pub(super) fn record_deadline(&self, request: Request<()>) -> Result<Request<()>, Status> {
        let reported = request.metadata().get("grpc-timeout").and_then(|reported| reported.to_str().ok());
        *self.last_deadline.lock().expect("no holder panics") = reported.map(str::to_owned);
        let of_context = |name: &&str| request.metadata().contains_key(*name);
        let value = |name| request.metadata().get(name).and_then(|value| value.to_str().ok()).unwrap_or("?");
        let names = ["traceparent", "tracestate", "baggage"].into_iter().filter(of_context);
        let context = names.map(|name| format!("{name}: {}", value(name))).collect();
        *self.last_context.lock().expect("no holder panics") = context;
        Ok(request)
    }

    pub(super) async fn answer_version(&self) -> cri::VersionResponse {
        self.version_asked.notify_one();
        tokio::time::sleep(self.answers.version_takes).await;
        cri::VersionResponse {
            runtime_name: "scripted".to_owned(),
            runtime_api_version: "v1".to_owned(),
            ..cri::VersionResponse::default()
        }
    }

    pub(super) fn conditions() -> cri::StatusResponse {
        let condition = |kind: &str, status, reason: &str, message: &str| cri::RuntimeCondition {
            r#type: kind.to_owned(),
            status,
            reason: reason.to_owned(),
            message: message.to_owned(),
        };
        let conditions = vec![
            condition("RuntimeReady", true, "", ""),
            condition("NetworkReady", false, "NoCni", "cni plugin not initialized"),
        ];
        cri::StatusResponse {
            status: Some(cri::RuntimeStatus { conditions }),
            ..cri::StatusResponse::default()
        }
    }

    pub(super) fn sandboxes(&self, filter: Option<cri::PodSandboxFilter>) -> Vec<cri::PodSandbox> {
        if filter.is_some_and(|f| asks_for_no_one(&f.label_selector)) {
            return Vec::new();
        }
        let padding = "x".repeat(self.answers.list_bytes);
        ["s-stays", "s-vanishes"]
            .map(|id| cri::PodSandbox {
                id: id.to_owned(),
                metadata: Some(cri::PodSandboxMetadata::default()),
                labels: labels_of_pod(),
                annotations: [("padding".to_owned(), padding[..padding.len() / 2].to_owned())].into(),
                ..cri::PodSandbox::default()
            })
            .to_vec()
    }

    pub(super) fn containers(filter: Option<cri::ContainerFilter>) -> Vec<cri::Container> {
        if filter.is_some_and(|f| asks_for_no_one(&f.label_selector)) {
            return Vec::new();
        }
        ["c-vanishes", "c-stays"]
            .map(|id| cri::Container {
                id: id.to_owned(),
                pod_sandbox_id: "s-stays".to_owned(),
                labels: labels_of_pod(),
                image_ref: "by reference".to_owned(),
                // Runtimes before 1.30 don't have it.
                image_id: if id == "c-stays" { "sha256:present".to_owned() } else { String::new() },
                ..cri::Container::default()
            })
            .to_vec()
    }

    pub(super) fn sandbox(id: String) -> Result<cri::PodSandboxStatusResponse, Status> {
        if id != "s-stays" {
            return Err(Status::not_found(id));
        }
        let status = cri::PodSandboxStatus {
            id,
            metadata: Some(cri::PodSandboxMetadata::default()),
            network: Some(cri::PodSandboxNetworkStatus {
                ip: "10.1.2.3".to_owned(),
                additional_ips: Vec::new(),
            }),
            ..cri::PodSandboxStatus::default()
        };
        Ok(cri::PodSandboxStatusResponse { status: Some(status), ..cri::PodSandboxStatusResponse::default() })
    }

    pub(super) fn container(id: String) -> Result<cri::ContainerStatusResponse, Status> {
        if id != "c-stays" {
            return Err(Status::not_found(id));
        }
        let image = |image: &str| cri::Mount {
            image: Some(cri::ImageSpec { image: image.to_owned(), ..cri::ImageSpec::default() }),
            ..cri::Mount::default()
        };
        let mounts = vec![cri::Mount::default(), image("sha256:mounted"), image("")];
        let status = Some(cri::ContainerStatus { id, mounts, ..cri::ContainerStatus::default() });
        Ok(cri::ContainerStatusResponse { status, info: Default::default() })
    }

    pub(super) async fn exec(&self, request: cri::ExecSyncRequest) -> Result<cri::ExecSyncResponse, Status> {
        match request.cmd.first().map_or("", String::as_str) {
            _ if request.container_id != "c-stays" => Err(Status::not_found(request.container_id)),
            "hang" => {
                let _guard = Guard(self.exec_cancelled.clone());
                self.exec_begun.notify_one();
                std::future::pending().await
            }
            "slow" => Err(Status::deadline_exceeded("timeout 1s exceeded: context deadline exceeded")),
            "broken" => Err(Status::unknown("runc ".repeat(10_000))),
            "flood" => Ok(cri::ExecSyncResponse { stdout: vec![b'x'; 17 << 20], ..Default::default() }),
            _ => Ok(cri::ExecSyncResponse {
                stdout: request.cmd.join(" ").into_bytes(),
                stderr: vec![0xff],
                exit_code: i32::try_from(request.timeout).expect("small"),
            }),
        }
    }

    /// Only for `u` with `p`.
    pub(super) fn pulled(request: cri::PullImageRequest) -> Result<cri::PullImageResponse, Status> {
        let auth = request.auth.unwrap_or_default();
        let image = request.image.unwrap_or_default().image;
        match (image.as_str(), auth.username.as_str(), auth.password.as_str()) {
            ("private:1", "u", "p") => Ok(cri::PullImageResponse { image_ref: "sha256:private".to_owned() }),
            ("private:1", ..) => Err(Status::unknown("401 Unauthorized")),
            ("nameless:1", ..) => Ok(cri::PullImageResponse::default()),
            _ => Err(Status::not_found(image)),
        }
    }

    pub(super) async fn events(
        &self,
    ) -> Result<BoxStream<'static, Result<cri::ContainerEventResponse, Status>>, Status> {
        let reported = |ids: &[&str]| {
            let event = |id: &&str| {
                let metadata = cri::PodSandboxMetadata { uid: "u-1".to_owned(), ..Default::default() };
                let status = cri::PodSandboxStatus { metadata: Some(metadata), ..Default::default() };
                Ok(cri::ContainerEventResponse {
                    container_id: (*id).to_owned(),
                    pod_sandbox_status: Some(status),
                    ..Default::default()
                })
            };
            stream::iter(ids.iter().map(event).collect::<Vec<_>>())
        };
        self.events_asked.notify_one();
        match &self.answers.events {
            Events::Unimplemented => Err(Status::unimplemented("unknown method GetContainerEvents")),
            Events::Silent => std::future::pending().await,
            Events::ThenQuiet(ids) => Ok(reported(ids).chain(stream::pending()).boxed()),
            Events::ThenEnd(ids) => Ok(reported(ids).boxed()),
            Events::ThenFail(ids) => {
                let broken = stream::iter([Err(Status::aborted("the stream broke"))]);
                Ok(reported(ids).chain(broken).boxed())
            }
        }
    }

    pub(super) fn image(spec: Option<cri::ImageSpec>) -> Result<cri::ImageStatusResponse, Status> {
        let image = match spec.unwrap_or_default().image.as_str() {
            "present:1" => Some(cri::Image { id: "sha256:present".to_owned(), ..cri::Image::default() }),
            "empty-answer:1" => None,
            other => return Err(Status::not_found(other)),
        };
        Ok(cri::ImageStatusResponse { image, info: Default::default() })
    }

    /// One that says what was asked; none for `u-empty`.
    pub(super) fn url(call: &str, id: &str, words: &[String], streams: &[bool]) -> Result<String, Status> {
        match id {
            "gone" => Err(Status::not_found(id)),
            "u-empty" => Ok(String::new()),
            id => Ok(format!("http://127.0.0.1:1/{call}/{id}/{words:?}/{streams:?}")),
        }
    }
}
