//! Objects that are only asked: who is that, may they, and tokens for service accounts.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::SignedDuration;
use serde_json::{Value, json};

use crate::error::{ApiError, Cause};
use crate::identity::Identity;
use crate::resources;
use crate::server::{ApiServer, lock};
use crate::store::Key;
use crate::tokens::DEFAULT_AUDIENCE;
use crate::value::{as_map, list, number, object, text};
use crate::write::seconds;
use crate::{canonical, node_rules};

/// Seconds of a token that names no life.
const EXPIRATION: i64 = 3600;
/// Seconds of the shortest life.
const EXPIRATION_MIN: i64 = 600;

/// Who may do what.
pub(crate) struct Rule {
    subject: String,
    verb: String,
    what: String,
}

impl Rule {
    pub(crate) fn new(subject: &str, verb: &str, what: &str) -> Self {
        Self { subject: subject.to_owned(), verb: verb.to_owned(), what: what.to_owned() }
    }

    fn allows(&self, user: &str, groups: &[String], verb: &str, what: &str) -> bool {
        let fits = |rule: &str, asked: &str| rule == "*" || rule == asked;
        let is_subject = self.subject == user || groups.contains(&self.subject);
        is_subject && fits(&self.verb, verb) && fits(&self.what, what)
    }
}

fn texts(value: &Value, pointer: &str) -> Vec<String> {
    list(value, pointer).iter().filter_map(Value::as_str).map(str::to_owned).collect()
}

fn user_info(who: &Identity) -> Value {
    let mut user = json!({ "username": who.user, "groups": who.all_groups() });
    if !who.uid.is_empty() {
        user["uid"] = who.uid.clone().into();
    }
    if !who.extra.is_empty() {
        user["extra"] = json!(who.extra);
    }
    user
}

/// Answers a review: the object with its status.
pub(crate) fn review(server: &ApiServer, who: &Identity, kind: &str, mut asked: Value) -> Value {
    object(&mut asked, "metadata");
    let status = match kind {
        "TokenReview" => token_review(server, &asked),
        "SelfSubjectReview" => json!({ "userInfo": user_info(who) }),
        "SubjectAccessReview" => {
            let groups = texts(&asked, "/spec/groups");
            access_review(server, &asked, text(&asked, "/spec/user"), &groups)
        }
        _ => access_review(server, &asked, &who.user, &who.all_groups()),
    };
    as_map(&mut asked).insert("status".to_owned(), status);
    asked
}

fn token_review(server: &ApiServer, asked: &Value) -> Value {
    let expected = texts(asked, "/spec/audiences");
    let owner = lock(&server.tokens).owner(text(asked, "/spec/token"), &expected, server.now());
    match owner {
        Some((owner, audiences)) => {
            json!({ "authenticated": true, "user": user_info(&owner), "audiences": audiences })
        }
        None => json!({ "user": {}, "error": "invalid bearer token" }),
    }
}

fn access_review(server: &ApiServer, asked: &Value, user: &str, groups: &[String]) -> Value {
    let (verb, what) = match asked.pointer("/spec/nonResourceAttributes") {
        Some(about) => (text(about, "/verb"), text(about, "/path").to_owned()),
        None => {
            let about = &asked["spec"]["resourceAttributes"];
            let (resource, subresource) = (text(about, "/resource"), text(about, "/subresource"));
            let slash = if subresource.is_empty() { "" } else { "/" };
            (text(about, "/verb"), format!("{resource}{slash}{subresource}"))
        }
    };
    let is_allowed = groups.iter().any(|group| group == "system:masters")
        || lock(&server.rules).iter().any(|rule| rule.allows(user, groups, verb, &what));
    if is_allowed { json!({ "allowed": true }) } else { json!({ "allowed": false, "reason": "" }) }
}

