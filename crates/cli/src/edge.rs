//! `thinstream edge`: arguments and printing.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use apps::edge::{
    EdgeError, EdgeFile, EdgeNotice, EdgeOptions, EdgeStatus, Listen, Network, RouteError, Service,
    ServiceFile, edge,
};
use base::{ByteCount, Duration};
use recovery::policy::{Changes, Protocol, TCP_DEFAULT};

use crate::address::HostPort;
use crate::failure::Failure;
use crate::live::{Printed, Printer, Screen};
use crate::number::times;
use crate::output;
use crate::policy::{NamedPolicy, OrOff, Overrides, PolicyParser, Tcp, tcp_preset, with_presets};

/// Terminate unmodified clients' TCP with the userspace stack, and forward each connection to a
/// local service.
///
/// Brings up a TUN device; the edge is a host of its own behind it. The clients need nothing: loss
/// recovery and all mechanisms of the policy work on this side alone. Needs root or CAP_NET_ADMIN.
/// SIGTERM, Ctrl-C or the end of its terminal ends it once its connections have, and a second one
/// at once. Traffic is as encrypted as the service makes it.
///
/// Example: thinstream edge --address 10.78.0.2/24 --listen 22 --forward 127.0.0.1:22
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Address of the edge, with the length of the prefix of the network that it shares with this
    /// machine; one IPv4 address, any number of IPv6 addresses.
    #[arg(long, value_name = "ADDR/LEN")]
    address: Vec<Network>,
    /// Port at which clients reach a service, or an address of the edge with a port; followed by
    /// --forward. Repeat for several services.
    #[arg(long, value_name = "PORT|ADDR:PORT")]
    listen: Vec<Listen>,
    /// Real address of the service of the preceding --listen.
    #[arg(long, value_name = "ADDR:PORT")]
    forward: Vec<HostPort>,
    #[arg(long, value_name = "NAME", value_parser = PolicyParser(Protocol::Tcp), hide_possible_values = true, help = policy_help())]
    policy: Vec<NamedPolicy>,
    /// Send the service a line with the client's address before the client's data (PROXY protocol,
    /// version 1).
    #[arg(long)]
    proxy_protocol: bool,
    /// Most connections to a service at a time; further ones are reset. Default: 65536, or as many
    /// as the process may have open files.
    #[arg(long, value_name = "N", help_heading = "Limits")]
    max_connections: Option<usize>,
    /// Most connections of one client address to a service at a time (with IPv6, of one /64);
    /// further ones are reset. Default: 256.
    #[arg(long, value_name = "N", help_heading = "Limits")]
    max_per_client: Option<usize>,
    /// Silence of a client after which its connection is reset, 30s. "off" leaves this to the
    /// limits of TCP, which take minutes with outstanding data and hours without. A silent
    /// client is probed after a third of this time.
    #[arg(long, value_name = "DURATION|off", help_heading = "Limits")]
    dead_after: Option<OrOff<Duration>>,
    /// Memory limit of this process in bytes. Once connections hold the part for data, clients
    /// wait, except for those that hold little. Default: 512 MiB.
    #[arg(long, value_name = "SIZE", help_heading = "Limits")]
    memory: Option<ByteCount>,
    /// TOML file with all of these options; options of the command line take precedence.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Name of the TUN device; by default the system chooses one.
    #[arg(long, value_name = "NAME", help_heading = "Device")]
    device: Option<String>,
    /// Largest IP packet in bytes.
    #[arg(long, value_name = "N", help_heading = "Device")]
    mtu: Option<u16>,
    /// Parts of the edge, 1 to 256, each with a queue of the device, a stack and a thread of its
    /// own: N use N cores. Without it, 1.
    #[arg(long, value_name = "N", help_heading = "Device")]
    shards: Option<usize>,
    /// Let no packet larger than the MTU pass the device (no GSO, no GRO).
    #[arg(long, help_heading = "Device")]
    no_offload: bool,
    /// Apply the rules by which clients on other machines reach the edge at this machine's
    /// addresses (nftables), and remove them at the end. Without it, the rules are only
    /// printed.
    #[arg(long, help_heading = "Clients on other machines")]
    setup: bool,
    /// Network interface of these clients; any by default.
    #[arg(long, value_name = "INTERFACE", help_heading = "Clients on other machines")]
    outside: Option<String>,
    /// Serve metrics for Prometheus at this address, under /metrics.
    #[arg(long, value_name = "ADDR:PORT")]
    metrics: Option<SocketAddr>,
    /// Time for existing connections to finish once the edge is asked to end.
    #[arg(long, value_name = "DURATION")]
    drain: Option<Duration>,
    /// Interval at which the state is shown.
    #[arg(long, value_name = "DURATION", default_value = "1s")]
    interval: Duration,
    /// Print the state of all connections as a line of JSON at each interval, and a report at the
    /// end.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    overrides: Overrides<Tcp>,
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let options = arguments.options()?;
    // Further shards have threads of their own.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Failure::network(format!("cannot start: {error}")))?;
    let report = {
        let mut notice = notices(&options, arguments.json);
        runtime.block_on(edge(&options, &mut notice)).map_err(|error| match error {
            EdgeError::Options(_)
            | EdgeError::NetworkInUse { .. }
            | EdgeError::Listen { .. }
            | EdgeError::Routes(RouteError::NoInterface(..)) => Failure::usage(error),
            EdgeError::Tun(ref wrong) if wrong.kind() == std::io::ErrorKind::InvalidInput => {
                Failure::usage(error)
            }
            _ => Failure::network(error),
        })?
    };
    let printed = match arguments.json {
        true => output::print(&tagged("report", &report)),
        false => output::print(&report.to_string()),
    };
    if printed.is_err() {
        // A full disk behind standard output must not lose what days have added up.
        output::note(&report.to_string());
    }
    printed
}

