// Data channels on pion. `offer ADDRESS` is a client that does exercises with the server there (exercises.go), `answer ADDRESS` one that
// takes the server's offer. Without arguments it
// is a server: offers and answers over TCP, and messages as a channel's label asks. A client connects,
// writes its offer, closes its half, and reads the answer to the end. A channel of the label `send MICROSECONDS SIZE COUNT` gets
// that many messages, each with its number and the microseconds since 1970 at its beginning; others get back what they send.
package main

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"os"
	"time"

	"github.com/pion/webrtc/v4"
)

func main() {
	if len(os.Args) == 3 {
		if err := exercise(os.Args[2], os.Args[1] == "offer"); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println("MARK ready", listener.Addr())
	for {
		stream, err := listener.Accept()
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		if err := converse(stream); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		stream.Close()
	}
}

func converse(stream net.Conn) error {
	offer, err := io.ReadAll(stream)
	if err != nil {
		return err
	}
	connection, err := newConnection()
	if err != nil {
		return err
	}
	connection.OnDataChannel(serve)
	description := webrtc.SessionDescription{Type: webrtc.SDPTypeOffer, SDP: string(offer)}
	if err := connection.SetRemoteDescription(description); err != nil {
		return err
	}
	return leave(connection, stream)
}

// A connection that uses addresses of loopback.
func newConnection() (*webrtc.PeerConnection, error) {
	settings := webrtc.SettingEngine{}
	settings.SetIncludeLoopbackCandidate(true)
	settings.SetInterfaceFilter(func(name string) bool { return name == "lo" })
	settings.SetNetworkTypes([]webrtc.NetworkType{webrtc.NetworkTypeUDP4})
	return webrtc.NewAPI(webrtc.WithSettingEngine(settings)).NewPeerConnection(webrtc.Configuration{})
}

func serve(channel *webrtc.DataChannel) {
	var micros, size, count int
	if _, err := fmt.Sscanf(channel.Label(), "send %d %d %d", &micros, &size, &count); err == nil {
		channel.OnOpen(func() { go send(channel, time.Duration(micros)*time.Microsecond, size, count) })
		return
	}
	channel.OnMessage(func(message webrtc.DataChannelMessage) {
		if message.IsString {
			_ = channel.SendText(string(message.Data))
		} else {
			_ = channel.Send(message.Data)
		}
	})
}

func send(channel *webrtc.DataChannel, interval time.Duration, size, count int) {
	ticks := time.NewTicker(interval)
	defer ticks.Stop()
	for number := range count {
		message := make([]byte, size)
		binary.LittleEndian.PutUint32(message, uint32(number))
		binary.LittleEndian.PutUint64(message[4:], uint64(time.Now().UnixMicro()))
		if channel.Send(message) != nil {
			return
		}
		<-ticks.C
	}
}
