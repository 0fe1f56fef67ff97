//! The layer `grants`: what a plugin was granted is withheld, one thing at a time. It says so in its answers, and neither falls nor
//! takes what it couldn't do for done. And what it was trusted with it tells nobody.

mod handler;
mod prober;
mod secrets;
mod source;

use serde_json::{Value, json};
use witlet_wasm::plugin::{CallError, LoadError};
use witlet_wasm::role::Role;

use crate::cases::CaseFile;
use crate::{CheckResult, Checks, Ctx, Finding, Setup};

/// What repeats a finding of this layer.
const REPEAT: &str = "--only grants";
/// A secret that nobody has.
const NOBODYS: &str = "withheld-by-the-kit";

/// Examines this layer.
pub(crate) async fn examine(ctx: &Ctx<'_>, checks: &mut Checks<'_>) {
    for role in ctx.roles().collect::<Vec<_>>() {
        match role {
            Role::Admission => handler::examine(ctx, checks).await,
            Role::Probe => prober::examine(ctx, checks).await,
            Role::PodSource => source::examine(ctx, checks).await,
        }
        secrets::examine(ctx, checks, role).await;
    }
}

/// Something that a plugin can be granted, and how it is withheld.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Withheld {
    Network,
    SecretNotGranted,
    SecretNotFound,
    Exec,
    Files,
    State,
}

impl Withheld {
    /// Those of a role.
    fn of(role: Role) -> &'static [Self] {
        match role {
            Role::Admission => &[Self::SecretNotGranted, Self::SecretNotFound],
            Role::Probe => &[Self::Network, Self::SecretNotGranted, Self::SecretNotFound, Self::Exec],
            Role::PodSource => {
                &[Self::Network, Self::SecretNotGranted, Self::SecretNotFound, Self::Files, Self::State]
            }
        }
    }

    /// Those of a role that the component has a use for.
    fn wanted(ctx: &Ctx<'_>, role: Role) -> impl Iterator<Item = Self> {
        let (needs, may_use) = (&ctx.inspection.needs_grants, &ctx.inspection.may_use_grants);
        let is_wanted =
            move |withheld: &Self| needs.iter().chain(may_use).any(|grant| *grant == withheld.grant());
        Self::of(role).iter().copied().filter(is_wanted)
    }

    fn id(self) -> &'static str {
        match self {
            Self::Network => "grants/network",
            Self::SecretNotGranted => "grants/secret-not-granted",
            Self::SecretNotFound => "grants/secret-not-found",
            Self::Exec => "grants/exec",
            Self::Files => "grants/files",
            Self::State => "grants/state",
        }
    }

    fn title(self) -> &'static str {
        match self {
            Self::Network => "without the network it says what it couldn't do",
            Self::SecretNotGranted => "without a grant of its secrets it says what it couldn't do",
            Self::SecretNotFound => "without values of its secrets it says what it couldn't do",
            Self::Exec => "without commands it says what it couldn't do",
            Self::Files => "without its folders it says what it couldn't do",
            Self::State => "without its own folder it says what it couldn't do",
        }
    }

    /// What stands in the plugin's way, for findings.
    fn told(self) -> &'static str {
        match self {
            Self::Network => "the grant `network` withheld",
            Self::SecretNotGranted => "the grant of its secrets withheld (secret-error.not-granted)",
            Self::SecretNotFound => "the values of its secrets withheld (secret-error.not-found)",
            Self::Exec => "commands that can't be run (exec-error.failed)",
            Self::Files => "the grant `files` withheld",
            Self::State => "the grant `state` withheld",
        }
    }

    /// What the contract says of it.
    fn contract(self) -> &'static str {
        match self {
            Self::Network => {
                "without the grant `network` connections fail with access-denied; a plugin answers with a failure or an error"
            }
            Self::SecretNotGranted | Self::SecretNotFound => {
                "secret.get is a result: where there is no value, a plugin answers with a failure or an error"
            }
            Self::Exec => {
                "exec.run is a result: where a command couldn't be run, a probe answers with a failure or an error"
            }
            Self::Files | Self::State => {
                "without the grants `files` and `state` there are no folders; a source answers with an error, and never with `empty`"
            }
        }
    }

    /// The field of `grants`.
    fn grant(self) -> &'static str {
        match self {
            Self::Network => "network",
            Self::SecretNotGranted | Self::SecretNotFound => "secrets",
            Self::Exec => "exec",
            Self::Files => "files",
            Self::State => "state",
        }
    }

    /// Whether there is something to withhold.
    fn is_granted(self, setup: &Setup) -> bool {
        if self == Self::Files && !setup.guest_paths.is_empty() {
            return true;
        }
        match setup.grants.get(self.grant()) {
            None | Some(Value::Null) => false,
            Some(Value::Bool(granted)) => *granted,
            Some(Value::Array(granted)) => !granted.is_empty(),
            Some(Value::Number(_) | Value::String(_) | Value::Object(_)) => true,
        }
    }

    /// The setup without it.
    fn withhold(self, setup: &mut Setup) {
        match self {
            Self::Network => {
                remove(&mut setup.grants, "network");
                // Which says nothing without a network.
                remove(&mut setup.grants, "tls");
            }
            // A component that imports them isn't loaded without any.
            Self::SecretNotGranted => setup.grants["secrets"] = json!([NOBODYS]),
            Self::SecretNotFound => setup.secrets.clear(),
            Self::Exec => setup.execs.clear(),
            Self::Files => {
                remove(&mut setup.grants, "files");
                setup.guest_paths.clear();
            }
            Self::State => remove(&mut setup.grants, "state"),
        }
    }
}

