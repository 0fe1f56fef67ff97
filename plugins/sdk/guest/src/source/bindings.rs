//! Bindings generated from the WIT of the world `pod-source`. Sources use the types that the SDK re-exports; the module is
//! public only for the export macro.

#![allow(missing_docs, reason = "generated: what the WIT doesn't say can't be said here")]
#![allow(unsafe_code, reason = "generated: the canonical ABI is made of raw pointers")]
#![allow(unused_qualifications, clippy::all, clippy::mem_forget, reason = "generated")]

wit_bindgen::generate!({
    path: ["../../../wit/host", "../../../wit/pod-source"],
    world: "witlet:pod-source/pod-source",
    with: {
        "witlet:host/log@0.1.0": crate::host::witlet::host::log,
        "witlet:host/config@0.1.0": crate::host::witlet::host::config,
    },
    generate_all,
    additional_derives: [PartialEq, Eq],
    pub_export_macro: true,
    export_macro_name: "export_source",
    default_bindings_module: "witlet_plugin_sdk::source::bindings",
});

/// What the world `pod-source-with-feedback` has in addition to `pod-source`.
pub mod feedback {
    wit_bindgen::generate!({
        path: ["../../../wit/host", "../../../wit/pod-source"],
        inline: "
            package witlet:sdk-feedback;
            world sdk-feedback {
                export witlet:pod-source/feedback@0.1.0;
            }
        ",
        world: "witlet:sdk-feedback/sdk-feedback",
        with: {
            "witlet:pod-source/types@0.1.0": crate::source::bindings::witlet::pod_source::types,
        },
        generate_all,
        additional_derives: [PartialEq, Eq],
        pub_export_macro: true,
        export_macro_name: "export_source_feedback",
        default_bindings_module: "witlet_plugin_sdk::source::bindings::feedback",
    });
}