/// One line of JSON that says what it is.
fn tagged(event: &str, value: &impl serde::Serialize) -> String {
    #[derive(serde::Serialize)]
    struct Tagged<'a, T> {
        event: &'a str,
        #[serde(flatten)]
        value: &'a T,
    }
    // Written as it is: with thousands of connections a tree of values would take more memory than
    // they do.
    serde_json::to_string(&Tagged { event, value }).unwrap_or_default()
}

/// Prints lines about an edge, and its state in one place or as lines of JSON; a reader that is
/// slow, or gone, keeps no packet waiting.
fn notices(options: &EdgeOptions, json: bool) -> impl FnMut(EdgeNotice) {
    /// Connections shown on a terminal.
    const SHOWN: usize = 20;
    let listening = describe(options);
    let mut screen = Screen::new();
    let mut printer = Printer::new(move |printed: Printed<EdgeStatus>| match printed {
        Printed::Line(text) => screen.note(&text),
        Printed::State(status) => {
            let elapsed = Duration::from_secs_f64(status.elapsed_s);
            screen.show_lines(elapsed, &status.lines(SHOWN));
        }
    });
    // The readers of standard output and of standard error do not wait for each other.
    let mut objects = json.then(|| {
        Printer::new(|printed: Printed<EdgeStatus>| {
            if let Printed::State(status) = printed {
                // The reader of the objects may have gone; the edge goes on.
                let _ = output::print(&tagged("status", &status));
            }
        })
    });
    move |notice| match notice {
        EdgeNotice::Status(status) => objects.as_mut().unwrap_or(&mut printer).state(status),
        notice => lines(&notice, &listening).into_iter().for_each(|line| printer.line(line)),
    }
}

/// Permanent lines for a notice.
fn lines(notice: &EdgeNotice, listening: &str) -> Vec<String> {
    let one = |text: &str| vec![text.to_owned()];
    match notice {
        EdgeNotice::Ready { device, metrics, routes, applied, most } => {
            let mut lines = vec![format!("edge: {device} is up; {listening}")];
            lines.extend(most.map(|most| {
                format!(
                    "edge: no more than {most} connections at a time, as this process may not open more files \
                     (ulimit -Hn; LimitNOFILE of systemd)"
                )
            }));
            lines.extend(
                metrics.map(|address| format!("edge: metrics at http://{address}/metrics")),
            );
            lines.push(match applied {
                true => "edge: rules for clients on other machines are in force".to_owned(),
                false => routes.to_string().trim_end().to_owned(),
            });
            lines
        }
        EdgeNotice::RulesLost { why } => vec![format!(
            "edge: the process that holds the rules was ended from outside, and they cannot be made anew, which is \
             tried again at each interval: {why}"
        )],
        EdgeNotice::RulesRestored => one(
            "edge: the process that holds the rules was ended from outside; they are in force again",
        ),
        EdgeNotice::Draining { connections } => vec![format!(
            "edge: takes no more connections and waits for {connections}; once more ends it at once"
        )],
        EdgeNotice::Status(_) => Vec::new(),
    }
}

