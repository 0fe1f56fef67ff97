//! Parameters of requests.

use axum::extract::Query;
use hyper::Uri;

/// Names and values of a query; none of one that can't be read.
pub(crate) fn query(uri: &Uri) -> Vec<(String, String)> {
    Query::try_from_uri(uri).map(|Query(pairs)| pairs).unwrap_or_default()
}
