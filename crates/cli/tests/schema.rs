//! The JSON of every command is as docs/schema describes it, no name more and none less.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod support;

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use interop::{Namespace, Process, Wire, available};
use nix::sys::signal::Signal;
use serde_json::Value;
use support::root;

const LIMIT: Duration = Duration::from_secs(120);

fn thinstream(line: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_thinstream"));
    command.args(line.split(' ')).current_dir(root()).stdin(Stdio::null());
    // Keys that are made on the way are not the user's.
    command.env_remove("STATE_DIRECTORY").env("XDG_STATE_HOME", env!("CARGO_TARGET_TMPDIR"));
    command
}

/// Output of a command, whatever its exit code: the JSON is printed if a check failed, too.
fn printed(line: &str) -> Value {
    let output = thinstream(line).output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    serde_json::from_slice(&output.stdout).unwrap_or_else(|why| panic!("{line}: {why}; {told}"))
}

/// A schema, in the part of JSON Schema (2020-12) that docs/schema uses.
struct Schema(Value);

impl Schema {
    fn read(name: &str) -> Schema {
        let path = root().join(format!("docs/schema/{name}.json"));
        let text =
            fs::read_to_string(&path).unwrap_or_else(|why| panic!("{}: {why}", path.display()));
        Schema(serde_json::from_str(&text).unwrap())
    }

    /// Deviations of a value from the schema, each with its path.
    fn wrong(&self, value: &Value) -> Vec<String> {
        let mut wrong = Vec::new();
        self.check(&self.0, value, "", &mut wrong);
        wrong
    }

    fn check(&self, schema: &Value, value: &Value, at: &str, wrong: &mut Vec<String>) {
        let keywords = schema.as_object().unwrap();
        for (keyword, wanted) in keywords {
            match keyword.as_str() {
                "$schema"
                | "$defs"
                | "title"
                | "description"
                | "required"
                | "additionalProperties" => {}
                "$ref" => {
                    let name = wanted.as_str().unwrap().strip_prefix("#/$defs/").unwrap();
                    self.check(&self.0["$defs"][name], value, at, wrong);
                }
                "type" => {
                    let types = wanted.as_array().cloned().unwrap_or_else(|| vec![wanted.clone()]);
                    if !types.iter().any(|one| is_of(one.as_str().unwrap(), value)) {
                        wrong.push(format!("{at}: {value} is not of type {wanted}"));
                    }
                }
                "anyOf" => {
                    let tried = wanted.as_array().unwrap().iter().map(|one| {
                        let mut wrong = Vec::new();
                        self.check(one, value, at, &mut wrong);
                        wrong
                    });
                    // Of several ways to be wrong the last is that of the value which is not null.
                    let tried: Vec<Vec<String>> = tried.collect();
                    if tried.iter().all(|wrong| !wrong.is_empty()) {
                        wrong.extend(tried.into_iter().last().unwrap_or_default());
                    }
                }
                "enum" => {
                    if !wanted.as_array().unwrap().contains(value) {
                        wrong.push(format!("{at}: {value} is none of {wanted}"));
                    }
                }
                "items" => {
                    let items = value.as_array().into_iter().flatten().enumerate();
                    items.for_each(|(n, item)| {
                        self.check(wanted, item, &format!("{at}[{n}]"), wrong)
                    });
                }
                "properties" => self.members(schema, value, at, wrong),
                other => panic!("{at}: the keyword {other} is none that is understood here"),
            }
        }
        // A schema of an object without properties names what each member is.
        if let (Some(each), None) = (schema.get("additionalProperties"), schema.get("properties")) {
            let members = value.as_object().into_iter().flatten();
            members.for_each(|(name, one)| self.check(each, one, &format!("{at}.{name}"), wrong));
        }
    }