fn describe(options: &EdgeOptions) -> String {
    let one = |service: &Service| {
        let places = service.listen.at(&options.addresses);
        let places: Vec<String> = places.iter().map(ToString::to_string).collect();
        format!("{} to {} ({})", places.join(" and "), service.forward, service.policy_name)
    };
    options.services.iter().map(one).collect::<Vec<_>>().join(", ")
}

impl Arguments {
    fn options(&self) -> Result<EdgeOptions, Failure> {
        let file = match &self.config {
            Some(path) => EdgeFile::read(path).map_err(Failure::usage)?,
            None => EdgeFile::default(),
        };
        let typed = !self.address.is_empty();
        let addresses = if typed { self.address.clone() } else { file.address.clone() };
        let mut options = EdgeOptions::new(addresses);
        options.device = self.device.clone().or(file.device.clone());
        options.mtu = self.mtu.or(file.mtu).unwrap_or(options.mtu);
        options.shards = self.shards.or(file.shards).unwrap_or(1);
        options.offload = !self.no_offload && file.offload.unwrap_or(true);
        if let Some(memory) = self.memory.or(file.memory) {
            options.memory = usize::try_from(memory.0).unwrap_or(usize::MAX);
        }
        options.metrics = self.metrics.or(file.metrics);
        options.drain = self.drain.or(file.drain).unwrap_or(options.drain);
        options.interval = self.interval;
        options.setup = self.setup || file.setup.unwrap_or(false);
        options.outside = self.outside.clone().or(file.outside.clone());
        let common = file.policy.as_deref().map(tcp_preset).transpose();
        // Errors in the file are reported with its name.
        let of_file = |what: String| match &self.config {
            Some(path) => Failure::usage(format!("{}:{}", path.display(), file.placed(&what))),
            None => Failure::usage(what),
        };
        let common = common.map_err(of_file)?;
        for service in &file.service {
            let described = self.described(service, common.as_ref());
            options.services.push(described.map_err(|failure| match failure {
                Failure::Usage(what) => of_file(what),
                other => other,
            })?);
        }
        options.services.extend(self.typed(common.as_ref())?);
        options.check().map_err(|error| match &self.config {
            Some(path) => Failure::usage(format!("{error} (with what {} says)", path.display())),
            None => Failure::usage(error),
        })?;
        Ok(options)
    }

    /// The services of the command line; `common` is the policy of those that name none.
    fn typed(&self, common: Option<&NamedPolicy>) -> Result<Vec<Service>, Failure> {
        let (listen, forward, policies) = (&self.listen, &self.forward, &self.policy);
        if listen.len() != forward.len() {
            return Err(Failure::usage(format!(
                "--listen is given {} and --forward {}: each service needs one of both",
                times(listen.len()),
                times(forward.len())
            )));
        }
        if policies.len() > 1 && policies.len() != listen.len() {
            return Err(Failure::usage(format!(
                "--policy is given {} for {} services: give one for all, or one for each",
                times(policies.len()),
                listen.len()
            )));
        }
        let services = listen.iter().zip(forward).enumerate();
        let service = |(index, (listen, forward)): (usize, (&Listen, &HostPort))| {
            forward.check_reachable()?;
            let mut service = Service::new(*listen, forward.resolve()?);
            if let Some(named) = policies.get(index).or(policies.first()).or(common) {
                set_policy(&mut service, named);
            }
            service.proxy_protocol = self.proxy_protocol;
            self.limit(&mut service);
            self.override_policy(&mut service, None)?;
            Ok(service)
        };
        services.map(service).collect()
    }

