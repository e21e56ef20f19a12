//! `thinstream serve`: arguments and printing.

mod browsers;

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;

use apps::serve::{ServeError, ServeOptions, serve};
use base::{ByteCount, Duration};
use recovery::policy::{Protocol, SCTP_DEFAULT};
use thinstream::{Identity, Trust};

use self::browsers::Browsers;
use crate::address::{HostPort, LocalAddress, check_distinct};
use crate::failure::Failure;
use crate::failures::Failures;
use crate::number::{MOST_ASSOCIATIONS, some_memory, some_shards, within};
use crate::paths::Paths;
use crate::policy::{NamedPolicy, Overrides, PolicyParser, Sctp, with_presets};
use crate::recording::Recording;
use crate::security::Security;
use crate::{live, output};

/// Port at which servers listen, unless told otherwise.
const SERVER_PORT: u16 = thinstream::DEFAULT_PORT;

/// Serve measuring clients: send their messages back, or count them only.
///
/// Pairs with "thinstream send". Any other SCTP client over UDP is served as well: what it sends
/// comes back on the same stream. Ctrl-C ends it and prints what happened. Traffic is encrypted
/// (DTLS 1.3), and clients know the server by the fingerprint that it prints; its key is made at
/// the first start and kept in $STATE_DIRECTORY, or in $XDG_STATE_HOME/thinstream
/// (~/.local/state/thinstream).
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Address to listen at, over UDP; port 0 selects a free port.
    #[arg(value_name = "ADDR", default_value = "[::]:9899")]
    listen: HostPort,
    /// Address of this machine to listen at, instead of ADDR; repeat for the paths of a multihomed
    /// server. Port 9899 unless it names another.
    #[arg(long, value_name = "ADDR", conflicts_with = "listen")]
    local: Vec<LocalAddress>,
    /// SCTP port to listen at.
    #[arg(long, value_name = "PORT", default_value_t = thinstream::DEFAULT_PORT, value_parser = within(1..=u16::MAX), help_heading = "Connection")]
    sctp_port: u16,
    /// Count messages and send no answers.
    #[arg(long)]
    sink: bool,
    /// Streams granted to each client.
    #[arg(long, value_name = "N", default_value_t = 2048, value_parser = within(1..=u16::MAX))]
    streams: u16,
    #[arg(long, value_name = "NAME", default_value = SCTP_DEFAULT, value_parser = PolicyParser(Protocol::Sctp), hide_possible_values = true, help = with_presets("Recovery policy", Protocol::Sctp))]
    policy: NamedPolicy,
    /// Clients on other machines have clocks as good as this one's: believe one-way latency.
    #[arg(long)]
    same_clock: bool,
    /// Most clients at a time. At the limit, a client that never sent a message, or else the one
    /// idle the longest, makes room for a new one; if there is none, new clients are refused.
    /// Default: 65536, or one for each 16 KiB of --memory if that is less.
    #[arg(long, value_name = "N", value_parser = within(1..=MOST_ASSOCIATIONS), help_heading = "Limits")]
    associations: Option<usize>,
    /// Most clients of one address at a time (with IPv6, of one /64); further ones are refused.
    /// Clients behind a NAT share one. Default: an eighth of --associations, at least 64.
    #[arg(long, value_name = "N", value_parser = within(1..=MOST_ASSOCIATIONS), help_heading = "Limits")]
    per_peer: Option<usize>,
    /// Most bytes that all associations together may hold. At the limit clients wait, except for
    /// those that hold little, and clients that hold much without progress are ended.
    #[arg(long, value_name = "SIZE", default_value = "1GiB", value_parser = some_memory, help_heading = "Limits")]
    memory: ByteCount,
    /// Number of shards, 1 to 256, each with a socket and a task of its own: N use N cores, and
    /// need 1 MiB of --memory each.
    #[arg(long, value_name = "N", default_value = "1", value_parser = some_shards)]
    shards: NonZeroUsize,
    /// Duration; by default until Ctrl-C.
    #[arg(long, value_name = "DURATION")]
    duration: Option<Duration>,
    #[command(flatten)]
    security: Security,
    /// Serve only clients whose keys are in this file: a name and a fingerprint a line. Others get
    /// no answer.
    #[arg(long, value_name = "FILE", conflicts_with = "plain", help_heading = "Security")]
    authorised: Option<PathBuf>,
    /// Serve only clients whose certificates are signed by an authority whose certificate is in
    /// this file (PEM). Others get no answer.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["plain", "authorised"], help_heading = "Security")]
    ca: Option<PathBuf>,
    #[command(flatten)]
    browsers: Browsers,
    #[command(flatten)]
    paths: Paths,
    #[command(flatten)]
    recording: Recording,
    #[command(flatten)]
    overrides: Overrides<Sctp>,
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    if let Some(page) = arguments.browsers.options() {
        return browsers::serve(&page);
    }
    let options = arguments.options()?;
    apps::check_descriptors().map_err(Failure::network)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Failure::network(format!("cannot start: {error}")))?;
    let report = {
        let mut notice = live::notices();
        runtime.block_on(serve(&options, &mut notice)).map_err(|error| match error {
            ServeError::File(_) => Failure::usage(error),
            ServeError::Bind(_) | ServeError::Endpoint(_) => Failure::network(error),
        })?
    };
    let port = options
        .listen
        .first()
        .filter(|_| !arguments.security.raw_ip)
        .map(|one| one.port().to_string());
    arguments.recording.print_how_to_read(port.as_deref(), &report.unwritten);
    let printed = match arguments.recording.json {
        true => output::print(&serde_json::to_string_pretty(&report).unwrap_or_default()),
        false => output::print(&report.to_string()),
    };
    let mut failures = Failures::default();
    failures.keep(report.failure.as_ref().map_or(Ok(()), |why| Err(Failure::network(why))));
    failures.keep(printed);
    failures.keep_files(&report.unwritten);
    failures.finish()
}

