//! Bindings generated from the WIT that every plugin may import. Plugins use the modules `log`, `secret` and the
//! configurations of the roles; the module is public only for the export macros.

#![allow(missing_docs, reason = "generated: what the WIT doesn't say can't be said here")]
#![allow(unsafe_code, reason = "generated: the canonical ABI is made of raw pointers")]
#![allow(unused_qualifications, clippy::all, clippy::mem_forget, reason = "generated")]

wit_bindgen::generate!({
    path: "../../../wit/host",
    inline: "
        package witlet:sdk-host;
        world sdk-host {
            import witlet:host/log@0.1.0;
            import witlet:host/config@0.1.0;
            import witlet:host/secret@0.1.0;
        }
    ",
    world: "witlet:sdk-host/sdk-host",
    generate_all,
    additional_derives: [PartialEq, Eq],
});
