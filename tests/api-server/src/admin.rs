//! What tests do to the objects directly: never in the log of requests, never subject to faults.

use std::sync::Arc;

use k8s_openapi::Resource as Typed;
use k8s_openapi::api::core::v1::{EphemeralContainer, Pod, ResourceRequirements};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::delete::{self, Options as DeleteOptions};
use crate::error::ApiError;
use crate::identity::Identity;
use crate::patch::{self, PatchType};
use crate::resources::{self, Resource};
use crate::reviews::Rule;
use crate::server::{ApiServer, lock};
use crate::store::Key;
use crate::value::text;
use crate::write::{self, Change};
use crate::{signing, subresources};

/// An object of a type that the server knows.
pub trait Object: Typed + Serialize + DeserializeOwned {}

impl<T: Typed + Serialize + DeserializeOwned> Object for T {}

fn resource_of<T: Typed>() -> Result<&'static Resource, ApiError> {
    resources::find(T::GROUP, T::VERSION, T::URL_PATH_SEGMENT).ok_or_else(ApiError::no_such_path)
}

fn json_of<T: Serialize>(object: &T) -> Result<Value, ApiError> {
    serde_json::to_value(object).map_err(|cause| ApiError::bad_request(cause.to_string()))
}

fn typed<T: DeserializeOwned>(object: &Value) -> Result<T, ApiError> {
    T::deserialize(object).map_err(|cause| ApiError::bad_request(cause.to_string()))
}

impl ApiServer {
    pub(crate) fn me(&self) -> Arc<Self> {
        self.weak().upgrade().expect("the caller holds the server")
    }

    /// Makes a namespace, if it isn't there.
    pub fn ensure_namespace(&self, name: &str) {
        let namespaces = resources::named("namespaces");
        let key = Key::new("", name);
        let made = self.write(&Identity::admin(), |cx| {
            if cx.state.get(namespaces, &key).is_some() {
                return false;
            }
            write::create(cx, namespaces, "", json!({ "metadata": { "name": name } })).is_ok()
        });
        if made {
            self.furnish(name);
        }
    }

    /// Gives a new namespace what controllers give it, where the server plays them.
    pub(crate) fn furnish(&self, namespace: &str) {
        if !self.admission.service_accounts {
            return;
        }
        let root = self.authority().pem();
        self.write(&Identity::admin(), |cx| {
            let account = json!({ "metadata": { "name": "default" } });
            let certificate =
                json!({ "metadata": { "name": "kube-root-ca.crt" }, "data": { "ca.crt": root } });
            for (resource, object) in [("serviceaccounts", account), ("configmaps", certificate)] {
                // Both are new with their namespace; one that a test made first stays.
                let _ = write::create(cx, resources::named(resource), namespace, object);
            }
        });
    }

    /// Creates an object, and its namespace where that is missing. Objects without a namespace go to `default`.
    pub fn create<T: Object>(&self, object: &T) -> Result<T, ApiError> {
        let resource = resource_of::<T>()?;
        let object = json_of(object)?;
        let namespace = namespace_of(resource, &object);
        if resource.namespaced {
            self.ensure_namespace(&namespace);
        }
        let made = self.write(&Identity::admin(), |cx| write::create(cx, resource, &namespace, object))?;
        if resource.name == "namespaces" {
            self.furnish(text(&made, "/metadata/name"));
        }
        typed(&made)
    }

    /// Puts an object there as it is, unchecked and without defaults, in the place of the one of its name: with a UID that was
    /// there before, or with fields that can't be decoded.
    pub fn put_as_is<T: Object>(&self, object: Value) -> Result<(), ApiError> {
        let resource = resource_of::<T>()?;
        let key = key_of(resource, &namespace_of(resource, &object), text(&object, "/metadata/name"));
        self.write(&Identity::admin(), |cx| cx.state.put(resource, key, object));
        Ok(())
    }

    /// The object of this name; the namespace is ignored for objects of the cluster.
    pub fn get<T: Object>(&self, namespace: &str, name: &str) -> Option<T> {
        let resource = resource_of::<T>().ok()?;
        let key = key_of(resource, namespace, name);
        let found = self.store.lock().get(resource, &key).cloned()?;
        typed(&found).ok()
    }

    /// All objects of this type, of all namespaces.
    pub fn list<T: Object>(&self) -> Vec<T> {
        let Ok(resource) = resource_of::<T>() else { return Vec::new() };
        let objects: Vec<_> = self.store.lock().table(resource).objects.values().cloned().collect();
        objects.iter().filter_map(|object| typed(object).ok()).collect()
    }

    /// Puts an object in the place of the one of its name.
    pub fn update<T: Object>(&self, object: &T) -> Result<T, ApiError> {
        self.replace(object, "")
    }

    /// Puts an object's status in the place of the one it has.
    pub fn update_status<T: Object>(&self, object: &T) -> Result<T, ApiError> {
        self.replace(object, "status")
    }

