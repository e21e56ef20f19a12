//! debug
use thinstream_interop::*;
use std::time::Duration;
fn main() {
    let u = Usrsctp::find().unwrap();
    let uml = Uml::boot().unwrap();
    let ns = Some(uml.namespace());
    let cap = uml.namespace().enter(|| std::process::Command::new("dumpcap").args(["-q","-i","tap0","-w","/tmp/house-tap.pcap"]).spawn().unwrap()).unwrap();
    std::thread::sleep(Duration::from_millis(700));
    for size in [100, 1000, 5000, 20000, 100000] {
        for (n, e) in [("raw", Encapsulation::Raw), ("udp", Encapsulation::Udp { local: 9900, remote: 9899 })] {
            let plan = EchoPlan { limit: Duration::from_secs(8), ..EchoPlan::of(20, size) };
            match u.run_client(ns, GUEST, e, &plan) { Ok(r) => println!("{size} {n} {r:?}"), Err(x) => println!("{size} {n} ERR {:.200}", x.to_string()) }
        }
    }
    let mut cap = cap; cap.kill().unwrap(); cap.wait().unwrap();
    println!("{}", uml.shell("cat /proc/net/sctp/assocs; ip -s link show vec0; cat /proc/net/sctp/snmp; dmesg | tail -5", Duration::from_secs(5)).unwrap());
}
