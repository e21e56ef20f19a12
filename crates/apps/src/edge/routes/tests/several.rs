//! Several edges on one machine: files stand for its settings and its tables, the guards' shell is the real one.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use super::*;
use crate::edge::routes::guard::GUARD;

/// Lists the tables that are files of a directory.
const NFT: &str = r#"
nft() {
    case $* in
        -i) cat ;;
        "list tables inet") for name in $(ls "$TABLES"); do echo "table inet $name"; done ;;
        "list table inet "*) cat "$TABLES/$4" ;;
    esac
}
"#;

/// A machine with these settings.
struct Machine(PathBuf);

/// An edge on it.
struct Edge {
    table: String,
    notes: Vec<Note>,
}

impl System for Machine {
    fn read(&self, setting: &str) -> Option<String> {
        Some(fs::read_to_string(self.file(setting)).ok()?.trim().to_owned())
    }

    fn interfaces(&self) -> Vec<String> {
        ["edge0", "edge1", "eth0", "eth1", "lo"].map(str::to_owned).into()
    }

    fn tables(&self) -> Result<String, RouteError> {
        let tables = fs::read_dir(self.0.join("tables")).unwrap();
        Ok(tables.map(|table| fs::read_to_string(table.unwrap().path()).unwrap()).collect())
    }
}

impl Machine {
    fn new(name: &str, settings: &[(&str, &str)]) -> Machine {
        let machine = Machine(std::env::temp_dir().join(format!("{name}-{}", std::process::id())));
        for directory in ["settings", "tables"] {
            fs::create_dir_all(machine.0.join(directory)).unwrap();
        }
        settings.iter().for_each(|(setting, value)| machine.set(setting, value));
        machine
    }

    /// One of Linux 6.12, whose only interface to the outside heeds router advertisements.
    fn before_linux_6_17(name: &str) -> Machine {
        Machine::new(name, &[(SWITCH, "0"), (EARS, "1")])
    }

    fn file(&self, setting: &str) -> PathBuf {
        self.0.join("settings").join(setting)
    }

    fn set(&self, setting: &str, value: &str) {
        fs::write(self.file(setting), value).unwrap();
    }

    fn get(&self, setting: &str) -> String {
        self.read(setting).unwrap()
    }

    /// What [`guard::Applied`] does on a real one.
    fn start(&self, device: &str, outside: &str, address: &str) -> (Edge, Routes) {
        let options = options(Some(outside), &[address]);
        let routes = Routes::plan_on(self, &options, device);
        let settings: Vec<&Setting> = routes.rules.iter().filter_map(Rule::setting).collect();
        let notes: Vec<Note> = settings.iter().filter_map(|setting| setting.note()).collect();
        let table = table_name(device);
        let lines: String =
            notes.iter().map(|note| format!("\treturn comment \"{note}\"\n")).collect();
        let text = format!("table inet {table} {{\n\tchain found {{\n{lines}\t}}\n}}\n");
        fs::write(self.0.join("tables").join(&table), text).unwrap();
        settings.iter().for_each(|setting| self.set(&setting.name, setting.value));
        (Edge { table, notes }, routes)
    }

