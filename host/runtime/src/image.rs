//! Images: components in files, and the copies of them that were pulled.

pub(crate) mod reference;
pub(crate) mod store;

pub(crate) use store::{Image, ImageError, ImageStore};
