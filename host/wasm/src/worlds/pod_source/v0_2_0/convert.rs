//! Between the host's vocabulary and `witlet:pod-source@0.2.0`'s.

use serde::Deserialize;
use witlet_core::sources::plugin::{LeftOutPod, PodNews, PodStatusChange, SourceFault};

use super::super::{MESSAGE_BYTES_MAX, REASON_BYTES_MAX};
use crate::worlds::host::error::GuestError;
use crate::worlds::{sanitized_word, sentence, word};

/// The reason of a fault whose error has no word for it.
const UNNAMED: &str = "Failed";

/// Why a source can't tell what it has. A code that is no word is made one: whatever it says, the last pods go on.
pub(super) fn fault(error: &GuestError) -> SourceFault {
    let reason = word(error.code.clone(), REASON_BYTES_MAX)
        .unwrap_or_else(|_| sanitized_word(&error.code, UNNAMED, REASON_BYTES_MAX));
    let message = sentence(&error.sentence(), MESSAGE_BYTES_MAX);
    SourceFault { reason, message, retry_after: error.retry_after }
}

pub(super) fn kind(news: &PodNews) -> &'static str {
    match news {
        PodNews::Status(PodStatusChange { status: Some(_), .. }) => "status",
        PodNews::Status(PodStatusChange { status: None, .. }) => "gone",
        PodNews::LeftOut(_) => "left-out",
    }
}

pub(super) fn uid(news: &PodNews) -> String {
    match news {
        PodNews::Status(change) => change.uid.clone(),
        PodNews::LeftOut(_) => String::new(),
    }
}

pub(super) fn status(news: &PodNews) -> Option<String> {
    match news {
        PodNews::Status(change) => change.status.clone(),
        PodNews::LeftOut(_) => None,
    }
}

/// What most want to know of a status.
#[derive(Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(super) struct Brief {
    pub(super) phase: String,
    pub(super) reason: String,
    pub(super) message: String,
}

pub(super) fn brief(news: &PodNews) -> Brief {
    match news {
        PodNews::Status(change) => {
            let status = change.status.as_deref().and_then(|status| serde_json::from_str(status).ok());
            status.unwrap_or_default()
        }
        PodNews::LeftOut(LeftOutPod { reason, message, .. }) => {
            Brief { phase: String::new(), reason: reason.clone(), message: message.clone() }
        }
    }
}

#[cfg(test)]
mod tests {
    //! What crosses between host and guest.

    use std::time::Duration;

    use super::*;

    #[test]
    fn a_code_becomes_the_reason_of_a_fault() {
        let cases = [("Denied", "Denied"), ("not found", "NotFound"), ("", "Failed"), ("404", "Failed404")];
        for (code, expected) in cases {
            let mut error = GuestError::new(code, "no");
            error.retry_after = Some(Duration::from_secs(3));
            error.set_detail("file", "a");
            let SourceFault { reason, message, retry_after } = fault(&error);
            assert_eq!((&*reason, &*message), (expected, "no (file: a)"), "{code}");
            assert_eq!(retry_after, Some(Duration::from_secs(3)));
        }
    }

    #[test]
    fn news_say_what_became_of_a_pod() {
        let change = |status: Option<&str>| {
            PodNews::Status(PodStatusChange {
                namespace: "default".to_owned(),
                name: "web".to_owned(),
                uid: "u".to_owned(),
                status: status.map(str::to_owned),
            })
        };
        let text = r#"{"phase": "Failed", "reason": "OutOfcpu", "message": "no capacity", "conditions": []}"#;
        let refused = change(Some(text));
        assert_eq!(
            (kind(&refused), uid(&refused), status(&refused).as_deref()),
            ("status", "u".to_owned(), Some(text))
        );
        let Brief { phase, reason, message } = brief(&refused);
        assert_eq!((&*phase, &*reason, &*message), ("Failed", "OutOfcpu", "no capacity"));
        let running = change(Some(r#"{"phase": "Running"}"#));
        assert_eq!(brief(&running), Brief { phase: "Running".to_owned(), ..Brief::default() });
        let gone = change(None);
        assert_eq!((kind(&gone), status(&gone), brief(&gone)), ("gone", None, Brief::default()));
        let left_out = PodNews::LeftOut(LeftOutPod {
            namespace: "a".to_owned(),
            name: "b".to_owned(),
            reason: "PodForbidden".to_owned(),
            message: "no".to_owned(),
        });
        assert_eq!((kind(&left_out), uid(&left_out), status(&left_out)), ("left-out", String::new(), None));
        assert_eq!(
            (left_out.namespace(), left_out.name(), &*brief(&left_out).reason),
            ("a", "b", "PodForbidden")
        );
    }
}
