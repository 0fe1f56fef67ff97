//! The CRI on a unix socket.

mod convert;
mod images;
mod runtime;
mod socket;

pub(crate) use images::ImageServer;
pub(crate) use runtime::RuntimeServer;
pub use socket::SocketError;
pub(crate) use socket::listen;

/// The largest message in both directions, as in the kubelet and containerd.
pub(crate) const MESSAGE_BYTES_MAX: usize = 16 << 20;
/// How many things one message of a streamed list holds.
const STREAM_PAGE_ITEMS: usize = 100;

/// A list in messages that can't become too large.
type Pages<T> = tokio_stream::Iter<std::vec::IntoIter<Result<T, tonic::Status>>>;

fn pages<I: Clone, T>(items: &[I], page: impl Fn(Vec<I>) -> T) -> Pages<T> {
    let pages: Vec<_> = items.chunks(STREAM_PAGE_ITEMS).map(|chunk| Ok(page(chunk.to_vec()))).collect();
    tokio_stream::iter(pages)
}
