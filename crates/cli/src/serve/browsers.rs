//! `thinstream serve --webrtc`: arguments and printing.

use apps::browsers::{BrowsersError, BrowsersOptions, Setting, browsers};
use base::{Duration, Probability};

use crate::address::LocalAddress;
use crate::failure::Failure;
use crate::output;

/// Port of the page, unless told otherwise.
const PORT: u16 = 8080;

/// The page for browsers and its link.
#[derive(clap::Args)]
#[command(next_help_heading = "Browsers")]
pub(crate) struct Browsers {
    /// Serve a page for browsers instead, at this address over HTTP: it compares two recovery
    /// policies over WebRTC data channels and a lossy link. Without ADDR, for browsers of this
    /// machine: 127.0.0.1:8080.
    #[arg(
        long, value_name = "ADDR", num_args = 0..=1, default_missing_value = "127.0.0.1",
        conflicts_with_all = [
            "listen", "local", "sctp_port", "sink", "streams", "policy", "same_clock", "associations", "per_peer", "memory",
            "shards", "duration", "authorised", "Security", "Paths", "Recording", "Overrides",
        ]
    )]
    webrtc: Option<LocalAddress>,
    /// Delay of the page's link, one way; its sliders change it.
    #[arg(long, value_name = "DURATION", requires = "webrtc", default_value = "50ms")]
    delay: Duration,
    /// Share of packets that the page's link loses, each way.
    #[arg(long, value_name = "PROBABILITY", requires = "webrtc", default_value = "5%")]
    loss: Probability,
}

impl Browsers {
    /// Options of the page, if it is to be served.
    pub(crate) fn options(&self) -> Option<BrowsersOptions> {
        let listen = self.webrtc?.or_port(PORT);
        let setting = Setting { delay: self.delay, loss: self.loss, ..Setting::default() };
        Some(BrowsersOptions { listen, setting })
    }
}

/// Serves the page until Ctrl-C.
pub(crate) fn serve(options: &BrowsersOptions) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Failure::network(format!("cannot start: {error}")))?;
    let ready = |page| _ = output::print(&format!("open http://{page}/ in a browser"));
    runtime.block_on(browsers(options, ready)).map_err(|error| match error {
        BrowsersError::Setting(_) => Failure::usage(error),
        _ => Failure::network(error),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::line::parse;
    use crate::serve::Arguments;

    fn options(typed: &[&str]) -> Result<Option<BrowsersOptions>, String> {
        let arguments = parse::<Arguments>(typed).map_err(|error| error.to_string())?;
        Ok(arguments.browsers.options())
    }

    #[test]
    fn the_page_is_served_at_this_machine_unless_told_otherwise() {
        let page = |typed: &[&str]| options(typed).unwrap().unwrap();
        let usual = page(&["--webrtc"]);
        assert_eq!(usual.listen, "127.0.0.1:8080".parse().unwrap());
        assert_eq!(usual.setting, Setting::default());
        let other = page(&["--webrtc", "::", "--delay", "20ms", "--loss", "1%"]);
        assert_eq!(other.listen, "[::]:8080".parse().unwrap());
        assert_eq!(other.setting.delay, Duration::from_millis(20));
        assert_eq!(other.setting.loss, Probability::from_f64(0.01));
        assert_eq!(page(&["--webrtc", "10.0.0.1:9000"]).listen, "10.0.0.1:9000".parse().unwrap());
        assert!(options(&["127.0.0.1:0", "--sink"]).unwrap().is_none());
    }

    #[test]
    fn what_does_not_belong_to_the_page_is_refused() {
        for (typed, named) in [
            (&["--webrtc", "--sink"][..], "--sink"),
            (&["--webrtc", "--plain"], "--plain"),
            (&["--webrtc", "--policy", "rfc"], "--policy"),
            (&["--webrtc", "--rto-min", "300ms"], "--rto-min"),
            (&["--delay", "50ms"], "--webrtc"),
            (&["--webrtc", "nowhere"], "nowhere"),
            (&["--webrtc", "--loss", "150%"], "150%"),
        ] {
            let error = options(typed).unwrap_err();
            assert!(error.contains(named), "{typed:?}: {error}");
        }
    }
}
