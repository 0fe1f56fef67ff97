//! What each operation asks about a pod of the manifests, and which flags it takes.

use std::sync::Arc;

use k8s_openapi::api::core::v1::{Container, ContainerStatus, Pod, PodStatus};
use witlet_core::admission::Operation;
use witlet_core::image::ResolvedImage;
use witlet_core::pod::PodFullName;
use witlet_core::pod::edit::AcceptedContainers;
use witlet_core::status::{EditKind, Phase};

use crate::cli::{EvalArgs, ImageArgs};

/// Flags that don't go with an operation, or one that it lacks; none if they go together.
pub(crate) fn usage_problem(args: &EvalArgs) -> Option<&'static str> {
    let operation = Operation::from(args.operation);
    match (operation, args.old.is_some()) {
        (Operation::Update, false) => {
            return Some("--operation update needs --old: the pods with the images that they run");
        }
        (Operation::Add | Operation::ImageResolved | Operation::Readmit | Operation::Recheck, true) => {
            return Some("--old needs --operation resize, update or ephemeral: it says what the pods have");
        }
        (Operation::Resize | Operation::Ephemeral, _)
        | (Operation::Update, true)
        | (Operation::Add | Operation::ImageResolved | Operation::Readmit | Operation::Recheck, false) => {}
    }
    let has_image = args.image != ImageArgs::default();
    (has_image && operation != Operation::ImageResolved)
        .then_some("--container and --image-… need --operation image-resolved")
}

/// What is asked about a pod.
#[derive(Debug, PartialEq)]
pub(super) struct AskedPod {
    pub(super) pod: Arc<Pod>,
    pub(super) old_pod: Option<Arc<Pod>>,
    pub(super) image: Option<ResolvedImage>,
    /// Whether it is what the pod has already, so that nothing is asked.
    pub(super) is_unchanged: bool,
}

impl AskedPod {
    fn of(pod: Pod, old_pod: Option<Pod>) -> Self {
        Self { pod: Arc::new(pod), old_pod: old_pod.map(Arc::new), image: None, is_unchanged: false }
    }
}

/// What an operation asks about this pod; `old` is the one of `--old`. A resize is compared elsewhere.
///
/// # Errors
/// In one sentence, when there is nothing that could be asked.
pub(super) fn asked(
    operation: Operation,
    mut pod: Pod,
    old: Option<&Pod>,
    image: &ImageArgs,
) -> Result<AskedPod, String> {
    match operation {
        Operation::Add => Ok(AskedPod::of(pod, None)),
        Operation::Resize => {
            if let Some(old) = old {
                pod.status = Some(running(old));
            }
            Ok(AskedPod::of(pod, old.cloned()))
        }
        Operation::Update => {
            let old = old.ok_or("--operation update needs --old")?;
            Ok(edit(EditKind::Images, EditKind::EphemeralContainers, pod, old))
        }
        Operation::Ephemeral => {
            let has_some = pod
                .spec
                .as_ref()
                .is_some_and(|spec| spec.ephemeral_containers.as_ref().is_some_and(|all| !all.is_empty()));
            if !has_some {
                return Err("the pod has no ephemeral containers".to_owned());
            }
            let old = old.cloned().unwrap_or_else(|| without_ephemeral(&pod));
            Ok(edit(EditKind::EphemeralContainers, EditKind::Images, pod, &old))
        }
        Operation::ImageResolved => {
            let resolved = resolved(&pod, image)?;
            pod.status = pod.status.take().or_else(|| Some(running(&pod)));
            Ok(AskedPod { image: Some(resolved), ..AskedPod::of(pod, None) })
        }
        Operation::Readmit | Operation::Recheck => {
            pod.status = pod.status.take().or_else(|| Some(running(&pod)));
            let same = pod.clone();
            Ok(AskedPod::of(pod, Some(same)))
        }
    }
}

/// An edit of a pod that runs: its other wishes are judged on their own, as on a node.
fn edit(kind: EditKind, other: EditKind, mut pod: Pod, old: &Pod) -> AskedPod {
    let accepted = AcceptedContainers::of(old);
    pod.status = Some(running(old));
    let is_unchanged = !accepted.is_edited(kind, &pod);
    let pod = accepted.without_edits(&Arc::new(pod), [other]);
    AskedPod { pod, old_pod: Some(Arc::new(old.clone())), image: None, is_unchanged }
}