    /// What an edge's guard does when it is gone.
    fn end(&self, edge: Edge) {
        fs::remove_file(self.0.join("tables").join(edge.table)).unwrap();
        let mut guard = Command::new("sh");
        guard.args(["-c", &format!("{NFT}{GUARD}"), "guard"]);
        for Note { name, was, above, then } in edge.notes {
            guard.arg(&name).arg(self.file(&name)).arg(was).arg(self.file(&above)).arg(then);
        }
        guard.env("TABLES", self.0.join("tables"));
        let _ = guard.stdin(Stdio::null()).status().unwrap();
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

const SWITCH: &str = "net.ipv6.conf.all.forwarding";
const EARS: &str = "net.ipv6.conf.eth0.accept_ra";
const V4_SWITCH: &str = "net.ipv4.ip_forward";
const V4: &str = "net.ipv4.conf.eth0.forwarding";

#[test]
fn with_one_switch_for_ipv6_the_last_of_two_edges_gives_it_back_whichever_ends_first() {
    for is_first_to_end in [true, false] {
        let machine = Machine::before_linux_6_17("edges-of-ipv6");
        let (first, _) = machine.start("edge0", "eth0", "fd78::2/64");
        let (second, routes) = machine.start("edge1", "eth0", "fd79::2/64");
        let text = routes.to_string();
        assert!(text.contains("accept_ra=2") && text.contains("chain forward"), "{text}");
        let (early, late) = if is_first_to_end { (first, second) } else { (second, first) };
        machine.end(early);
        assert_eq!((&*machine.get(SWITCH), &*machine.get(EARS)), ("1", "2"), "the other needs it");
        machine.end(late);
        assert_eq!((&*machine.get(SWITCH), &*machine.get(EARS)), ("0", "1"));
    }
}

#[test]
fn what_was_found_goes_from_edge_to_edge_as_long_as_there_is_one() {
    let machine = Machine::before_linux_6_17("edges-in-turn");
    let (mut edge, _) = machine.start("edge0", "eth0", "fd78::2/64");
    for device in ["edge1", "edge2", "edge3"] {
        let (next, _) = machine.start(device, "eth0", "fd79::2/64");
        machine.end(std::mem::replace(&mut edge, next));
        assert_eq!((&*machine.get(SWITCH), &*machine.get(EARS)), ("1", "2"), "{device}");
    }
    machine.end(edge);
    assert_eq!((&*machine.get(SWITCH), &*machine.get(EARS)), ("0", "1"));
}

#[test]
fn each_edge_gives_back_what_no_other_needs() {
    let machine = Machine::new(
        "edges-apart",
        &[(V4_SWITCH, "0"), (V4, "0"), ("net.ipv4.conf.eth1.forwarding", "0")],
    );
    let (first, _) = machine.start("edge0", "eth0", "10.78.0.2/24");
    let (second, _) = machine.start("edge1", "eth1", "10.79.0.2/24");
    machine.end(first);
    assert_eq!(machine.get(V4), "0");
    assert_eq!(machine.get("net.ipv4.conf.eth1.forwarding"), "1");
    machine.end(second);
    assert_eq!(machine.get("net.ipv4.conf.eth1.forwarding"), "0");
}

#[test]
fn forwarding_that_was_the_administrators_own_stays_after_two_edges() {
    let machine = Machine::new("edges-and-owner", &[(V4_SWITCH, "0"), (V4, "1")]);
    let (first, _) = machine.start("edge0", "eth0", "10.78.0.2/24");
    let (second, routes) = machine.start("edge1", "eth0", "10.79.0.2/24");
    assert!(!routes.to_string().contains("chain forward"), "what was forwarded still is");
    machine.end(first);
    machine.end(second);
    assert_eq!(machine.get(V4), "1");
}

#[test]
fn what_others_switched_on_between_two_edges_is_theirs() {
    let machine = Machine::new("edges-and-others", &[(V4_SWITCH, "0"), (V4, "0")]);
    let (first, _) = machine.start("edge0", "eth0", "10.78.0.2/24");
    // As the kernel has it: the switch sets all that are below it.
    machine.set(V4_SWITCH, "1");
    machine.set(V4, "1");
    let (second, routes) = machine.start("edge1", "eth0", "10.79.0.2/24");
    assert!(!routes.to_string().contains("chain forward"), "what was forwarded still is");
    machine.end(first);
    machine.end(second);
    assert_eq!(machine.get(V4), "1");
}

#[test]
fn rules_that_were_made_by_hand_keep_what_they_may_need() {
    let machine = Machine::new("edge-by-hand", &[(V4_SWITCH, "0"), (V4, "0")]);
    let (edge, _) = machine.start("edge0", "eth0", "10.78.0.2/24");
    let by_hand = machine.0.join("tables/thinstream_edge1");
    fs::write(&by_hand, "table inet thinstream_edge1 {\n}\n").unwrap();
    machine.end(edge);
    assert_eq!(machine.get(V4), "1");
}