    /// A service of the file; `common` is the policy of those that name none.
    fn described(
        &self,
        file: &ServiceFile,
        common: Option<&NamedPolicy>,
    ) -> Result<Service, Failure> {
        let wrong = |what: String| Failure::usage(format!("{}: {what}", file.called()));
        let mut service = Service::new(file.listen, file.resolve().map_err(wrong)?);
        let own = file.policy.as_deref().map(tcp_preset).transpose().map_err(wrong)?;
        // That of the command line is for its services, if it has any.
        let typed = self.policy.first().filter(|_| self.listen.is_empty());
        if let Some(named) = typed.or(own.as_ref()).or(common) {
            set_policy(&mut service, named);
        }
        if let Some(name) = &file.name {
            service.name = name.clone();
        }
        service.proxy_protocol = file.proxy_protocol || self.proxy_protocol;
        service.max_connections = file.max_connections.unwrap_or(service.max_connections);
        service.max_per_client = file.max_per_client.unwrap_or(service.max_per_client);
        self.limit(&mut service);
        service.buffer = file.buffer_bytes.unwrap_or(service.buffer);
        let silence = |key: &str, text: &Option<String>| {
            let parsed = text.as_deref().map(str::parse::<OrOff<Duration>>).transpose();
            parsed.map_err(|error| wrong(format!("{key}: {error}")))
        };
        let keep_alive = silence("keep_alive", &file.keep_alive)?;
        let dead_after = silence("dead_after", &file.dead_after)?;
        if keep_alive.is_some() && dead_after.as_ref().is_some_and(|dead| dead.0.is_some()) {
            let both = "keep_alive has no effect beside dead_after, which probes by itself: name one, or dead_after = \
                        \"off\" beside keep_alive";
            return Err(wrong(both.to_owned()));
        }
        if let Some(OrOff(idle)) = keep_alive {
            (service.keep_alive, service.dead_after) = (idle, None);
        }
        if let Some(OrOff(span)) = self.dead_after.or(dead_after) {
            service.dead_after = span;
        }
        self.override_policy(&mut service, Some(&file.recovery))?;
        Ok(service)
    }

    /// The limits of the command line.
    fn limit(&self, service: &mut Service) {
        if let Some(OrOff(span)) = self.dead_after {
            service.dead_after = span;
        }
        service.max_connections = self.max_connections.unwrap_or(service.max_connections);
        service.max_per_client = self.max_per_client.unwrap_or(service.max_per_client);
    }

    /// Single mechanisms: those of the file, then those of the command line.
    fn override_policy(
        &self,
        service: &mut Service,
        of_file: Option<&Changes>,
    ) -> Result<(), Failure> {
        let mut policy = (*service.policy).clone();
        if let Some(changes) = of_file {
            let wrong =
                |error| Failure::usage(format!("service \"{}\": recovery: {error}", service.name));
            changes.apply_for(Protocol::Tcp, &mut policy).map_err(wrong)?;
        }
        self.overrides.apply(&mut policy)?;
        if policy != *service.policy {
            service.policy_name.push_str(" with changes");
        }
        service.policy = Arc::new(policy);
        Ok(())
    }
}

fn policy_help() -> String {
    let what = "Recovery policy of the clients' connections, one for all services, or one for each";
    format!("{} [default: {TCP_DEFAULT}]", with_presets(what, Protocol::Tcp))
}

