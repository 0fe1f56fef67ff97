//! What a handler is.

use serde::de::DeserializeOwned;

use super::backend;
use crate::{Error, Operation, Request, Verdict};

/// A component that decides on pods. Make it the component's export with [`export_admission!`](crate::export_admission).
///
/// It is made of what stands under `config:` in the plugin's entry. Without `config:` it is decoded from `null`, or else from `{}`.
/// Put `#[serde(deny_unknown_fields)]` on it, so that a misspelt key is refused when the plugin is loaded.
///
/// ```
/// use serde::Deserialize;
/// use serde_json::json;
/// use witlet_plugin_sdk_0_2::facts::{self, RequestFacts};
/// use witlet_plugin_sdk_0_2::{AdmissionHandler, Error, Operation, Request, Setup, Verdict};
///
/// /// Pods have an owner's label.
/// #[derive(Deserialize)]
/// #[serde(deny_unknown_fields)]
/// struct Owned {
///     label: String,
/// }
///
/// impl AdmissionHandler for Owned {
///     fn subscribes(&self) -> Vec<Operation> {
///         vec![Operation::Add]
///     }
///
///     fn validate(&self, setup: &Setup<'_>) -> Result<(), Error> {
///         if self.label.is_empty() {
///             return Err(Error::invalid("label", "name one"));
///         }
///         if !self.label.contains('/') {
///             setup.warn("a label without a prefix is everyone's");
///         }
///         Ok(())
///     }
///
///     fn admit(&self, request: &Request<'_>) -> Result<Verdict, Error> {
///         match request.pod().label(&self.label) {
///             Some(owner) => Ok(Verdict::admit().annotate("owner", owner)),
///             None => Ok(Verdict::reject("NoOwner", format!("the pod has no label {}", self.label))),
///         }
///     }
/// }
///
/// let handler = Owned { label: "team".to_owned() };
/// let setup = facts::validate(&handler)?;
/// assert_eq!(setup.subscribed(), [Operation::Add]);
/// assert_eq!(setup.warnings(), ["a label without a prefix is everyone's"]);
/// let verdict = handler.admit(&RequestFacts::of(&json!({"metadata": {"name": "web"}})).request())?;
/// assert_eq!(verdict, Verdict::reject("NoOwner", "the pod has no label team"));
/// # Ok::<(), Error>(())
/// ```
pub trait AdmissionHandler: DeserializeOwned + 'static {
    /// What it is asked about. By default all that brings containers or images: new pods, edited images, ephemeral containers.
    /// A host that doesn't know one of them refuses the plugin; what is to be asked only where it is known is for
    /// [`validate`](Self::validate).
    fn subscribes(&self) -> Vec<Operation> {
        vec![Operation::Add, Operation::Update, Operation::Ephemeral]
    }

    /// Whether it can work with its configuration, which was decoded. It runs when the plugin is loaded; the default accepts.
    ///
    /// # Errors
    /// Refuses the plugin, in these words.
    fn validate(&self, setup: &Setup<'_>) -> Result<(), Error> {
        let _ = setup;
        Ok(())
    }

    /// The verdict on a pod: a function of the request and the configuration, because the host may ask again, in this instance
    /// or in another, and must get the same answer. Exactly one verdict: a handler of this SDK can neither say nothing nor
    /// two things, which the host would take for a bad answer.
    ///
    /// # Errors
    /// When there is no verdict. The plugin's `failurePolicy` decides what becomes of the pod.
    fn admit(&self, request: &Request<'_>) -> Result<Verdict, Error>;
}

/// What a handler says to the host when it is loaded.
#[derive(Debug)]
pub struct Setup<'a>(&'a backend::Setup);

impl<'a> Setup<'a> {
    pub(crate) fn new(setup: &'a backend::Setup) -> Self {
        Self(setup)
    }

    /// Has the handler asked about this, too.
    pub fn subscribe(&self, operation: &Operation) {
        self.0.subscribe(operation.as_str());
    }

    /// Whether the host knows this operation.
    pub fn knows(&self, operation: &Operation) -> bool {
        self.0.knows(operation.as_str())
    }

    /// A sentence for the operator, who finds it in the log and in an event. The plugin is loaded all the same.
    pub fn warn(&self, message: &str) {
        self.0.warn(message);
    }
}

/// What the host has done when it loads a handler.
pub(crate) fn set_up(handler: &impl AdmissionHandler, setup: &Setup<'_>) -> Result<(), Error> {
    handler.subscribes().iter().for_each(|operation| setup.subscribe(operation));
    handler.validate(setup)
}
