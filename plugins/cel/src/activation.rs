//! What expressions see, fetched from the request when they ask for it.

use std::cell::{Cell, OnceCell, RefCell};

use witlet_cel::{Budget, Failure, Value, Variables};
use witlet_plugin_sdk_0_2::{Operation, Request};

use crate::config::Config;
use crate::contract;
use crate::field::field;
use crate::old_object;
use crate::rules::{Rules, place_of};

/// The most JSON that is decoded for the rules of one request: with it an instance has the memory for what it becomes.
const JSON_BYTES_MAX: usize = 512 << 10;

/// Bytes of JSON that are decoded in a step.
const JSON_BYTES_OF_A_STEP: usize = 16;

/// How deep lists and maps of a variable may lie in each other.
const VARIABLE_DEPTH_MAX: u32 = 64;

/// One request as expressions see it.
pub(crate) struct Activation<'a> {
    request: &'a Request<'a>,
    config: &'a Config,
    rules: &'a Rules,
    /// Values that were fetched, by name of the variable and of its field; none for a field that isn't there.
    fetched: RefCell<Vec<(&'static str, String, Option<Value>)>>,
    /// Variables of the configuration as far as they were needed, in their order.
    variables: RefCell<Vec<Option<Result<Value, Failure>>>>,
    /// How many variables the expression that is being evaluated may see: only those before its own.
    visible: Cell<usize>,
    json_bytes: Cell<usize>,
    operation: OnceCell<Operation>,
}

impl<'a> Activation<'a> {
    pub(crate) fn new(request: &'a Request<'a>, config: &'a Config, rules: &'a Rules) -> Self {
        Self {
            request,
            config,
            rules,
            fetched: RefCell::default(),
            variables: RefCell::new(vec![None; rules.variables.len()]),
            visible: Cell::new(rules.variables.len()),
            json_bytes: Cell::new(0),
            operation: OnceCell::new(),
        }
    }

    /// Whether it is asked about a resize. The host is asked once, as for all else: a rule may ask in each round of a loop, and what the
    /// host takes for an answer no step counts.
    fn is_resize(&self) -> bool {
        *self.operation.get_or_init(|| self.request.operation()) == Operation::Resize
    }

    /// Whether the whole is known not to be there.
    fn is_null(&self, name: &str) -> bool {
        matches!(self.known(name, ""), Some(None | Some(Value::Null)))
    }

    /// A value that was fetched.
    fn known(&self, name: &str, field: &str) -> Option<Option<Value>> {
        let fetched = self.fetched.borrow();
        let mut known = fetched.iter().filter(|(other, ..)| *other == name);
        known.find(|(_, other, _)| other == field).map(|(.., value)| value.clone())
    }

    /// A value that is fetched once.
    fn once(
        &self,
        name: &'static str,
        field: &str,
        fetch: impl FnOnce() -> Result<Option<Value>, Failure>,
    ) -> Result<Option<Value>, Failure> {
        if let Some(value) = self.known(name, field) {
            return Ok(value);
        }
        let value = fetch()?;
        self.fetched.borrow_mut().push((name, field.to_owned(), value.clone()));
        Ok(value)
    }

    fn decode(&self, what: &str, text: &str, budget: &Budget) -> Result<Value, Failure> {
        let bytes = self.json_bytes.get().saturating_add(text.len());
        self.json_bytes.set(bytes);
        if bytes > JSON_BYTES_MAX {
            let message = format!("{what} is too large: rules check {JSON_BYTES_MAX} bytes of JSON at most");
            return Err(Failure::of_limit(message));
        }
        budget.count((text.len() / JSON_BYTES_OF_A_STEP) as u64)?;
        serde_json::from_str(text).map_err(|error| Failure::of_variable(format!("decode {what}: {error}")))
    }

    /// A field of the pod or the node: of the whole if that is decoded, else by its pointer.
    fn part(
        &self,
        name: &'static str,
        of: &str,
        budget: &Budget,
        pointer: impl FnOnce(&str) -> Option<String>,
    ) -> Result<Option<Value>, Failure> {
        if let Some(Some(whole)) = self.known(name, "") {
            return Ok(field(&whole, of).cloned());
        }
        self.once(name, of, || {
            let escaped = of.replace('~', "~0").replace('/', "~1");
            let text = pointer(&format!("/{escaped}"));
            text.map(|text| self.decode(&format!("{name}.{of}"), &text, budget)).transpose()
        })
    }

    fn part_of_pod(&self, of: &str, budget: &Budget) -> Result<Option<Value>, Failure> {
        self.part("object", of, budget, |path| self.request.pod().pointer(path))
    }

    fn pod(&self, budget: &Budget) -> Result<Value, Failure> {
        let whole =
            self.once("object", "", || self.decode("the pod", &self.request.pod().json(), budget).map(Some));
        Ok(whole?.unwrap_or(Value::Null))
    }

    /// The spec before a resize; none if this isn't one, or if the status doesn't say what was.
    fn old_spec(&self, budget: &Budget) -> Result<Option<Value>, Failure> {
        if !self.is_resize() {
            return Ok(None);
        }
        self.once("oldObject", "spec", || {
            let (spec, status) = (self.part_of_pod("spec", budget)?, self.part_of_pod("status", budget)?);
            Ok(spec.zip(status).and_then(|(spec, status)| old_object::spec(&spec, &status)))
        })
    }

