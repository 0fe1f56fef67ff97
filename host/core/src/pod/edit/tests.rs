//! Tables of edits: what is held, what is asked, and what events and conditions say.

use std::time::Duration;

use serde_json::{Value, json};

use super::*;
use EditKind::{EphemeralContainers, Images};

/// A pod with an init container and an app container of these images, and with ephemeral containers of these names.
fn pod(images: [&str; 2], ephemeral: &[&str]) -> Arc<Pod> {
    let ephemeral: Vec<Value> =
        ephemeral.iter().map(|name| json!({"name": name, "image": "debug:1"})).collect();
    let mut spec = json!({
        "initContainers": [{"name": "init", "image": images[0]}],
        "containers": [{"name": "app", "image": images[1]}],
    });
    if !ephemeral.is_empty() {
        spec["ephemeralContainers"] = ephemeral.into();
    }
    let pod = json!({"metadata": {"name": "web", "generation": 7}, "spec": spec});
    Arc::new(serde_json::from_value(pod).expect("a pod"))
}

fn reject(reason: &str) -> Decision {
    Decision::Reject { reason: reason.to_owned(), message: "no".to_owned(), handler: None }
}

fn defer(message: &str) -> Decision {
    let (reason, message) = ("NotNow".to_owned(), message.to_owned());
    Decision::Defer { reason, message, retry_after: Duration::from_secs(5) }
}

/// A pod that was admitted with `app:1` and what became of its edits since.
struct Story {
    accepted: AcceptedContainers,
    edits: Edits,
    pod: Arc<Pod>,
    answered: Vec<Operation>,
    is_ending: bool,
}

impl Story {
    fn new() -> Self {
        let pod = pod(["init:1", "app:1"], &[]);
        let answered = vec![Operation::Update, Operation::Ephemeral];
        let (accepted, edits) = (AcceptedContainers::of(&pod), Edits::default());
        Self { accepted, edits, pod, answered, is_ending: false }
    }

    fn consider(&mut self, handlers_changed: bool) -> String {
        let facts = EditFacts {
            pod: &self.pod,
            accepted: &self.accepted,
            is_answered: &|operation| self.answered.contains(&operation),
            is_ending: self.is_ending,
            handlers_changed,
        };
        let effects = self.edits.consider(facts);
        self.apply(effects)
    }

    fn edit(&mut self, images: [&str; 2], ephemeral: &[&str]) -> String {
        self.pod = pod(images, ephemeral);
        self.consider(false)
    }

    fn decide(&mut self, kind: EditKind, decision: &Decision) -> String {
        let effects = self.edits.decided(kind, &self.pod, decision);
        self.apply(effects)
    }

    fn apply(&mut self, effects: Vec<Effect>) -> String {
        let words = effects.into_iter().map(|effect| match effect {
            Effect::Ask(kind) => format!("ask {kind:?}"),
            Effect::StopAsking(kind) => format!("stop asking {kind:?}"),
            Effect::Accept => {
                self.accepted = AcceptedContainers::of(&self.runs());
                "accept".to_owned()
            }
            Effect::Warn { reason, message } => format!("{reason}: {message}"),
            Effect::Sync => "sync".to_owned(),
        });
        let words: Vec<String> = words.collect();
        words.join(", ")
    }

    fn runs(&self) -> Arc<Pod> {
        self.accepted.without_edits(&self.pod, self.edits.held())
    }

    /// The condition's reason and message, of each edit that isn't admitted.
    fn pending(&self) -> Vec<String> {
        let word = |pending: &PendingEdit| {
            let condition = pending.condition();
            assert_eq!((condition.status.as_str(), condition.observed_generation), ("True", Some(7)));
            let (reason, message) =
                (condition.reason.unwrap_or_default(), condition.message.unwrap_or_default());
            format!("{} {reason}: {message}", condition.type_)
        };
        self.edits.pending().map(word).collect()
    }
}

#[test]
fn an_edit_is_asked_about_once_and_made_once_it_is_admitted() {
    let mut story = Story::new();
    assert_eq!(story.consider(false), "", "nothing differs");
    assert_eq!(story.edit(["init:1", "app:2"], &[]), "ask Images");
    assert_eq!(story.consider(false), "", "it is asked already");
    assert_eq!(story.runs(), pod(["init:1", "app:1"], &[]));
    assert_eq!(story.decide(Images, &Decision::Admit), "accept");
    assert_eq!(story.runs(), pod(["init:1", "app:2"], &[]));
    assert_eq!(story.consider(true), "");
    assert_eq!(story.edits, Edits::default());
}