fn without_ephemeral(pod: &Pod) -> Pod {
    let mut pod = pod.clone();
    if let Some(spec) = &mut pod.spec {
        spec.ephemeral_containers = None;
    }
    pod
}

/// The image of the container that the flags name, or of the only one.
fn resolved(pod: &Pod, args: &ImageArgs) -> Result<ResolvedImage, String> {
    let images = images(pod);
    let names = || images.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
    let found = match &args.container {
        Some(name) => images.iter().find(|(found, _)| found == name).ok_or_else(|| {
            format!("--container {name:?}: the pod {} has {}", PodFullName::of(pod), names())
        })?,
        None => match images.as_slice() {
            [only] => only,
            [] => return Err("the pod has no containers".to_owned()),
            [..] => return Err(format!("name one of its containers with --container: {}", names())),
        },
    };
    let (container, written) = found;
    let pinned = written.split_once('@').map(|(_, digest)| digest.to_owned());
    let digest = args.image_digest.clone().or(pinned);
    Ok(ResolvedImage {
        container: (*container).to_owned(),
        id: digest.clone().unwrap_or_else(|| (*written).to_owned()),
        digest,
        size_bytes: args.image_size_bytes,
        credentials: args.image_credentials.map(Into::into),
    })
}

/// Names and images of all containers.
fn images(pod: &Pod) -> Vec<(&str, &str)> {
    let Some(spec) = &pod.spec else { return Vec::new() };
    let usual = spec.init_containers.iter().flatten().chain(&spec.containers);
    let usual = usual.map(|container| (&container.name, &container.image));
    let ephemeral = spec.ephemeral_containers.iter().flatten();
    let ephemeral = ephemeral.map(|container| (&container.name, &container.image));
    let all = usual.chain(ephemeral);
    all.map(|(name, image)| (name.as_str(), image.as_deref().unwrap_or_default())).collect()
}

