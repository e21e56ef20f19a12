use super::*;

#[test]
fn addresses_name_flow_side_and_path() {
    let all = [(0, 0, 0), (1, 0, 0), (0, 1, 0), (1, 3, 7), (0, 2, 2_000_000)];
    let mut seen: Vec<SocketAddr> =
        all.map(|(side, path, flow)| address(side, path, flow)).to_vec();
    for ((_, _, flow), address) in all.iter().zip(&seen) {
        assert_eq!(flow_of(*address), Some(*flow));
    }
    seen.sort();
    seen.dedup();
    assert_eq!(seen.len(), all.len());
    assert_eq!(address(0, 0, 1).to_string(), "10.0.0.1:0");
}