    /// The pod as it runs. On a resize it is made of what it is to be: nothing is decoded for it twice.
    fn old_pod(&self, budget: &Budget) -> Result<Value, Failure> {
        if !self.is_resize() {
            let Some(old) = self.request.old_pod() else { return Ok(Value::Null) };
            return self.decode("the pod as it runs", &old.json(), budget);
        }
        // First, so that the spec is a part of it.
        let pod = self.pod(budget)?;
        let spec = self.old_spec(budget)?;
        Ok(spec.map_or(Value::Null, |spec| contract::with_fields(&pod, vec![("spec", spec)])))
    }

    /// A field of it; none if the whole has to be asked for, which is `null`.
    fn part_of_old_pod(&self, of: &str, budget: &Budget) -> Option<Result<Option<Value>, Failure>> {
        if !self.is_resize() {
            if self.is_null("oldObject") {
                return None;
            }
            if let Some(known) = self.known("oldObject", of) {
                return Some(Ok(known));
            }
            let old = self.request.old_pod()?;
            return Some(self.part("oldObject", of, budget, |path| old.pointer(path)));
        }
        match self.old_spec(budget) {
            Ok(None) => None,
            Ok(Some(spec)) if of == "spec" => Some(Ok(Some(spec))),
            Ok(Some(_)) => Some(self.part_of_pod(of, budget)),
            Err(failure) => Some(Err(failure)),
        }
    }

    fn variable(&self, name: &str, budget: &Budget) -> Result<Option<Value>, Failure> {
        let visible = self.visible.get();
        let mut visible_variables = self.rules.variables.iter().take(visible).enumerate();
        let Some((index, (_, program))) = visible_variables.find(|(_, (other, _))| other == name) else {
            return Ok(None);
        };
        if let Some(Some(known)) = self.variables.borrow().get(index) {
            return known.clone().map(Some);
        }
        self.visible.set(index);
        let value = program.evaluate(self, budget).and_then(|value| {
            if witlet_cel::is_flatter_than(&value, VARIABLE_DEPTH_MAX, budget)? {
                return Ok(value);
            }
            let message = format!("lists and maps nest deeper than {VARIABLE_DEPTH_MAX} levels");
            Err(Failure::of_limit(message))
        });
        self.visible.set(visible);
        let value = value.map_err(|failure| {
            let message = format!("{}: {failure}", place_of("variables", index, name));
            if failure.is_limit { Failure::of_limit(message) } else { Failure::of_variable(message) }
        });
        if let Some(slot) = self.variables.borrow_mut().get_mut(index) {
            *slot = Some(value.clone());
        }
        value.map(Some)
    }

    fn whole(&self, name: &str, budget: &Budget) -> Option<Result<Option<Value>, Failure>> {
        Some(match name {
            "object" => self.pod(budget).map(Some),
            "oldObject" => self.once("oldObject", "", || self.old_pod(budget).map(Some)),
            "node" => self.once("node", "", || {
                let node = self.request.node();
                let object = self.decode("the node", &node.json(), budget)?;
                Ok(Some(contract::with_fields(&object, contract::node_extras(&node))))
            }),
            "image" => {
                self.once("image", "", || Ok(self.request.image().map(|image| contract::image(&image))))
            }
            "params" => Ok(Some(self.config.params.clone().unwrap_or(Value::Null))),
            "request" => self.once("request", "", || Ok(Some(contract::request(self.request)))),
            "others" => self.once("others", "", || Ok(Some(contract::others(self.request)))),
            "variables" => {
                Err(Failure::of_variable("variables are asked for one by one, as in variables.name"))
            }
            _ => return None,
        })
    }
}

impl Variables for Activation<'_> {
    fn get(&self, name: &str, budget: &Budget) -> Option<Result<Value, Failure>> {
        Some(self.whole(name, budget)?.map(|value| value.unwrap_or(Value::Null)))
    }

    fn field(&self, name: &str, field: &str, budget: &Budget) -> Option<Result<Option<Value>, Failure>> {
        Some(match name {
            "variables" => self.variable(field, budget),
            "object" => self.part_of_pod(field, budget),
            "oldObject" => return self.part_of_old_pod(field, budget),
            "node" if contract::is_node_extra(field) => {
                self.once("node", field, || Ok(contract::node_extra(&self.request.node(), field)))
            }
            "node" => self.part("node", field, budget, |path| self.request.node().pointer(path)),
            // Without one the whole is asked for, which is `null`.
            "image" => match self.known("image", field) {
                Some(known) => Ok(known),
                None if self.is_null("image") => return None,
                None => {
                    let image = self.request.image()?;
                    self.once("image", field, || Ok(contract::image_field(&image, field)))
                }
            },
            "request" => self.once("request", field, || Ok(contract::request_field(self.request, field))),
            "others" => self.once("others", field, || Ok(contract::others_field(self.request, field))),
            _ => return None,
        })
    }
}