/// A token for a service account, as upstream's TokenRequest: for a pod, only while that pod is there.
pub(crate) fn token(
    server: &ApiServer,
    who: &Identity,
    account: &Key,
    asked: Value,
) -> Result<Value, ApiError> {
    let mut asked = decode_request(asked)?;
    let life = number(&asked, "/spec/expirationSeconds").unwrap_or(EXPIRATION);
    if life < EXPIRATION_MIN {
        let why = "may not specify a duration less than 10 minutes";
        let causes = [Cause::invalid("spec.expirationSeconds", &life.into(), why)];
        return Err(ApiError::invalid("authentication.k8s.io", "TokenRequest", "", &causes));
    }
    let audiences = match texts(&asked, "/spec/audiences") {
        none if none.is_empty() => vec![DEFAULT_AUDIENCE.to_owned()],
        some => some,
    };
    let (claims, owner) = server.write(who, |cx| {
        let accounts = resources::named("serviceaccounts");
        let found = cx.state.get(accounts, account).cloned();
        let found = found.ok_or_else(|| ApiError::not_found(accounts, &account.name))?;
        node_rules::admit_token(cx, account, &asked)?;
        let pod = bound_pod(cx.state, account, &asked)?;
        let mut owner = Identity::service_account(&account.namespace, &account.name);
        owner.uid = text(&found, "/metadata/uid").to_owned();
        let mut about = json!({
            "namespace": account.namespace, "serviceaccount": { "name": account.name, "uid": owner.uid },
        });
        if let Some(pod) = pod {
            let (name, uid) = (text(&pod, "/metadata/name"), text(&pod, "/metadata/uid"));
            about["pod"] = json!({ "name": name, "uid": uid });
            owner.extra.insert("authentication.kubernetes.io/pod-name".to_owned(), vec![name.to_owned()]);
            owner.extra.insert("authentication.kubernetes.io/pod-uid".to_owned(), vec![uid.to_owned()]);
        }
        let begin = cx.now.as_second();
        let claims = json!({
            "aud": audiences, "exp": begin + life, "iat": begin, "nbf": begin, "iss": DEFAULT_AUDIENCE,
            "jti": cx.state.next_uid(), "sub": owner.user, "kubernetes.io": about,
        });
        Ok::<_, ApiError>((claims, owner))
    })?;
    let end = server.now().checked_add(SignedDuration::from_secs(life)).unwrap_or(jiff::Timestamp::MAX);
    let token = signed(&claims);
    lock(&server.tokens).add(&token, owner, audiences.clone(), Some(end));
    let meta = object(&mut asked, "metadata");
    meta.insert("name".to_owned(), account.name.clone().into());
    meta.insert("namespace".to_owned(), account.namespace.clone().into());
    meta.insert("creationTimestamp".to_owned(), seconds(server.now()).into());
    let spec = object(&mut asked, "spec");
    spec.insert("audiences".to_owned(), audiences.into());
    spec.insert("expirationSeconds".to_owned(), life.into());
    as_map(&mut asked)
        .insert("status".to_owned(), json!({ "token": token, "expirationTimestamp": seconds(end) }));
    Ok(asked)
}

fn decode_request(asked: Value) -> Result<Value, ApiError> {
    use k8s_openapi::api::authentication::v1::TokenRequest;
    let mut asked = asked;
    let map = as_map(&mut asked);
    map.insert("apiVersion".to_owned(), "authentication.k8s.io/v1".into());
    map.insert("kind".to_owned(), "TokenRequest".into());
    let request: TokenRequest =
        serde_json::from_value(asked).map_err(|cause| ApiError::bad_request(cause.to_string()))?;
    let mut asked =
        serde_json::to_value(request).map_err(|cause| ApiError::bad_request(cause.to_string()))?;
    canonical::tidy(&mut asked);
    Ok(asked)
}

fn bound_pod(
    state: &crate::store::State,
    account: &Key,
    asked: &Value,
) -> Result<Option<std::sync::Arc<Value>>, ApiError> {
    let Some(bound) = asked.pointer("/spec/boundObjectRef") else { return Ok(None) };
    if text(bound, "/kind") != "Pod" {
        return Err(ApiError::bad_request(format!(
            "cannot bind token to object of type {}",
            text(bound, "/kind")
        )));
    }
    let pods = resources::named("pods");
    let name = text(bound, "/name");
    let pod = state.get(pods, &Key::new(&account.namespace, name)).cloned();
    let pod = pod.ok_or_else(|| ApiError::not_found(pods, name))?;
    if text(&pod, "/spec/serviceAccountName") != account.name {
        let message = format!(
            "cannot bind token for serviceaccount \"{}\" to pod running with different serviceaccount name.",
            account.name
        );
        return Err(ApiError::bad_request(message));
    }
    let (expected, uid) = (text(bound, "/uid"), text(&pod, "/metadata/uid"));
    if !expected.is_empty() && expected != uid {
        let why = format!(
            "the UID in the bound object reference ({expected}) does not match the UID in record. The object might have \
             been deleted and then recreated"
        );
        return Err(ApiError::conflict(pods, name, &why));
    }
    Ok(Some(pod))
}

/// In the form of a JSON web token; the signature is a digest that isn't checked, for this server remembers its tokens.
fn signed(claims: &Value) -> String {
    let header = URL_SAFE_NO_PAD.encode(r#"{"alg":"RS256","kid":"witlet"}"#);
    let claims = URL_SAFE_NO_PAD.encode(claims.to_string());
    format!("{header}.{claims}.{}", URL_SAFE_NO_PAD.encode("remembered, not signed"))
}
