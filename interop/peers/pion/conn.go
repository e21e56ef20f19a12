package main

import (
	"net"
	"sync/atomic"
)

// learnedConn is a UDP socket as a net.Conn whose other end is who sent last.
type learnedConn struct {
	*net.UDPConn
	remote atomic.Pointer[net.UDPAddr]
}

func (c *learnedConn) Read(into []byte) (int, error) {
	n, from, err := c.UDPConn.ReadFromUDP(into)
	if err == nil {
		c.remote.Store(from)
	}
	return n, err
}

func (c *learnedConn) Write(packet []byte) (int, error) {
	return c.UDPConn.WriteToUDP(packet, c.remote.Load())
}

func (c *learnedConn) RemoteAddr() net.Addr { return c.remote.Load() }

// connect is a socket towards the peer; what ICMP says of earlier packets is no reason to give up.
func connect(o *options) (net.Conn, error) {
	local := &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1), Port: o.localUDP}
	socket, err := net.ListenUDP("udp4", local)
	if err != nil {
		return nil, err
	}
	conn := &learnedConn{UDPConn: socket}
	conn.remote.Store(&net.UDPAddr{IP: net.ParseIP(o.to), Port: o.remoteUDP})
	return conn, nil
}

// listen is a socket for one peer.
func listen(o *options) (net.Conn, error) {
	socket, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1), Port: o.localUDP})
	if err != nil {
		return nil, err
	}
	return &learnedConn{UDPConn: socket}, nil
}
