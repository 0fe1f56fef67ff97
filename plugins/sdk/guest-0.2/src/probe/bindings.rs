//! Bindings generated from the WIT of contract 0.2 of probes, and of `exec` and `connections`, which only those components import that use
//! them. Probe
//! types use the types that the SDK has around them; the module is public only for the export macro.

#![allow(missing_docs, reason = "generated: what the WIT doesn't say can't be said here")]
#![allow(unsafe_code, reason = "generated: the canonical ABI is made of raw pointers")]
#![allow(unused_qualifications, clippy::all, clippy::mem_forget, reason = "generated")]

wit_bindgen::generate!({
    inline: "package witlet:sdk-probe;
        world probing {
            include witlet:probe/probe-type@0.2.0;
            import witlet:probe/exec@0.2.0;
            import witlet:probe/connections@0.2.0;
        }",
    path: ["../../../wit/host-0.2.0", "../../../wit/probe-0.2.0"],
    world: "witlet:sdk-probe/probing",
    with: {
        "witlet:host/errors@0.2.0": crate::bindings::witlet::host::errors,
        "witlet:host/log@0.2.0": crate::bindings::witlet::host::log,
        "witlet:host/config@0.2.0": crate::bindings::witlet::host::config,
        "witlet:host/node@0.2.0": crate::bindings::witlet::host::node,
        "witlet:host/features@0.2.0": crate::bindings::witlet::host::features,
    },
    generate_all,
    pub_export_macro: true,
    export_macro_name: "export_probe_type",
    default_bindings_module: "witlet_plugin_sdk_0_2::probe::bindings",
});
