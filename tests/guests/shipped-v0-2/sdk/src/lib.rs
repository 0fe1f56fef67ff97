//! Stands for the SDK of contract 0.1 in the files of the shipped admission handlers: what they ask for, it asks the getters of
//! `witlet:admission@0.2.0` for. So what the contract costs is measured with the same handlers, and whether it says the same.
#![allow(missing_docs, reason = "its names are those of the SDK of 0.1")]

#[allow(unsafe_code, reason = "the bindings are made of raw pointers")]
#[allow(missing_docs, clippy::all, clippy::mem_forget, unused_qualifications, reason = "generated")]
#[doc(hidden)]
pub mod bindings {
    wit_bindgen::generate!({
        path: ["../../../../wit/host-0.2.0", "../../../../wit/admission-0.2.0"],
        world: "witlet:admission/admission-handler",
        generate_all,
        pub_export_macro: true,
        export_macro_name: "export_admission_handler",
    });
}

mod export;
mod requests;
// Its tests lie where a module of this crate would not have them.
#[rustfmt::skip]
#[path = "../../../../../plugins/sdk/guest/src/toleration.rs"]
mod toleration;

#[doc(hidden)]
pub use export::{__admit, __validate};
pub use requests::{
    AdmissionHandler, Condition, Container, ContainerKind, Error, HostPort, Node, Operation, Pod, QosClass,
    Quantity, Rejection, Request, Shortage, Taint, Verdict, amount_of,
};
pub use toleration::Toleration;
