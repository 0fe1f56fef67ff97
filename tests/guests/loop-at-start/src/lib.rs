//! An admission handler that loops in its initialisation, before it is called.
#![cfg(target_family = "wasm")]
#![allow(unsafe_code, reason = "the bindings are made of raw pointers, and so is the initialiser")]

mod bindings {
    #![allow(missing_docs, clippy::all, clippy::mem_forget, unused_qualifications, reason = "generated")]
    wit_bindgen::generate!({
        path: ["../../../wit/host", "../../../wit/admission"],
        world: "witlet:admission/admission-handler",
        generate_all,
    });
}

use bindings::exports::witlet::admission::handler::Guest;
use bindings::witlet::admission::types::{Request, Verdict};

extern "C" fn spin() {
    loop {
        std::hint::spin_loop();
    }
}

// SAFETY: the section holds pointers to functions without arguments, and this is one.
#[used]
#[unsafe(link_section = ".init_array")]
static INITIALISER: extern "C" fn() = spin;

struct Late;
bindings::export!(Late with_types_in bindings);

impl Guest for Late {
    fn validate(_config: String) -> Result<(), String> {
        Ok(())
    }

    fn admit(_request: &Request) -> Result<Verdict, String> {
        Ok(Verdict::Admit)
    }
}
