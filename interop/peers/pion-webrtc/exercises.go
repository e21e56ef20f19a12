// Exercises of a client: channels of four kinds to a server that sends back what it gets, opens a channel of its own, and closes a
// channel that says so. The result is printed as JSON behind RESULT.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/pion/webrtc/v4"
)

const patience = 60 * time.Second

type result struct {
	Sizes      map[string]bool `json:"sizes"`
	Volleys    map[string]int  `json:"volleys"`
	FromServer string          `json:"from_server"`
	Closed     bool            `json:"closed"`
}

// A channel whose events wait to be taken.
type channel struct {
	*webrtc.DataChannel
	opened, closed chan struct{}
	messages       chan webrtc.DataChannelMessage
}

func watched(inner *webrtc.DataChannel) *channel {
	one := &channel{inner, make(chan struct{}), make(chan struct{}), make(chan webrtc.DataChannelMessage, 1000)}
	inner.OnOpen(func() { close(one.opened) })
	inner.OnClose(func() { close(one.closed) })
	inner.OnMessage(func(message webrtc.DataChannelMessage) { one.messages <- message })
	return one
}

func (one *channel) answer(limit time.Duration) ([]byte, error) {
	select {
	case message := <-one.messages:
		return message.Data, nil
	case <-time.After(limit):
		return nil, fmt.Errorf("%s: no answer", one.Label())
	}
}

// `offers`: the client brings an offer to the server, instead of fetching one.
func exercise(server string, offers bool) error {
	connection, err := newConnection()
	if err != nil {
		return err
	}
	defer connection.Close()
	fromServer := make(chan string, 1)
	connection.OnDataChannel(func(inner *webrtc.DataChannel) {
		fromServer <- inner.Label()
	})
	var waiting net.Conn
	if !offers {
		if waiting, err = offered(connection, server); err != nil {
			return err
		}
		defer waiting.Close()
	}
	no, none, brief := false, uint16(0), uint16(200)
	kinds := []webrtc.DataChannelInit{{}, {Ordered: &no}, {MaxRetransmits: &none}, {Ordered: &no, MaxPacketLifeTime: &brief}}
	names := []string{"ordered", "unordered", "once", "brief"}
	channels := []*channel{}
	for at, name := range names {
		inner, err := connection.CreateDataChannel(name, &kinds[at])
		if err != nil {
			return err
		}
		channels = append(channels, watched(inner))
	}
	if offers {
		err = offer(connection, server)
	} else {
		err = leave(connection, waiting)
	}
	if err != nil {
		return err
	}
	for _, one := range channels {
		select {
		case <-one.opened:
		case <-time.After(patience):
			return fmt.Errorf("%s does not open", one.Label())
		}
	}
	found := result{Sizes: map[string]bool{}, Volleys: map[string]int{}}
	for _, size := range []int{1, 100, 1200, 16000, 65535} {
		sent := make([]byte, size)
		for at := range sent {
			sent[at] = byte(at % 251)
		}
		if err := channels[0].Send(sent); err != nil {
			return err
		}
		back, err := channels[0].answer(patience)
		if err != nil {
			return err
		}
		found.Sizes[fmt.Sprint(size)] = bytes.Equal(sent, back)
	}
	for at, one := range channels {
		for number := range 30 {
			_ = one.Send(bytes.Repeat([]byte{byte(number)}, 100))
			time.Sleep(15 * time.Millisecond)
		}
		limit := patience
		if at >= 2 {
			limit = 5 * time.Second
		}
		seen := map[byte]bool{}
		for len(seen) < 30 {
			back, err := one.answer(limit)
			if err != nil {
				break
			}
			seen[back[0]] = true
		}
		found.Volleys[names[at]] = len(seen)
	}
	select {
	case found.FromServer = <-fromServer:
	case <-time.After(patience):
		return fmt.Errorf("no channel of the server")
	}
	if err := channels[1].SendText("close"); err != nil {
		return err
	}
	select {
	case <-channels[1].closed:
		found.Closed = true
	case <-time.After(patience):
	}
	text, err := json.Marshal(found)
	fmt.Printf("RESULT %s\n", text)
	return err
}

// Lets the server at a TCP address answer the connection's offer.
func offer(connection *webrtc.PeerConnection, server string) error {
	own, err := connection.CreateOffer(nil)
	if err != nil {
		return err
	}
	if err := connection.SetLocalDescription(own); err != nil {
		return err
	}
	stream, err := net.Dial("tcp", server)
	if err != nil {
		return err
	}
	defer stream.Close()
	if _, err := io.WriteString(stream, connection.LocalDescription().SDP); err != nil {
		return err
	}
	if err := stream.(*net.TCPConn).CloseWrite(); err != nil {
		return err
	}
	answer, err := io.ReadAll(stream)
	if err != nil {
		return err
	}
	return connection.SetRemoteDescription(webrtc.SessionDescription{Type: webrtc.SDPTypeAnswer, SDP: string(answer)})
}

// Takes the offer of the server at a TCP address; the connection waits for the answer.
func offered(connection *webrtc.PeerConnection, server string) (net.Conn, error) {
	stream, err := net.Dial("tcp", server)
	if err != nil {
		return nil, err
	}
	theirs, err := io.ReadAll(stream)
	if err != nil {
		return nil, err
	}
	return stream, connection.SetRemoteDescription(webrtc.SessionDescription{Type: webrtc.SDPTypeOffer, SDP: string(theirs)})
}

// Leaves the answer, after which the stream ends.
func leave(connection *webrtc.PeerConnection, stream net.Conn) error {
	answer, err := connection.CreateAnswer(nil)
	if err != nil {
		return err
	}
	gathered := webrtc.GatheringCompletePromise(connection)
	if err := connection.SetLocalDescription(answer); err != nil {
		return err
	}
	<-gathered
	if _, err := io.WriteString(stream, connection.LocalDescription().SDP); err != nil {
		return err
	}
	return stream.(*net.TCPConn).CloseWrite()
}
