//! Bindings generated from the WIT of contract 0.2. Handlers use the types that the SDK has around them; the module is public only for the
//! export macro.

#![allow(missing_docs, reason = "generated: what the WIT doesn't say can't be said here")]
#![allow(unsafe_code, reason = "generated: the canonical ABI is made of raw pointers")]
#![allow(unused_qualifications, clippy::all, clippy::mem_forget, reason = "generated")]

wit_bindgen::generate!({
    inline: "package witlet:sdk;
        world handler {
            include witlet:admission/admission-handler@0.2.0;
            import witlet:host/secret@0.2.0;
            import witlet:host/data@0.2.0;
            import witlet:host/metrics@0.2.0;
        }",
    path: ["../../../wit/host-0.2.0", "../../../wit/admission-0.2.0"],
    world: "witlet:sdk/handler",
    generate_all,
    additional_derives: [PartialEq, Eq],
    pub_export_macro: true,
    export_macro_name: "export_admission_handler",
    default_bindings_module: "witlet_plugin_sdk_0_2::bindings",
});
