//! `witlet runtime`: the embedded runtime in this process.

use tokio_util::sync::CancellationToken;
use witlet_runtime::{RuntimeOptions, ServeError, serve};

use crate::cli::RuntimeArgs;
use crate::run::signals;

/// Serves until the process is asked to stop; workloads end with it.
pub(crate) async fn run(args: RuntimeArgs) -> Result<(), ServeError> {
    let stop = CancellationToken::new();
    let defaults = RuntimeOptions::new(args.root_dir);
    let options = RuntimeOptions {
        socket: args.socket,
        image_root: args.image_root,
        new_session: args.new_session,
        component_cache: args.cache.or(&defaults.component_cache),
        ..defaults
    };
    signals::stopping(serve(options, stop.clone()), stop).await
}
