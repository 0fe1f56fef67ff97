//! `/logs/`: the machine's own logs, as files below the folder of logs and, by a query, of services.

use std::io::Cursor;
use std::path::Path;
use std::sync::Arc;

use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use hyper::Uri;
use tokio::io::AsyncReadExt;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use witlet_core::logs::node_query::{
    JOURNAL_UNITS, NodeLogOptions, NodeLogQuery, NodeLogSource, is_journal_unit, log_file_names,
};
use witlet_ports::{FilesError, JournalOutput, Links, SystemLog};

use super::query::query;
use super::{KubeletServer, answers};
use files::FileRequest;
use journal::{QUERY_DEADLINE, ShownQuery};

mod files;
mod journal;

/// Bytes of the journal's list of units that are checked.
const UNITS_BYTES_MAX: u64 = 4 * 1024 * 1024;

impl KubeletServer {
    /// Answers a request for this path below `/logs`, which begins with a slash or is empty.
    pub(super) async fn system_logs(
        self: Arc<Self>,
        uri: &Uri,
        path: &str,
        headers: &HeaderMap,
        stop: CancellationToken,
    ) -> Response {
        if self.parts.options.switches.system_log_query {
            match NodeLogQuery::from_query(&query(uri)) {
                Err(malformed) => return answers::error(StatusCode::BAD_REQUEST, &malformed.to_string()),
                Ok(Some(asked)) => return self.log_query(asked, headers, stop).await,
                Ok(None) => {}
            }
        }
        let Some(file) = FileRequest::new(path, uri.query()) else { return answers::not_found() };
        let Ok(permit) = self.logs.clone().try_acquire_owned() else { return answers::too_many_logs() };
        file.answer(self.parts.diagnostics.system_logs.as_ref(), headers, permit, stop).await
    }

    async fn log_query(
        self: Arc<Self>,
        asked: NodeLogQuery,
        headers: &HeaderMap,
        stop: CancellationToken,
    ) -> Response {
        let not_acceptable = |why: String| answers::error(StatusCode::NOT_ACCEPTABLE, &why);
        let services = match asked.source() {
            Err(invalid) => return not_acceptable(invalid.to_string()),
            Ok(NodeLogSource::Services(services)) => services,
            Ok(NodeLogSource::File(name)) => {
                let Ok(permit) = self.logs.clone().try_acquire_owned() else {
                    return answers::too_many_logs();
                };
                // A name is below the folder, with a slash before it or not. Clients on Windows write backslashes.
                let name = name.replace('\\', "/");
                let name = Path::new(name.trim_start_matches('/'));
                let logs = self.parts.diagnostics.system_logs.as_ref();
                return match logs.open(name, Links::Below).await {
                    Ok(SystemLog::File(file)) => files::show(file, headers, permit, stop).await,
                    Ok(SystemLog::Folder { entries, is_cut }) => files::listing(&entries, is_cut),
                    Err(error) => not_acceptable(asked.unreadable(error.cause).to_string()),
                };
            }
        };
        let Ok(permit) = self.queries.clone().try_acquire_owned() else { return answers::too_many_logs() };
        let deadline = Instant::now() + QUERY_DEADLINE;
        let outputs = self.outputs(services, &asked.options);
        let outputs = tokio::time::timeout_at(deadline, outputs).await.unwrap_or_default();
        let is_gzip = headers.get(header::ACCEPT_ENCODING).is_some_and(|value| value == "gzip");
        let shown = ShownQuery::begin(outputs, deadline, stop, is_gzip, permit, &self.tasks);
        let kind = [(header::CONTENT_TYPE, "text/plain;charset=UTF-8")];
        let mut answer = (kind, shown.into_body()).into_response();
        if is_gzip {
            answer.headers_mut().insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        }
        answer
    }

    /// What is shown of these services, one after the other: of the journal those that it knows, else files. As upstream has it,
    /// services of the journal are left out where another one has a file.
    async fn outputs(&self, services: &[String], options: &NodeLogOptions) -> Vec<JournalOutput> {
        let logs = &self.parts.diagnostics.system_logs;
        let units = self.units().await;
        let (of_journal, of_files): (Vec<String>, Vec<String>) =
            services.iter().cloned().partition(|service| is_journal_unit(&units, service));
        if of_files.is_empty() {
            let started = logs.journal(&options.journal_arguments(&of_journal));
            return vec![started.unwrap_or_else(|error| {
                tracing::warn!(%error, "Failed to read the journal");
                words("\nerror: journal output not available\n".to_owned())
            })];
        }
        if *options != NodeLogOptions::default() {
            let names = of_files.join(" ");
            let refused = format!(
                "\noptions present and query resolved to log files for [{names}]\ntry without specifying options\n"
            );
            return vec![words(refused)];
        }
        let mut outputs = Vec::new();
        for service in &of_files {
            outputs.push(self.log_file_of(service).await);
        }
        outputs
    }

    /// The names of the units that the journal knows; empty if it can't be asked.
    async fn units(&self) -> String {
        let asked = self.parts.diagnostics.system_logs.journal(&JOURNAL_UNITS.map(str::to_owned));
        let Ok(output) = asked else { return String::new() };
        let mut units = Vec::new();
        match output.take(UNITS_BYTES_MAX).read_to_end(&mut units).await {
            Ok(_) => String::from_utf8_lossy(&units).into_owned(),
            Err(error) => {
                tracing::debug!(%error, "Failed to list the units of the journal");
                String::new()
            }
        }
    }

    /// The first file that a service may log to, or why there is none.
    async fn log_file_of(&self, service: &str) -> JournalOutput {
        for name in log_file_names(service) {
            match self.parts.diagnostics.system_logs.open(Path::new(&name), Links::Below).await {
                Ok(SystemLog::File(file)) => return Box::pin(tokio::fs::File::from_std(file)),
                Ok(SystemLog::Folder { .. }) => {}
                Err(FilesError { cause, .. }) if files::is_missing(&cause) => {}
                Err(error) => return words(format!("\nerror getting log for {service}: {}\n", error.cause)),
            }
        }
        words(format!("\nlog not found for {service}\n"))
    }
}

fn words(text: String) -> JournalOutput {
    Box::pin(Cursor::new(text.into_bytes()))
}
