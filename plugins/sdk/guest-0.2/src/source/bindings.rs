//! Bindings generated from the WIT of contract 0.2 of pod sources. Sources use the types that the SDK has around them; the module is public only
//! for the export macros.

#![allow(missing_docs, reason = "generated: what the WIT doesn't say can't be said here")]
#![allow(unsafe_code, reason = "generated: the canonical ABI is made of raw pointers")]
#![allow(unused_qualifications, clippy::all, clippy::mem_forget, reason = "generated")]

wit_bindgen::generate!({
    path: ["../../../wit/host-0.2.0", "../../../wit/pod-source-0.2.0"],
    world: "witlet:pod-source/pod-source",
    with: {
        "witlet:host/errors@0.2.0": crate::bindings::witlet::host::errors,
        "witlet:host/log@0.2.0": crate::bindings::witlet::host::log,
        "witlet:host/config@0.2.0": crate::bindings::witlet::host::config,
        "witlet:host/node@0.2.0": crate::bindings::witlet::host::node,
        "witlet:host/features@0.2.0": crate::bindings::witlet::host::features,
    },
    generate_all,
    pub_export_macro: true,
    export_macro_name: "export_source",
    default_bindings_module: "witlet_plugin_sdk_0_2::source::bindings",
});

/// What the world `pod-source-with-feedback` has in addition to `pod-source`.
pub mod feedback {
    wit_bindgen::generate!({
        path: ["../../../wit/host-0.2.0", "../../../wit/pod-source-0.2.0"],
        inline: "package witlet:sdk-feedback;
            world feedback {
                export witlet:pod-source/feedback@0.2.0;
            }",
        world: "witlet:sdk-feedback/feedback",
        with: {
            "witlet:host/errors@0.2.0": crate::bindings::witlet::host::errors,
            "witlet:pod-source/source-types@0.2.0": crate::source::bindings::witlet::pod_source::source_types,
        },
        generate_all,
        pub_export_macro: true,
        export_macro_name: "export_source_feedback",
        default_bindings_module: "witlet_plugin_sdk_0_2::source::bindings::feedback",
    });
}
