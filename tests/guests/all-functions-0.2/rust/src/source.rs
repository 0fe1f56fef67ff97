//! The role pod source, with feedback: the answer that the configuration names.

use crate::bindings::exports::witlet::pod_source::{feedback, source};
use crate::bindings::witlet::host::errors::Error;
use crate::bindings::witlet::host::log::{self, Level};
use crate::bindings::witlet::pod_source::source_types::{Answer, News, Setup};
use crate::{AllFunctions, NONE, host, text};

impl source::Guest for AllFunctions {
    fn validate(setup: &Setup, config: String) -> Result<(), Error> {
        setup.warn("of the configuration");
        host::refuse(&config)
    }

    fn poll(cursor: Option<String>, answer: &Answer) -> Result<(), Error> {
        host::log(Level::Info, &format!("cursor {}", cursor.as_deref().unwrap_or(NONE)));
        let config = host::configuration();
        match text(&config["do"]) {
            "error" => return Err(host::own_error()),
            "empty" => answer.empty(),
            "host" => answer.pod(&host::tell().to_string()),
            "pods" => {
                config["pods"].as_array().into_iter().flatten().for_each(|pod| answer.pod(&pod.to_string()));
            }
            _ => answer.unchanged(),
        }
        if let Some(cursor) = config["cursor"].as_str() {
            answer.cursor(cursor);
        }
        if let Some(milliseconds) = config["nextPollMilliseconds"].as_u64() {
            answer.next_poll_milliseconds(milliseconds);
        }
        Ok(())
    }
}

impl feedback::Guest for AllFunctions {
    fn notify(news: &News) -> Result<(), Error> {
        while let Some(change) = news.next() {
            let fields = [
                ("change.kind", change.kind()),
                ("change.namespace", change.namespace()),
                ("change.name", change.name()),
                ("change.uid", change.uid()),
                ("change.phase", change.phase()),
                ("change.reason", change.reason()),
                ("change.message", change.message()),
                ("change.status", change.status().unwrap_or_else(|| NONE.to_owned())),
            ];
            log::write(Level::Info, "news.next", &fields.map(|(name, value)| (name.to_owned(), value)));
        }
        Ok(())
    }
}