fn set_policy(service: &mut Service, named: &NamedPolicy) {
    service.policy_name.clone_from(&named.name);
    service.policy = Arc::new(named.policy.clone());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::line::parse;
    use recovery::RecoveryPolicy;

    fn options(typed: &[&str]) -> Result<EdgeOptions, Failure> {
        parse::<Arguments>(typed).unwrap().options()
    }

    const ADDRESS: [&str; 2] = ["--address", "10.78.0.2/24"];

    fn with_address(typed: &[&str]) -> Result<EdgeOptions, Failure> {
        options(&[&ADDRESS, typed].concat())
    }

    /// Options of an edge with a file of these contents.
    fn of_file(text: &str, typed: &[&str]) -> Result<EdgeOptions, Failure> {
        let (process, thread) = (std::process::id(), std::thread::current().id());
        let path = std::env::temp_dir().join(format!("thinstream-edge-{process}-{thread:?}.toml"));
        std::fs::write(&path, text).unwrap();
        let options = options(&[&["--config", path.to_str().unwrap()], typed].concat());
        std::fs::remove_file(&path).unwrap();
        options
    }

    #[test]
    fn services_are_pairs_of_listen_and_forward_in_their_order() {
        let two = with_address(&[
            "--listen",
            "22",
            "--forward",
            "127.0.0.1:22",
            "--listen",
            "80",
            "--forward",
            "127.0.0.1:8080",
            "--policy",
            "thin",
            "--policy",
            "rfc",
            "--rto-min",
            "300ms",
        ])
        .unwrap();
        let names: Vec<&str> = two.services.iter().map(|service| &*service.policy_name).collect();
        assert_eq!(names, ["thin with changes", "rfc with changes"]);
        assert_eq!(two.services[1].forward.port(), 8080);
        assert_eq!(two.services[1].policy.rto.min, Duration::from_millis(300));
        for typed in [
            &["--listen", "22"][..],
            &["--listen", "22", "--forward", "127.0.0.1:22", "--policy", "rfc", "--policy", "thin"],
        ] {
            assert!(matches!(with_address(typed), Err(Failure::Usage(_))), "{typed:?}");
        }
        for (option, number) in [
            ("--max-connections", "0"),
            ("--max-per-client", "0"),
            ("--shards", "0"),
            ("--shards", "257"),
            ("--mtu", "575"),
            ("--interval", "9ms"),
        ] {
            let typed = ["--listen", "22", "--forward", "127.0.0.1:22", option, number];
            let error = with_address(&typed).unwrap_err();
            assert!(matches!(&error, Failure::Usage(text) if text.contains(number)), "{error}");
        }
    }

    #[test]
    fn a_file_counts_less_than_the_command_line_and_its_mistakes_are_named() {
        let text = "address = \"10.78.0.2/24\"\nmtu = 1400\n[[service]]\nlisten = 22\n\
                    forward = \"127.0.0.1:22\"\nrecovery = { dup-threshold = 2, rto-min = \"300ms\" }\n";
        let plain = of_file(text, &[]).unwrap();
        assert_eq!((plain.mtu, plain.services.len()), (1400, 1));
        assert_eq!(plain.services[0].policy.loss.dup_threshold, 2);
        assert_eq!(plain.services[0].policy.rto.min, Duration::from_millis(300));
        let other = of_file(text, &["--mtu", "1300", "--dup-threshold", "1"]).unwrap();
        assert_eq!((other.mtu, other.services[0].policy.loss.dup_threshold), (1300, 1));
        for (wrong, named) in [
            (text.replace("dup-threshold", "dup-treshold"), "dup-treshold"),
            (text.replace("300ms", "300"), "300"),
            (text.replace("mtu", "mtv"), "mtv"),
            (text.replace("mtu = 1400", "shards = 0"), "shards is 0"),
            (format!("{text}max_connections = 0\n"), "max_connections is 0"),
            (format!("{text}max_per_client = 0\n"), "max_per_client is 0"),
            (format!("{text}buffer_bytes = 0\n"), "buffer_bytes is 0"),
            (format!("{text}keep_alive = \"0s\"\n"), "keep_alive is 0"),
            (format!("{text}dead_after = \"0s\"\n"), "dead_after is 0"),
            (format!("{text}dead_after = \"never\"\n"), "dead_after: "),
            (
                format!("{text}dead_after = \"9s\"\nkeep_alive = \"9s\"\n"),
                "keep_alive has no effect",
            ),
        ] {
            let error = of_file(&wrong, &[]).unwrap_err().to_string();
            assert!(error.contains(named), "{error}");
        }
    }

    #[test]
    fn a_mistake_in_a_file_has_its_line_and_column_and_what_was_meant() {
        let text = "address = \"10.78.0.2/24\"\nmetrics = \"127.0.0.1:9178\"\npolicy = \"thin\"\n[[service]]\n\
                    name = \"ssh\"\nlisten = 22\nforward = \"127.0.0.1:22\"\n";
        for (from, to, told) in [
            ("listen = 22", "listen = 70000", "6:10: \"70000\""),
            ("\"10.78.0.2/24\"", "7", "1:11: \"7\""),
            (
                "\"thin\"",
                "\"thinn\"",
                "3:10: there is no policy \"thinn\" for TCP; did you mean \"thin\"?",
            ),
            ("0.1:22\"", "0.1:notaport\"", "7:11: \"127.0.0.1:notaport\" is no host with a port"),
            ("0.1:22\"", "0.1:0\"", "7:11: \"127.0.0.1:0\" is no host with a port"),
            (
                "0.1:22\"",
                "0.1.9.9:22\"",
                "7:11: service \"ssh\": cannot find where \"127.0.0.1.9.9:22\"",
            ),
            ("127.0.0.1:9178", "1.2.3", "2:11: \"1.2.3\" is no address with a port"),
            ("forward", "dead_after = \"no\"\nforward", "7:14: service \"ssh\": dead_after: "),
            (
                "forward",
                "recovery = { rto-max = \"1ms\" }\nforward",
                "5:8: service \"ssh\": recovery: ",
            ),
        ] {
            assert!(text.contains(from), "{from}");
            let error = of_file(&text.replacen(from, to, 1), &[]).unwrap_err().to_string();
            assert!(error.contains(&format!(".toml:{told}")), "{to}: {error}");
        }
    }

    #[test]
    fn a_silent_client_is_given_up_after_half_a_minute_unless_something_else_is_asked_for() {
        let text =
            "address = \"10.78.0.2/24\"\n[[service]]\nlisten = 22\nforward = \"127.0.0.1:22\"\n";
        let silence = |more: &str, typed: &[&str]| {
            let service = of_file(&format!("{text}{more}"), typed).unwrap().services.remove(0);
            (service.dead_after, service.keep_alive)
        };
        let seconds = |seconds| Some(Duration::from_secs(seconds));
        let hours = seconds(7200);
        assert_eq!(silence("", &[]), (seconds(30), hours));
        assert_eq!(silence("dead_after = \"5min\"", &[]), (seconds(300), hours));
        assert_eq!(silence("dead_after = \"off\"", &[]), (None, hours));
        assert_eq!(silence("keep_alive = \"10min\"", &[]), (None, seconds(600)));
        assert_eq!(silence("keep_alive = \"off\"\ndead_after = \"off\"", &[]), (None, None));
        assert_eq!(silence("keep_alive = \"10min\"", &["--dead-after", "9s"]).0, seconds(9));
        assert_eq!(silence("dead_after = \"5min\"", &["--dead-after", "off"]).0, None);
        let typed = ["--listen", "22", "--forward", "127.0.0.1:22"];
        assert_eq!(with_address(&typed).unwrap().services[0].dead_after, seconds(30));
        let off = with_address(&[&typed[..], &["--dead-after", "off"]].concat()).unwrap();
        assert_eq!(off.services[0].dead_after, None);
    }

    #[test]
    fn the_files_policy_is_that_of_all_services_that_name_none() {
        let text = "address = \"10.78.0.2/24\"\npolicy = \"rfc\"\n[[service]]\nlisten = 80\n\
                    forward = \"127.0.0.1:80\"\n";
        let policies = |text: &str, typed: &[&str]| {
            let services = of_file(text, typed).unwrap().services;
            services.into_iter().map(|service| service.policy_name).collect::<Vec<_>>()
        };
        let typed = ["--listen", "22", "--forward", "127.0.0.1:22"];
        assert_eq!(policies(text, &typed), ["rfc", "rfc"]);
        let second = of_file(text, &typed).unwrap().services.pop().unwrap();
        assert_eq!(*second.policy, RecoveryPolicy::tcp_rfc());
        let with_its_own = format!("{text}policy = \"thin\"\n");
        assert_eq!(policies(&with_its_own, &typed), ["thin", "rfc"]);
        assert_eq!(policies(text, &[&typed[..], &["--policy", "sack"]].concat()), ["rfc", "sack"]);
        assert_eq!(policies(text, &["--policy", "sack"]), ["sack"]);
        let error = of_file(&text.replace("rfc", "rfd"), &typed).unwrap_err().to_string();
        assert!(error.contains("toml:2:10: ") && error.contains("\"rfd\""), "{error}");
    }
}