    fn members(&self, schema: &Value, value: &Value, at: &str, wrong: &mut Vec<String>) {
        let Some(members) = value.as_object() else { return };
        for (name, member) in members {
            match schema["properties"].get(name) {
                Some(of) => self.check(of, member, &format!("{at}.{name}"), wrong),
                None => wrong.push(format!("{at}.{name} is not described")),
            }
        }
        for name in schema["required"].as_array().into_iter().flatten() {
            if !members.contains_key(name.as_str().unwrap()) {
                wrong.push(format!("{at}: {name} is missing"));
            }
        }
    }
}

fn is_of(kind: &str, value: &Value) -> bool {
    match kind {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        "integer" => value.is_u64() || value.is_i64(),
        "number" => value.is_number(),
        other => panic!("{other} is no type"),
    }
}

fn holds(name: &str, value: &Value) {
    let wrong = Schema::read(name).wrong(value);
    assert!(wrong.is_empty(), "docs/schema/{name}.json: {}", wrong.join("\n"));
}

#[test]
fn what_is_not_described_is_found() {
    let schema = Schema(serde_json::json!({
        "$defs": { "count": { "type": ["integer", "null"] } },
        "type": "object",
        "properties": {
            "a": { "$ref": "#/$defs/count" },
            "n": { "anyOf": [{ "type": "null" }, { "type": "string" }] },
            "b": { "type": "array", "items": { "enum": ["x", "y"] } },
            "c": { "type": "object", "additionalProperties": { "type": "string" } },
        },
        "required": ["a"],
    }));
    let wrong = |value| schema.wrong(&value).len();
    assert_eq!(wrong(serde_json::json!({ "a": 1, "b": ["x"], "c": { "any": "text" } })), 0);
    assert_eq!(wrong(serde_json::json!({ "a": null })), 0);
    assert_eq!(wrong(serde_json::json!({ "a": 1, "n": null })), 0);
    assert_eq!(wrong(serde_json::json!({ "a": 1, "n": 5 })), 1);
    assert_eq!(wrong(serde_json::json!({})), 1);
    assert_eq!(wrong(serde_json::json!({ "a": 1.5, "b": ["z"], "c": { "any": 1 }, "d": 0 })), 4);
}

#[test]
fn the_laboratory_prints_what_its_schemas_say() {
    let plan = "sctp-thin/fig8a --small --seeds 1 --json";
    let results =
        std::env::temp_dir().join(format!("thinstream-schema-lab-{}", std::process::id()));
    holds("lab-run", &printed(&format!("lab run {plan}")));
    holds("lab-compare", &printed(&format!("lab compare {COMPARED} --json")));
    let pair = "--key flow.stream.policy linux latency";
    holds("lab-compare-key", &printed(&format!("lab compare {COMPARED} {pair} --json")));
    holds("lab-reproduce", &printed(&format!("lab reproduce {plan} --out {}", results.display())));
    let folder = |name: &str| results.join(name).display().to_string();
    let (first, second, whole) = (folder("1"), folder("2"), folder("whole"));
    holds("lab-run", &printed(&format!("lab run {plan} --shard 1/2 --out {first}")));
    holds("lab-run", &printed(&format!("lab run {plan} --shard 2/2 --out {second}")));
    holds("lab-run", &printed(&format!("lab merge {plan} --out {whole} {first} {second}")));
    fs::remove_dir_all(results).unwrap();
    holds("lab-list", &printed("lab list --json"));
    holds("lab-fit", &printed("lab fit rto-wlan/analysis --small --tries 9 --json"));
    holds("lab-workloads", &printed("lab workloads --json"));
    holds("lab-networks", &printed("lab networks --json"));
}

/// A plan that is one [[flow]] and measures cost.
const COMPARED: &str = "crates/apps/src/doctor/kernel.toml --seeds 2";

#[test]
fn scripts_and_the_doctor_print_what_their_schemas_say() {
    let scripts = "conformance/sctp/rto";
    holds("conformance", &printed(&format!("conformance --json {scripts} conformance/tcp/rto")));
    let mutants = format!("conformance --mutate --share 50 --json {scripts}");
    holds("conformance-mutate", &printed(&mutants));
    holds("doctor", &printed("doctor --quick --json"));
}