fn remove(grants: &mut Value, name: &str) {
    if let Value::Object(fields) = grants {
        fields.remove(name);
    }
}

/// What is to be said of a plugin that can't be loaded without something: its own words are an answer.
fn unloaded(error: &LoadError, withheld: Withheld) -> Option<Finding> {
    match error {
        LoadError::Configuration { .. } | LoadError::Validate(CallError::Refused { .. }) => None,
        other => {
            Some(Finding::new(withheld.told(), other.sentence(), withheld.contract()).repeated_by(REPEAT))
        }
    }
}

/// The result of a check, or that there was nothing to withhold.
fn tell(checks: &mut Checks<'_>, role: Role, withheld: Withheld, result: Result<Option<Finding>, String>) {
    let result = match result {
        Ok(None) => CheckResult::Passed,
        Ok(Some(finding)) => CheckResult::Failed(finding.repeated_by(REPEAT)),
        Err(why) => CheckResult::Skipped { why },
    };
    checks.add(role, withheld.id(), withheld.title(), result);
}

/// Why a grant that a plugin doesn't have can't be withheld.
fn not_granted(withheld: Withheld) -> String {
    format!("it isn't granted `{}`, so that there is nothing to withhold", withheld.grant())
}

/// Values of a setup's secrets that are long enough to be told from other words.
fn values(setup: &Setup) -> Vec<(String, String)> {
    const BYTES_MIN: usize = 4;
    let values = setup.secrets.iter().filter(|(_, value)| value.len() >= BYTES_MIN);
    values.map(|(name, value)| (name.clone(), String::from_utf8_lossy(value).into_owned())).collect()
}

/// The secrets that a case file has.
fn secrets_of(file: &CaseFile) -> Vec<&[u8]> {
    file.secrets.values().map(Vec::as_slice).filter(|value| !value.is_empty()).collect()
}

/// Whether bytes hold others.
fn holds(bytes: &[u8], part: &[u8]) -> bool {
    !part.is_empty() && bytes.windows(part.len()).any(|window| window == part)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn setup() -> Setup {
        let mut setup = Setup::new(Role::Probe);
        setup.grants =
            json!({"network": ["pod"], "tls": "insecure", "secrets": ["a"], "exec": true, "state": true});
        setup.secrets = [("a".to_owned(), b"value".to_vec())].into();
        setup.guest_paths = vec!["/pods".to_owned()];
        setup
    }

    #[test]
    fn each_grant_is_withheld_on_its_own() {
        for withheld in [Withheld::Network, Withheld::Files, Withheld::State] {
            assert!(withheld.is_granted(&setup()), "{withheld:?}");
            let mut without = setup();
            withheld.withhold(&mut without);
            assert!(!withheld.is_granted(&without), "{withheld:?}");
            assert_eq!(without.secrets, setup().secrets);
        }
        let mut without = setup();
        Withheld::Network.withhold(&mut without);
        assert_eq!(without.grants, json!({"secrets": ["a"], "exec": true, "state": true}));
        let mut without = setup();
        Withheld::SecretNotGranted.withhold(&mut without);
        assert_eq!(without.grants["secrets"], json!([NOBODYS]));
        let mut without = setup();
        Withheld::SecretNotFound.withhold(&mut without);
        assert_eq!((without.grants, without.secrets.len()), (setup().grants, 0));
    }

    #[test]
    fn what_is_not_granted_cannot_be_withheld() {
        let bare = Setup::new(Role::PodSource);
        for role in Role::ALL {
            assert!(Withheld::of(role).iter().all(|withheld| !withheld.is_granted(&bare)));
        }
    }

    #[test]
    fn a_secret_is_found_in_bytes() {
        assert!(holds(b"AUTH s3cret\r\n", b"s3cret"));
        assert!(!holds(b"PING\r\n", b"s3cret"));
        assert!(!holds(b"PING\r\n", b""));
    }
}
