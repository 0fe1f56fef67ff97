//! What the example workloads share: arguments, the HTTP request line, and leaving with an exit code.
//!
//! The workloads are ordinary Rust programs. `cargo build --target wasm32-wasip2` makes each a WASI 0.2 command
//! component, which the embedded runtime runs as a container.

pub mod steps;

#[cfg(target_os = "wasi")]
mod wasi {
    //! The one WASI function that the standard library doesn't call yet.
    #![allow(unsafe_code, reason = "wit-bindgen generates the calls over the component's boundary")]

    wit_bindgen::generate!({
        inline: "
            package wasi:cli@0.2.12;
            interface exit { exit: func(status: result); exit-with-code: func(status-code: u8); }
            world leaver { import exit; }
        ",
        world: "leaver",
        generate_all,
    });
}

/// Ends the program with `code`.
///
/// On WASI 0.2 `std::process::exit` can only say "well" or "not well" (1), whatever it is given; the code itself goes
/// through `wasi:cli/exit.exit-with-code`, which WASI has since 0.2.12.
pub fn exit_with(code: u8) -> ! {
    #[cfg(target_os = "wasi")]
    wasi::wasi::cli::exit::exit_with_code(code);
    std::process::exit(i32::from(code))
}

/// The number in the argument at `index`, else in the environment variable `variable`, else `default`.
///
/// # Errors
///
/// Names the source of a value that isn't a number of that kind.
pub fn number<T: std::str::FromStr>(index: usize, variable: &str, default: T) -> Result<T, String> {
    let argument = std::env::args().nth(index).map(|value| (format!("argument {index}"), value));
    let given = argument.or_else(|| std::env::var(variable).ok().map(|value| (variable.to_owned(), value)));
    match given {
        None => Ok(default),
        Some((source, value)) => {
            value.trim().parse().map_err(|_| format!("{source}: {value:?} isn't a number"))
        }
    }
}

/// The method and the path in the first line of an HTTP/1 request (RFC 9112 section 3).
pub fn request_line(line: &str) -> Option<(&str, &str)> {
    let mut words = line.trim_end().split(' ');
    let (method, path, version) = (words.next()?, words.next()?, words.next()?);
    let well_formed = !method.is_empty() && path.starts_with('/') && version.starts_with("HTTP/1.");
    (well_formed && words.next().is_none()).then_some((method, path))
}

#[cfg(test)]
mod tests;
