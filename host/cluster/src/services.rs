//! Caches the addresses of services and the handlers of runtime classes.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use k8s_openapi::api::core::v1::Service;
use k8s_openapi::api::node::v1::RuntimeClass;
use tokio_util::sync::CancellationToken;
use witlet_core::container::spec::{MASTER_NAMESPACE, ServiceAddress};
use witlet_ports::Jitter;

use crate::watch::{self, Change, Malformed, ObjectKey, Selection};

#[cfg(test)]
mod tests;

/// Services by namespace and name. Of each only its address is kept.
type ByNamespace = BTreeMap<Box<str>, BTreeMap<Box<str>, Arc<ServiceAddress>>>;

/// The services and runtime classes of the cluster.
#[derive(Default)]
pub(crate) struct Services {
    /// None while they weren't read.
    services: Mutex<Option<ByNamespace>>,
    /// Handlers by class; none while they weren't read.
    classes: Mutex<Option<Arc<BTreeMap<String, String>>>>,
}

impl Services {
    /// Watches both until `stop` is cancelled.
    pub(crate) async fn run(&self, client: &kube::Client, jitter: &dyn Jitter, stop: &CancellationToken) {
        let all = Selection::default();
        let services =
            watch::run::<Service>(client, &all, jitter, stop, |change| self.observe_service(change));
        let classes =
            watch::run::<RuntimeClass>(client, &all, jitter, stop, |change| self.observe_class(change));
        tokio::join!(services, classes);
    }

    /// Returns the services of the namespace and those that all namespaces see.
    pub(crate) fn of_namespace(&self, namespace: &str) -> Option<Vec<Arc<ServiceAddress>>> {
        let services = lock(&self.services);
        let services = services.as_ref()?;
        let own = services.get(namespace).into_iter().flat_map(BTreeMap::values);
        let masters = services.get(MASTER_NAMESPACE).filter(|_| namespace != MASTER_NAMESPACE);
        let for_all = masters.into_iter().flat_map(BTreeMap::values).filter(|service| service.is_for_all());
        Some(own.chain(for_all).cloned().collect())
    }

    pub(crate) fn runtime_classes(&self) -> Option<Arc<BTreeMap<String, String>>> {
        lock(&self.classes).clone()
    }

    fn observe_service(&self, change: Change<Service>) {
        match change {
            Change::Replaced { objects, malformed } => {
                let mut all = ByNamespace::new();
                let mut services = lock(&self.services);
                for unread in malformed.iter().filter_map(|malformed| malformed.key.as_ref()) {
                    let before =
                        services.as_ref().and_then(|old| old.get(&*unread.namespace)?.get(&*unread.name));
                    if let Some(before) = before {
                        put(&mut all, before.clone());
                    }
                }
                for address in objects.iter().filter_map(|service| ServiceAddress::of(service)) {
                    put(&mut all, Arc::new(address));
                }
                *services = Some(all);
                drop(services);
                malformed.iter().for_each(|malformed| warn("service", malformed));
            }
            Change::Put(service) => {
                let mut services = lock(&self.services);
                let Some(services) = services.as_mut() else { return };
                match ServiceAddress::of(&service) {
                    Some(address) => put(services, Arc::new(address)),
                    None => {
                        let metadata = &service.metadata;
                        let text = |text: &Option<String>| text.clone().unwrap_or_default();
                        remove(services, &text(&metadata.namespace), &text(&metadata.name));
                    }
                }
            }
            Change::Deleted(ObjectKey { namespace, name, .. }) => {
                if let Some(services) = lock(&self.services).as_mut() {
                    remove(services, &namespace, &name);
                }
            }
            Change::Malformed(malformed) => warn("service", &malformed),
            // What was read stays: a service's address changes seldom.
            Change::Unread(unread) => unread.warn("services"),
            Change::Disconnected(_) | Change::Connected => {}
        }
    }

    fn observe_class(&self, change: Change<RuntimeClass>) {
        let of = |class: &RuntimeClass| Some((class.metadata.name.clone()?, class.handler.clone()));
        let mut classes = lock(&self.classes);
        match change {
            Change::Replaced { objects, malformed } => {
                let mut all: BTreeMap<String, String> =
                    objects.iter().filter_map(|class| of(class)).collect();
                for unread in malformed.into_iter().filter_map(|malformed| malformed.key) {
                    if let Some(handler) = classes.as_ref().and_then(|old| old.get(&unread.name)) {
                        all.insert(unread.name, handler.clone());
                    }
                }
                *classes = Some(Arc::new(all));
            }
            Change::Put(class) => {
                if let (Some(classes), Some((name, handler))) = (classes.as_mut(), of(&class)) {
                    Arc::make_mut(classes).insert(name, handler);
                }
            }
            Change::Deleted(key) => {
                if let Some(classes) = classes.as_mut() {
                    Arc::make_mut(classes).remove(&key.name);
                }
            }
            Change::Malformed(malformed) => warn("runtime class", &malformed),
            Change::Unread(unread) => unread.warn("runtime classes"),
            Change::Disconnected(_) | Change::Connected => {}
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn put(services: &mut ByNamespace, address: Arc<ServiceAddress>) {
    services.entry(address.namespace.clone()).or_default().insert(address.name.clone(), address);
}

fn remove(services: &mut ByNamespace, namespace: &str, name: &str) {
    if let Some(of_namespace) = services.get_mut(namespace) {
        of_namespace.remove(name);
        if of_namespace.is_empty() {
            services.remove(namespace);
        }
    }
}

fn warn(kind: &str, malformed: &Malformed) {
    let Malformed { key, message } = malformed;
    let name = key.as_ref().map(|key| format!("{}/{}", key.namespace, key.name)).unwrap_or_default();
    tracing::warn!(kind, name, error = message, "Failed to read object");
}
