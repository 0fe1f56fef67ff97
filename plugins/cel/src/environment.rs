//! What rules may refer to, for the check when they are loaded.

use witlet_cel::{Environment, Key, Schema, Type, Value};

use crate::config::Config;

/// Fields of Kubernetes' objects, made from its API's description.
const KUBERNETES: &str = include_str!("kubernetes.schema");

/// Objects of the handler's own.
const OWN: &str = "\
Request operation:string subResource:string phase:string name:string namespace:string uid:string source:string now:timestamp qosClass:string priority:int requests:map(string,quantity) hostPorts:list(HostPort)
HostPort ip:string protocol:string port:int
Image container:string id:string digest:string sizeBytes:int credentials:string
Others count:int requested:map(string,quantity) hostPorts:list(HostPort) pods:list(OtherPod)
OtherPod namespace:string name:string uid:string source:string labels:map(string,string) priority:int qosClass:string requests:map(string,quantity) hostPorts:list(HostPort)";

/// The object that has the variables of the configuration.
const VARIABLES: &str = "variables";

/// The type of `params`.
const PARAMS: &str = "params";

/// Variables of Kubernetes that a node has nothing for.
const MISSING: &[(&str, &str)] = &[
    (
        "authorizer",
        "a node asks no authorizer; the others are object, oldObject, node, request, others, image, params and variables",
    ),
    ("namespaceObject", "a node doesn't know the namespace's object; its name is object.metadata.namespace"),
    ("Request.userInfo", "a node doesn't know who asks; where the pod is from is request.source"),
    ("Request.object", "the pod is object"),
    ("Request.oldObject", "the pod before is oldObject"),
    ("Request.dryRun", "a node isn't asked for a trial"),
];

/// All but the variables of the configuration, which are added one after the other.
pub(crate) fn of(config: &Config) -> Environment {
    let mut schema = Schema::parse(&format!("{KUBERNETES}{OWN}"));
    let facts =
        [("facts".to_owned(), Type::map(Type::String)), ("devices".to_owned(), Type::list(Type::Dyn))];
    schema.extend("Node", facts);
    schema.insert(VARIABLES, []);
    let params = config.params.as_ref().map_or(Type::Null, |params| type_of(params, PARAMS, &mut schema));
    let variables = [
        ("object", Type::object("Pod")),
        ("oldObject", Type::object("Pod")),
        ("node", Type::object("Node")),
        ("request", Type::object("Request")),
        ("others", Type::object("Others")),
        ("image", Type::object("Image")),
        ("params", params),
        ("variables", Type::object(VARIABLES)),
    ];
    let variables = variables.map(|(name, of)| (name.to_owned(), of)).into();
    Environment { schema, variables, missing: MISSING.to_vec(), ..Environment::default() }
}

/// What comes later may refer to the variable.
pub(crate) fn add_variable(environment: &mut Environment, name: &str, of: Type) {
    environment.schema.extend(VARIABLES, [(name.to_owned(), of)]);
}

/// The type of a value that is known already. Maps become objects, so that a misspelt key is found; whether a key is there may be
/// asked of any.
fn type_of(value: &Value, name: &str, schema: &mut Schema) -> Type {
    match value {
        Value::Bool(_) => Type::Bool,
        Value::Int(_) => Type::Int,
        Value::Double(_) => Type::Double,
        Value::String(_) => Type::String,
        Value::List(list) => match list.first() {
            Some(first @ (Value::String(_) | Value::Int(_) | Value::Bool(_)))
                if list.iter().all(|element| element.type_name() == first.type_name()) =>
            {
                Type::list(type_of(first, name, schema))
            }
            _ => Type::list(Type::Dyn),
        },
        Value::Map(map) => {
            let mut fields = Vec::with_capacity(map.entries().len());
            for (key, value) in map.entries() {
                if let Key::String(key) = key {
                    fields.push((key.to_string(), type_of(value, &format!("{name}.{key}"), schema)));
                }
            }
            schema.insert_open(name, fields);
            Type::object(name)
        }
        _ => Type::Dyn,
    }
}