    fn replace<T: Object>(&self, object: &T, subresource: &str) -> Result<T, ApiError> {
        let resource = resource_of::<T>()?;
        let object = json_of(object)?;
        let key = key_of(resource, &namespace_of(resource, &object), text(&object, "/metadata/name"));
        let change = Change { key: &key, subresource, is_whole: true };
        let written =
            self.write(&Identity::admin(), |cx| write::update(cx, resource, &change, |_| Ok(object)))?;
        typed(&written)
    }

    /// Applies a strategic merge patch to an object, or to a subresource of it.
    pub fn patch<T: Object>(
        &self,
        namespace: &str,
        name: &str,
        subresource: &str,
        patch: Value,
    ) -> Result<T, ApiError> {
        let resource = resource_of::<T>()?;
        let key = key_of(resource, namespace, name);
        let change = Change { key: &key, subresource, is_whole: false };
        let make = |current: &Value| patch::apply(PatchType::Strategic, current, patch);
        let written = self.write(&Identity::admin(), |cx| write::update(cx, resource, &change, make))?;
        typed(&written)
    }

    /// Deletes an object; `grace` in seconds, none for the object's own.
    pub fn delete<T: Object>(&self, namespace: &str, name: &str, grace: Option<i64>) -> Result<(), ApiError> {
        let resource = resource_of::<T>()?;
        let key = key_of(resource, namespace, name);
        let options = DeleteOptions { grace, ..DeleteOptions::default() };
        self.write(&Identity::admin(), |cx| delete::delete(cx, resource, &key, &options).map(|_| ()))
    }

    /// Gives a pod its node, as a scheduler does.
    pub fn bind(&self, namespace: &str, pod: &str, node: &str) -> Result<(), ApiError> {
        self.write(&Identity::admin(), |cx| subresources::bind(cx, &Key::new(namespace, pod), node))
    }

    /// Evicts a pod, as `kubectl drain` does.
    pub fn evict(&self, namespace: &str, pod: &str) -> Result<(), ApiError> {
        let options = DeleteOptions::default();
        self.write(&Identity::admin(), |cx| subresources::evict(cx, &Key::new(namespace, pod), &options))
    }

    /// Wishes for other resources of a container.
    pub fn resize(
        &self,
        namespace: &str,
        pod: &str,
        container: &str,
        wish: &ResourceRequirements,
    ) -> Result<Pod, ApiError> {
        let patch = json!({ "spec": { "containers": [{ "name": container, "resources": json_of(wish)? }] } });
        self.patch(namespace, pod, "resize", patch)
    }

    /// Adds an ephemeral container, as `kubectl debug` does.
    pub fn add_ephemeral(
        &self,
        namespace: &str,
        pod: &str,
        container: &EphemeralContainer,
    ) -> Result<Pod, ApiError> {
        let patch = json!({ "spec": { "ephemeralContainers": [json_of(container)?] } });
        self.patch(namespace, pod, "ephemeralcontainers", patch)
    }

    /// Makes a bearer token known that never ends.
    pub fn add_token(&self, token: &str, owner: Identity) {
        lock(&self.tokens).add(token, owner, Vec::new(), None);
    }

    /// Ends every token, static and requested ones: who sends one is answered 401.
    pub fn expire_tokens(&self) {
        lock(&self.tokens).clear();
    }

    /// Ends every client certificate: who comes with one is answered 401.
    pub fn expire_certificates(&self) {
        self.authority().forget();
    }

    /// Lets a user, or a group, do this; `*` is any. `what` is a resource (`nodes/proxy`) or a path (`/metrics`). SubjectAccessReviews
    /// answer by these rules; `system:masters` may everything.
    pub fn allow(&self, subject: &str, verb: &str, what: &str) {
        lock(&self.rules).push(Rule::new(subject, verb, what));
    }

    /// Approves a signing request and signs it.
    pub fn approve(&self, request: &str) -> Result<(), ApiError> {
        signing::decide(self, request, "Approved")?;
        signing::sign(self, request, None)
    }

    /// Approves a signing request and signs it for a certificate that ends after `life`.
    pub fn approve_for(&self, request: &str, life: jiff::SignedDuration) -> Result<(), ApiError> {
        signing::decide(self, request, "Approved")?;
        signing::sign(self, request, Some(life))
    }

    /// Denies a signing request.
    pub fn deny(&self, request: &str) -> Result<(), ApiError> {
        signing::decide(self, request, "Denied")
    }

    /// The version of the last write.
    pub fn revision(&self) -> u64 {
        self.store.lock().revision
    }
}

fn namespace_of(resource: &Resource, object: &Value) -> String {
    match text(object, "/metadata/namespace") {
        _ if !resource.namespaced => String::new(),
        "" => "default".to_owned(),
        namespace => namespace.to_owned(),
    }
}

fn key_of(resource: &Resource, namespace: &str, name: &str) -> Key {
    Key::new(if resource.namespaced { namespace } else { "" }, name)
}