/// A process that a test started, ended with it.
struct Started(Child);

impl Started {
    fn new(line: &str) -> Started {
        Started(thinstream(line).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap())
    }

    fn printed(mut self) -> Value {
        let mut text = String::new();
        std::io::Read::read_to_string(&mut self.0.stdout.take().unwrap(), &mut text).unwrap();
        self.0.wait().unwrap();
        serde_json::from_str(&text).unwrap()
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A UDP port of loopback that was free a moment ago.
fn free_port() -> u16 {
    std::net::UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

#[test]
fn demo_and_trace_print_what_their_schemas_say() {
    let folder = std::env::temp_dir().join(format!("thinstream-schema-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let capture = folder.join("demo.pcapng").display().to_string();
    let events = folder.join("demo.jsonl");
    let demo = "demo --virtual --messages 60 --flows 3 --policies thin --json";
    holds("demo", &printed(&format!("{demo} --pcap {capture} --events {}", events.display())));
    let lines = fs::read_to_string(&events).unwrap();
    let lines: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    lines.iter().for_each(|line| holds("events", line));
    for kind in ["sent", "resent", "acknowledged", "lost", "timeout", "window"] {
        assert!(lines.iter().any(|line| line["event"] == kind), "no event {kind}");
    }
    holds(
        "trace",
        &printed(&format!("trace summary --json --percentiles 50 --packets 1-3 {capture}")),
    );
    let copy = folder.join("copy.pcapng").display().to_string();
    fs::copy(&capture, &copy).unwrap();
    holds("trace", &printed(&format!("trace latency --json {capture} --receiver {copy}")));
    let replayed = printed(&format!("trace replay --json {capture}"));
    holds("lab-run", &replayed);
    for price in ["cost.bytes", "cost.needless"] {
        assert!(replayed.to_string().contains(price), "the gain stands without {price}");
    }
    let output =
        thinstream(&format!("trace latency {capture} --receiver {capture}")).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("the sender's capture itself"));
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn an_edge_prints_lines_of_what_its_schema_says() {
    let Some(()) = available(Wire::find()) else { return };
    let namespace = Namespace::new().unwrap();
    let listener = namespace.enter(|| TcpListener::bind("127.0.0.1:0")).unwrap().unwrap();
    let service = listener.local_addr().unwrap();
    let device = "edge --json --interval 50ms --device edge0 --address 10.78.0.2/24";
    let line = format!("{device} --listen 80 --forward {service}");
    let process = Process::start(Some(&namespace), thinstream(&line)).unwrap();
    process.wait_for_line("edge0 is up", LIMIT).unwrap();
    let client = namespace.enter(|| TcpStream::connect("10.78.0.2:80")).unwrap().unwrap();
    drop(listener.accept().unwrap());
    process.wait_for_line("\"connections\":[{", LIMIT).unwrap();
    drop(client);
    process.signal(Signal::SIGTERM);
    process.wait_for_line("\"event\":\"report\"", LIMIT).unwrap();
    process.wait(LIMIT).unwrap();
    let lines = process.lines_with("{");
    assert!(lines.len() >= 2, "{lines:?}");
    lines.iter().for_each(|line| holds("edge", &serde_json::from_str(line).unwrap()));
}

#[test]
fn serve_send_and_emulate_print_what_their_schemas_say() {
    let (server, relay) = (free_port(), free_port());
    let serve = Started::new(&format!("serve 127.0.0.1:{server} --duration 6s --json"));
    let path = format!("--listen 127.0.0.1:{relay} --forward 127.0.0.1:{server} --loss 2%");
    let emulate = Started::new(&format!("emulate {path} --duration 6s --json"));
    let line = format!("send 127.0.0.1:{relay} --count 40 --interval 10ms --json");
    // Until both listen, which a busy machine lets wait, INITs are sent again.
    holds("send", &printed(&line));
    holds("emulate", &emulate.printed());
    holds("serve", &serve.printed());
}
