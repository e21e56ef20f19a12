// The dumbbell of greedy TCP flows in ns-3, as `cargo run -p thinstream-lab --example dumbbell_speed` has it: segments of
// 1000 bytes, a round trip of 50 ms, a queue of 100 packets before the shared link, NewReno with SACK.
// Prints one line of numbers, separated by tabs, for each seed.

#include <chrono>
#include <cmath>
#include <ctime>
#include <iomanip>
#include <iostream>
#include <memory>
#include <vector>

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

using namespace ns3;

namespace {

struct Plan {
    uint32_t flows = 20;
    uint32_t seeds = 1;
    uint32_t firstSeed = 1;
    double seconds = 100;
    double warmUp = 0;
    double startWithin = 5;
    double rateMbit = 100;
    double roundTripMs = 50;
    uint32_t queue = 100;
    uint32_t segment = 1000;
    uint32_t initialWindow = 10;
    double minRtoMs = 200;
    uint32_t ackEvery = 2;
    double ackDelayMs = 200;
    bool timestamps = false;
    // The flow whose steps are told on the standard error output, from 0 on; none without one.
    int32_t tell = -1;
};

// What happened between the end of the warm-up and that of the run.
struct Counts {
    uint64_t forwarded = 0;
    uint64_t dropped = 0;
    uint64_t timeouts = 0;
    uint64_t read = 0;
};

Counts counts;
bool counting = false;

void OnForwarded(Ptr<const Packet>) { counts.forwarded += counting; }
void OnDropped(Ptr<const Packet>) { counts.dropped += counting; }
void OnRead(Ptr<const Packet> packet, const Address&) {
    counts.read += counting ? packet->GetSize() : 0;
}
// A timeout doubles the time to the next (RFC 6298, section 5.5); no estimate does so to the nanosecond.
void OnTimer(const Time before, const Time now) {
    counts.timeouts += counting && now == before + before;
}

// The steps of one sender, a line each: time in seconds, what, and its numbers.
std::ostream& Tell() {
    return std::cerr << std::fixed << std::setprecision(6) << Simulator::Now().GetSeconds() << '\t';
}
void TellSent(Ptr<const Packet> data, const TcpHeader& header, Ptr<const TcpSocketBase>) {
    if (data->GetSize() > 0) {
        Tell() << "sent\t" << header.GetSequenceNumber() << std::endl;
    }
}
void TellAcknowledged(Ptr<const Packet>, const TcpHeader& header, Ptr<const TcpSocketBase>) {
    Tell() << "acknowledged\t" << header.GetAckNumber();
    if (header.HasOption(TcpOption::SACK)) {
        auto option = DynamicCast<const TcpOptionSack>(header.GetOption(TcpOption::SACK));
        for (const auto& block : option->GetSackList()) {
            std::cerr << '\t' << block.first << '-' << block.second;
        }
    }
    std::cerr << std::endl;
}
void TellState(TcpSocketState::TcpCongState_t, TcpSocketState::TcpCongState_t now) {
    Tell() << "state\t" << TcpSocketState::TcpCongStateName[now] << std::endl;
}
void TellTimer(const Time before, const Time now) {
    Tell() << (now == before + before ? "timeout, then after\t" : "timer\t") << now.As(Time::MS) << std::endl;
}

void Watch(Ptr<BulkSendApplication> greedy, bool tell) {
    Ptr<Socket> socket = greedy->GetSocket();
    socket->TraceConnectWithoutContext("RTO", MakeCallback(&OnTimer));
    if (tell) {
        socket->TraceConnectWithoutContext("Tx", MakeCallback(&TellSent));
        socket->TraceConnectWithoutContext("Rx", MakeCallback(&TellAcknowledged));
        socket->TraceConnectWithoutContext("CongState", MakeCallback(&TellState));
        socket->TraceConnectWithoutContext("RTO", MakeCallback(&TellTimer));
    }
}

void SetDefaults(const Plan& plan) {
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", StringValue("ns3::TcpNewReno"));
    Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(true));
    Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(plan.timestamps));
    Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(MicroSeconds(plan.minRtoMs * 1000)));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(plan.segment));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(plan.initialWindow));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(plan.ackEvery));
    Config::SetDefault("ns3::TcpSocket::DelAckTimeout", TimeValue(MicroSeconds(plan.ackDelayMs * 1000)));
}

