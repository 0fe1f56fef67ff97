//! The witlet binary.
fn main() {}
