//! `thinstream lab live`: arguments and printing.

use std::path::PathBuf;

use apps::live::{embedded, live_until};

use crate::address::LocalAddress;
use crate::failure::Failure;
use crate::file::refuse_existing;
use crate::output;

/// Port of the page, unless told otherwise.
const PORT: u16 = 8090;

/// Serve the laboratory as a page: two recovery policies side by side, in the browser, steered
/// while they run.
///
/// The page is one file that asks the network for nothing: it may as well lie on any web server, or
/// be opened from a disk (--write).
#[derive(clap::Args)]
pub(super) struct Arguments {
    /// Address of the page, over HTTP; without a port, 8090.
    #[arg(value_name = "ADDR", default_value = "127.0.0.1")]
    listen: LocalAddress,
    /// A page that "make live" built, instead of the one that the command was built with.
    #[arg(long, value_name = "FILE")]
    page: Option<PathBuf>,
    /// Write the page to this file instead of serving it.
    #[arg(long, value_name = "FILE")]
    write: Option<PathBuf>,
    /// Replace a page of --write that is there already; without it such a file is refused.
    #[arg(long, requires = "write")]
    anew: bool,
}

pub(super) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let page = page(arguments)?;
    if let Some(path) = &arguments.write {
        refuse_existing(path, arguments.anew)?;
        return std::fs::write(path, page).map_err(|error| Failure::file(path, error));
    }
    let listen = arguments.listen.or_port(PORT);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Failure::network(format!("cannot start: {error}")))?;
    let ready = |page| _ = output::print(&format!("open http://{page}/ in a browser"));
    let served = runtime.block_on(live_until(page, listen, ready, apps::interrupted()));
    served.map_err(|error| Failure::network(format!("cannot listen at {listen} over TCP: {error}")))
}

fn page(arguments: &Arguments) -> Result<Vec<u8>, Failure> {
    match (&arguments.page, embedded()) {
        (Some(path), _) => std::fs::read(path)
            .map_err(|error| Failure::usage(format!("--page {}: {error}", path.display()))),
        (None, Some(page)) => Ok(page.to_vec()),
        (None, None) => Err(Failure::usage(
            "this command was built without the live page; in the sources, \"make live\" builds both (it needs npm and the \
             target wasm32-unknown-unknown), or give a page that it built: --page web/dist/live/live.html",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arguments(page: Option<&str>) -> Arguments {
        let listen = "127.0.0.1".parse().unwrap();
        Arguments { listen, page: page.map(PathBuf::from), write: None, anew: false }
    }

    #[test]
    fn a_page_that_is_missing_is_named_with_how_to_get_one() {
        let error = page(&arguments(Some("/nowhere/live.html"))).unwrap_err().to_string();
        assert!(error.contains("/nowhere/live.html"), "{error}");
        match embedded() {
            Some(_) => assert!(!page(&arguments(None)).unwrap().is_empty()),
            None => {
                let error = page(&arguments(None)).unwrap_err().to_string();
                assert!(error.contains("make live"), "{error}");
            }
        }
    }
}