void Run(const Plan& plan, uint32_t seed) {
    counts = Counts();
    counting = plan.warmUp == 0;
    RngSeedManager::SetRun(seed);
    NodeContainer routers, senders, receivers;
    routers.Create(2);
    senders.Create(plan.flows);
    receivers.Create(plan.flows);

    PointToPointHelper middle, access;
    middle.SetDeviceAttribute("DataRate", DataRateValue(DataRate(uint64_t(plan.rateMbit * 1e6))));
    middle.SetChannelAttribute("Delay", TimeValue(MicroSeconds(plan.roundTripMs * 500)));
    middle.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize",
                    QueueSizeValue(QueueSize(QueueSizeUnit::PACKETS, plan.queue)));
    // So fast that nothing waits there.
    access.SetDeviceAttribute("DataRate", StringValue("100Gbps"));
    access.SetChannelAttribute("Delay", TimeValue(Seconds(0)));
    access.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize", StringValue("100000p"));

    InternetStackHelper internet;
    internet.InstallAll();
    TrafficControlHelper none;
    Ipv4AddressHelper addresses;
    NetDeviceContainer shared = middle.Install(routers);
    addresses.SetBase("10.0.0.0", "255.255.255.252");
    addresses.Assign(shared);
    none.Uninstall(shared);

    Ptr<UniformRandomVariable> start = CreateObject<UniformRandomVariable>();
    Ipv4StaticRoutingHelper routing;
    std::vector<Ptr<Ipv4StaticRouting>> at;
    for (uint32_t side = 0; side < 2; ++side) {
        at.push_back(routing.GetStaticRouting(routers.Get(side)->GetObject<Ipv4>()));
        at[side]->SetDefaultRoute(side == 0 ? "10.0.0.2" : "10.0.0.1", 1);
    }
    for (uint32_t flow = 0; flow < plan.flows; ++flow) {
        Ipv4Address to;
        for (uint32_t side = 0; side < 2; ++side) {
            Ptr<Node> host = side == 0 ? senders.Get(flow) : receivers.Get(flow);
            NetDeviceContainer line = access.Install(host, routers.Get(side));
            Ipv4Address base((10u << 24) | ((side + 1) << 22) | (flow << 2));
            addresses.SetBase(base, "255.255.255.252");
            Ipv4InterfaceContainer assigned = addresses.Assign(line);
            none.Uninstall(line);
            routing.GetStaticRouting(host->GetObject<Ipv4>())->SetDefaultRoute(assigned.GetAddress(1), 1);
            to = assigned.GetAddress(0);
        }
        PacketSinkHelper sink("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), 5000));
        sink.Install(receivers.Get(flow)).Get(0)->TraceConnectWithoutContext("Rx", MakeCallback(&OnRead));
        Ptr<BulkSendApplication> greedy = CreateObject<BulkSendApplication>();
        greedy->SetAttribute("Protocol", TypeIdValue(TcpSocketFactory::GetTypeId()));
        greedy->SetAttribute("Remote", AddressValue(InetSocketAddress(to, 5000)));
        greedy->SetAttribute("SendSize", UintegerValue(plan.segment));
        senders.Get(flow)->AddApplication(greedy);
        Time begins = Seconds(start->GetValue(0, plan.startWithin));
        greedy->SetStartTime(begins);
        // Its socket is there from then on.
        Simulator::Schedule(begins + NanoSeconds(1), &Watch, greedy, plan.tell == int32_t(flow));
    }
    Ptr<PointToPointNetDevice> bottleneck = DynamicCast<PointToPointNetDevice>(shared.Get(0));
    bottleneck->TraceConnectWithoutContext("PhyTxEnd", MakeCallback(&OnForwarded));
    // Without a queue discipline, what the device has no room for is dropped before it gets there.
    routers.Get(0)->GetObject<TrafficControlLayer>()->TraceConnectWithoutContext("TcDrop", MakeCallback(&OnDropped));

    Simulator::Schedule(Seconds(plan.warmUp), [] { counting = true; });
    Simulator::Stop(Seconds(plan.seconds));
    std::clock_t before = std::clock();
    Simulator::Run();
    double cpu = double(std::clock() - before) / CLOCKS_PER_SEC;
    double measured = plan.seconds - plan.warmUp;
    double offered = counts.forwarded + counts.dropped;
    std::cout << "ns-3\t" << plan.flows << '\t' << seed << '\t' << std::fixed << std::setprecision(4)
              << counts.read * 8e-6 / measured << '\t' << counts.forwarded << '\t' << counts.dropped << '\t'
              << 100.0 * counts.dropped / std::max(offered, 1.0) << '\t' << counts.timeouts << '\t' << cpu
              << std::endl;
    Simulator::Destroy();
}

} // namespace

int main(int argc, char* argv[]) {
    Plan plan;
    CommandLine line(__FILE__);
    line.AddValue("flows", "greedy flows", plan.flows);
    line.AddValue("seeds", "runs", plan.seeds);
    line.AddValue("first-seed", "seed of the first run", plan.firstSeed);
    line.AddValue("seconds", "virtual time", plan.seconds);
    line.AddValue("warm-up", "virtual time that is not counted", plan.warmUp);
    line.AddValue("start-within", "flows begin within this time (s)", plan.startWithin);
    line.AddValue("rate", "Mbit/s of the shared link", plan.rateMbit);
    line.AddValue("rtt", "round-trip time in milliseconds", plan.roundTripMs);
    line.AddValue("queue", "packets that may wait for the shared link", plan.queue);
    line.AddValue("segment", "bytes of a segment's payload", plan.segment);
    line.AddValue("initial-window", "segments", plan.initialWindow);
    line.AddValue("min-rto", "least retransmission timeout in milliseconds", plan.minRtoMs);
    line.AddValue("ack-every", "segments for each acknowledgement", plan.ackEvery);
    line.AddValue("ack-delay", "delayed acknowledgement in milliseconds", plan.ackDelayMs);
    line.AddValue("tell", "flow whose steps are told on the standard error output", plan.tell);
    line.AddValue("timestamps", "whether segments have timestamps", plan.timestamps);
    line.Parse(argc, argv);
    SetDefaults(plan);
    for (uint32_t seed = plan.firstSeed; seed < plan.firstSeed + plan.seeds; ++seed) {
        Run(plan, seed);
    }
    return 0;
}