#[test]
fn without_a_handler_that_answers_nothing_is_asked_and_all_is_made() {
    let mut story = Story::new();
    story.answered.clear();
    assert_eq!(story.edit(["init:2", "app:2"], &["debug"]), "");
    assert_eq!(story.runs(), story.pod);
    story.answered = vec![Operation::Ephemeral];
    assert_eq!(story.edit(["init:2", "app:2"], &["debug"]), "ask EphemeralContainers");
    assert_eq!(story.runs(), pod(["init:2", "app:2"], &[]));
    story.answered.clear();
    assert_eq!(story.consider(true), "stop asking EphemeralContainers, accept");
    assert_eq!(story.runs(), story.pod);
}

#[test]
fn a_refused_edit_is_reported_once_and_asked_about_again_only_if_it_or_the_handlers_change() {
    let mut story = Story::new();
    story.edit(["init:1", "bad:1"], &[]);
    let words = "Image update rejected, the containers keep their images: no";
    assert_eq!(story.decide(Images, &reject("NotNeeded")), format!("NotNeeded: {words}, sync"));
    assert_eq!(story.pending(), ["witlet.dev/ImageUpdatePending Rejected: NotNeeded: no"]);
    assert_eq!(story.consider(false), "", "a label changed");
    assert_eq!(story.consider(true), "ask Images");
    assert_eq!(story.decide(Images, &reject("NotNeeded")), "", "the same again");
    assert_eq!(story.decide(Images, &reject("Other")), "sync", "another reason is no other event");
    assert_eq!(story.edit(["init:1", "bad:2"], &[]), "ask Images");
    assert_eq!(story.pending().len(), 1, "the condition stays until the verdict");
    assert_eq!(story.decide(Images, &reject("Other")), format!("Other: {words}"));
    assert_eq!(story.runs(), pod(["init:1", "app:1"], &[]));
    assert_eq!(story.edit(["init:1", "app:1"], &[]), "stop asking Images, sync", "it was taken back");
    assert!(story.pending().is_empty());
}

#[test]
fn an_edit_that_is_put_off_is_reported_until_it_is_decided() {
    let mut story = Story::new();
    story.edit(["init:1", "app:1"], &["debug"]);
    let words = "Ephemeral containers deferred: later";
    assert_eq!(story.decide(EphemeralContainers, &defer("later")), format!("NotNow: {words}, sync"));
    assert_eq!(story.pending(), ["witlet.dev/EphemeralContainersPending Deferred: NotNow: later"]);
    assert_eq!(story.consider(true), "", "the queue asks again by itself");
    assert_eq!(story.decide(EphemeralContainers, &defer("later")), "");
    assert_eq!(story.decide(EphemeralContainers, &defer("much later")), "sync");
    let words = "Ephemeral containers rejected: no";
    assert_eq!(story.decide(EphemeralContainers, &reject("Never")), format!("Never: {words}, sync"));
    assert_eq!(story.runs(), pod(["init:1", "app:1"], &[]));
}

#[test]
fn images_and_ephemeral_containers_are_judged_each_on_their_own() {
    let mut story = Story::new();
    assert_eq!(story.edit(["init:2", "app:1"], &["debug"]), "ask Images, ask EphemeralContainers");
    story.decide(Images, &reject("NotNeeded"));
    assert_eq!(story.decide(EphemeralContainers, &Decision::Admit), "accept");
    assert_eq!(story.runs(), pod(["init:1", "app:1"], &["debug"]));
    assert_eq!(story.edit(["init:2", "app:1"], &["debug", "other"]), "ask EphemeralContainers");
    assert_eq!(story.runs(), pod(["init:1", "app:1"], &["debug"]));
}

#[test]
fn an_ending_pod_keeps_what_it_has_and_is_asked_about_no_more() {
    let mut story = Story::new();
    story.edit(["init:1", "bad:1"], &[]);
    story.is_ending = true;
    assert_eq!(story.consider(false), "stop asking Images");
    assert_eq!(
        story.edit(["init:1", "bad:2"], &["debug"]),
        "stop asking Images, stop asking EphemeralContainers"
    );
    assert_eq!(story.consider(true), "stop asking Images, stop asking EphemeralContainers");
    assert_eq!(story.runs(), pod(["init:1", "app:1"], &[]));
    assert_eq!(Story::new().decide(Images, &Decision::Admit), "", "an answer to what isn't asked any more");
}

#[test]
fn a_container_that_was_not_there_is_no_edit_of_an_image() {
    let accepted = AcceptedContainers::of(&pod(["init:1", "app:1"], &["debug"]));
    let mut more = Pod::clone(&pod(["init:1", "app:1"], &[]));
    let spec = more.spec.as_mut().expect("a spec");
    spec.containers.push(Container {
        name: "new".to_owned(),
        image: Some("new:1".to_owned()),
        ..Container::default()
    });
    assert!(!EditKind::ALL.into_iter().any(|kind| accepted.is_edited(kind, &more)));
    let same = accepted.without_edits(&Arc::new(more.clone()), EditKind::ALL);
    assert_eq!(*same, more);
}