/// The status of a pod that runs, as far as it says which resources the containers have.
fn running(pod: &Pod) -> PodStatus {
    let status = |container: &Container| ContainerStatus {
        name: container.name.clone(),
        image: container.image.clone().unwrap_or_default(),
        allocated_resources: container.resources.as_ref().and_then(|resources| resources.requests.clone()),
        resources: container.resources.clone(),
        ready: true,
        ..ContainerStatus::default()
    };
    let of = |containers: &[Container]| Some(containers.iter().map(status).collect());
    let spec = pod.spec.as_ref();
    PodStatus {
        phase: Some(Phase::Running.as_str().to_owned()),
        container_statuses: spec.and_then(|spec| of(&spec.containers)),
        init_container_statuses: spec.and_then(|spec| of(spec.init_containers.as_deref()?)),
        ..PodStatus::default()
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;
    use serde_json::{Value, json};
    use witlet_core::image::CredentialOrigin;

    use super::*;
    use crate::cli::{Cli, Command, Plugin};

    const DIGEST: &str = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

    fn args(words: &[&str]) -> EvalArgs {
        let line = ["witlet", "plugin", "eval", "web.yaml"].iter().chain(words);
        let cli = Cli::try_parse_from(line).unwrap_or_else(|error| panic!("{words:?}: {error}"));
        let Command::Plugin(Plugin::Eval(args)) = cli.command else { panic!("another command") };
        *args
    }

    fn pod(spec: &Value) -> Pod {
        let pod = json!({"metadata": {"name": "web", "namespace": "shop"}, "spec": spec});
        serde_json::from_value(pod).expect("a pod")
    }

    fn with_images(app: &str, debug: &[&str]) -> Pod {
        let debug: Vec<Value> = debug.iter().map(|name| json!({"name": name, "image": "debug:1"})).collect();
        pod(&json!({"containers": [{"name": "app", "image": app}], "ephemeralContainers": debug}))
    }

    #[test]
    fn flags_that_an_operation_lacks_or_does_not_take_are_named() {
        let old = "--old needs --operation resize, update or ephemeral: it says what the pods have";
        let image = "--container and --image-… need --operation image-resolved";
        let cases: [(&[&str], Option<&str>); 13] = [
            (&[], None),
            (&["--old", "o"], Some(old)),
            (&["--operation", "resize"], None),
            (&["--operation", "resize", "--old", "o"], None),
            (&["--operation", "update", "--old", "o"], None),
            (
                &["--operation", "update"],
                Some("--operation update needs --old: the pods with the images that they run"),
            ),
            (&["--operation", "ephemeral"], None),
            (&["--operation", "recheck", "--old", "o"], Some(old)),
            (&["--operation", "readmit", "--old", "o"], Some(old)),
            (&["--operation", "image-resolved", "--old", "o"], Some(old)),
            (&["--operation", "image-resolved", "--container", "a", "--image-size-bytes", "7"], None),
            (&["--operation", "recheck", "--container", "a"], Some(image)),
            (&["--image-digest", DIGEST], Some(image)),
        ];
        for (words, expected) in cases {
            assert_eq!(usage_problem(&args(words)), expected, "{words:?}");
        }
    }

    #[test]
    fn an_edit_is_judged_without_the_pod_s_other_edits() {
        let none = ImageArgs::default();
        let (old, new) = (with_images("app:1", &[]), with_images("app:2", &["dbg"]));
        let update = asked(Operation::Update, new.clone(), Some(&old), &none).expect("asked");
        assert_eq!(images(&update.pod), [("app", "app:2")]);
        assert_eq!((update.old_pod.as_deref(), update.is_unchanged), (Some(&old), false));
        let added = asked(Operation::Ephemeral, new.clone(), Some(&old), &none).expect("asked");
        assert_eq!(images(&added.pod), [("app", "app:1"), ("dbg", "debug:1")]);
        let alone = asked(Operation::Ephemeral, new.clone(), None, &none).expect("asked");
        assert_eq!(images(&alone.pod), [("app", "app:2"), ("dbg", "debug:1")]);
        assert_eq!(alone.old_pod.map(|old| images(&old).len()), Some(1));
        let unchanged = |operation, pod: &Pod| {
            asked(operation, pod.clone(), Some(&new), &none).expect("asked").is_unchanged
        };
        assert!(unchanged(Operation::Update, &new) && unchanged(Operation::Ephemeral, &new));
        assert!(!unchanged(Operation::Update, &old));
        let error = asked(Operation::Ephemeral, old, None, &none);
        assert_eq!(error, Err("the pod has no ephemeral containers".to_owned()));
    }

    #[test]
    fn an_image_is_that_of_the_container_that_is_named_or_of_the_only_one() {
        let image = |words: &[&str]| args(&[&["--operation", "image-resolved"], words].concat()).image;
        let of = |pod: &Pod, words: &[&str]| {
            let asked = asked(Operation::ImageResolved, pod.clone(), None, &image(words));
            asked.map(|asked| asked.image.expect("an image"))
        };
        let one = with_images("app:1", &[]);
        let plain = of(&one, &[]).expect("asked");
        assert_eq!((plain.container.as_str(), plain.id.as_str()), ("app", "app:1"));
        assert_eq!((plain.digest, plain.size_bytes, plain.credentials), (None, None, None));
        let words = ["--image-digest", DIGEST, "--image-size-bytes", "7", "--image-credentials", "secret"];
        let full = of(&one, &words).expect("asked");
        assert_eq!((full.id.as_str(), full.digest.as_deref()), (DIGEST, Some(DIGEST)));
        assert_eq!((full.size_bytes, full.credentials), (Some(7), Some(CredentialOrigin::Secret)));
        let pinned = of(&with_images(&format!("app@{DIGEST}"), &[]), &[]).expect("asked");
        assert_eq!(pinned.digest.as_deref(), Some(DIGEST));
        let two = with_images("app:1", &["dbg"]);
        assert_eq!(of(&two, &["--container", "dbg"]).expect("asked").container, "dbg");
        assert_eq!(of(&two, &[]), Err("name one of its containers with --container: app, dbg".to_owned()));
        assert_eq!(
            of(&two, &["--container", "db"]),
            Err("--container \"db\": the pod shop/web has app, dbg".to_owned())
        );
    }

    #[test]
    fn a_pod_that_is_asked_about_again_is_what_it_was() {
        for operation in Operation::ALL.into_iter().filter(|operation| operation.is_of_running_pod()) {
            let asked = asked(operation, with_images("app:1", &[]), None, &ImageArgs::default());
            let asked = asked.expect("asked");
            assert_eq!(asked.old_pod.as_deref(), Some(&*asked.pod));
            let phase = asked.pod.status.as_ref().and_then(|status| status.phase.as_deref());
            assert_eq!(phase, Some("Running"));
        }
    }
}
