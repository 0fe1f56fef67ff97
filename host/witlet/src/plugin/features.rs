//! `witlet plugin features`: what a plugin file may require of this release.

use witlet_wasm::plugin::config::FEATURES;

use crate::cli::OutputFormat;
use crate::get::table;
use crate::output::{OutputError, print, structured};

const HEADER: [&str; 2] = ["NAME", "DESCRIPTION"];

/// Prints the features.
pub(crate) fn run(output: OutputFormat) -> Result<(), OutputError> {
    let text = match output {
        OutputFormat::Json | OutputFormat::Yaml => structured(&FEATURES, output)?,
        OutputFormat::Table | OutputFormat::Wide => {
            let rows =
                FEATURES.iter().map(|feature| vec![feature.name.to_owned(), feature.description.to_owned()]);
            table::render(&HEADER, &rows.collect::<Vec<_>>())
        }
    };
    print(&text)
}
