//! Data that a test gives a plugin.

use std::cell::RefCell;
use std::collections::BTreeMap;

use sha2::{Digest as _, Sha256};

use crate::Error;
use crate::data::PART_BYTES;

thread_local! {
    static DATA: RefCell<BTreeMap<String, Vec<u8>>> = const { RefCell::new(BTreeMap::new()) };
}

/// What [`data::open`](crate::data::open) finds on this thread from now on. Without, the entry has no data.
pub fn set_data(name: &str, bytes: &[u8]) {
    DATA.with_borrow_mut(|data| data.insert(name.to_owned(), bytes.to_vec()));
}

pub(crate) fn names() -> Vec<String> {
    DATA.with_borrow(|data| data.keys().cloned().collect())
}

pub(crate) fn open(name: &str) -> Result<Snapshot, Error> {
    let found = DATA.with_borrow(|data| data.get(name).cloned());
    found.map(Snapshot).ok_or_else(|| Error::new("NotFound", format!("the entry has no data {name:?}")))
}

#[derive(Debug)]
pub(crate) struct Snapshot(Vec<u8>);

impl Snapshot {
    pub(crate) fn digest(&self) -> String {
        let digits: String = Sha256::digest(&self.0).iter().map(|byte| format!("{byte:02x}")).collect();
        format!("sha256:{digits}")
    }

    pub(crate) fn size(&self) -> u64 {
        self.0.len() as u64
    }

    pub(crate) fn read(&self, offset: u64, length: u64) -> Vec<u8> {
        let of = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
        self.0.iter().skip(of(offset)).take(of(length.min(PART_BYTES))).copied().collect()
    }
}
