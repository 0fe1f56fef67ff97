//! The trait of a collector that receives batches.

use tonic::Status;
use witlet_proto::otlp::{ExportTraceServiceRequest, ExportTraceServiceResponse};

/// A collector, or what stands in for one.
pub(crate) trait Collector: Send + Sync {
    /// Sends one batch.
    fn export(
        &self,
        batch: ExportTraceServiceRequest,
    ) -> impl Future<Output = Result<ExportTraceServiceResponse, Status>> + Send;
}
