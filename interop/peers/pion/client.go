package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"sort"
	"time"

	"github.com/pion/sctp"
)

// client is the side that sends messages of its own.
type client struct {
	*options
	association          *sctp.Association
	streams              []*sctp.Stream
	trips                []time.Duration
	bytes, wrong, resets int
	back                 []byte
	last                 error
}

func runClient(o *options) (int, error) {
	conn, err := connect(o)
	if err != nil {
		return exitNetwork, err
	}
	started := time.Now()
	association, err := sctp.Client(config(o, conn))
	if err != nil {
		return exitNetwork, err
	}
	connected := time.Since(started)
	c := &client{options: o, association: association, back: make([]byte, largest)}
	if err := c.openStreams(); err != nil {
		return exitNetwork, err
	}
	exchange := c.converse
	if o.pace > 0 {
		exchange = c.stream
	}
	if err := exchange(); err != nil {
		return exitNetwork, err
	}
	clean := c.finish()
	c.printResult(connected, clean)
	switch {
	case c.wrong > 0:
		return exitWrongBytes, nil
	case !clean:
		return exitUnclean, c.last
	}
	return exitOK, nil
}

func (c *client) openStreams() error {
	c.streams = nil
	for i := 0; i < c.options.streams; i++ {
		stream, err := c.association.OpenStream(uint16(i), sctp.PayloadTypeWebRTCBinary)
		if err != nil {
			return err
		}
		if err := setReliability(stream, c.unordered, c.reliability); err != nil {
			return err
		}
		c.streams = append(c.streams, stream)
	}
	return nil
}

// converse sends one message after the other, each when the one before came back.
func (c *client) converse() error {
	for i := 0; i < c.count; i++ {
		if c.resetBefore > 0 && i == c.resetBefore {
			if err := c.resetStreams(); err != nil {
				return err
			}
		}
		message, stream, before := c.message(i), c.streams[i%len(c.streams)], time.Now()
		if _, err := stream.WriteSCTP(message, sctp.PayloadTypeWebRTCBinary); err != nil {
			return err
		}
		n, err := stream.Read(c.back)
		if err != nil {
			return fmt.Errorf("message %d: %w", i, err)
		}
		c.trips = append(c.trips, time.Since(before))
		c.bytes += n
		if !bytes.Equal(c.back[:n], message) {
			c.wrong++
		}
	}
	return nil
}

// stream sends at a steady pace, the last message reliably whatever the others are, until all came back. It uses one
// stream alone.
func (c *client) stream() error {
	started := time.Now()
	failed, reopened := make(chan error, 1), make(chan struct{})
	go func() { failed <- c.sendPaced(started, reopened) }()
	came := make(map[int]bool)
	for expected := 0; !c.hasAll(expected); {
		n, err := c.streams[0].Read(c.back)
		if c.resetBefore > 0 && c.resets == 0 && errors.Is(err, io.EOF) {
			// The server has reset its own.
			c.resets++
			if err := c.openStreams(); err != nil {
				return err
			}
			close(reopened)
			continue
		}
		if err != nil {
			select {
			case err = <-failed:
			default:
			}
			return err
		}
		index := indexOf(c.back[0])
		if (index < expected && !c.unordered) || came[index] || !bytes.Equal(c.back[:n], c.message(index)) {
			c.wrong++
		}
		came[index] = true
		c.trips = append(c.trips, time.Since(started)-time.Duration(index)*c.paceDuration())
		c.bytes += n
		expected = index + 1
	}
	return nil
}

// sendPaced sends all messages. A stream that it resets takes no more of them until it is reopened.
func (c *client) sendPaced(started time.Time, reopened <-chan struct{}) error {
	for i := 0; i < c.count; i++ {
		time.Sleep(time.Until(started.Add(time.Duration(i) * c.paceDuration())))
		if c.resetBefore > 0 && i == c.resetBefore {
			if err := c.streams[0].Close(); err != nil {
				return err
			}
			<-reopened
		}
		stream := c.streams[0]
		if i == c.count-1 {
			stream.SetReliabilityParams(c.unordered, sctp.ReliabilityTypeReliable, 0)
		}
		if _, err := stream.WriteSCTP(c.message(i), sctp.PayloadTypeWebRTCBinary); err != nil {
			return err
		}
	}
	return nil
}

// hasAll tells whether everything came back that must: of messages that may be abandoned, the last one.
func (c *client) hasAll(expected int) bool {
	if c.reliability != "full" {
		return expected == c.count
	}
	return len(c.trips) >= c.count
}

// resetStreams resets all streams, waits until the peer has reset its own, and opens them again.
func (c *client) resetStreams() error {
	for _, stream := range c.streams {
		if err := stream.Close(); err != nil {
			return err
		}
	}
	for _, stream := range c.streams {
		if _, err := stream.Read(c.back); !errors.Is(err, io.EOF) {
			return fmt.Errorf("no end of a stream that was reset: %v", err)
		}
	}
	c.resets++
	return c.openStreams()
}

// finish ends the association, or waits until the peer does; whether by a completed shutdown.
func (c *client) finish() bool {
	switch c.end {
	case "abort":
		c.association.Abort("as asked")
		return false
	case "peer":
	default:
		if c.last = shutDown(c.association, c.options); c.last != nil {
			return false
		}
	}
	n, err := c.streams[0].Read(c.back)
	if c.last = err; err == nil {
		c.wrong++ // nothing may come after the last echo
		fmt.Println("unexpected message of", n, "bytes")
	}
	return isClean(err)
}

func (c *client) printResult(connected time.Duration, clean bool) {
	sort.Slice(c.trips, func(a, b int) bool { return c.trips[a] < c.trips[b] })
	at := func(percent int) int64 {
		if len(c.trips) == 0 {
			return 0
		}
		return c.trips[(len(c.trips)-1)*percent/100].Microseconds()
	}
	fmt.Printf("RESULT echoes=%d bytes=%d wrong=%d boundaries=kept shutdown=%s resets=%d connect_us=%d "+
		"rtt_us_min=%d rtt_us_p50=%d rtt_us_p99=%d rtt_us_max=%d\n",
		len(c.trips), c.bytes, c.wrong, cleanOrNot(clean), c.resets, connected.Microseconds(),
		at(0), at(50), at(99), at(100))
}
