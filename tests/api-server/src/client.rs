//! Clients without sockets.

use http_body_util::BodyExt;
use tower::service_fn;

use crate::identity::Identity;
use crate::server::{ApiServer, BoxError};

impl ApiServer {
    /// A client of this user in the same process: no sockets, so that time can be paused. Dropping an answer's stream ends its watch.
    pub fn client(&self, who: &Identity) -> kube::Client {
        let (server, who) = (self.me(), who.clone());
        let service = service_fn(move |request: http::Request<kube::client::Body>| {
            let (server, who) = (server.clone(), who.clone());
            async move {
                let (parts, body) = request.into_parts();
                let body = body.collect().await?.to_bytes();
                let request = http::Request::from_parts(parts, body);
                server.handle(&who, request).await.map_err(BoxError::from)
            }
        });
        kube::Client::new(service, "default")
    }
}
