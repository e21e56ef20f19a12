//! Thin flows over the loopback of a guest's kernel.

use std::time::Duration;

use interop::{KernelTransport, ThinFlows, Uml, available};

fn flows(transport: KernelTransport, loss_percent: u32) -> ThinFlows {
    ThinFlows {
        transport,
        flows: 3,
        size: 100,
        interval: Duration::from_millis(50),
        seconds: 2,
        delay: Duration::from_millis(20),
        loss_percent,
    }
}

#[test]
fn the_guest_carries_each_message_once_and_no_sooner_than_the_delay() {
    let Some(()) = available(Uml::find()) else { return };
    let guest = Uml::boot().unwrap();
    for transport in [KernelTransport::Sctp, KernelTransport::Tcp] {
        for loss_percent in [0, 10] {
            let plan = flows(transport, loss_percent);
            let arrived = guest.thin_flows(&plan).unwrap();
            for flow in 0..plan.flows {
                let of_flow = arrived.iter().filter(|one| one.flow == flow);
                let indices: Vec<_> = of_flow.map(|one| one.index).collect();
                assert_eq!(indices, (0..40).collect::<Vec<_>>(), "{plan:?}");
            }
            assert!(arrived.iter().all(|one| one.latency >= plan.delay), "{plan:?}");
        }
    }
}