impl Arguments {
    /// The key of the file that was named, or of the usual one, which is made at the first start.
    fn identity(&self) -> Result<Option<Identity>, Failure> {
        if self.security.plain || self.security.key.is_some() {
            return self.security.named_key();
        }
        let key = apps::usual_key().and_then(|file| apps::read_or_make_key(&file));
        key.map(Some).map_err(Failure::usage)
    }

    fn clients(&self) -> Result<Trust, Failure> {
        let authority = self.ca.as_deref().map(apps::read_client_authority);
        let authorised =
            authority.or_else(|| self.authorised.as_deref().map(apps::read_authorised));
        Ok(authorised.transpose().map_err(Failure::usage)?.unwrap_or(Trust::Any))
    }

    fn options(&self) -> Result<ServeOptions, Failure> {
        let mut policy = self.policy.policy.clone();
        self.overrides.apply(&mut policy)?;
        check_distinct(&self.local)?;
        self.recording.check(None)?;
        let mut options = ServeOptions::new(self.listen.resolve()?);
        if !self.local.is_empty() {
            options.listen = self.local.iter().map(|local| local.or_port(SERVER_PORT)).collect();
        }
        Ok(ServeOptions {
            encapsulation: self.security.encapsulation()?,
            identity: self.identity()?,
            clients: self.clients()?,
            sctp_port: self.sctp_port,
            echo: !self.sink,
            streams: self.streams,
            policy_name: self.policy.name.clone(),
            policy: Arc::new(policy),
            association: self.paths.options(),
            dead_after: self.paths.dead_after(),
            same_clock: self.same_clock,
            max_associations: self.associations,
            max_per_peer: self.per_peer,
            memory: usize::try_from(self.memory.0).unwrap_or(usize::MAX),
            shards: self.shards,
            duration: self.duration,
            pcap: self.recording.pcap.clone(),
            events: self.recording.events.clone(),
            verbose: self.recording.verbose,
            ..options
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::line::parse;
    use recovery::RecoveryPolicy;

    #[test]
    fn a_server_echoes_with_the_default_policy_unless_told_otherwise() {
        let options = |typed: &[&str]| {
            let arguments = parse::<Arguments>(&[&["--plain"], typed].concat()).unwrap();
            arguments.options().unwrap()
        };
        let plain = options(&[]);
        assert!(plain.echo && plain.listen[0].port() == 9899 && plain.policy_name == SCTP_DEFAULT);
        assert_eq!(*plain.policy, RecoveryPolicy::sctp_default());
        let other = options(&["127.0.0.1:0", "--sink", "--policy", "rfc", "--rto-min", "300ms"]);
        assert!(!other.echo && other.policy_name == "rfc");
        assert_eq!(other.policy.rto.min, Duration::from_millis(300));
        assert_eq!((plain.max_associations, plain.max_per_peer), (None, None));
        assert_eq!(plain.memory, 1 << 30);
        let limited = options(&["--associations", "100", "--per-peer", "7", "--memory", "8MiB"]);
        assert_eq!((limited.max_associations, limited.max_per_peer), (Some(100), Some(7)));
        assert_eq!(limited.memory, 8 << 20);
        assert_eq!((plain.shards.get(), options(&["--shards", "4"]).shards.get()), (1, 4));
        let local = options(&["--local", "127.0.0.1", "--local", "127.0.0.2:7000"]).listen;
        assert_eq!(local, ["127.0.0.1:9899", "127.0.0.2:7000"].map(|text| text.parse().unwrap()));
    }

    #[test]
    fn limits_with_which_nothing_works_are_refused_with_what_would() {
        for (option, value, wanted) in [
            ("--associations", "0", "from 1 to"),
            ("--per-peer", "0", "from 1 to"),
            ("--per-peer", "many", "from 1 to"),
            ("--memory", "0", "at least 1MiB"),
            ("--memory", "1023KiB", "at least 1MiB"),
            ("--shards", "0", "from 1 to 256"),
            ("--shards", "257", "from 1 to 256"),
        ] {
            let error = parse::<Arguments>(&[option, value]).err().unwrap().to_string();
            assert!(error.contains(option) && error.contains(value), "{error}");
            assert!(error.contains(wanted), "{error}");
        }
    }
}
