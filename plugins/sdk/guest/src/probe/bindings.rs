//! Bindings generated from the WIT of the world `probe-type` and of `exec`, which only those components import that run
//! commands. Probe types use the types that the SDK re-exports; the module is public only for the export macro.

#![allow(missing_docs, reason = "generated: what the WIT doesn't say can't be said here")]
#![allow(unsafe_code, reason = "generated: the canonical ABI is made of raw pointers")]
#![allow(unused_qualifications, clippy::all, clippy::mem_forget, reason = "generated")]

wit_bindgen::generate!({
    path: ["../../../wit/host", "../../../wit/probe"],
    inline: "
        package witlet:sdk-probe;
        world sdk-probe {
            include witlet:probe/probe-type@0.1.0;
            import witlet:probe/exec@0.1.0;
        }
    ",
    world: "witlet:sdk-probe/sdk-probe",
    with: {
        "witlet:host/log@0.1.0": crate::host::witlet::host::log,
        "witlet:host/config@0.1.0": crate::host::witlet::host::config,
    },
    generate_all,
    additional_derives: [PartialEq, Eq],
    pub_export_macro: true,
    export_macro_name: "export_probe_type",
    default_bindings_module: "witlet_plugin_sdk::probe::bindings",
});
